"""Measure what Privet's parts cost, one line per figure.

python -m bench                     everything, some half an hour on two quiet cores
python -m bench --quick             tiny sizes, to see that all runs
python -m bench --only growing      one section
python -m bench --write-docs        everything, then bench/measured.csv and docs/performance.md
python -m bench --only growing --write-docs     a section, then its part of both
"""

import os
from time import perf_counter
from typing import Annotated

import typer

from bench.aggregating import accumulating, fitting
from bench.answering import answering
from bench.attacked import attacked
from bench.collecting import collecting
from bench.estimators import estimating
from bench.figures import Effort, Figure, Section
from bench.growing import growing
from bench.intake import intake
from bench.pages import showing
from bench.predicting import predicting
from bench.privatizing import privatizing
from bench.relaying import relaying
from bench.report import PAGE, RESULTS, document, judged, measured_now, merged, read, write
from bench.simulating import simulating
from bench.waiting import waiting
from bench.worst_tasks import holding
from scripts.pages import fill

SECTIONS: dict[str, Section] = {
    "waiting": waiting,
    "growing": growing,
    "privatizing": privatizing,
    "accumulating": accumulating,
    "fitting": fitting,
    "predicting": predicting,
    "estimators": estimating,
    "simulating": simulating,
    "intake": intake,
    "relaying": relaying,
    "collecting": collecting,
    "rest_predict": answering,
    "pages": showing,
    "attacked": attacked,
    "worst_tasks": holding,
}


def main(
    *,
    quick: Annotated[bool, typer.Option("--quick", help="Tiny sizes.")] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(help=f"The start of sections' names, repeatable: {', '.join(SECTIONS)}."),
    ] = None,
    write_docs: Annotated[bool, typer.Option("--write-docs", help="Write the page.")] = False,
) -> None:
    """Run the benchmarks and say which marks are held."""
    chosen = [name for name in SECTIONS if name.startswith(tuple(only or [""]))]
    if unknown := [start for start in only or () if not any(n.startswith(start) for n in chosen)]:
        msg = f"unknown section {', '.join(unknown)}: choose among {', '.join(SECTIONS)}"
        raise typer.BadParameter(msg)
    if write_docs and quick:
        msg = "the page has figures of full sizes: leave out --quick"
        raise typer.BadParameter(msg)
    started, load_average = perf_counter(), os.getloadavg()[0]
    figures: list[Figure] = []
    for name in chosen:
        for figure in SECTIONS[name](Effort.QUICK if quick else Effort.FULL):
            print(figure.line, flush=True)
            figures.append(figure)
    print(f"\n{len(figures)} figures in {perf_counter() - started:.0f} s")
    print("\n".join(judged(figures)))
    if write_docs:
        rows = merged(read(RESULTS), measured_now(figures, load_average), list(SECTIONS))
        write(RESULTS, rows)
        fill(PAGE, document(rows))
        print(f"wrote {RESULTS} and {PAGE}")


if __name__ == "__main__":
    typer.run(main)
