"""One full round on real data: public data in, private reports over HTTP, predictions out.

Starts a curator of its own, lets several thousand holders answer it, and compares the model that
comes out with what could be had without them.
"""

import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import cycle, islice, pairwise
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from privet import CuratorClient, PrivetError
from privet.admin.client import Document
from privet.learning.core.amounts import figure, listed, percent
from privet.learning.core.looks import factor_at
from privet.learning.core.public_data import Floats
from privet.learning.public_model.knowledge import public_knowledge
from privet.learning.task_building.build import build_task
from privet.learning.task_building.encode import encode_records
from privet.learning.task_building.settings import TaskSettings
from privet.learning.task_building.table import read_table
from privet.protocol.features import Classes
from privet.protocol.limits import MAX_WAVES
from scripts import fair_survey
from scripts.fair_survey import Population, Record, has_affair, without_label
from scripts.holder_pool import HolderPool
from scripts.servers import RunningCurator, running_curator

FOLDER = Path("privet-data/demo")
LEAF_SIZES = (5, 10, 20)
DATABASE = "demo.db"
GROWING_SECONDS, WAVE_SECONDS, VISITS_A_SECOND = 20, 8, 200
"""A panel's first wave waits for the task to be made; all waves have time for every holder."""
PANEL_DEPTH = 2
"""Few cells: a wave has a part of the holders, and a change is found where cells are few."""
CHANGED = 0.5
console = Console()


@dataclass(frozen=True)
class Result:
    """A model's scores on the test records, and its estimate of the share of affairs.

    ``interval`` holds the ends of the share's 95 % interval.
    """

    name: str
    accuracy: float
    brier: float
    share: float
    interval: tuple[float, float]


