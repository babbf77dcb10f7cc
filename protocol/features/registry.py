"""The kinds of features by the name that a published task gives them."""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from .categorical import Categorical
from .numeric import Numeric

Kind = Literal["numeric", "categorical"]
Feature = Annotated[Numeric | Categorical, Field(discriminator="kind")]
Features = Sequence[Feature]
FEATURES: TypeAdapter[list[Feature]] = TypeAdapter(list[Feature])
"""Reads the features of a document."""
