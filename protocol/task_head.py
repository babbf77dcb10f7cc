"""The head of a task: what lists say of it, read from its bytes without its trees."""

from dataclasses import dataclass
from hashlib import sha256
from math import fsum
from typing import Any

from . import wire
from .earlier import unread
from .limits import MAX_COLUMNS, MAX_NODES, MAX_TASK_BYTES, MAX_TASK_ITEMS, MAX_TEXT_BYTES
from .panel import Panel

TASK_BOUNDS = wire.Bounds(
    total=MAX_TASK_BYTES,
    longest=MAX_NODES,
    containers=3 * MAX_COLUMNS,
    items=MAX_TASK_ITEMS,
    text=MAX_TEXT_BYTES,
    binary=0,
)


@dataclass(frozen=True, kw_only=True)
class TaskHead:
    """A task in short, also one of an earlier version that this program does not read."""

    id: str
    version: int
    name: str
    label: str
    prompt: str | None
    """The question that people read for the label, where it has one."""
    questions: int
    epsilon: float
    """Spent by one holder."""
    opens: int | None
    closes: int | None
    panel: str | None = None
    """The id of the panel that it is or is a wave of; None without one."""
    wave: int | None = None
    """The number of the wave that it is, from 0; None if it is none."""
    waves: tuple[str, ...] = ()
    """The ids of a panel's waves; empty for any other task."""
    invited: bool = False
    at_the_end: bool = False
    """True if relays hold all reports until the collection has ended."""
    unread: str | None = None
    """The reason why this program does not read the task; None if it does."""

    @classmethod
    def read(cls, task_id: str, canonical: bytes) -> "TaskHead":
        """The head of a task from its canonical bytes; raises ``ValueError`` if it has none."""
        fields = wire.unpack(canonical, TASK_BOUNDS)
        try:
            label, dates = fields["label"], (fields["opens"], fields["closes"])
            spent = [float(question["epsilon"]) for question in fields["questions"]]
            mechanisms = [question["mechanism"] for question in fields["questions"]]
            return cls(
                id=task_id,
                version=fields["version"],
                name=fields["name"],
                label=label["name"],
                prompt=label.get("prompt"),
                questions=len(spent),
                epsilon=fsum(spent) if fields["allocation"] == "all" else max(spent),
                opens=dates[0],
                closes=dates[1],
                invited=fields.get("invited") is True,
                at_the_end=fields.get("smallest_batch") == "all",
                unread=unread(fields["version"], mechanisms),
                **_of_panel(fields, dates),
            )
        except (AttributeError, KeyError, TypeError) as error:
            msg = f"it lacks what every task has: {error}"
            raise ValueError(msg) from None


def _of_panel(fields: dict[str, Any], dates: tuple[int, int]) -> dict[str, Any]:
    if fields.get("panel") is None:
        return {}
    panel = Panel.model_validate(fields["panel"])
    if dates != panel.span:
        return {"panel": _id_at(fields, panel.span), "wave": panel.waves.index(dates)}
    waves = tuple(_id_at(fields, wave) for wave in panel.waves)
    return {"panel": _id_at(fields, dates), "waves": waves}


def _id_at(fields: dict[str, Any], dates: tuple[int, int]) -> str:
    """The id of the same task with other dates."""
    return sha256(wire.pack({**fields, "opens": dates[0], "closes": dates[1]})).hexdigest()
