"""Growing partitions: max_edge's full grid compared with scikit-learn's CART at the same depth."""

from collections.abc import Iterator
from functools import partial

from sklearn.tree import DecisionTreeClassifier

from bench.figures import Effort, Figure, seconds
from bench.samples import grown, records
from privet.learning.core.public_data import PublicData

ROWS = [
    *((50, 2, depth) for depth in (5, 8)),
    (200, 8, 6),
    (1_000, 8, 8),
    (10_000, 8, 10),
    (100_000, 8, 10),
]
COLUMNS = [(5_000, columns, 10) for columns in (2, 8, 46, 300, 3_000)]
SIZES = {Effort.QUICK: [(50, 2, 3)], Effort.FULL: [*ROWS, *COLUMNS, (50_000, 46, 12)]}


def growing(effort: Effort) -> Iterator[Figure]:
    """Times over rows and over columns, ratios in the same run."""
    for rows, columns, depth in SIZES[effort]:
        data, case = records(rows, columns), f"{rows}x{columns},depth={depth}"
        ours, theirs = seconds(partial(grown, data, depth), partial(_cart, data, depth))
        yield Figure("growing", case, "max_edge", ours, "s")
        yield Figure("growing", case, "over_sklearn", ours / theirs, "x")


def _cart(data: PublicData, depth: int) -> object:
    return DecisionTreeClassifier(max_depth=depth, random_state=0).fit(data.X, data.y)
