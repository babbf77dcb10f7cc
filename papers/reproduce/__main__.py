"""Every figure and table of the papers, and Privet's own: ``python -m reproduce``."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from reproduce import DOCS, ROOT, driver, pages
from reproduce.effects import effects
from reproduce.experiment import EXPECTED, Experiment
from reproduce.experiments import EXPERIMENTS
from reproduce.illustrations import illustrate, regression_curves
from reproduce.markdown import fill

KEPT = Path("build")


def main(
    *,
    data: Annotated[Path, typer.Option(help="Folder that holds the data sets.")] = Path("data"),
    quick: Annotated[
        bool, typer.Option("--quick", help="One replication, for a first look.")
    ] = False,
    replications: Annotated[
        int, typer.Option(min=0, help="Maximum number of replications each; 0 for all.")
    ] = 0,
    only: Annotated[str, typer.Option(help="Beginnings of names, with commas.")] = "",
    methods: Annotated[str, typer.Option(help="Only these, with semicolons.")] = "",
    problems: Annotated[str, typer.Option(help="Only these, with semicolons.")] = "",
    add: Annotated[
        Path | None, typer.Option(help="A file that adds methods, problems or experiments.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Processes; -1 for one per core.")] = -1,
    scheduler: Annotated[str, typer.Option(help="Address of a Dask cluster.")] = "",
    write: Annotated[
        bool, typer.Option("--write", help="Write results and pages into the repository.")
    ] = False,
    measure: Annotated[
        bool, typer.Option(help="Without, the pages are written from results that are there.")
    ] = True,
) -> None:
    """Measure; write a CSV file for each experiment, and from these the pages and figures.

    They go to build/, or with --write into expected/, figures/, tables/ and the pages of the docs
    that show them.
    What is not measured anew stays as it is.
    """
    built_in = len(EXPERIMENTS)
    driver.load(add)
    chosen = EXPERIMENTS[built_in:] if add is not None and not only else EXPERIMENTS
    chosen = beginning(only.split(","), chosen)
    if not chosen:
        names = ", ".join(experiment.name for experiment in EXPERIMENTS)
        raise typer.BadParameter(f"No experiment begins with {only!r}: use one of {names}.")
    results = EXPECTED if write else KEPT / "results"
    if measure:
        narrowed = [
            driver.narrowed(
                experiment,
                most=1 if quick else replications,
                methods=[name for name in methods.split(";") if name],
                problems=[name for name in problems.split(";") if name],
            )
            for experiment in chosen
        ]
        store = driver.Store(KEPT / "cache", data, add)
        measured(narrowed, store, results, n_jobs=jobs, scheduler=scheduler)
    tables = {experiment.name: pages.kept(experiment, results) for experiment in EXPERIMENTS}
    if write:
        write_pages(tables)
        return
    page = KEPT / "results.md"
    text = pages.sections(EXPERIMENTS, tables, page, KEPT / "figures", results)
    page.write_text(text, encoding="utf-8")
    print(f"See {page}.")


def measured(
    experiments: Sequence[Experiment],
    store: driver.Store,
    results: Path,
    *,
    n_jobs: int,
    scheduler: str = "",
) -> set[str]:
    """Measure and merge into the CSV files in ``results``; the problems that were skipped."""
    scores, skipped = driver.run(experiments, store, n_jobs=n_jobs, scheduler=scheduler)
    for name, files in skipped.items():
        print(f"{name} is skipped: {files} is missing.")
    results.mkdir(parents=True, exist_ok=True)
    origin = {"version": driver.release(), "code": driver.fingerprint()[:12]}
    for experiment in experiments:
        new = driver.summarized(experiment, scores).round(6)
        new = new.assign(**origin, measured=f"{datetime.now(UTC):%Y-%m-%d}")
        if len(new):
            table = pages.merged(experiment, pages.kept(experiment, results), new)
            table.to_csv(results / f"{experiment.name}.csv", index=False)
    return {*skipped}


def write_pages(tables: Mapping[str, pd.DataFrame]) -> None:
    """Fill every place of a page with its tables or notes, and draw the figures."""
    illustrate(ROOT / "figures" / "lpct-illustrations.svg")
    regression_curves(ROOT / "figures" / "lpdt-curves.svg")
    noted = [experiment for name in pages.NOTES.values() for experiment in beginning(name)]
    without_notes = [replace(e, notes=None) if e in noted else e for e in EXPERIMENTS]
    for name, places in pages.PAGES.items():
        page = ROOT / "tables" / name
        filled = {
            place: pages.sections(
                beginning([place], without_notes), tables, page, ROOT / "figures", EXPECTED
            )
            for place in places
        }
        fill(page, filled | {"measured": pages.when(tables, beginning(places))})
    for name in pages.BENCHES:
        of_bench = [tables[one.name] for one in beginning([name])]
        gains = effects(*of_bench, best="min") if all(map(len, of_bench)) else ""
        fill(ROOT / "tables" / pages.BENCHES[name], {f"{name}-effects": gains})
    for name, places in pages.NOTES.items():
        notes = {
            f"{experiment.name}-notes": pages.notes(experiment, tables[experiment.name])
            for experiment in beginning(places)
            if experiment.notes
        }
        fill(DOCS / name, notes)
    for name, places in pages.MEASURED.items():
        fill(DOCS / name, {"measured": pages.when(tables, beginning(places))})


def beginning(
    names: Iterable[str], experiments: Iterable[Experiment] = EXPERIMENTS
) -> list[Experiment]:
    """The experiments whose names begin with one of ``names``."""
    return [e for e in experiments if e.name.startswith(tuple(names))]


if __name__ == "__main__":
    typer.run(main)
