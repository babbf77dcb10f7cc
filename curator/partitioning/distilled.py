"""Partitions distilled from the best public model; the growing itself is with that model."""

import numpy as np
from numpy.typing import NDArray

from privet.curator.partitioning.checks import check_cells, check_growth
from privet.curator.public_model.base_model import BaseModel
from privet.curator.public_model.distil import distilled as distil
from privet.protocol.partition import Partition

Floats = NDArray[np.float64]


def distilled(
    X: Floats,
    y: Floats,
    *,
    depth: int,
    classes: int,
    criterion: str,
    min_leaf: int,
    rng: np.random.Generator,
    base: BaseModel | None = None,
) -> Partition:
    """At most ``2**depth`` cells within which the stacked public model varies least.

    Arguments and errors as in ``Grower``; single paths may be longer than ``depth``. ``min_leaf``
    counts public records and records recombined from them. ``base`` takes the place of the stack.
    """
    check_growth(X, y, depth, classes, criterion)
    check_cells(depth, len(X), 0 if min_leaf >= 0 else min_leaf)
    return distil(
        X,
        y,
        depth=depth,
        classes=classes,
        criterion=criterion,
        min_leaf=min_leaf,
        rng=rng,
        base=base,
    )
