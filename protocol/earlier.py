"""Tasks of earlier versions: their own names, and what only later ones may say.

A task keeps its bytes and its id for ever, so one that an earlier version published is read,
answered and counted as it was. Messages about it state what that version's did.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, Literal

from .wire import VERSION

VERSIONS: Final = (2, 3, 4)
"""The versions of tasks that this program reads."""
NAMES: Final[Mapping[int, Mapping[str, str]]] = {2: {"disclosed": "shown", "group_sizes": "crowds"}}
"""A version's own names of fields, by today's."""
GIVEN_UP: Final[Mapping[int, Collection[str]]] = {2: ("oue", "sue")}
"""Mechanisms that a version knew and later ones do not."""

_STATED: Final[Mapping[int, Mapping[str, int]]] = {2: {"report": 1, "admission": 1}}


def stated_version(task: int, message: Literal["report", "batch", "admission"]) -> int:
    """The version that a message about a task of version ``task`` states: the same since 3."""
    return _STATED.get(task, {}).get(message, task)


def stated_versions(message: Literal["report", "batch", "admission"]) -> tuple[int, ...]:
    """All versions that such a message may state, ascending."""
    return tuple(sorted({stated_version(version, message) for version in VERSIONS}))


def in_todays_names(fields: Mapping[str, Any]) -> dict[str, Any]:
    """A document's fields by the names that they have today."""
    version = fields.get("version", VERSION)
    names = {own: name for name, own in NAMES.get(version, {}).items()}
    return {names.get(name, name): value for name, value in fields.items()}


def unread(version: Any, mechanisms: Iterable[Any]) -> str | None:
    """The reason why a task of this version and these mechanisms is not read; None if it is."""
    if type(version) is not int or version not in VERSIONS:
        known = ", ".join(map(str, VERSIONS[:-1]))
        return (
            f"The task's version is {str(version)[:20]} and this program reads {known} and "
            f"{VERSIONS[-1]}: update the program, or create an older task again."
        )
    gone = [name for name in mechanisms if name in GIVEN_UP.get(version, ())]
    if gone:
        return (
            f"The task is of version {version} and asks by {gone[0]!r}, a mechanism that later "
            "versions have no more: create it again with another one."
        )
    return None
