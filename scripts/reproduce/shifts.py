"""Public data that mislead: what reports add where public rows are few, or unlike the holders.

    python -m scripts.reproduce.shifts --data ../shared/data
    python -m scripts.reproduce.shifts --sets diabetes --shifts volunteers,changed --splits 5

From the shuffled rows of a set, 80 % are holders and 20 % test rows; public rows are taken from the
holders' part as each of ``SHIFTS`` says. The first principal component is that of all rows. Writes
``expected/shifts.csv``: means over splits and standard errors. Coverage is that of
95 % intervals for the shares of cells among the holders, each cell counted once. "Trusted curator"
is ``drift`` on the same cells, counted exactly and given central Laplace noise of the same epsilon.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from sklearn.ensemble import RandomForestClassifier

from privet.curator.estimation import Model, QuestionCounts, fit
from privet.curator.partitioning import GROWERS
from privet.curator.partitioning.distilled import distilled_depth
from privet.curator.public_data import PublicData
from privet.curator.trees import locate
from privet.protocol.mechanisms import create_mechanism
from privet.protocol.partition import Partition
from scripts.pages import Row, Rows, markdown, read, write
from scripts.reproduce.accuracy import mean_and_error
from scripts.reproduce.datasets import CLASSIFICATION, Floats, Split, missing, shuffled, take
from scripts.reproduce.methods import ask, public_models, public_scores

EXPECTED = Path(__file__).parent / "expected" / "shifts.csv"
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
SHIFTS = {
    "as it is": "200 rows at random",
    "scarce": "50 rows at random",
    "volunteers": "the second class 4.5 times rarer",
    "tilted": "e⁴ times likelier at one end of the first principal component than at the other",
    "changed": "the opposite label in the upper 30 % along the first principal component",
}
"""How public rows are chosen."""
ROWS, SCARCE_ROWS, RARER, TILT, CHANGED = 200, 50, 4.5, 4.0, 0.3
MEASURES = ("accuracy", "brier", "log_loss", "coverage")
LEAST_PROBABILITY = 1e-3
"""Probabilities are clipped to this in the log loss."""


def main(
    data: Annotated[Path, typer.Option(help="Folder that holds the sets.")] = Path(
        "../shared/data"
    ),
    sets: Annotated[str, typer.Option(help="Names with commas; all if empty.")] = "",
    shifts: Annotated[str, typer.Option(help="Names with commas; all if empty.")] = "",
    splits: Annotated[int, typer.Option(help="Random splits per set and shift.")] = 20,
    output: Annotated[Path, typer.Option(help="Where the means go.")] = EXPECTED,
) -> None:
    """Measure, print and write down; what is not measured anew stays as it is."""
    for name in sets.split(",") if sets else CLASSIFICATION:
        if absent := missing(data, name):
            print(f"{name} is skipped: {', '.join(map(str, absent))} is missing.")
            continue
        for shift in shifts.split(",") if shifts else SHIFTS:
            found = measure(data, name, shift, splits)
            kept = [row for row in read(output) if (row["set"], row["shift"]) != (name, shift)]
            write(output, [*kept, *found])
            print(table(found), flush=True)


def measure(data: Path, name: str, shift: str, splits: int) -> Rows:
    """Means of every method and measure at every epsilon; epsilon 0 stands for no reports."""
    scores: dict[tuple[float, str], list[Sequence[float]]] = {}
    for number in range(splits):
        split = shifted(data, name, shift, number)
        for epsilon, method, values in on_split(split, number):
            scores.setdefault((epsilon, method), []).append(values)
        raw = scored(on_raw_records(data, name, number), split.test.y)
        scores.setdefault((0.0, "everybody's raw records"), []).append(raw)
    rows: Rows = []
    for (epsilon, method), runs in scores.items():
        row: dict[str, str | float] = {"set": name, "shift": shift, "epsilon": epsilon}
        row |= {"method": method, "splits": splits}
        for measure_name, values in zip(MEASURES, zip(*runs, strict=True), strict=True):
            mean, error = mean_and_error(values)
            row |= {measure_name: mean, f"{measure_name}_error": error}
        rows.append(row)
    return rows


def shifted(data: Path, name: str, shift: str, number: int) -> Split:
    """A split whose public rows are chosen as ``shift`` says."""
    split, rng = shuffled(data, name, number, public=0), np.random.default_rng([number, 1])
    pool = split.private
    every = np.vstack([pool.X, split.test.X])
    centre = every.mean(axis=0)
    _, axes = np.linalg.eigh(np.cov(every.T))
    place = ((pool.X - centre) @ axes[:, -1]).argsort().argsort() / len(pool)
    chance = np.ones(len(pool))
    if shift == "volunteers":
        chance = np.where(pool.y == 1, 1.0 / RARER, 1.0)
    elif shift == "tilted":
        chance = np.exp(TILT * place)
    rows = min(SCARCE_ROWS if shift == "scarce" else ROWS, len(pool) // 4)
    chosen = rng.choice(len(pool), rows, replace=False, p=chance / chance.sum())
    y = pool.y[chosen]
    if shift == "changed":
        y = np.where(place[chosen] > 1.0 - CHANGED, 1.0 - y, y)
    rest = np.setdiff1d(np.arange(len(pool)), chosen)
    return Split(PublicData(pool.X[chosen], y), take(pool, rest), split.test, split.label)


def on_split(split: Split, number: int) -> Iterator[tuple[float, str, Sequence[float]]]:
    """(epsilon, method, values of ``MEASURES``) of every method."""
    y, scores = split.test.y, public_scores(split, split.test.X)
    yield 0.0, "public stack", scored(scores, y)
    for name, values in public_models(split):
        yield 0.0, name, scored(values, y)
    for epsilon in EPSILONS:
        depth = distilled_depth(len(split.private), epsilon)
        partition = GROWERS["distilled"](
            split.public.X, split.public.y, depth=depth, classes=2, min_leaf=1
        )
        rng = np.random.default_rng([number, round(1000 * epsilon)])
        question = ask(split, partition, "subset", epsilon, rng)
        yield epsilon, "base rate reported", scored(base_rate(question, len(y)), y)
        cells = locate(partition, split.test.X)
        trusted = ask_centrally(split, partition, epsilon, rng)
        for method, estimator, asked in (
            ("drift", "drift", question),
            ("averaged", "averaged", question),
            ("trusted curator", "drift", trusted),
        ):
            model = fit(estimator, split.label, split.public, [asked])
            values = model.predict_from(cells, scores).values
            yield epsilon, method, scored(values, y, covered(split, model))


def ask_centrally(
    split: Split, partition: Partition, epsilon: float, rng: np.random.Generator
) -> QuestionCounts:
    """The holders' counts with central noise, read like those of a local mechanism."""
    cells = locate(partition, split.private.X).astype(np.int64)
    index = cells * 2 + split.private.y.astype(np.int64)
    counts = np.bincount(index, minlength=2 * partition.cells).reshape(-1, 2)
    noisy = counts + rng.laplace(scale=2.0 / epsilon, size=counts.shape)
    local = create_mechanism("laplace", epsilon, partition.cells, 2)
    return CentralCounts(
        partition, local, np.zeros(local.sum_size, dtype=np.int64), len(cells), noisy
    )


