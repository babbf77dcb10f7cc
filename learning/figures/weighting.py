"""Weights for who answered: figures of all people in a register, by reports of some of them.

Where some groups answer more often than others, those who answered differ from all who were asked.
With disclosed columns the number of reports from a stratum is exact, and a register has its number
of people, so each stratum counts as its people do (poststratification: Holt and Smith, 1979). Of N
people in the register N_h are in stratum h, from whom a_h reports came, n_h of them of a record
that fits; with V_ks, w and c as in ``figure``,

    A = c + sum_h (N_h / N) sum_(k in h, s) (w_ks - c) V_ks / n_h - B.                         (1)

Without B it is unbiased if those of a stratum who answered are like those who did not. Where the
disclosed columns x say within strata too who answers and what, with a rate r_h of answers whose
logit has the slopes g, and figures with the slopes b, it is off to first order by

    B = sum_h (N_h / N) (1 - r_h) Cov_h(b'x, g'x),                                             (2)

the covariance being that of the register's people. Both slopes are those between strata, by
regression shrunk to 0 (Hoerl and Kennard, 1970). The interval is about the people in the register:

    Var A = noise of (1) + sum_h (N_h / N)^2 (1 - a_h / N_h) s_h / n_h + B^2,                  (3)

with the chance of who of a stratum answered, given their number, where s_h is the variance of one
holder's figure, and with B taken to be as unsure as it is large. Nothing rests on a public model.
A stratum with fewer than ``FEWEST`` reports or people is joined with a neighbour in the tree, so
that nothing is said of fewer. Where a part is asked for the label alone, which says its stratum
too, both questions give the figure; their noise and chance are independent, and B is not.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from privet.protocol.partition import LEAF, Partition
from privet.protocol.results import RegisterFigure

from ..core.counts import QuestionCounts, rounding_of_cells
from ..core.labels import ClassLabel, NumberLabel
from ..core.public_data import Floats
from ..core.trees import common_node, locate
from .figure import Figure, Reports, intervals_of

FEWEST = 20
"""Least reports, and people in the register, of a group that has a weight of its own."""
SLOPE_OF_RATE, SLOPE_OF_FIGURE = 2.0, 0.3
"""Prior standard deviations of slopes, by a standard deviation of a column: of the logit, and of
the figure in parts of its span. Chosen, as are the errors below."""
UNLIKE_RATE, UNLIKE_FIGURE = 0.22, 0.02
"""Standard errors by which strata differ for other reasons than their columns."""


@dataclass(frozen=True, eq=False)
class Groups:
    """Joined strata: the group of each cell, ``(cells,)``, and of each person in the register,
    whose known columns are ``X``; of each group its ``people`` and ``reports``, ``(groups,)``.
    """

    of_cell: NDArray[np.intp]
    of_person: NDArray[np.intp]
    X: Floats
    people: Floats
    reports: Floats

    @classmethod
    def of(cls, question: QuestionCounts, register: Floats) -> "Groups":
        """The strata of a question, joined up the tree where they are too small."""
        tree, stratum = question.partition, question.mechanism.stratum_of_cell
        strata = question.mechanism.stratum_count
        located = stratum[locate(tree, register)]
        people = np.bincount(located, minlength=strata)
        reports = question.mechanism.reported(question.sums, question.n)
        groups = _joined(question, np.minimum(people, reports).tolist())
        group = np.empty(strata, dtype=np.intp)
        for place, of in enumerate(groups):
            group[of] = place
        known = register[:, ~np.isnan(register).any(axis=0)]
        counts = (np.bincount(group, of).astype(np.float64) for of in (people, reports))
        return cls(group[stratum], group[located], known, *counts)

    @property
    def rate(self) -> Floats:
        """r_h, short of 0 and 1."""
        return np.asarray((self.reports + 0.5) / (np.maximum(self.people, self.reports) + 1.0))

    def means(self, of_person: Floats) -> Floats:
        """The mean of each group's people, ``(groups,)``; 0 without any."""
        sums = np.bincount(self.of_person, of_person, len(self.people))
        return np.asarray(sums / np.maximum(self.people, 1.0))


def _joined(question: QuestionCounts, sizes: list[int]) -> list[list[int]]:
    """Strata in groups of ``FEWEST`` or more, if there are as many: the smallest is joined with the
    neighbour from which it is separated lowest in the tree."""
    tree, stratum = question.partition, question.mechanism.stratum_of_cell
    depth = tree.node_depth
    in_order = dict.fromkeys(stratum[tree.cell_of_node[node]] for node in _in_order(tree))
    groups = [[int(of)] for of in in_order]

    def size(group: list[int]) -> int:
        return sum(sizes[of] for of in group)

    def split(place: int) -> int:
        cells = np.flatnonzero(np.isin(stratum, groups[place] + groups[place + 1]))
        return int(depth[common_node(tree, cells)])

    while len(groups) > 1 and size(small := min(groups, key=size)) < FEWEST:
        place = groups.index(small)
        sides = range(max(place - 1, 0), min(place, len(groups) - 2) + 1)
        left = max(sides, key=split)
        groups[left : left + 2] = [groups[left] + groups[left + 1]]
    return groups


def _in_order(tree: Partition) -> Iterator[int]:
    """The leaves from left to right."""
    nodes = [0]
    while nodes:
        node = nodes.pop()
        if tree.left[node] == LEAF:
            yield node
        else:
            nodes += [int(tree.right[node]), int(tree.left[node])]


