"""What planning finds, and how a notebook shows it."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from html import escape
from math import sqrt
from typing import Any

from ..display.tree import pyplot
from ..public_data import Floats


@dataclass(frozen=True)
class Figure:
    """A number with its standard error."""

    value: float
    standard_error: float

    @classmethod
    def of(cls, per_row: Floats) -> "Figure":
        """Mean and standard error over independent rows."""
        return cls(float(per_row.mean()), float(per_row.std(ddof=1) / sqrt(len(per_row))))


class Verdict(StrEnum):
    """Whether to collect private reports."""

    COLLECT = "collect if the public data may mislead"
    DO_NOT_COLLECT = "do not collect"


@dataclass(frozen=True)
class Prospect:
    """What ``holders`` reports at ``epsilon`` would reveal, and what they would be worth.

    ``overall_shift`` and ``cell_shift`` are the smallest differences between holders and public
    records that are found with probability ``POWER``: of a class's share, or of a mean in the
    label's units; None where the largest possible one is not. ``gains`` are by world, in accuracy
    or in parts of a number's variance.
    """

    holders: int
    epsilon: float
    cells: int
    overall_shift: float | None
    cell_shift: float | None
    gains: Mapping[str, float]


@dataclass(frozen=True)
class Plan:
    """What to expect of ``holders`` reports at ``epsilon`` beside ``public_records``.

    ``expected`` is the ``score``, the accuracy or the mean squared error of a number, if the public
    records are fair. ``here`` is this plan, and ``others`` vary its holders or its epsilon.
    ``questions`` are the published questions' mechanisms and cells.
    """

    score: str
    public_records: int
    holders: int
    epsilon: float
    estimator: str
    questions: tuple[dict[str, Any], ...]
    report_bytes: int
    expected: Figure
    here: Prospect
    others: tuple[Prospect, ...]
    verdict: Verdict
    reason: str

    def to_document(self) -> dict[str, Any]:
        """The plan as JSON values."""
        return {**asdict(self), "verdict": str(self.verdict)}

    @property
    def prospects(self) -> list[Prospect]:
        """The plan and its variations, by epsilon and holders."""
        return sorted([self.here, *self.others], key=lambda each: (each.epsilon, each.holders))

    @property
    def unit(self) -> str:
        """Of the gains as they are shown, times 100."""
        return "points of accuracy" if self.score == "accuracy" else "% of the label's variance"

    def plot(self, ax: Any = None) -> Any:
        """One row of gains per shift, a colour for each number of holders and epsilon.

        Drawn into matplotlib's ``ax``, or into a figure of its own; returns the axes. Raises
        ``ImportError`` without matplotlib.
        """
        if ax is None:
            _, ax = pyplot().subplots(figsize=(7.0, 3.0), layout="constrained")
        for each in self.prospects:
            ax.plot(
                [100 * gain for gain in each.gains.values()],
                list(each.gains),
                "s" if each is self.here else "o",
                alpha=0.8,
                label=f"{each.holders:,}, ε = {each.epsilon:g}",
            )
        ax.axvline(0.0, color="0.6", linewidth=0.8)
        ax.margins(y=0.15)
        ax.set_xlabel(f"gain in {self.unit}")
        ax.legend(title="holders", fontsize="small")
        return ax

    def _repr_html_(self) -> str:
        """The reason and a table of gains, in a notebook."""
        rows = [
            (
                f"{each.holders:,}",
                f"{each.epsilon:g}",
                each.cells,
                *(f"{100.0 * gain:+.1f}" for gain in each.gains.values()),
            )
            for each in self.prospects
        ]
        return (
            f"<p>{escape(self.reason)}</p><table><caption>Gains in {self.unit}</caption><thead>"
            f"{_row('th', ('holders', 'ε', 'cells', *self.here.gains))}</thead>"
            f"<tbody>{''.join(_row('td', row) for row in rows)}</tbody></table>"
        )


def _row(tag: str, cells: Iterable[object]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(str(cell))}</{tag}>' for cell in cells)}</tr>"
