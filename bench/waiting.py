"""Times that people wait: imports, commands, a plan, a fit, a million predictions, the demo.

Each time in seconds stands beside one of scikit-learn's of the same run, since machines differ.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from bench.figures import Effort, Figure, Work, seconds, timed
from bench.samples import EPSILON, LABEL
from privet import PrivateTreeClassifier
from privet.curator.datastore import open_store
from privet.curator.datastore.reports import QuestionSums
from privet.curator.datastore.status import Collected
from privet.curator.operations.fitting import fit_model
from privet.learning.core.counts import QuestionCounts
from privet.learning.core.public_data import PublicData
from privet.learning.methods import DEFAULT_ESTIMATOR
from privet.learning.simulation import simulate_counts
from privet.learning.task_building.build import TaskBuilder
from privet.learning.task_building.settings import TaskSettings
from privet.protocol.features import Numeric
from privet.protocol.lifecycle import TaskState
from privet.protocol.task import Task

COLUMNS = 8
ROWS = {Effort.QUICK: (60, 200, 1_000), Effort.FULL: (2_000, 10_000, 10**6)}
"""Public rows, holders, rows to predict."""
ROUNDS = {Effort.QUICK: 1, Effort.FULL: 5}
IMPORTS = {
    "import Holder": "from privet import Holder",
    "import PrivateTreeClassifier": "from privet import PrivateTreeClassifier",
    "import sklearn.ensemble": "import sklearn.ensemble",
}
EXAMPLE = ("--public", "docs/examples/clinic.csv", "--label", "readmitted")
PLAN = ("plan", *EXAMPLE, "--holders", "10000", "--epsilon", "1")
ROOT = Path(__file__).parents[1]


def waiting(effort: Effort) -> Iterator[Figure]:
    """Times that somebody sits through, best of a few rounds; the demo once."""
    yield from _starting(ROUNDS[effort])
    yield from _learning(*ROWS[effort])
    if effort is Effort.FULL:
        for case, disclosed in {"plan": (), "disclosed,plan": ("--disclosed", "age")}.items():
            [elapsed] = _best(1, partial(_privet, *PLAN, *disclosed))
            yield Figure("waiting", case, "time", elapsed, "s")
        yield from _demo()


def _starting(rounds: int) -> Iterator[Figure]:
    works: dict[str, Work] = {name: partial(_python, "-c", code) for name, code in IMPORTS.items()}
    works["privet --help"] = partial(_privet, "--help")
    times = dict(zip(works, _best(rounds, *works.values()), strict=True))
    for name, elapsed in times.items():
        yield Figure("waiting", name, "time", elapsed, "s")
    ours, theirs = (times[name] for name in list(IMPORTS)[1:])
    yield Figure("waiting", "import PrivateTreeClassifier", "over_sklearn", ours / theirs, "x")


def _learning(public: int, holders: int, rows: int) -> Iterator[Figure]:
    """A fit with the public model made for it, as in a process that has just started; one of half
    the reports by a relay; the whole of ``PrivateTreeClassifier.fit``; predictions.
    """
    X, y = make_classification(public + holders + rows, COLUMNS, random_state=0)
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    known, asked = slice(public), slice(public, public + holders)
    case = f"public={public},holders={holders}"
    data = PublicData(X[known], y[known].astype(np.float64))
    published = timed(partial(_task, data, holders))  # makes the public model
    task = _task(data, holders)
    collected = _collected(
        task, data, simulate_counts(task, X[asked], y[asked], np.random.default_rng(0))
    )
    relayed = replace(collected, relayed={"relay": holders // 2})
    direct, behind = seconds(
        *(partial(fit_model, each, data, DEFAULT_ESTIMATOR, {}) for each in (collected, relayed))
    )
    one_fit = published + direct
    yield Figure("waiting", f"fit,{case}", "time", one_fit, "s")
    yield Figure("waiting", f"fit,{case},relay", "over_fit", (published + behind) / one_fit, "x")
    forest = RandomForestClassifier(random_state=0)
    theirs = timed(partial(forest.fit, X[known], y[known]))
    yield Figure("waiting", f"sklearn's forest,public={public}", "time", theirs, "s")
    model = PrivateTreeClassifier(EPSILON, random_state=0)
    simulated = timed(partial(model.fit, X[asked], y[asked], public=(X[known], y[known])))
    yield Figure("waiting", f"PrivateTreeClassifier,{case}", "over_fit", simulated / one_fit, "x")
    others = X[public + holders :]
    elapsed, theirs = (timed(partial(each.predict, others)) for each in (model, forest))
    yield Figure("waiting", f"predict,rows={rows}", "time", elapsed, "s")
    yield Figure("waiting", f"sklearn's forest,rows={rows}", "time", theirs, "s")


def _task(data: PublicData, holders: int) -> Task:
    settings = TaskSettings(name="bench", label="y", epsilon=EPSILON, holders=holders)
    features = tuple(Numeric(name=f"x{place}", low=0.0, high=1.0) for place in range(COLUMNS))
    return TaskBuilder(features, LABEL, data).task(settings)


def _collected(task: Task, data: PublicData, counts: Sequence[QuestionCounts]) -> Collected:
    """A task of a curator's database, with what its holders' reports add up to."""
    with (
        tempfile.TemporaryDirectory(prefix="privet-bench-") as folder,
        closing(open_store(f"sqlite:///{folder}/waiting.db")) as store,
    ):
        store.tasks.create(task, {}, data, time.time(), TaskState.OPEN)
        empty = store.standing.collected(task.id)
    sums = [QuestionSums(question.sums.astype(np.int64), question.n) for question in counts]
    return replace(empty, sums=sums)


def _demo() -> Iterator[Figure]:
    """``make demo`` in a fresh clone, with the set-up from a warm cache, and once more."""
    with tempfile.TemporaryDirectory(prefix="privet-bench-") as folder:
        clone = Path(folder) / "privet"
        _run("git", "clone", "--quiet", "--local", str(ROOT), str(clone))
        for case in ("cold", "warm"):
            elapsed = timed(partial(_run, "make", "--no-print-directory", "demo", folder=clone))
            yield Figure("waiting", f"make demo,{case}", "time", elapsed, "s")


def _best(rounds: int, *works: Work) -> list[float]:
    """The best time of each piece of work; they take turns."""
    times = [[timed(work) for work in works] for _ in range(rounds)]
    return [min(of_one) for of_one in zip(*times, strict=True)]


def _python(*arguments: str) -> None:
    _run(sys.executable, *arguments)


def _privet(*arguments: str) -> None:
    _run(str(Path(sys.executable).with_name("privet")), *arguments)


def _run(*command: str, folder: Path = ROOT) -> None:
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, env=_bare())


def _bare() -> dict[str, str]:
    """The environment without what an outer make says to an inner one."""
    return {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