def weighted(
    kind: ClassLabel | NumberLabel, questions: Sequence[QuestionCounts], register: Floats | None
) -> tuple[RegisterFigure, ...]:
    """The figures of all people in the ``register``, ``(people, columns)``, one for each name.

    Empty without a register or strata with enough reports. Of numbers that were reported around
    centres, whose strata have no unbiased mean, by those asked for the number alone.
    """
    if register is None:
        return ()
    found = []
    for question in questions:
        if question.mechanism.stratum_count > 1 and question.n and not question.centred:
            groups = Groups.of(question, register)
            if len(groups.people) > 1:
                of_question = Reports(kind, kind.scaled(question))
                found.append(figures_of_register(of_question, groups))
    if not found:
        return ()
    figures = [_of_both(*of_name) for of_name in zip(*found, strict=True)]
    intervals = intervals_of(kind, figures)
    return tuple(
        RegisterFigure(name, of.value, of.low, of.high)
        for name, of in zip(kind.names, intervals, strict=True)
    )


def _of_both(one: tuple[Figure, float], other: tuple[Figure, float] | None = None) -> Figure:
    """A figure of the register by the reports to one or to both questions, the more exact one
    weighing more. Noise and chance are each question's own; B is as wrong for both."""
    (of_one, off), (of_other, other_off) = one, other or one
    if other is None:
        return of_one
    u = float(of_other.variance / (of_one.variance + of_other.variance))
    variance = u**2 * of_one.variance + (1.0 - u) ** 2 * of_other.variance
    variance += 2.0 * u * (1.0 - u) * abs(off * other_off)
    value = u * of_one.value + (1.0 - u) * of_other.value
    reports = of_one.reports + of_other.reports
    return replace(of_one, value=value, variance=variance, reports=reports)


def figures_of_register(reports: Reports, groups: Groups) -> list[tuple[Figure, float]]:
    """(1) with (3), one for each name of the label's kind, each with its B of (2)."""
    question, kind = reports.question, reports.kind
    found: list[tuple[Figure, float]] = []
    at, size = question.plausible, len(groups.people)
    fitting = np.asarray(np.bincount(groups.of_cell, at.sum(axis=1), size), dtype=np.float64)
    part = groups.people / groups.people.sum()
    scale = (part * question.holders / fitting)[groups.of_cell, None]
    missing = np.maximum(1.0 - groups.reports / np.maximum(groups.people, 1.0), 0.0)
    for name, weights in zip(kind.names, kind.weights(question), strict=True):
        c = float((scale * at * weights).sum()) / question.holders
        of = question.mean(scale * (weights - c))
        of_one = question.mean(weights - c).variance * question.holders
        sums = np.bincount(groups.of_cell, (question.counts * (weights - c)).sum(axis=1), size)
        within = _within(groups, sums / fitting, of_one / fitting, kind.span)
        chance = part**2 * missing * _spread(question, weights, groups, fitting) / fitting
        one = Figure(
            np.asarray(c + of.value - within),
            np.asarray(of.variance + float(chance.sum()) + within**2),
            0.0,
            reports.holders,
            question.progress,
            kind.bounds,
            name=name,
            reports=question.n,
        )
        found.append((one, within))
    return found


def _within(groups: Groups, figures: Floats, noise: Floats, span: float) -> float:
    """B of (2), by the groups' ``figures`` and their ``noise``, ``(groups,)``."""
    X = (groups.X - groups.X.mean(axis=0)) / np.maximum(groups.X.std(axis=0), 1e-9)
    x, rate = np.stack([groups.means(column) for column in X.T], axis=1), groups.rate
    error = 1.0 / (np.maximum(groups.people, 1.0) * rate * (1.0 - rate)) + UNLIKE_RATE**2
    of_rate = _slopes(x, np.log(rate / (1.0 - rate)), error, SLOPE_OF_RATE)
    error = noise + (UNLIKE_FIGURE * span) ** 2
    of_figure = _slopes(x, figures, error, SLOPE_OF_FIGURE * span)
    one, other = X @ of_rate, X @ of_figure
    covariance = groups.means(one * other) - groups.means(one) * groups.means(other)
    return float((groups.people * (1.0 - rate)) @ covariance / groups.people.sum())


def _slopes(x: Floats, y: Floats, error: Floats, prior: float) -> Floats:
    """Slopes of ``y``, ``(groups,)`` with variances ``error``, by ``x``, ``(groups, k)``."""
    weights = 1.0 / error
    x = x - weights @ x / weights.sum()
    y = y - weights @ y / weights.sum()
    shrunk = x.T @ (weights[:, None] * x) + np.eye(x.shape[1]) / prior**2
    return np.asarray(np.linalg.solve(shrunk, x.T @ (weights * y)))


def _spread(question: QuestionCounts, weights: Floats, groups: Groups, fitting: Floats) -> Floats:
    """s_h: the variance of one holder's figure in each group, without that of rounding."""
    at, size = question.plausible, len(fitting)
    square = (at * weights**2).sum(axis=1)
    if question.scale is not None:
        square -= np.diff(weights)[:, 0] ** 2 * rounding_of_cells(question.mechanism, at)
    mean = np.bincount(groups.of_cell, (at * weights).sum(axis=1), size) / fitting
    spread = np.bincount(groups.of_cell, square, size) / fitting - mean**2
    return np.asarray(np.maximum(spread, 0.0), dtype=np.float64)
