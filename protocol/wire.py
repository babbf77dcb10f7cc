"""Canonical msgpack: one value, one byte string; and reading it from somebody hostile.

Map keys are sorted, numbers take their shortest form, and nothing else is allowed, so a message
can be hashed, compared and measured by its bytes. Reading is bounded before anything is built:
no count in the bytes is believed, and the number of containers is limited, because an empty list
costs one byte on the wire and sixty in memory.
"""

from dataclasses import dataclass
from typing import Any

import msgpack
from pydantic import ValidationError


@dataclass(frozen=True)
class Bounds:
    """What a message may contain, whatever its bytes say."""

    total: int
    longest: int
    containers: int
    text: int
    binary: int


_PLAIN = frozenset({int, float, str, bytes, bool, type(None)})


def pack(value: Any) -> bytes:
    """The canonical bytes of nested maps, sequences, text, bytes and numbers."""
    packed: bytes = msgpack.packb(_sorted(value))
    return packed


def unpack(data: bytes, bounds: Bounds) -> dict[str, Any]:
    """The map with text keys that ``data`` holds; raises ``ValueError`` for anything else.

    Bytes that are not canonical are read as well: compare with ``pack`` where that matters.
    """
    if len(data) > bounds.total:
        msg = f"it has {len(data)} bytes, and {bounds.total} are allowed"
        raise ValueError(msg)
    count = _Counter(bounds.containers)
    try:
        value = msgpack.unpackb(
            data,
            strict_map_key=True,
            list_hook=count,
            object_pairs_hook=lambda pairs: _unique(count(pairs)),
            max_array_len=bounds.longest,
            max_map_len=bounds.longest,
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
    """The first thing that is wrong, where and what, as a short sentence."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    where = ".".join(str(part)[:80] for part in first["loc"])
    what = fault_text(first["type"], first["msg"])
    return f"{where}: {what}." if where else f"{what[0].upper()}{what[1:]}."


def fault_text(kind: str, message: str) -> str:
    """What pydantic says of a fault of the type ``kind``, in words for people."""
    if kind == "extra_forbidden":
        return "there is no such field: leave it out, or check its spelling"
    return message.removeprefix("Value error, ")[:300]


class _Counter:
    """Lets a limited number of containers pass."""

    def __init__(self, left: int) -> None:
        self.left = left

    def __call__(self, container: Any) -> Any:
        self.left -= 1
        if self.left < 0:
            msg = "it has too many lists and maps"
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
