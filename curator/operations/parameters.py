"""Parameters that several operations have, as their calls are documented."""

from typing import Annotated

from fastapi import Path
from pydantic import Field

from privet.admin.results import EXAMPLE_ID

TaskId = Annotated[str, Path(description="The task's id.", examples=[EXAMPLE_ID])]
ModelNumber = Annotated[int, Path(description="The model's number, from 1.", examples=[1])]
Days = Annotated[
    float | None,
    Field(
        strict=True,
        gt=0,
        le=36_500,
        allow_inf_nan=False,
        description="Days until expiry; null for never.",
    ),
]
