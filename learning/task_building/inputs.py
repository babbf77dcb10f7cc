"""The inputs by which commands and forms ask for the settings of a task, made from their fields."""

import json
import math
from dataclasses import dataclass
from datetime import datetime
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from privet.protocol.errors import InvalidRequest
from privet.tables.cells import typed_number, whole_number

Kind = Literal["flag", "integer", "number", "text", "choice", "texts", "numbers", "json"]


@dataclass(frozen=True)
class Asked:
    """The label of a setting's field in the dashboard's form, stated beside the setting's type.

    Fields for those who know the ``method`` are folded up once more, and have the setting's name in
    brackets. A setting without a label is one of these, by its name.
    """

    label: str
    method: bool = True


@dataclass(frozen=True)
class Input:
    """One setting: its help, the ``label`` of its field, and what may be written for it.

    ``kind`` "texts" is a list of texts, "numbers" are numbers by name, written NAME=NUMBER, and
    "json" is everything that is written as JSON. Numbers lie from ``low`` to ``high``, where there
    are bounds. ``default`` is the value that counts where
    nothing is written; None if there is none, or the help describes it.
    """

    name: str
    help: str
    label: str
    method: bool
    kind: Kind
    choices: tuple[str, ...]
    low: float | None
    high: float | None
    required: bool
    default: Any
    fewest: int = 0
    """Entries of a list, at least."""

    def value(self, text: str) -> Any:
        """The setting's value that somebody wrote; raises ``InvalidRequest`` that says how to.

        Whole numbers may have marks between thousands, and others a decimal comma.
        """
        if self.kind in ("text", "choice"):
            return text
        if self.kind == "integer":
            whole = whole_number(text)
            if whole is None:
                raise InvalidRequest("Write a whole number, such as 3000.")
            return whole
        if self.kind == "number":
            return typed_float(text, self.low, self.high)
        if self.kind == "texts":
            return [line.strip() for line in text.splitlines() if line.strip()]
        if self.kind == "numbers":
            return dict(self._named(line) for line in text.splitlines() if line.strip())
        try:
            return json.loads(text)
        except ValueError:
            raise InvalidRequest("Write it as JSON.") from None

    def _named(self, line: str) -> tuple[str, float]:
        name, _, typed = line.rpartition("=")
        number = typed_number(typed.strip())
        if number is None:
            raise InvalidRequest(f"{line.strip()!r} is no NAME=NUMBER, such as yes=.02.")
        return name.strip(), float(number)


def typed_float(text: str, low: float | None = None, high: float | None = None) -> float:
    """A number that somebody typed, as ``typed_number`` reads it; raises ``InvalidRequest``."""
    ends = -math.inf if low is None else low, math.inf if high is None else high
    number = typed_number(text, *ends)
    if number is None:
        raise InvalidRequest("Write a number, such as 0.5.")
    return float(number)


def inputs_of(model: type[BaseModel]) -> dict[str, Input]:
    """The inputs of all settings, by name, in their order."""
    return {name: _input(name, field) for name, field in model.model_fields.items()}


def _input(name: str, field: FieldInfo) -> Input:
    annotation, metadata = _plain(field.annotation), list(field.metadata)
    if get_origin(annotation) is Annotated:
        annotation, *more = get_args(annotation)
        for each in more:
            metadata += each.metadata if isinstance(each, FieldInfo) else [each]
    default = field.default if field.default not in (PydanticUndefined, (), "") else None
    words = name.replace("_", " ")
    asked = next((each for each in metadata if isinstance(each, Asked)), Asked(words.capitalize()))
    return Input(
        name,
        str(field.description),
        f"{asked.label} ({words})" if asked.method else asked.label,
        asked.method,
        _kind(annotation),
        get_args(annotation) if get_origin(annotation) is Literal else (),
        _bound(metadata, "ge"),
        _bound(metadata, "le"),
        field.is_required(),
        default,
        int(_bound(metadata, "min_length") or 0) if _kind(annotation) == "texts" else 0,
    )


def _bound(metadata: list[Any], name: str) -> float | None:
    return next((getattr(each, name) for each in metadata if hasattr(each, name)), None)


def _plain(annotation: Any) -> Any:
    """The annotation without None."""
    if get_origin(annotation) in (Union, UnionType):
        kept = [each for each in get_args(annotation) if each is not NoneType]
        return kept[0] if len(kept) == 1 else annotation
    return annotation


def _kind(annotation: Any) -> Kind:
    kinds: dict[Any, Kind] = {
        bool: "flag",
        int: "integer",
        float: "number",
        str: "text",
        datetime: "text",
    }
    if annotation in kinds:
        return kinds[annotation]
    if get_origin(annotation) is Literal:
        return "choice"
    if any(get_origin(each) is Literal for each in get_args(annotation)):
        return "text"  # a number or a word
    if get_origin(annotation) is tuple and get_args(annotation)[1:] == (...,):
        of = get_args(annotation)[0]
        of = get_args(of)[0] if get_origin(of) is Annotated else of
        return "texts" if of is str else "json"
    if get_origin(annotation) is dict and get_args(get_args(annotation)[1])[:1] == (float,):
        return "numbers"
    return "json"
