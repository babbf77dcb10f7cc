"""What every grower checks before it does any work."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from privet.curator.partitioning.criterion import MAX_ROWS, check_criterion
from privet.protocol.errors import InvalidPublicData, InvalidTask
from privet.protocol.limits import MAX_CELLS, MAX_DEPTH
from privet.protocol.partition import Partition


class Grower(Protocol):
    """Grows a partition of the encoded feature space on public data."""

    def __call__(
        self,
        X: NDArray[np.float64],
        y: NDArray[np.float64],
        *,
        depth: int,
        classes: int,
        criterion: str,
        min_leaf: int,
        rng: np.random.Generator,
    ) -> Partition:
        """A partition of at most ``2**depth`` cells.

        ``X`` has shape ``(rows, columns)`` in [0, 1]; ``y`` has shape ``(rows,)`` and holds class
        indices below ``classes``, or numbers when ``classes`` is 0. ``min_leaf`` is the least
        number of public records in a cell (LPDT's n_l). The result depends on the arguments and
        on the state of ``rng`` only.

        Raises ``InvalidTask`` for a depth or criterion that cannot be served or could make too
        many cells, and ``InvalidPublicData`` for data that nothing can be learned from.
        """


def check_growth(
    X: NDArray[np.float64], y: NDArray[np.float64], depth: int, classes: int, criterion: str
) -> None:
    """Raise what ``Grower`` promises, except for too many cells."""
    check_criterion(criterion, classes)
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


def check_cells(depth: int, rows: int, min_leaf: int) -> None:
    """Raise ``InvalidTask`` if a tree of ``depth`` could have more cells than are allowed.

    Every cell holds at least ``min_leaf`` of ``rows`` records; 0 stands for no such rule.
    """
    if min_leaf < 0:
        raise InvalidTask(f"The minimum leaf size is {min_leaf}: it must not be negative.")
    by_rows = rows // min_leaf if min_leaf else MAX_CELLS + 1
    if min(by_rows, 1 << depth) > MAX_CELLS:
        deepest = MAX_CELLS.bit_length() - 1
        raise InvalidTask(
            f"Depth {depth} could make more than the {MAX_CELLS} cells allowed: use a depth of "
            f"at most {deepest}, or a minimum leaf size of at least {-(-rows // MAX_CELLS)}."
        )


def _check_table(X: NDArray[np.float64], y: NDArray[np.float64]) -> None:
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
    if len(X) > MAX_ROWS:
        raise InvalidPublicData(
            f"There are {len(X)} public records, and a tree is grown on at most {MAX_ROWS}: "
            "use a random sample of them."
        )
    if not (np.isfinite(y).all() and X.min() >= 0.0 and X.max() <= 1.0):
        raise InvalidPublicData(
            "Encoded public features must lie in [0, 1] and labels must be finite: "
            "encode the records with the task's features."
        )
