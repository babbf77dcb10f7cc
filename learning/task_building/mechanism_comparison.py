"""Comparison of all mechanisms, and the choice that ``auto`` makes.

``auto`` is never published: the creator of a task calls ``choose`` and publishes the name and the
parameters of what it returns.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privet.protocol.errors import InvalidTask
from privet.protocol.mechanisms.base import Mechanism
from privet.protocol.mechanisms.exact import exp_below
from privet.protocol.mechanisms.frequency_oracle import mean_variance
from privet.protocol.mechanisms.registry import MECHANISMS, create_mechanism
from privet.protocol.mechanisms.subset import best_size, inclusion

AUTO = "auto"

SAME = 1e-6
"""Variances this close, relatively, count as equal; then the shorter report is chosen."""


@dataclass(frozen=True)
class MechanismSummary:
    """Costs and variance of one mechanism for one question.

    ``variance`` is ``count_variance``, ``ratio`` is it over the best known bound. ``influence`` is
    the most that one dishonest report can add to or take from one entry of the estimate,
    ``label_influence`` the same for the count of one label over all cells; an honest report adds 1
    on average. ``random_bytes`` is what a holder draws, ``sum_size`` how many numbers the curator
    keeps.
    """

    name: str
    parameters: dict[str, int | float | str]
    log_ratio: float
    report_bytes: int
    random_bytes: int
    sum_size: int
    variance: float
    ratio: float
    influence: float
    label_influence: float
    fits: bool
    chosen: bool


def choose(
    epsilon: float,
    cells: int,
    slots: int,
    *,
    regression: bool = False,
    max_report_bytes: int | None = None,
) -> Mechanism:
    """The mechanism of minimum variance whose reports have at most ``max_report_bytes``.

    Of equal ones the one with the shorter report, then the one that comes first in MECHANISMS.
    Raises InvalidTask if no report is that short.
    """
    built, best = _best(epsilon, cells, slots, max_report_bytes, regression=regression)
    if best is None:
        shortest = min(built, key=lambda m: m.report_bytes)
        raise InvalidTask(
            f"no report of {cells} x {slots} categories has {max_report_bytes} bytes or less; allow"
            f" {shortest.report_bytes} bytes ({shortest.name}) or grow a shallower partition"
        )
    return best


def compare_mechanisms(
    epsilon: float,
    cells: int,
    slots: int,
    max_report_bytes: int | None = None,
    *,
    regression: bool = False,
    beside: Sequence[type[Mechanism]] = (),
) -> list[MechanismSummary]:
    """One row per mechanism, ordered by variance; at most one is ``chosen``.

    None is chosen if no report is as short as ``max_report_bytes``, and none of those ``beside``
    that no task may ask for. Raises InvalidTask for a question that cannot be asked.
    """
    built, best = _best(epsilon, cells, slots, max_report_bytes, regression=regression)
    built += [each.create(epsilon, cells, slots, regression=regression) for each in beside]
    rows = [_row(m, fits=_fits(m, max_report_bytes), chosen=m is best) for m in built]
    return sorted(rows, key=lambda row: row.variance)


def best_known_variance(epsilon: float, m: int) -> float:
    """Variance per holder and category that no known mechanism beats.

    That of subset selection with the best k and ideal probabilities, which is optimal, constants
    included, as n grows (Ye & Barg 2019, "Optimal locally private estimation under l_p loss").
    """
    odds, k = exp_below(Fraction(epsilon)), best_size(epsilon, m)
    p = inclusion(odds, k, m)
    return float(mean_variance(p, (k - p) / (m - 1), m))


def count_variance(mechanism: Mechanism) -> float:
    """Variance per holder of one cell's count of its last label, with holders spread evenly.

    That is the papers' V (with one slot U, the cell's holders); n holders have n times that. Evenly
    is over all categories, the misfit included.
    """
    even = np.ones((mechanism.cells, mechanism.slots))
    n = even.size + 1
    return float(mechanism.variance(n, even)[0, -1] / n)


def _best(
    epsilon: float, cells: int, slots: int, max_report_bytes: int | None, *, regression: bool
) -> tuple[list[Mechanism], Mechanism | None]:
    """All mechanisms, and the one to choose."""
    built = [
        create_mechanism(name, epsilon, cells, slots, regression=regression) for name in MECHANISMS
    ]
    short = [m for m in built if _fits(m, max_report_bytes)]
    smallest = min(map(count_variance, short), default=0.0)
    best = (m for m in short if count_variance(m) <= smallest * (1 + SAME))
    return built, min(best, key=lambda m: m.report_bytes, default=None)


def _fits(mechanism: Mechanism, max_report_bytes: int | None) -> bool:
    return max_report_bytes is None or mechanism.report_bytes <= max_report_bytes


def _row(mechanism: Mechanism, *, fits: bool, chosen: bool) -> MechanismSummary:
    variance = count_variance(mechanism)
    first, last, label = (np.zeros((mechanism.cells, mechanism.slots)) for _ in range(3))
    first[0, 0] = last[0, -1] = 1
    label[:, -1] = 1
    return MechanismSummary(
        name=mechanism.name,
        parameters=mechanism.parameters(),
        log_ratio=mechanism.log_ratio(),
        report_bytes=mechanism.report_bytes,
        random_bytes=mechanism.random_bytes,
        sum_size=mechanism.sum_size,
        variance=variance,
        ratio=variance / best_known_variance(mechanism.epsilon, label.size + 1),
        influence=max(map(abs, (*mechanism.influence(first), *mechanism.influence(last)))),
        label_influence=max(map(abs, mechanism.influence(label))),
        fits=fits,
        chosen=chosen,
    )
