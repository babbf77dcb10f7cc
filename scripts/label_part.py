"""Measure what the part asked for the label alone costs predictions, and gains overall figures.

``python -m scripts.label_part FOLDER`` reads every table ``*.csv.gz`` of a folder whose last column
is ``label``, and prints, per set, kind of public rows and epsilon: the error of predictions without
such a part (Brier score, or squared error over the label's variance), its change with each part and
the standard error of that over splits, and the half-width of the overall interval beside that of a
survey that asks everybody the label alone. All arms of a split have the same rows and public model.
With ``--disclosed`` tasks disclose the column that tells least (``one``) or every other (``half``),
and are compared with and without the part that they have by default.

Without a folder it prints exact widths of two classes (``Widths``), by formulas.
"""

import argparse
import csv
import gzip
import io
from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

from privet.learning.core.public_data import Floats, PublicData
from privet.learning.figures.figure import Reports
from privet.learning.methods import Fitting
from privet.learning.public_model.distilled import distilled_depth
from privet.learning.simulation import simulate_counts
from privet.learning.task_building.build import TaskBuilder
from privet.learning.task_building.label_part import (
    chosen_part,
    noise_of_one,
    noise_of_part,
    textbook_variance,
)
from privet.learning.task_building.settings import TaskSettings
from privet.protocol.features import Classes, Label, Numeric, Range

EPSILONS = 0.5, 1.0, 2.0, 4.0
PARTS = 0.0, 0.35, 0.5
PUBLIC, TESTED, MOST = 500, 4_000, 60_000
MOST_COLUMNS, MOST_CLASSES = 60, 12
KINDS = "fair", "enriched"
"""Public rows at random, or with the last class, or the upper third, four times as often."""
FOURFOLD = 4.0


@dataclass(frozen=True)
class Widths:
    """The error of the share of one of ``slots`` classes, over that of others' estimates.

    Of a task of ``cells`` cells at ``epsilon``, a ``part`` of whose holders is asked for the label
    alone; exactly, of holders spread evenly over the cells.
    """

    epsilon: float
    cells: int
    part: float
    share: float = 0.5
    slots: int = 2

    def noise(self, cells: int) -> float:
        """The variance by noise of one report's share, in a task of so many cells."""
        return noise_of_one(self.epsilon, cells, self.slots, self.share)

    @property
    def chance(self) -> float:
        """The variance of one holder's figure."""
        return self.share * (1.0 - self.share)

    @property
    def here(self) -> float:
        """The variance by noise of the task's figure, times the number of reports."""
        rest = self.noise(self.cells)
        if not self.part:
            return rest
        return noise_of_part(self.noise(1), rest, self.part, self.chance)

    @property
    def of_people(self) -> float:
        """Beside asking everybody the label alone, both as estimates of the people asked."""
        return sqrt((self.here + self.chance) / (self.noise(1) + self.chance))

    @property
    def of_textbook(self) -> float:
        """The stated interval, which is about those who reported, beside the textbook's one of
        randomized response of so many answers, without records that do not fit."""
        return sqrt(self.here / textbook_variance(self.epsilon, self.slots, self.share))


def print_widths() -> None:
    """Widths with the default's depth and part, and without a part."""
    print("epsilon,holders,cells,part,without,with,textbook without,textbook with")
    for epsilon in (0.5, 1.0, 2.0, 4.0, 8.0):
        for holders in (1_000, 10_000, 1_000_000):
            cells = 2 ** distilled_depth(holders, epsilon)
            part = chosen_part(TaskSettings(name="t", label="y", epsilon=epsilon), cells, 2)
            without, of = (Widths(epsilon, cells, asked) for asked in (0.0, part))
            print(
                f"{epsilon:g},{holders},{cells},{part:g},{without.of_people:.2f},"
                f"{of.of_people:.2f},{without.of_textbook:.2f},{of.of_textbook:.2f}"
            )


def table(path: Path) -> tuple[Floats, Floats]:
    """A file's features in [0, 1], texts as one column per value, and its labels."""
    rows = list(csv.reader(io.StringIO(gzip.decompress(path.read_bytes()).decode())))
    columns = dict(zip(rows[0], zip(*rows[1 : MOST + 1], strict=True), strict=True))
    labels = np.array(columns.pop("label"), dtype=np.float64)
    parts: list[Floats] = []
    for values in columns.values():
        try:
            number = np.array(values, dtype=np.float64)
            spread = float(np.ptp(number))
            parts.append((number - number.min()) / spread if spread else 0.0 * number)
        except ValueError:
            parts += [(np.array(values) == value).astype(float) for value in sorted(set(values))]
    return np.stack(parts, axis=1), labels


