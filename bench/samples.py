"""Data that several benchmarks share: records, full trees, reports and sums."""

import os

import numpy as np
from numpy.typing import NDArray

from privet.learning.core.growth import GrowthSpec
from privet.learning.core.public_data import PublicData
from privet.learning.methods import GROWERS
from privet.protocol.features import Classes
from privet.protocol.mechanisms import Mechanism, create_mechanism
from privet.protocol.mechanisms.base import Payloads
from privet.protocol.partition import Partition

Floats = NDArray[np.float64]

LABEL = Classes(name="y", classes=("no", "yes"))
EPSILON = 1.0
DIFFERENT_REPORTS = 500
DIFFERENT_BITS = 2**20


def records(rows: int, columns: int, seed: int = 0) -> PublicData:
    """Uniform features; the first one moves the chance of the label."""
    rng = np.random.default_rng(seed)
    X = rng.random((rows, columns))
    return PublicData(X, (rng.random(rows) < 0.3 + 0.4 * (X[:, 0] > 0.5)).astype(np.float64))


def full_tree(cells: int, columns: int = 8) -> Partition:
    """A partition with this many cells, a power of 2, grown on a thousand records."""
    return grown(records(1_000, columns), cells.bit_length() - 1)


def grown(public: PublicData, depth: int) -> Partition:
    """A partition by the default grower."""
    return GROWERS["max_edge"](public.X, public.y, GrowthSpec(depth=depth), classes=2)


def mechanism(cells: int, name: str = "subset") -> Mechanism:
    """A mechanism for two classes in each cell."""
    return create_mechanism(name, EPSILON, cells, LABEL.slots)


def reports(randomizer: Mechanism, count: int) -> Payloads:
    """Reports of ``count`` holders, ``(count, report_bytes)``; few are made, and repeat."""
    different = min(count, DIFFERENT_REPORTS, max(20, DIFFERENT_BITS // randomizer.categories))
    rows = [
        np.frombuffer(randomizer.privatize(i % randomizer.categories, os.urandom), dtype=np.uint8)
        for i in range(different)
    ]
    return np.resize(np.array(rows), (count, randomizer.report_bytes))
