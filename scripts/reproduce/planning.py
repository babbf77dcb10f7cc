"""The planner's promise against what then happened, on data whose holders are really there.

    python -m scripts.reproduce.planning --data ../shared/data

A plan is made from public records alone; then the task it describes is published, the holders
report, and the model is judged on test records that nobody has seen. "One population": public,
private and test records are dealt anew from all records together, so that holders resemble the
public records, as the expected score assumes. "As collected": the public records are the ones that
the set's protocol names, and its holders may differ. Means over seeds go to
``expected/planning.csv``, after every set. A set whose file is missing is skipped.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from privet import PrivateTreeClassifier, PrivateTreeRegressor, plan
from privet.curator.planning import Plan
from privet.curator.public_data import PublicData
from privet.protocol.features import Classes
from scripts.pages import Row, Rows, read, write
from scripts.pages import markdown as as_markdown
from scripts.reproduce.datasets import (
    PUBLIC_ROWS,
    REGRESSION,
    Floats,
    Split,
    classification,
    missing,
    regression,
    shuffled,
    take,
)
from scripts.reproduce.lpct_design import LABEL, draw
from scripts.reproduce.methods import public_scores, score

EXPECTED = Path(__file__).parent / "expected" / "planning.csv"
ONE, COLLECTED = "one population", "as collected"
MOST_PUBLIC = 1000
"""Of more public records a sample is planned with."""
SIZES = {"anonymity": 100, "diabetes": 200, "employ": 200, "rice": 300, "census": 500}
"""Public records where all records are dealt anew."""
SURE = 1.96
HEAD = (
    "set",
    "ε",
    "public / private",
    "expected",
    "happened",
    "covered",
    "public alone",
)


@dataclass(frozen=True)
class Case:
    """A set of records, whether its holders resemble the public ones, and how to deal it."""

    name: str
    population: str
    deal: Callable[[int], Split]


@dataclass(frozen=True)
class Outcome:
    """One plan and what came of it; ``uncertain`` is the standard error of the test records."""

    public: int
    private: int
    plan: Plan
    happened: float
    uncertain: float
    public_happened: float

    @property
    def covered(self) -> bool:
        """Whether promise and outcome agree within 1.96 standard errors of both."""
        both = np.hypot(self.plan.expected.standard_error, self.uncertain)
        return bool(abs(self.plan.expected.value - self.happened) <= SURE * both)


def cases(folder: Path) -> Iterator[Case]:
    """Every set in every way it can be dealt."""
    yield Case("synthetic", ONE, synthetic)
    for name, rows in SIZES.items():
        yield Case(name, ONE, partial(shuffled, folder, name, public=rows))
    for name in REGRESSION:
        yield Case(name, ONE, partial(regression, folder, name))
    for name in (*PUBLIC_ROWS, "census"):
        if name != "email":  # 3000 columns take minutes
            yield Case(name, COLLECTED, partial(classification, folder, name))


def synthetic(seed: int) -> Split:
    """LPCT's P distribution (section 6.1), public records included."""
    rng = np.random.default_rng(seed)
    return Split(draw(300, 1.0, rng), draw(10_000, 1.0, rng), draw(10_000, 1.0, rng), LABEL)


def outcome(split: Split, epsilon: float, seed: int) -> Outcome:
    """Plan, publish, collect, judge."""
    some = np.random.default_rng(seed).permutation(len(split.public))[:MOST_PUBLIC]
    split = Split(take(split.public, some), split.private, split.test, split.label)
    found = plan(
        {**columns(split.public), "y": split.public.y},
        label="y",
        epsilon=epsilon,
        holders=len(split.private),
        simulation_seed=seed,
        **label_settings(split),
    )
    lost = losses(split, epsilon, seed)
    mean = float(lost.mean())
    return Outcome(
        public=len(split.public),
        private=len(split.private),
        plan=found,
        happened=1.0 - mean if isinstance(split.label, Classes) else mean,
        uncertain=float(lost.std() / np.sqrt(len(lost))),
        public_happened=score(split, public_scores(split, split.test.X)),
    )


def columns(data: PublicData) -> dict[str, Any]:
    """The encoded columns by name."""
    return {f"x{place}": column for place, column in enumerate(data.X.T)}


