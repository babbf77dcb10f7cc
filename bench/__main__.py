"""Measure what Privet's parts cost, one line per figure.

python -m bench                     everything, some fifteen minutes on two quiet cores
python -m bench --quick             small sizes, about a minute
python -m bench --only growing      one section
python -m bench --write-docs        everything, then the tables of docs/performance.md
python -m bench --only-docs         those tables from the last saved full run
"""

import os
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

from bench.aggregating import accumulating, fitting
from bench.answering import answering
from bench.document import write_document
from bench.figures import Effort, Figure, Section
from bench.growing import growing
from bench.history import FOLDER, Run, compared, last
from bench.intake import intake
from bench.marks import judged
from bench.predicting import predicting
from bench.privatizing import privatizing
from bench.simulating import simulating
from bench.worst_tasks import holding

PAGE = Path("docs/performance.md")
SECTIONS: dict[str, Section] = {
    "growing": growing,
    "privatizing": privatizing,
    "accumulating": accumulating,
    "fitting": fitting,
    "predicting": predicting,
    "simulating": simulating,
    "intake": intake,
    "rest_predict": answering,
    "worst_tasks": holding,
}


def main(
    *,
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes.")] = False,
    only: Annotated[
        list[str] | None, typer.Option(help=f"A section, repeatable: {', '.join(SECTIONS)}.")
    ] = None,
    write_docs: Annotated[bool, typer.Option("--write-docs", help="Write the page.")] = False,
    only_docs: Annotated[bool, typer.Option("--only-docs", help="Measure nothing.")] = False,
    folder: Annotated[Path, typer.Option(help="Where runs are kept.")] = FOLDER,
    page: Annotated[Path, typer.Option(help="The page to write into.")] = PAGE,
) -> None:
    """Run the benchmarks, save them, and compare with the last run."""
    if unknown := set(only or ()) - set(SECTIONS):
        msg = f"unknown section {', '.join(unknown)}: choose among {', '.join(SECTIONS)}"
        raise typer.BadParameter(msg)
    if (write_docs or only_docs) and (quick or only):
        msg = "the page is written from a full run: leave out --quick and --only"
        raise typer.BadParameter(msg)
    run = None if only_docs else _measured(Effort.QUICK if quick else Effort.FULL, only, folder)
    if write_docs or only_docs:
        run = run or last(folder, Effort.FULL)
        if run is None:
            raise typer.BadParameter("no full run is saved: run without --only-docs first")
        write_document(run, page)
        print(f"wrote {page}")


def _measured(effort: Effort, only: list[str] | None, folder: Path) -> Run:
    started, load = perf_counter(), os.getloadavg()[0]
    figures: list[Figure] = []
    for name in only or SECTIONS:
        for figure in SECTIONS[name](effort):
            print(figure.line, flush=True)
            figures.append(figure)
    run = Run.now(effort, figures, load)
    print(f"\n{len(figures)} figures in {perf_counter() - started:.0f} s")
    for line in judged(figures):
        print(line)
    if before := last(folder, effort):
        print(f"moved by a quarter or more since {before.started}:")
        print("\n".join(compared(run, before)) or "nothing")
    if only is None:
        print(f"saved {run.save(folder)}")
    return run


if __name__ == "__main__":
    typer.run(main)
