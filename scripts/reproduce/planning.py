"""The planner's promise against what then happened, on data whose holders are really there.

    python -m scripts.reproduce.planning --data ../shared/data

A plan is made from public records alone; then the task it asks for is published, the holders
report, and the model is judged on test records that nobody has seen. "One population": public,
private and test records are dealt anew from all records together, so that holders resemble the
public records, as every promise assumes. "As collected": the public records are the ones that the
set's protocol names, and its holders may differ. Means over seeds go to
``expected/planning.csv``, after every set. A set whose file is missing is skipped.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from privet.curator.estimation import fit
from privet.curator.partitioning import GROWERS, default_criterion
from privet.curator.partitioning.distilled import distilled_depth
from privet.curator.planning import Choice, Plan, plan
from privet.curator.planning.losses import row_losses
from privet.curator.trees import locate
from privet.protocol.features import Classes
from scripts.reproduce.accuracy import ask, centred, public_scores, score, slots_of
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
from scripts.reproduce.promises import COLLECTED, EXPECTED, ONE, key, table, write
from scripts.reproduce.real import read

MOST_PUBLIC = 1000
"""Of more public records a sample is planned with."""
SIZES = {"anonymity": 100, "diabetes": 200, "employ": 200, "rice": 300, "census": 500}
"""Public records where all records are dealt anew."""
SURE = 1.96


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
    told: Plan
    happened: float
    uncertain: float
    public_happened: float
    unplanned: float

    @property
    def covered(self) -> bool:
        """Whether promise and outcome agree within 1.96 standard errors of both."""
        both = np.hypot(self.told.expected.standard_error, self.uncertain)
        return bool(abs(self.told.expected.value - self.happened) <= SURE * both)


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
        split.label,
        split.public,
        holders=len(split.private),
        epsilon=epsilon,
        mechanisms=("subset",),
        seed=seed,
    )
    depth = distilled_depth(len(split.private), epsilon, centred=slots_of(split) == 0)
    usual = Choice("distilled", depth, "subset")
    lost = losses(split, found.best.choice, epsilon, seed)
    return Outcome(
        public=len(split.public),
        private=len(split.private),
        told=found,
        happened=as_score(split, lost),
        uncertain=float(lost.std() / np.sqrt(len(lost))),
        public_happened=score(split, public_scores(split, split.test.X)),
        unplanned=as_score(split, losses(split, usual, epsilon, seed)),
    )


def losses(split: Split, choice: Choice, epsilon: float, seed: int) -> Floats:
    """What each test record loses with the model of one collection by this choice."""
    rng = np.random.default_rng([seed, round(1000 * epsilon)])
    partition = GROWERS[choice.grower](
        split.public.X,
        split.public.y,
        depth=choice.depth,
        classes=slots_of(split),
        criterion=default_criterion(slots_of(split)),
        min_leaf=0,
        rng=np.random.default_rng(0),
    )
    scale = centred(split, partition) if choice.grower == "distilled" else None
    question = ask(split, partition, choice.mechanism, epsilon, rng, scale)
    model = fit("drift", split.label, split.public, [question])
    cells = locate(partition, split.test.X)
    values = model.predict_from(cells, public_scores(split, split.test.X)).values
    return row_losses(split.label, values, split.test.y)[0]


def as_score(split: Split, lost: Floats) -> float:
    """The accuracy, or the mean squared error."""
    mean = float(lost.mean())
    return 1.0 - mean if isinstance(split.label, Classes) else mean


def row(case: Case, epsilon: float, found: list[Outcome]) -> dict[str, str | float]:
    """The means of one case over its seeds."""
    told = [each.told for each in found]
    happened = np.array([each.happened for each in found])
    means = {
        "promised": np.mean([plan.expected.value for plan in told]),
        "uncertainty": np.mean([plan.expected.standard_error for plan in told]),
        "happened": happened.mean(),
        "standard_error": happened.std(ddof=1) / np.sqrt(len(found)) if len(found) > 1 else 0.0,
        "public_promised": np.mean([plan.public_only.value for plan in told]),
        "public_happened": np.mean([each.public_happened for each in found]),
        "unplanned": np.mean([each.unplanned for each in found]),
    }
    verdicts = [str(plan.verdict) for plan in told]
    return {
        "set": case.name,
        "population": case.population,
        "epsilon": epsilon,
        "public": found[0].public,
        "private": found[0].private,
        "covered": sum(each.covered for each in found),
        "collect": verdicts.count("collect"),
        "unclear": verdicts.count("unclear"),
        "do_not": verdicts.count("do not collect"),
        "seeds": len(found),
        **{name: round(float(mean), 5) for name, mean in means.items()},
    }


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
            console.print(table(case.population, [found]))
            write(output, rows)


if __name__ == "__main__":
    typer.run(main)