@dataclass(frozen=True, eq=False)
class CentralCounts(QuestionCounts):
    """Counts with independent Laplace noise of scale 2 / epsilon, as ``noisy``; n is known."""

    noisy: Floats

    @property
    def counts(self) -> Floats:
        """The noisy counts, ``(cells, slots)``."""
        return self.noisy

    @property
    def noise(self) -> Floats:
        """8 / epsilon^2 on the diagonal."""
        variance = 8.0 / self.mechanism.epsilon**2
        return np.tile(variance * np.eye(2), (self.partition.cells, 1, 1))


@cache
def on_raw_records(data: Path, name: str, number: int) -> Floats:
    """What a forest on all raw records but the test rows predicts for these."""
    split = shuffled(data, name, number, public=0)
    forest = RandomForestClassifier(random_state=0).fit(split.private.X, split.private.y)
    return np.asarray(forest.predict_proba(split.test.X))


def scored(values: Floats, y: Floats, coverage: float = np.nan) -> tuple[float, ...]:
    """The values of ``MEASURES`` for class probabilities ``(rows, 2)`` of rows labelled ``y``."""
    p = values[:, 1]
    likelihood = np.maximum(np.where(y == 1, p, 1.0 - p), LEAST_PROBABILITY)
    accuracy, brier = ((p > 0.5) == y).mean(), ((p - y) ** 2).mean()
    return float(accuracy), float(brier), float(-np.log(likelihood).mean()), coverage


def covered(split: Split, model: Model) -> float:
    """The part of cells with holders whose share of the second class is in its interval."""
    cells = locate(model.partition, split.private.X)
    holders = np.bincount(cells, minlength=model.partition.cells)
    share = np.bincount(cells, split.private.y, len(holders)) / np.maximum(holders, 1)
    inside = (model.low[:, 1] <= share + 1e-9) & (share - 1e-9 <= model.high[:, 1])
    return float(inside[holders > 0].mean())


def base_rate(question: QuestionCounts, rows: int) -> Floats:
    """The second class's share by the reports alone, for every row."""
    counts = question.counts.sum(axis=0)
    share = float(np.clip(counts[1] / counts.sum(), 0.0, 1.0))
    return np.tile([1.0 - share, share], (rows, 1))


def tables(rows: Rows) -> str:
    """One table per set and shift."""
    places = dict.fromkeys((str(row["set"]), str(row["shift"])) for row in rows)
    return "\n".join(table([r for r in rows if (r["set"], r["shift"]) == p]) for p in places)


def table(rows: Rows) -> str:
    """Accuracy, Brier score and coverage of one set and shift, and ``drift``'s share of the way."""
    epsilons = sorted({float(row["epsilon"]) for row in rows if float(row["epsilon"]) > 0})
    lines = []
    for method in dict.fromkeys(str(row["method"]) for row in rows):
        cells = {float(row["epsilon"]): figure(row) for row in rows if row["method"] == method}
        lines.append([method, *(cells.get(e, cells.get(0.0, "")) for e in epsilons)])
    brier = {(str(r["method"]), float(r["epsilon"])): float(r["brier"]) for r in rows}
    public, raw = brier["public stack", 0.0], brier["everybody's raw records", 0.0]
    gone = [(public - brier["drift", e]) / (public - raw) for e in epsilons]
    lines.append(["drift, share of the way", *(f"{part:.2f}" for part in gone)])
    head = f"{rows[0]['set']}, {rows[0]['shift']}, {rows[0]['splits']} runs"
    return markdown([head, *(f"ε = {e:g}" for e in epsilons)], lines)


def figure(row: Row) -> str:
    """Accuracy and Brier score, and coverage where there are intervals."""
    text = f"{float(row['accuracy']):.3f}, {float(row['brier']):.4f}"
    coverage = float(row["coverage"])
    return text if np.isnan(coverage) else f"{text}, {coverage:.2f}"


if __name__ == "__main__":
    typer.run(main)