def label_settings(split: Split) -> dict[str, Any]:
    """The label as the set declares it."""
    if isinstance(split.label, Classes):
        return {"classes": [str(code) for code in range(split.label.slots)]}
    return {"label_type": "range", "label_range": [split.label.low, split.label.high]}


def losses(split: Split, epsilon: float, seed: int) -> Floats:
    """What each test record loses with the model of one collection, ``(rows,)``."""
    public, private = (split.public.X, split.public.y), (split.private.X, split.private.y)
    if isinstance(split.label, Classes):
        classifier = PrivateTreeClassifier(epsilon, random_state=seed).fit(*private, public=public)
        return np.asarray(classifier.predict(split.test.X) != split.test.y, dtype=np.float64)
    ends = (split.label.low, split.label.high)
    regressor = PrivateTreeRegressor(epsilon, label_range=ends, random_state=seed)
    predicted = regressor.fit(*private, public=public).predict(split.test.X)
    return np.asarray((predicted - split.test.y) ** 2)


def row(case: Case, epsilon: float, found: list[Outcome]) -> Row:
    """The means of one case over its seeds."""
    plans = [each.plan for each in found]
    happened = np.array([each.happened for each in found])
    means = {
        "promised": np.mean([plan.expected.value for plan in plans]),
        "uncertainty": np.mean([plan.expected.standard_error for plan in plans]),
        "happened": happened.mean(),
        "standard_error": happened.std(ddof=1) / np.sqrt(len(found)) if len(found) > 1 else 0.0,
        "public_happened": np.mean([each.public_happened for each in found]),
    }
    return {
        "population": case.population,
        "set": case.name,
        "epsilon": epsilon,
        "public": found[0].public,
        "private": found[0].private,
        **{name: round(float(mean), 5) for name, mean in means.items()},
        "covered": sum(each.covered for each in found),
        "seeds": len(found),
    }


def markdown(rows: Rows) -> str:
    """Rows as a table for the documentation, and how many promises were kept in all."""
    kept, made = (sum(int(row[name]) for row in rows) for name in ("covered", "seeds"))
    last = ["all", "", "", "", "", f"{kept} of {made}", ""]
    return as_markdown(HEAD, [*map(shown, rows), last])


def shown(row: Row) -> list[str]:
    """One line of the table; see ``HEAD``."""
    digits = 3 if float(row["happened"]) < 1 else 2

    def number(name: str) -> str:
        return f"{float(row[name]):.{digits}f}"

    return [
        str(row["set"]),
        f"{float(row['epsilon']):g}",
        f"{row['public']} / {row['private']}",
        f"{number('promised')} ± {number('uncertainty')}",
        f"{number('happened')} ± {number('standard_error')}",
        f"{row['covered']} of {row['seeds']}",
        number("public_happened"),
    ]


def key(row: Row) -> tuple[str, str, float]:
    """What a row is about."""
    return str(row["set"]), str(row["population"]), float(row["epsilon"])


def main(
    *,
    data: Annotated[Path, typer.Option(help="Folder that holds the sets.")] = Path(
        "../shared/data"
    ),
    sets: Annotated[str, typer.Option(help="Names with commas; all if empty.")] = "",
    epsilon: Annotated[list[float] | None, typer.Option(help="May be given repeatedly.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Plans per set and epsilon.")] = 5,
    output: Annotated[Path, typer.Option(help="Where the means go.")] = EXPECTED,
) -> None:
    """Compare the planner's promises with what then happened."""
    console, rows = Console(width=120), read(output)
    wanted = sets.split(",") if sets else []
    for case in cases(data):
        if wanted and case.name not in wanted:
            continue
        absent = [] if case.name == "synthetic" else missing(data, case.name)
        if absent:
            console.print(
                f"[yellow]{case.name} is skipped: {', '.join(map(str, absent))} is missing."
            )
            continue
        for spent in epsilon or [2.0]:
            found = row(case, spent, [outcome(case.deal(s), spent, s) for s in range(seeds)])
            rows = [old for old in rows if key(old) != key(found)] + [found]
            console.print(", ".join(shown(found)))
            write(output, rows)


if __name__ == "__main__":
    typer.run(main)
