"""The planner's promise against what then happened, on data whose holders are really there.

Each data set is shuffled and cut into public records, holders and test records. A plan is made
from the public records alone; then the task it asks for is published, the holders report, and the
model is judged on the test records, which nobody has seen.
"""

import csv
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from joblib import Parallel, delayed
from rich.console import Console
from rich.table import Table

from curator.planning import plan_table
from curator.sklearn_api import PrivateTreeClassifier
from curator.task_settings import TaskSettings
from scripts.reproduce.lpct_design import draw

DATA = Path(__file__).parents[2] / ".." / "shared" / "data"
EXPECTED = Path(__file__).parent / "expected" / "planning.csv"
LABEL = "label"
ESTIMATOR = "averaged"


@dataclass(frozen=True)
class Case:
    """A data set and how many of its records are public; a fifth of the rest judges."""

    name: str
    load: Callable[[], pd.DataFrame]
    public: int


@dataclass(frozen=True)
class Outcome:
    """One plan and what came of it."""

    data: str
    public: int
    holders: int
    epsilon: float
    seed: int
    verdict: str
    grower: str
    depth: int
    promised: float
    promised_error: float
    happened: float
    public_promised: float
    public_happened: float


def from_file(name: str) -> pd.DataFrame:
    """A data set of ``../shared/data``; raises ``FileNotFoundError`` that says where it belongs."""
    path = DATA / f"{name}.csv.gz"
    if not path.exists():
        msg = f"{path} is missing: put the data sets there, or choose --only synthetic"
        raise FileNotFoundError(msg)
    return pd.read_csv(path, keep_default_na=False)


def synthetic() -> pd.DataFrame:
    """LPCT's P distribution (section 6.1), public records included."""
    data = draw(20_000, 1.0, np.random.default_rng(0))
    return pd.DataFrame({"x1": data.X[:, 0], "x2": data.X[:, 1], LABEL: data.y.astype(int)})


CASES = (
    Case("synthetic", synthetic, 300),
    Case("rice", lambda: from_file("rice"), 200),
    Case("census_public", lambda: from_file("census_public"), 1000),
)


def outcome(case: Case, epsilon: float, seed: int) -> Outcome:
    """Plan, publish, collect, judge."""
    frame = case.load().sample(frac=1.0, random_state=seed).reset_index(drop=True)
    tests = (len(frame) - case.public) // 5
    public, holders = frame[: case.public], frame[case.public : -tests]
    test = frame[-tests:]
    settings = TaskSettings(name=case.name, label=LABEL, epsilon=epsilon, holders=len(holders))
    found = plan_table(
        columns_of(public), settings, mechanisms=("subset",), estimator=ESTIMATOR, seed=seed
    )
    choice = found.best.choice
    model = PrivateTreeClassifier(
        epsilon,
        grower=choice.grower,
        depth=choice.depth,
        estimator=ESTIMATOR,
        random_state=seed,
    )
    public_pair = (public.drop(columns=LABEL), public[LABEL])
    model.fit(holders.drop(columns=LABEL), holders[LABEL], public=public_pair)
    happened = model.score(test.drop(columns=LABEL), test[LABEL])
    alone = model.set_params(estimator="public").fit(*public_pair, public=public_pair)
    return Outcome(
        data=case.name,
        public=case.public,
        holders=len(holders),
        epsilon=epsilon,
        seed=seed,
        verdict=str(found.verdict),
        grower=choice.grower,
        depth=choice.depth,
        promised=found.expected.value,
        promised_error=found.expected.standard_error,
        happened=happened,
        public_promised=found.public_only.value,
        public_happened=alone.score(test.drop(columns=LABEL), test[LABEL]),
    )


def columns_of(frame: pd.DataFrame) -> dict[str, Any]:
    """A frame's columns as the curator reads them from a file."""
    return {
        name: frame[name].to_numpy(dtype=np.float64)
        if frame[name].dtype.kind in "fiu"
        else frame[name].tolist()
        for name in frame.columns
    }


def shown(outcomes: list[Outcome]) -> Table:
    """One line per data set and epsilon, means over the seeds."""
    table = Table("data", "public", "holders", "ε", "promised", "happened", "verdicts")
    frame = pd.DataFrame([asdict(o) for o in outcomes])
    for (data, public, holders, epsilon), rows in frame.groupby(
        ["data", "public", "holders", "epsilon"], sort=False
    ):
        table.add_row(
            data,
            str(public),
            str(holders),
            f"{epsilon:g}",
            f"{rows.promised.mean():.3f} ± {rows.promised_error.mean():.3f}",
            f"{rows.happened.mean():.3f}",
            ", ".join(f"{n} {v}" for v, n in rows.verdict.value_counts().items()),
        )
    return table


def main(
    *,
    only: Annotated[list[str] | None, typer.Option(help="Names of data sets.")] = None,
    epsilon: Annotated[list[float] | None, typer.Option(help="May be given repeatedly.")] = None,
    seeds: Annotated[int, typer.Option(min=1)] = 5,
    jobs: Annotated[int, typer.Option(help="Processes; -1 for one per core.")] = -1,
    output: Annotated[Path, typer.Option(help="CSV file to write.")] = EXPECTED,
) -> None:
    """Compare the planner's promises with what then happened."""
    run = delayed(outcome)
    outcomes = Parallel(n_jobs=jobs)(
        run(case, eps, seed)
        for case in CASES
        if not only or case.name in only
        for eps in (epsilon or [1.0, 4.0])
        for seed in range(seeds)
    )
    output.parent.mkdir(parents=True, exist_ok=True)
    with output.open("w", newline="") as file:
        writer = csv.DictWriter(file, Outcome.__dataclass_fields__)
        writer.writeheader()
        writer.writerows(
            {k: f"{v:.5g}" if isinstance(v, float) else v for k, v in asdict(o).items()}
            for o in outcomes
        )
    Console().print(shown(outcomes))


if __name__ == "__main__":
    typer.run(main)
