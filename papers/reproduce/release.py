"""Everything that a release states, measured at its tag: ``python -m reproduce.release``.

In the order of ``STEPS``, an experiment is measured if it changed: the product's and this project's
code, its own description, or its data. ``expected/release.json`` keeps what each was measured with.
"""

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

import typer

from reproduce import __main__ as command
from reproduce import driver, pages, second_bench
from reproduce.blind import hash_of_default
from reproduce.experiment import EXPECTED, Experiment
from reproduce.experiments import EXPERIMENTS

STEPS = {
    "the second blind bench": ("second-bench",),
    "shifts": ("shifts", "trust"),
    "classification": ("accuracy-classes", "accuracy-design"),
    "regression": ("accuracy-numbers",),
    "coverage": ("coverage",),
    "statements": ("statements",),
    "disclosed columns": ("disclosed",),
}
"""What is measured, in this order, and the beginnings of its experiments' names."""
KEPT = "release.json"


def main(
    *,
    data: Annotated[Path, typer.Option(help="Folder that holds the data sets.")] = Path("data"),
    rehearse: Annotated[
        bool, typer.Option("--rehearse", help="Into build/, at any commit, without the bench.")
    ] = False,
    replications: Annotated[
        int, typer.Option(min=0, help="Maximum number of replications of a rehearsal; 0 for all.")
    ] = 0,
    steps: Annotated[str, typer.Option(help="Only these, with commas.")] = "",
    jobs: Annotated[int, typer.Option(help="Processes; -1 for one per core.")] = -1,
    scheduler: Annotated[str, typer.Option(help="Address of a Dask cluster.")] = "",
) -> None:
    """Measure what has changed since the last release, and write the pages that show it.

    At the tag of a release only, which is whose default the second blind bench draws its sets by.
    """
    if "+" in driver.release() and not rehearse:
        raise typer.BadParameter(
            f"This is {driver.release()}, no release: check out a tag, or use --rehearse."
        )
    if replications and not rehearse:
        raise typer.BadParameter("A release has all replications: use --rehearse with fewer.")
    chosen = dict(STEPS)
    if steps:
        chosen = {name: STEPS[name] for name in STEPS if name in steps.split(",")}
    if rehearse:
        chosen.pop("the second blind bench", None)
    elif "the second blind bench" in chosen and not second_bench.SETS.exists():
        second_bench.draw(hash_of_default())
    results = command.KEPT / "results" if rehearse else EXPECTED
    store = driver.Store(command.KEPT / "cache", data)
    for step, names in chosen.items():
        experiments = [
            driver.narrowed(one, most=replications, methods=(), problems=())
            for one in command.beginning(names)
        ]
        todo = [one for one in experiments if inputs(one, store) != kept(results).get(one.name)]
        print(f"{step}: {len(todo)} of {len(experiments)} experiments are to be measured.")
        skipped = command.measured(todo, store, results, n_jobs=jobs, scheduler=scheduler)
        done = {
            one.name: inputs(one, store)
            for one in todo
            if not skipped & {job.problem for job in one.jobs}
        }
        (results / KEPT).write_text(json.dumps({**kept(results), **done}, indent=1) + "\n")
    if not rehearse:
        tables = {one.name: pages.kept(one, results) for one in EXPERIMENTS}
        command.write_pages(tables)


def inputs(experiment: Experiment, store: driver.Store) -> str:
    """A hash of all that an experiment's numbers depend on."""
    files = sorted({file for job in experiment.jobs for file in store.needs(job)})
    digests = [driver.digest(file) if file.exists() else "" for file in files]
    described = (experiment.jobs, experiment.replications, experiment.series, experiment.measures)
    return sha256(repr((driver.fingerprint(), described, digests)).encode()).hexdigest()


def kept(results: Path) -> Mapping[str, Any]:
    """The hashes with which experiments in ``results`` were measured, by name."""
    file = results / KEPT
    return json.loads(file.read_text()) if file.exists() else {}


if __name__ == "__main__":
    typer.run(main)
