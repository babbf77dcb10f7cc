"""The input of growers: encoded public data and the checked specification of a partition."""

from dataclasses import dataclass
from math import floor, log2, sqrt

import numpy as np

from privet.protocol.errors import InvalidPublicData, InvalidTask
from privet.protocol.limits import DEEPEST, MAX_CELLS, MAX_DEPTH

from .public_data import Floats
from .public_model import BaseModel

MARGIN = 0.35
"""A difference between the shares of two classes that a cell should be able to show.

Measured: two levels more or fewer are worse in 7 and 13 of 22 settings and better in none; where
noise dominates, a level is a factor of 2 in the margin.
"""


@dataclass(frozen=True, kw_only=True)
class GrowthSpec:
    """The specification of a partition: the settings that growers read, with none left open.

    A tree of 0 to ``depth`` levels; where columns are disclosed, ``hidden_depth`` of them split on
    the other columns. ``min_leaf`` is the minimum number of public records in a cell (LPDT's n_l);
    0 sets none.
    """

    depth: int
    min_leaf: int = 0
    seed: int = 0
    hidden_depth: int = 0


@dataclass(frozen=True, eq=False)
class Growth:
    """Encoded public data, and the specification of a partition of their space.

    ``X`` has shape ``(rows, columns)`` in [0, 1]; ``y`` has shape ``(rows,)`` and holds class
    indices below ``classes``, or numbers when ``classes`` is 0. ``rng`` was seeded by
    ``spec.seed``. ``base`` is a public model to use instead of Privet's own, and ``register`` the
    people asked (``PublicData``).
    """

    X: Floats
    y: Floats
    classes: int
    spec: GrowthSpec
    rng: np.random.Generator
    base: BaseModel | None = None
    register: Floats | None = None


def lpct_depth(holders: int, epsilon: float, *, columns: int, public_rows: int, **_: object) -> int:
    """p0 of LPCT Algorithm 2, floor(d/(2+2d) log2(n_P eps**2 + n_Q**((2+2d)/d))), at least 1.

    d is ``columns``, n_P ``holders``, n_Q ``public_rows``. Kept within the number of cells allowed.
    Raises ``InvalidTask`` for no columns, negative numbers of records, or an epsilon that is not
    positive.
    """
    if columns < 1 or holders < 0 or public_rows < 0 or not epsilon > 0:
        raise InvalidTask(
            f"A depth cannot be derived from {columns} columns, {holders} private and "
            f"{public_rows} public records at epsilon {epsilon}: state it as `depth`."
        )
    d, n_P, n_Q = columns, holders, public_rows
    information = n_P * epsilon**2 + n_Q ** ((2 + 2 * d) / d)
    p0 = floor(d / (2 + 2 * d) * log2(max(information, 1.0)))
    return min(max(p0, 1), DEEPEST)


def distinguishable(holders: int, noise: float, hidden: int | None = None) -> int:
    """log2 of the number of cells that reports can distinguish, rounded.

    ``noise`` is v, what one report adds to the variance of a count. In one of K cells, n / K
    holders show a margin with the variance K / n of a sample and K^2 v / n of noise for
    each of the two counts that it is a difference of. With the noise of one of them, for which
    ``MARGIN`` was chosen, K is the largest number for which that margin is two standard errors.
    In strata of ``hidden`` cells each, noise comes only from the holders of the stratum:
    its variance is hidden K v / n.
    """
    allowed = (MARGIN / 2.0) ** 2 * max(holders, 1)
    cells = 2.0 * allowed / (1.0 + sqrt(1.0 + 4.0 * noise * allowed))
    if hidden is not None:
        cells = allowed / (1.0 + hidden * noise)
    return round(log2(max(cells, 1.0)))


def check_cells(depth: int, rows: int, min_leaf: int) -> None:
    """Raise ``InvalidTask`` if a tree of ``depth`` could have more cells than are allowed.

    Every cell holds at least ``min_leaf`` of ``rows`` records; 0 sets no minimum.
    """
    if min_leaf < 0:
        raise InvalidTask(f"The minimum leaf size is {min_leaf}: it must not be negative.")
    by_rows = rows // min_leaf if min_leaf else MAX_CELLS + 1
    if min(by_rows, 1 << depth) > MAX_CELLS:
        raise InvalidTask(
            f"Depth {depth} could make more than the {MAX_CELLS} cells allowed: use a depth of "
            f"at most {DEEPEST}, or a minimum leaf size of at least {-(-rows // MAX_CELLS)}."
        )


def check(growth: Growth) -> None:
    """Raise what ``Grower`` promises, except for too many cells."""
    X, y, classes, depth = growth.X, growth.y, growth.classes, growth.spec.depth
    if not 0 <= depth <= MAX_DEPTH:
        raise InvalidTask(f"The depth is {depth}: it must lie between 0 and {MAX_DEPTH}.")
    _check_table(X, y)
    if classes and not np.isin(y, np.arange(classes)).all():
        raise InvalidPublicData(
            f"The public labels must be the numbers of the classes, 0 to {classes - 1}."
        )
    if (y == y[0]).all():
        raise InvalidPublicData(
            "All public records have the same label, so no split can be judged: "
            "add public records with other labels."
        )


def _check_table(X: Floats, y: Floats) -> None:
    if X.ndim != 2 or y.shape != (len(X),):
        raise InvalidPublicData(
            f"Public data must be a (rows, columns) matrix and one label per row, "
            f"not shapes {X.shape} and {y.shape}."
        )
    if not X.size:
        raise InvalidPublicData(
            "The public data are empty: a tree needs at least two public records with "
            "different labels, and at least one feature."
        )
    if not (np.isfinite(y).all() and X.min() >= 0.0 and X.max() <= 1.0):
        raise InvalidPublicData(
            "Encoded public features must lie in [0, 1] and labels must be finite: "
            "encode the records with the task's features."
        )
