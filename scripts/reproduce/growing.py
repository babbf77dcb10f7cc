"""How long growing takes beside scikit-learn's CART on the same data, in the same run."""

from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.tree import DecisionTreeClassifier

from privet.curator.partitioning import GROWERS
from privet.protocol.partition import Partition

Floats = NDArray[np.float64]

SIZES = ((50, 2, 8), (1_000, 8, 8), (5_000, 46, 10), (50_000, 46, 12))
WIDE = (50_000, 3_000, 8)
SHORT = 1.0


def seconds(work: Callable[[], object]) -> float:
    """The best of up to five runs; one run if that takes more than a second."""
    times: list[float] = []
    while len(times) < 5 and sum(times) < SHORT:
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return min(times)


def grow(X: Floats, y: Floats, depth: int) -> Partition:
    """Privet's full grid."""
    rng = np.random.default_rng(0)
    return GROWERS["max_edge"](X, y, depth=depth, classes=2, criterion="gini", min_leaf=0, rng=rng)


def fit(X: Floats, y: Floats, depth: int) -> object:
    """scikit-learn's tree."""
    return DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X, y)


def main(*, wide: Annotated[bool, typer.Option(help="Also 50 000 x 3 000.")] = False) -> None:
    """Time max_edge (full grid, Gini) and scikit-learn's tree at the same depth."""
    table = Table("rows", "columns", "depth", "max_edge, ms", "scikit-learn, ms", "ratio")
    for rows, columns, depth in SIZES + ((WIDE,) if wide else ()):
        rng = np.random.default_rng(0)
        X = rng.random((rows, columns))
        y = (rng.random(rows) < 0.3 + 0.4 * (X[:, 0] > 0.5)).astype(np.float64)
        ours, theirs = seconds(partial(grow, X, y, depth)), seconds(partial(fit, X, y, depth))
        table.add_row(
            *(f"{n}" for n in (rows, columns, depth)),
            f"{1e3 * ours:.1f}",
            f"{1e3 * theirs:.1f}",
            f"{ours / theirs:.2f}",
        )
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)
