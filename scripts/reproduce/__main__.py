"""Every figure and table of the papers: ``python -m scripts.reproduce``."""

from pathlib import Path
from typing import Annotated

import typer

from scripts.pages import fill
from scripts.reproduce import driver, paper_page
from scripts.reproduce.experiments import EXPERIMENTS

ROOT = Path(__file__).parents[2]
KEPT = Path("privet-data/reproduce")


def main(
    *,
    data: Annotated[Path, typer.Option(help="Folder that holds the data sets.")] = Path(
        "../shared/data"
    ),
    quick: Annotated[
        bool, typer.Option("--quick", help="One or two replications, for a first look.")
    ] = False,
    replications: Annotated[
        int, typer.Option(min=0, help="At most so many replications each; 0 for all.")
    ] = 0,
    only: Annotated[str, typer.Option(help="Names of experiments begin with this.")] = "",
    add: Annotated[
        Path | None, typer.Option(help="A file that adds methods, problems or experiments.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Processes; -1 for one per core.")] = -1,
) -> None:
    """Measure, and write the page, its figures and CSV files.

    All experiments with all methods are written into docs; anything less into privet-data.
    """
    known = len(EXPERIMENTS)
    driver.load(add)
    chosen = EXPERIMENTS[known:] if add is not None and not only else EXPERIMENTS
    chosen = [each for each in chosen if each.name.startswith(only)]
    if not chosen:
        names = ", ".join(each.name for each in EXPERIMENTS)
        raise typer.BadParameter(f"No experiment begins with {only!r}: use one of {names}.")
    chosen = [driver.limited(each, quick=quick, most=replications) for each in chosen]
    scores, skipped = driver.run(chosen, data, KEPT / "cache", n_jobs=jobs, plugin=add)
    tables = {each.name: driver.summarized(each, scores) for each in chosen}
    whole = not (quick or only or add)
    folder = ROOT / "docs" if whole else KEPT
    csv_files = ROOT / "scripts/reproduce/expected/papers" if whole else KEPT / "results"
    text = paper_page.results_page(chosen, tables, skipped, folder=folder, results=csv_files)
    page = folder / "reproduction.md"
    if whole:
        fill(page, {"results": text})
    else:
        page.write_text(text, encoding="utf-8")
    for name, files in skipped.items():
        print(f"{name} is skipped: {files} is missing.")
    print(f"See {page}.")


if __name__ == "__main__":
    typer.run(main)
