"""Canonical msgpack, the base of all messages, and reading bytes from untrusted senders.

In canonical form map keys are sorted and numbers take their shortest form, so a message has one
byte string by which it can be hashed, compared and measured. Reading is bounded before anything is
built: no length in the bytes is believed, and the number of containers is limited, because an
empty list takes one byte on the wire and sixty in memory.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from unicodedata import category

import msgpack
from pydantic import BaseModel, ConfigDict, Field, ValidationError


class Message(BaseModel):
    """Base of all messages and their parts: immutable, no unknown fields, no conversion of types.

    A list may stand for a tuple, since msgpack and JSON have only lists.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


def left_out(default: Any, description: str, **limits: Any) -> Any:
    """A field of a message that is left out of it where it has its default."""
    return Field(
        default=default,
        exclude_if=lambda value: value == default,
        description=description,
        **limits,
    )


@dataclass(frozen=True)
class Bounds:
    """Most bytes, items per list, lists and maps, items in all of them, bytes of text or binary."""

    total: int
    longest: int
    containers: int
    items: int
    text: int
    binary: int


VERSION: Final = 4
"""Version of the protocol, which new tasks and all messages about them state."""
MAX_FIELDS = 32
"""Maximum number of keys in a map of a message."""

_PLAIN = frozenset({int, float, str, bytes, bool, type(None)})


def pack(value: Any) -> bytes:
    """The canonical bytes of nested maps, sequences, text, bytes and numbers."""
    packed: bytes = msgpack.packb(_sorted(value))
    return packed


def pack_message(message: Message, names: Mapping[str, str] | None = None) -> bytes:
    """The canonical bytes of a message, made field by field to keep fewer copies in memory.

    ``names`` are those of its fields in the bytes, where they are others.
    """
    named = sorted(((names or {}).get(name, name), name) for name in type(message).model_fields)
    fields = ((own, message.model_dump(include={name})) for own, name in named)
    parts = [pack(own) + pack(value) for own, field in fields for value in field.values()]
    return b"".join([msgpack.Packer().pack_map_header(len(parts)), *parts])


def unpack(data: bytes, bounds: Bounds) -> dict[str, Any]:
    """The map with text keys that ``data`` holds; raises ``ValueError`` for anything else.

    Does not require canonical form; compare with ``pack`` where that matters.
    """
    if len(data) > bounds.total:
        msg = f"it has {len(data)} bytes, and {bounds.total} are allowed"
        raise ValueError(msg)
    count = _Counter(bounds)
    try:
        value = msgpack.unpackb(
            data,
            strict_map_key=True,
            list_hook=count,
            object_pairs_hook=lambda pairs: _unique(count(pairs)),
            max_array_len=bounds.longest,
            max_map_len=min(bounds.longest, MAX_FIELDS),
            max_str_len=bounds.text,
            max_bin_len=bounds.binary,
            max_ext_len=0,
        )
    except (TypeError, msgpack.UnpackException) as error:
        raise ValueError(str(error) or "it is nested too deeply") from None
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        msg = "it is not a map with text keys"
        raise ValueError(msg)
    return value


def first_fault(error: ValidationError) -> str:
    """The first fault, where and what, as a short sentence."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    where = ".".join(str(part)[:80] for part in first["loc"])
    what = fault_text(first["type"], first["msg"])
    return f"{where}: {what}." if where else f"{what[0].upper()}{what[1:]}."


def fault_text(kind: str, message: str) -> str:
    """Pydantic's message for a fault of type ``kind``, worded for people."""
    if kind == "extra_forbidden":
        return "there is no such field: leave it out, or check its spelling"
    return message.removeprefix("Value error, ")[:300]


def printable(text: str, longest: int = 1_000) -> str:
    """``text`` without control characters, and not longer than ``longest``.

    Spaces of all kinds stay, such as those in numbers that do not break.
    """
    visible = "".join(
        c if c.isprintable() or c == "\n" or category(c) == "Zs" else "\N{REPLACEMENT CHARACTER}"
        for c in text
    )
    return visible if len(visible) <= longest else visible[: longest - 3] + "..."


class _Counter:
    """A hook for msgpack that refuses too many lists and maps, or too many items in them."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds, self.containers, self.items = bounds, 0, 0

    def __call__(self, container: Any) -> Any:
        self.containers += 1
        self.items += len(container)
        if self.containers > self.bounds.containers:
            msg = "it has too many lists and maps"
            raise ValueError(msg)
        if self.items > self.bounds.items:
            msg = f"its lists and maps have more than {self.bounds.items} items in all"
            raise ValueError(msg)
        return container


def _unique(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        msg = "it has a key twice"
        raise ValueError(msg)
    return fields


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list | tuple):
        return [item if type(item) in _PLAIN else _sorted(item) for item in value]
    return value
