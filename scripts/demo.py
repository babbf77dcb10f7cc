"""One full round on real data: public data in, private reports over HTTP, predictions out.

Starts a curator of its own, lets several thousand holders answer it, and compares the model that
comes out with what could be had without them.
"""

import asyncio
import itertools
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from privet.curator.partitioning import GROWERS
from privet.protocol.errors import PrivetError
from privet.protocol.mechanisms import MECHANISMS
from scripts import fair_survey
from scripts.collection import Admin, answer_all
from scripts.comparison import Result, best_public_model, majority, non_private_tree, score
from scripts.fair_survey import LABEL, Population, Record
from scripts.servers import RunningCurator, running_curator

FOLDER = Path("privet-data/demo")
DATABASE = "demo.db"
console = Console()


def main(
    holders: Annotated[
        int | None,
        typer.Option(min=1, help="Holders that answer; by default all 4456, and above it again."),
    ] = None,
    epsilon: Annotated[float, typer.Option(help="What each of them spends.")] = 2.0,
    mechanism: Annotated[str, typer.Option(help=f"One of {', '.join(MECHANISMS)}.")] = "subset",
    grower: Annotated[str, typer.Option(help=f"One of {', '.join(GROWERS)}.")] = "distilled",
    folder: Annotated[Path, typer.Option(help="Where the curator keeps its data.")] = FOLDER,
) -> None:
    """Run the demonstration; what an earlier one left in the folder is removed first."""
    started = time.perf_counter()
    population = fair_survey.load()
    answering = list(itertools.islice(itertools.cycle(population.holders), holders or 4456))
    _remove_earlier(folder)
    with running_curator(folder, database=_database(folder)) as curator:
        admin = Admin(curator.url, curator.token)
        chosen = fair_survey.settings(epsilon, len(answering), mechanism=mechanism, grower=grower)
        try:
            task_url = admin.publish(fair_survey.as_csv(population.public), chosen)
        except PrivetError as refusal:
            raise typer.BadParameter(refusal.detail) from refusal
        _introduce(curator, admin, task_url, population)
        sent = _collect(task_url, answering)
        results = compare(admin, task_url, population)
    taken = effort(len(answering), sent / len(answering), epsilon)
    print_results(console, results, len(population.test), taken)
    _print_next(folder, task_url, fair_survey.without_label(population.test[0]))
    console.print(f"[dim]All of it took {time.perf_counter() - started:.0f} s.[/dim]")


def _database(folder: Path) -> str:
    return f"sqlite:///{(folder / DATABASE).absolute()}"


def _remove_earlier(folder: Path) -> None:
    """Remove an earlier demonstration's files, and nothing else that the folder may hold."""
    for left in [*folder.glob(f"{DATABASE}*"), folder / "curator.log"]:
        left.unlink(missing_ok=True)


def _introduce(
    curator: RunningCurator, admin: Admin, task_url: str, population: Population
) -> None:
    question = admin.read(task_url)["questions_in_numbers"][0]
    console.print(
        f"A curator answers at {curator.url} and keeps its log in {curator.log}.", soft_wrap=True
    )
    console.print(
        f"It grew {question['cells']} cells on {len(population.public)} public records "
        f"and published them as\n{task_url}",
        soft_wrap=True,
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
        score(
            "its public model, before any report", best_public_model(population.public, test), truth
        ),
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
    task_id = task_url.rsplit("/", 1)[1]
    fields = ", ".join(
        f'"{name}": ' + (f'"{value}"' if isinstance(value, str) else f"{value:g}")
        for name, value in record.items()
    )
    console.print("\nEverything is kept. Start the curator again and ask the model:\n")
    console.print(
        f"  .venv/bin/privet serve --database sqlite:///{folder / DATABASE}", soft_wrap=True
    )
    console.print(
        f"  .venv/bin/privet predict {task_id} --record '{{{fields}}}'\n",
        soft_wrap=True,
        highlight=False,
    )


if __name__ == "__main__":
    typer.run(main)