def main(
    holders: Annotated[
        int | None,
        typer.Option(min=1, help="Holders that answer; by default all 4493, and above it again."),
    ] = None,
    epsilon: Annotated[float, typer.Option(help="What each of them spends.")] = 2.0,
    disclosed: Annotated[
        list[str] | None, typer.Option(help="A column that reports disclose, such as age.")
    ] = None,
    waves: Annotated[
        int,
        typer.Option(
            min=1,
            max=MAX_WAVES,
            help="Waves of a panel, each of some seconds, between which "
            "people change; 1 for a task that is asked once.",
        ),
    ] = 1,
    folder: Annotated[Path, typer.Option(help="Where the curator keeps its data.")] = FOLDER,
) -> None:
    """Run the demonstration; what an earlier one left in the folder is removed first."""
    started = time.perf_counter()
    population = fair_survey.load()
    answering = list(islice(cycle(population.holders), holders or len(population.holders)))
    for left in [*folder.glob(f"{DATABASE}*"), folder / "curator.log"]:
        left.unlink(missing_ok=True)
    database = f"sqlite:///{(folder / DATABASE).absolute()}"
    with HolderPool() as pool, running_curator(folder, database=database) as curator:
        admin = CuratorClient(curator.url, curator.token)
        in_each = max(1, len(answering) // waves)
        settings = fair_survey.settings(epsilon, in_each, disclosed=disclosed or [])
        if waves > 1:
            settings |= {"waves": wave_dates(waves, len(answering)), "depth": PANEL_DEPTH}
        try:
            task = admin.create(fair_survey.as_csv(population.public), **settings)
        except PrivetError as refusal:
            raise typer.BadParameter(refusal.detail) from refusal
        task_url = admin.task_url(task)
        _introduce(curator, task, task_url, population)
        if waves > 1:
            follow_panel(pool, admin, task, answering)
            asked = f"panel status {task['id']}"
        else:
            sent, seconds = _collect(pool, admin, task_url, answering)
            results = compare(admin, task_url, population, answering, epsilon)
            taken = effort(len(answering), sent / len(answering), epsilon)
            taken += f"\nThey answered at {len(answering) / seconds:,.0f} a second."
            print_results(console, results, population, taken)
            record = json.dumps(without_label(population.test[0]))
            asked = f"predict {task['id']} --record '{record}'"
    _print_next(folder, asked)
    console.print(f"[dim]All of it took {time.perf_counter() - started:.0f} s.[/dim]")


def _introduce(
    curator: RunningCurator, task: Document, task_url: str, population: Population
) -> None:
    question = task["questions_in_numbers"][0]
    console.print(
        f"A curator answers at {curator.url} and keeps its log in {curator.log}.", soft_wrap=True
    )
    console.print(
        f"It grew {question['cells']} groups on the public records of {len(population.public)} "
        "volunteers. Those who had an affair volunteered four times less often, so these records "
        f"mislead. It published the tree as\n{task_url}",
        soft_wrap=True,
    )
    if disclosed := task["task"].get("disclosed"):
        sizes = [stratum["holders"] for stratum in task["strata"]]
        console.print(
            f"Reports disclose in which of {len(sizes)} groups their holder is, by "
            f"{listed(tuple(disclosed))}; in the smallest {min(sizes)} people are expected. The "
            "rest stays hidden."
        )


def _collect(
    pool: HolderPool, admin: CuratorClient, task_url: str, records: Sequence[Record]
) -> tuple[int, float]:
    columns = (TextColumn("Holders answer"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("", total=len(records))

        def look() -> None:
            progress.update(bar, completed=admin.status(task_url)["reports"])

        return pool.answer(task_url, records, look)


def wave_dates(waves: int, holders: int) -> list[str]:
    """Waves one after the other, from now on, with time for the task to be made before the first
    one and for all holders to come to each."""
    seconds = WAVE_SECONDS + holders // VISITS_A_SECOND
    ends = [int(time.time()) + GROWING_SECONDS + seconds * number for number in range(waves + 1)]
    ends[0] -= GROWING_SECONDS
    dates = [datetime.fromtimestamp(end, UTC).isoformat() for end in ends]
    return [f"{opens}/{closes}" for opens, closes in pairwise(dates)]


def as_changed(records: Sequence[Record]) -> list[Record]:
    """The same people later: ``CHANGED`` of those without an affair have one."""
    chance = np.random.default_rng(fair_survey.SHUFFLE_SEED).random(len(records))
    return [
        {**record, fair_survey.LABEL: "yes"} if one < CHANGED else record
        for record, one in zip(records, chance, strict=True)
    ]


def follow_panel(
    pool: HolderPool, admin: CuratorClient, task: Document, records: Sequence[Record]
) -> None:
    """Let everybody come to each wave, of which a device answers one; fit them, and print what
    changed."""
    opens = [datetime.fromisoformat(wave["opens"]).timestamp() for wave in task["waves"]]
    later = as_changed(records)
    of_wave = [*[records] * (len(opens) - 1), later]
    console.print(
        f"Each device draws one of {len(opens)} waves. Before the last one, {CHANGED:.0%} of those "
        "who had no affair have one.",
        highlight=False,
    )
    columns = (TextColumn("Holders answer"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("", total=len(records))

        def look() -> None:
            waves = admin.waves(task)["waves"]
            progress.update(bar, completed=sum(wave["reports"] for wave in waves))

        pool.answer_in_waves(admin.task_url(task), list(zip(opens, of_wave, strict=True)), look)
    panel = admin.waves(task)
    for wave in panel["waves"]:
        if wave["reports"]:
            admin.fit(wave["id"])
    answered = [wave["reports"] for wave in panel["waves"]]
    console.print(f"The waves have {', '.join(map(str, answered))} answers.", highlight=False)
    if missed := len(records) - sum(answered):
        console.print(f"{missed} devices were too slow for their wave: take fewer --holders.")
    console.print(f"The curator says: {panel['sentence']}", highlight=False)
    before, after = share_of(records)[0], share_of(later)[0]
    console.print(
        f"In truth it was {before:.0%} before the last wave and {after:.0%} in it. Each holder "
        f"spent ε = {task['lifetime']:g} in all.",
        highlight=False,
    )


def compare(
    admin: CuratorClient,
    task_url: str,
    population: Population,
    answering: Sequence[Record],
    epsilon: float,
) -> list[Result]:
    """Privet's model and what could be had without it, on the test records."""
    number = admin.fit(task_url)["number"]
    predicted = admin.predict(task_url, [without_label(r) for r in population.test], model=number)
    assert predicted["classes"] is not None
    ours = np.array(predicted["values"])[:, predicted["classes"].index("yes")]
    (row,) = (row for row in admin.insight(task_url)["overall"] if row["name"] == "yes")
    reported = row["reported"], (row["low"], row["high"])
    asked_alone = randomized_response(answering, epsilon)
    public, everybody = population.public, [*population.public, *population.holders]
    without_reports = public_model(public, population.test)
    of_everybody = raw_forest(everybody, population.test)
    for_all = np.full(len(population.test), reported[0])
    return [
        score("Privet, public data and reports", ours, population, reported),
        score("its public model, no reports", without_reports, population, share_of(public)),
        score("a forest on raw records", of_everybody, population, share_of(everybody)),
        score("the reported share, for all", for_all, population, reported),
        score(
            "randomized response, for all",
            np.full(len(population.test), asked_alone[0]),
            population,
            asked_alone,
        ),
    ]


def randomized_response(
    records: Sequence[Record], epsilon: float, seed: int = 0
) -> tuple[float, tuple[float, float]]:
    """The share of affairs by one randomized response of everybody, with an interval for as many
    looks as the default's.

    Each tells the truth with probability e^epsilon / (1 + e^epsilon) (Warner, 1965).
    """
    truth, rng = np.array([has_affair(each) for each in records]), np.random.default_rng(seed)
    lies = 1.0 / (1.0 + math.exp(epsilon))
    said = truth ^ (rng.random(len(truth)) < lies)
    share = float((said.mean() - lies) / (1.0 - 2.0 * lies))
    noise = math.sqrt(lies * (1.0 - lies) / len(truth)) / (1.0 - 2.0 * lies)
    return share, (share - factor_at(1.0) * noise, share + factor_at(1.0) * noise)


def score(
    name: str, predicted: Floats, population: Population, share: tuple[float, tuple[float, float]]
) -> Result:
    """Compare predicted probabilities of an affair with the test records' answers."""
    truth = np.array([has_affair(record) for record in population.test])
    accuracy = float(((predicted > 0.5) == truth).mean())
    return Result(name, accuracy, float(((predicted - truth) ** 2).mean()), *share)


def share_of(records: Sequence[Record]) -> tuple[float, tuple[float, float]]:
    """The share of affairs among some records, with its interval as a random sample."""
    share = sum(map(has_affair, records)) / len(records)
    half = 1.96 * math.sqrt(share * (1.0 - share) / len(records))
    return share, (share - half, share + half)


def public_model(public: Sequence[Record], test: Sequence[Record]) -> Floats:
    """The results of the public model that ``drift`` starts from, before any report."""
    settings = TaskSettings.model_validate(fair_survey.settings(1.0, 1))
    task, data = build_task(settings, read_table(fair_survey.as_csv(public)))
    assert isinstance(task.label, Classes)
    model = public_knowledge(data.X, data.y, task.label.slots).model
    return model.predict(encode_records(task, test))[:, task.label.classes.index("yes")]


def raw_forest(learnable: Sequence[Record], test: Sequence[Record]) -> Floats:
    """A forest of scikit-learn on raw records; cross-validation chooses its leaf size."""
    from joblib import parallel_config
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline

    forest = RandomForestClassifier(n_estimators=100, random_state=0)
    chosen = GridSearchCV(forest, {"min_samples_leaf": LEAF_SIZES}, scoring="neg_brier_score", cv=5)
    model = make_pipeline(DictVectorizer(sparse=False), chosen)
    with parallel_config("threading", n_jobs=-1):  # trees are grown without Python's lock
        model.fit([without_label(r) for r in learnable], [has_affair(r) for r in learnable])
    return np.asarray(model.predict_proba([without_label(r) for r in test])[:, 1])


def print_results(
    console: Console, results: Sequence[Result], population: Population, taken: str
) -> None:
    """Print the table of scores, the truth, and what they took."""
    table = Table(title=f"Predictions of {len(population.test)} test records")
    table.add_column("model")
    for name in ("accuracy", "Brier score", "share of affairs"):
        table.add_column(name, justify="right")
    for result in results:
        share = figure(result.share, *result.interval, is_share=True)
        table.add_row(result.name, f"{result.accuracy:.3f}", f"{result.brier:.3f}", share)
    console.print(table)
    truth = share_of(population.holders)[0]
    console.print(f"In truth {percent(truth)} of the holders had an affair.", highlight=False)
    console.print(taken, highlight=False)


def effort(reports: int, report_bytes: float, epsilon: float) -> str:
    return (
        f"{reports} reports of {report_bytes:.0f} bytes each; every holder spent ε = {epsilon:g}."
    )


def _print_next(folder: Path, asked: str) -> None:
    console.print("\nEverything is kept. Start the curator again and ask it:\n")
    console.print(
        f"  .venv/bin/privet serve --database sqlite:///{folder / DATABASE}", soft_wrap=True
    )
    console.print(
        f"  .venv/bin/privet {asked}\n",
        soft_wrap=True,
        highlight=False,
    )


if __name__ == "__main__":
    typer.run(main)
