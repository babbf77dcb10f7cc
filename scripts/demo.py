"""One full round on real data: public data in, private reports over HTTP, predictions out.

Starts a curator of its own, lets several thousand holders answer it, and compares the model that
comes out with what could be had without them.
"""

import asyncio
import itertools
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from curator.growth import GROWERS
from protocol.mechanisms import MECHANISMS
from scripts import fair_survey
from scripts.collection import Admin, answer_all
from scripts.comparison import Result, majority, non_private_tree, score
from scripts.fair_survey import LABEL, Population, Record
from scripts.servers import RunningCurator, running_curator

FOLDER = Path("privet-data/demo")
console = Console()


def main(
    holders: Annotated[
        int | None, typer.Option(min=1, help="Holders that answer; by default all 4456.")
    ] = None,
    epsilon: Annotated[float, typer.Option(help="What each of them spends.")] = 2.0,
    mechanism: Annotated[str, typer.Option(help=f"One of {', '.join(MECHANISMS)}.")] = "subset",
    grower: Annotated[str, typer.Option(help=f"One of {', '.join(GROWERS)}.")] = "cart",
    folder: Annotated[Path, typer.Option(help="Where the curator keeps its data.")] = FOLDER,
) -> None:
    """Run the demonstration; the folder is emptied first."""
    started = time.perf_counter()
    population = fair_survey.load()
    answering = list(itertools.islice(itertools.cycle(population.holders), holders or 4456))
    shutil.rmtree(folder, ignore_errors=True)
    with running_curator(folder) as curator:
        admin = Admin(curator.url, curator.token)
        task_url = admin.publish(
            fair_survey.as_csv(population.public),
            fair_survey.settings(epsilon, len(answering), mechanism=mechanism, grower=grower),
        )
        _introduce(curator, admin, task_url, population)
        sent = _collect(task_url, answering)
        results = compare(admin, task_url, population)
    taken = effort(len(answering), sent / len(answering), epsilon)
    print_results(console, results, len(population.test), taken)
    _print_next(folder, task_url, fair_survey.without_label(population.test[0]))
    console.print(f"[dim]All of it took {time.perf_counter() - started:.0f} s.[/dim]")


def _introduce(
    curator: RunningCurator, admin: Admin, task_url: str, population: Population
) -> None:
    question = admin.read(task_url)["questions_in_numbers"][0]
    console.print(f"A curator answers at {curator.url} and keeps its log in {curator.log}.")
    console.print(
        f"It grew {question['cells']} cells on {len(population.public)} public records "
        f"and published them as\n{task_url}"
    )


def _collect(task_url: str, records: Sequence[Record]) -> int:
    columns = (TextColumn("Holders answer"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("", total=len(records))
        return asyncio.run(
            answer_all(task_url, records, lambda: progress.advance(bar), insecure_http=False)
        )


def compare(admin: Admin, task_url: str, population: Population) -> list[Result]:
    """Privet's model beside what could be had without it, on the test records."""
    test = population.test
    truth = [str(record[LABEL]) for record in test]
    public = admin.predict(task_url, admin.fit(task_url, "public"), test)
    private = admin.predict(task_url, admin.fit(task_url), test)
    learnable = [*population.public, *population.holders]
    return [
        score("Privet: public data and private reports", private, truth),
        score("the same tree, public data alone", public, truth),
        score("a tree on everybody's raw records", non_private_tree(learnable, test), truth),
        score("always the majority class", majority(learnable, test), truth),
    ]


def print_results(console: Console, results: Sequence[Result], tested: int, taken: str) -> None:
    """Print the table of accuracies, and what they took."""
    table = Table(title=f"Accuracy on {tested} test records")
    table.add_column("model")
    table.add_column("accuracy", justify="right")
    for result in results:
        table.add_row(result.name, f"{result.accuracy:.3f} ± {result.standard_error:.3f}")
    console.print(table)
    console.print(taken, highlight=False)


def effort(reports: int, report_bytes: float, epsilon: float) -> str:
    """What a collection took, in words."""
    return (
        f"{reports} reports of {report_bytes:.0f} bytes each; every holder spent ε = {epsilon:g}."
    )


def _print_next(folder: Path, task_url: str, record: Record) -> None:
    database, task_id = folder / "privet.db", task_url.rsplit("/", 1)[1]
    fields = ", ".join(
        f'"{name}": ' + (f'"{value}"' if isinstance(value, str) else f"{value:g}")
        for name, value in record.items()
    )
    console.print("\nEverything is kept. Start the curator again and ask the model:\n")
    console.print(f"  .venv/bin/privet serve --database sqlite:///{database}", soft_wrap=True)
    console.print(
        f"  .venv/bin/privet predict {task_id} --record '{{{fields}}}'\n",
        soft_wrap=True,
        highlight=False,
    )


if __name__ == "__main__":
    typer.run(main)
