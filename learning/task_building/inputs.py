"""The inputs by which commands and forms ask for the settings of a task, made from their fields."""

import json
from dataclasses import dataclass
from datetime import datetime
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from privet.protocol.errors import InvalidRequest
from privet.tables.cells import typed_number

Kind = Literal["flag", "integer", "number", "text", "choice", "texts", "numbers", "json"]


@dataclass(frozen=True)
class Input:
    """One setting: its help, and what may be written for it.

    ``kind`` "texts" is a list of texts, "numbers" are numbers by name, written NAME=NUMBER, and
    "json" is everything that is written as JSON. Integers lie from ``low`` to ``high``, where
    there are bounds. ``default`` is the value that counts where
    nothing is written; None if there is none, or the help describes it.
    """

    name: str
    help: str
    kind: Kind
    choices: tuple[str, ...]
    low: int | None
    high: int | None
    required: bool
    default: Any

    def value(self, text: str) -> Any:
        """``text`` parsed as JSON; raises ``InvalidRequest`` naming the setting."""
        if self.kind in ("text", "choice"):
            return text
        if self.kind == "texts":
            return [line.strip() for line in text.splitlines() if line.strip()]
        if self.kind == "numbers":
            return dict(self._named(line) for line in text.splitlines() if line.strip())
        try:
            return json.loads(text)
        except ValueError:
            meant = "JSON" if self.kind == "json" else "a number"
            raise InvalidRequest(f"{self.name} is {text!r}: give {meant}.") from None

    def _named(self, line: str) -> tuple[str, float]:
        name, _, typed = line.rpartition("=")
        number = typed_number(typed.strip())
        if number is None:
            raise InvalidRequest(
                f"{self.name} has {line.strip()!r}: give NAME=NUMBER, such as yes=.02."
            )
        return name.strip(), float(number)


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
    return Input(
        name,
        str(field.description),
        _kind(annotation),
        get_args(annotation) if get_origin(annotation) is Literal else (),
        _bound(metadata, "ge"),
        _bound(metadata, "le"),
        field.is_required(),
        default,
    )


def _bound(metadata: list[Any], name: str) -> int | None:
    bound = next((getattr(each, name) for each in metadata if hasattr(each, name)), None)
    return None if bound is None else int(bound)


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
    if get_origin(annotation) is tuple and get_args(annotation)[1:] == (...,):
        of = get_args(annotation)[0]
        of = get_args(of)[0] if get_origin(of) is Annotated else of
        return "texts" if of is str else "json"
    if get_origin(annotation) is dict and get_args(get_args(annotation)[1])[:1] == (float,):
        return "numbers"
    return "json"
