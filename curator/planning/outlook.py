"""The planner's answer as a value: figures, choices, verdict, and their JSON form."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from math import isfinite
from typing import Any


@dataclass(frozen=True)
class Choice:
    """What a task may be published with."""

    grower: str
    depth: int
    mechanism: str


@dataclass(frozen=True)
class Figure:
    """A number with its standard error."""

    value: float
    standard_error: float


@dataclass(frozen=True)
class Outlook:
    """One choice with its held-out loss; ``cells`` is the mean over the partitions grown.

    The loss is the share of wrong classes, or the mean squared error of a numeric label;
    ``strict`` is what choices are compared by: Brier's score, or the same as the loss.
    ``information`` is the number of public records that would tell as much of the cells' labels
    as the reports do, by the mechanism's variances and whatever the learning curve.
    """

    choice: Choice
    loss: Figure
    strict: Figure
    cells: float
    report_bytes: int
    information: float


@dataclass(frozen=True)
class Requirement:
    """What reaches a wanted score; None where nothing that was tried does.

    ``holders`` goes with the planned epsilon and ``epsilon`` with the planned number of holders;
    ``public_records`` is how many records of the public kind would do without any report.
    ``most_holders`` and ``most_epsilon`` are the best scores that either brought within what was
    tried.
    """

    wanted: float
    holders: int | None
    epsilon: float | None
    public_records: int | None
    most_holders: float
    most_epsilon: float


class Verdict(StrEnum):
    """Whether to collect private reports."""

    COLLECT = "collect"
    UNCLEAR = "unclear"
    DO_NOT_COLLECT = "do not collect"


@dataclass(frozen=True)
class Plan:
    """What to expect of ``holders`` reports at ``epsilon`` beside ``public_records``.

    ``score`` names what ``expected``, ``public_only`` and ``gain`` are: the accuracy, or the mean
    squared error of a numeric label. A positive gain is an improvement either way. ``worth`` is
    the number of further public records that would improve the public model as much. With
    ``lower_bound`` the reports know more than the public records could play in the trials, so the
    gain is at least what is stated.
    """

    score: str
    public_records: int
    holders: int
    epsilon: float
    estimator: str
    outlooks: tuple[Outlook, ...]
    best: Outlook
    expected: Figure
    public_only: Figure
    gain: Figure
    worth: float
    lower_bound: bool
    verdict: Verdict
    reason: str
    required: Requirement | None

    def settings(self) -> dict[str, Any]:
        """The fields of a task's settings that the plan decides."""
        return {
            **asdict(self.best.choice),
            "min_leaf": 0,
            "holders": self.holders,
            "epsilon": self.epsilon,
        }

    def to_document(self) -> dict[str, Any]:
        """The plan as JSON values; an unlimited ``worth`` is null."""
        return {
            **_plain(asdict(self)),
            "worth": self.worth if isfinite(self.worth) else None,
            "settings": self.settings(),
        }


def _plain(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: str(value) if isinstance(value, StrEnum) else value for name, value in fields.items()
    }
