"""The dashboard's pages, asked for one at a time of a curator of its own on this machine, and the
precision that a page states while somebody types."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import httpx

from bench.figures import Effort, Figure, timed
from bench.samples import LABEL, full_tree, records
from privet.curator.dashboard.precision import known_of
from privet.curator.dashboard.study import ALONE, Column, Study
from privet.curator.datastore import open_store
from privet.learning.task_building.review import Proposal
from privet.protocol.features import Numeric
from privet.protocol.lifecycle import TaskState
from privet.protocol.partition import Tree
from privet.protocol.task import Task
from scripts.servers import running_curator

TASKS = {Effort.QUICK: 5, Effort.FULL: 1_000}
CALLS = {Effort.QUICK: 2, Effort.FULL: 100}
CELLS, COLUMNS = 64, 8
PEOPLE = 10**7
"""Many people, of whom a tree has as many cells as the default ever grows."""


def showing(effort: Effort) -> Iterator[Figure]:
    """Seconds until the first page is there, by a stranger; its first time stands alone."""
    with tempfile.TemporaryDirectory(prefix="privet-bench-") as name:
        folder = Path(name)
        _fill(folder / "privet.db", TASKS[effort])
        with running_curator(folder) as curator, httpx.Client(base_url=curator.url) as http:

            def ask() -> None:
                http.get("/").raise_for_status()

            first, times = timed(ask), [timed(ask) for _ in range(CALLS[effort])]
    case = f"first_page,tasks={TASKS[effort]}"
    yield Figure("pages", case, "first_time", first, "s")
    yield Figure("pages", case, "time", median(times), "s")
    yield _typing(CALLS[effort])


def _typing(calls: int) -> Figure:
    """Seconds until the precision of a study of many people is known."""
    features = [Proposal(f"x{i}", None, (), "", {}, (), "") for i in range(COLUMNS)]
    columns = [Column.of_question(), *(Column(found=each, use=True) for each in features)]
    settings = {"label": ALONE, "epsilon": "1", "holders": str(PEOPLE)}
    study = Study.model_validate({"columns": columns, **settings})

    def ask() -> None:
        if not known_of(study, *study.tried(0.0)).tells:
            raise RuntimeError("The precision is not known.")

    ask()
    times = [timed(ask) for _ in range(calls)]
    return Figure("pages", f"precision,people={PEOPLE}", "time", median(times), "s")


def _fill(database: Path, tasks: int) -> None:
    """Create a database with this number of open tasks, which differ in their names."""
    tree = Tree.of(full_tree(CELLS, COLUMNS))
    public = records(100, COLUMNS)
    store = open_store(f"sqlite:///{database}")
    for number in range(tasks):
        task = Task.checked(
            {
                "name": f"Task {number}",
                "features": [Numeric(name=f"x{i}", low=0.0, high=1.0) for i in range(COLUMNS)],
                "label": LABEL,
                "partitions": [tree],
                "questions": [{"partition": 0, "mechanism": "subset", "epsilon": 1.0}],
            }
        )
        store.tasks.create(task, {}, public, float(number), TaskState.OPEN)
    store.close()