def splits(X: Floats, y: Floats, kind: str, seeds: int) -> Iterator[tuple[PublicData, ...]]:
    """Public rows, holders, and rows to test, so many times."""
    upper = y == y.max() if len(set(y.tolist())) <= MOST_CLASSES else y > np.quantile(y, 2 / 3)
    weights = np.where((kind == KINDS[1]) & upper, FOURFOLD, 1.0)
    for seed in range(seeds):
        rng = np.random.default_rng([seed, KINDS.index(kind)])
        rows = rng.choice(len(y), min(PUBLIC, len(y) // 5), False, weights / weights.sum())
        rest = rng.permutation(np.setdiff1d(np.arange(len(y)), rows))
        tested = min(TESTED, len(rest) // 4)
        yield tuple(PublicData(X[of], y[of]) for of in (rows, rest[tested:], rest[:tested]))


def disclosed(which: str, public: PublicData) -> tuple[str, ...]:
    """The names of the columns to disclose."""
    if which == "half":
        return tuple(f"x{at}" for at in range(0, public.X.shape[1], 2))
    varying = np.flatnonzero(np.ptp(public.X, axis=0))
    tells = [abs(np.corrcoef(public.X[:, at], public.y)[0, 1]) for at in varying]
    return (f"x{varying[int(np.argmin(tells))]}",)


def measured(
    label: Label, parts: tuple[PublicData, ...], epsilon: float, arm: dict[str, Any], seed: int
) -> tuple[float, float]:
    """The error of predictions, and the half-width of the widest overall interval at one look."""
    public, holders, test = parts
    if "disclosed" in arm:
        arm = arm | {"disclosed": disclosed(arm["disclosed"], public)}
    features = tuple(Numeric(name=f"x{at}", low=0.0, high=1.0) for at in range(test.X.shape[1]))
    settings = TaskSettings.model_validate(
        {"name": "s", "label": "y", "epsilon": epsilon, "holders": len(holders), **arm}
    )
    task = TaskBuilder(features, label, public).task(settings)
    rng = np.random.default_rng([seed, round(100 * epsilon)])
    counts = simulate_counts(task, holders.X, holders.y, rng)
    fitting = Fitting.of("drift", label, public)
    values = fitting.estimate(counts).predict(test.X).values
    reports = Reports.of(label, counts)
    assert reports is not None
    half = max(float(of.half_width()) for of in reports.overall())
    if isinstance(label, Classes):
        truth = np.eye(label.slots)[test.y.astype(int)]
        return float(((values - truth) ** 2).sum(axis=1).mean()) / 2.0, half
    return float(((values[:, 0] - test.y) ** 2).mean() / test.y.var()), half


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--sets", nargs="*", help="names of sets, by default all")
    parser.add_argument("--disclosed", choices=("one", "half"))
    parser.add_argument("--repetitions", type=int, default=20)
    given = parser.parse_args()
    if given.folder is None:
        print_widths()
        return
    columns = "set,public rows,epsilon,without,part,change,standard error,half width,alone"
    print(f"{columns},half width without", flush=True)
    for path in sorted(given.folder.glob("*.csv.gz")):
        name = path.name.removesuffix(".csv.gz")
        if given.sets and name not in given.sets:
            continue
        X, y = table(path)
        if X.shape[1] > MOST_COLUMNS:
            continue
        levels = sorted(set(y.tolist()))
        classes = len(levels) <= MOST_CLASSES
        label: Label = Range(name="y", low=float(y.min()), high=float(y.max()))
        arms: list[dict[str, Any]] = [{"label_part": part} for part in PARTS]
        if classes:
            y = np.searchsorted(levels, y).astype(np.float64)
            label = Classes(name="y", classes=tuple(f"{level:g}" for level in levels))
        else:
            arms = [{"centred": False, **arm} for arm in arms]
            arms.append({"centred": True, "label_part": 0.0})
        if given.disclosed:
            arms = [{**arms[0], "disclosed": given.disclosed, "label_part": p} for p in (0.0, None)]
        arms.append({"grower": "grid", "depth": 0, "label_part": 0.0, "centred": None})
        for kind in KINDS:
            found = np.array(
                [
                    [[measured(label, parts, e, arm, seed) for arm in arms] for e in EPSILONS]
                    for seed, parts in enumerate(splits(X, y, kind, given.repetitions))
                ]
            )
            errors, halves = found[..., 0], found[..., 1].mean(axis=0)
            for at, epsilon in enumerate(EPSILONS):
                for place, arm in enumerate(arms[1:-1], 1):
                    change = errors[:, at, place] - errors[:, at, 0]
                    error = float(change.std(ddof=1)) / len(change) ** 0.5
                    part = arm["label_part"]
                    what = "default" if part is None else f"{part:g}"
                    what = "centred" if arm.get("centred") else what
                    print(
                        f"{name},{kind},{epsilon:g},{errors[:, at, 0].mean():.4f},{what},"
                        f"{change.mean():+.4f},{error:.4f},{halves[at, place]:.4g},"
                        f"{halves[at, -1]:.4g},{halves[at, 0]:.4g}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
