"""The load test's own population: LPCT's synthetic design, whose accuracies are known exactly."""

import csv
import io
from typing import Any

import numpy as np

from privet import CuratorClient
from privet.curator.estimation import QuestionCounts, fit
from privet.curator.public_data import PublicData
from privet.curator.simulation import simulate_counts
from privet.protocol.task import Task
from scripts.load.people import Floats
from scripts.reproduce.lpct_design import Design, draw

DESIGN = Design(gamma=0.5, n_public=1000)
TEST_ROWS = 20_000
CHUNK = 1_000_000
SIMULATIONS = 5
ESTIMATOR = "weighted"


def publish(admin: CuratorClient, cells: int, epsilon: float) -> str:
    """Publish a task with about ``cells`` cells; its address."""
    public = DESIGN.public(np.random.default_rng(0))
    task = admin.create(
        _as_csv(public),
        name="Load test",
        label="y",
        epsilon=epsilon,
        features={"x1": {"low": 0, "high": 1}, "x2": {"low": 0, "high": 1}},
        classes=["0", "1"],
        depth=max(1, round(np.log2(cells))),
        min_leaf=0,
    )
    return admin.task_url(task)


def people(_: Task, rng: np.random.Generator, count: int) -> tuple[Floats, Floats]:
    """Holders' records, drawn from the design."""
    drawn = draw(count, 1.0, rng)
    return drawn.X, drawn.y


def accuracies(admin: CuratorClient, task_url: str, task: Task, holders: int) -> dict[str, float]:
    """Test accuracy of the model from the collected reports, and of some from simulated sums."""
    rng = np.random.default_rng(1)
    test = draw(TEST_ROWS, 1.0, rng)
    public = DESIGN.public(np.random.default_rng(0))
    columns = {"x1": test.X[:, 0], "x2": test.X[:, 1]}
    number = admin.fit(task_url, ESTIMATOR)["number"]
    collected = admin.predict(task_url, columns, model=number)["label"]
    simulated = []
    for _ in range(SIMULATIONS):
        model = fit(ESTIMATOR, task.label, public, _simulated(task, holders, rng))
        simulated.append(_share(model.predict(test.X).labels(task.label), test.y))
    return {
        "of reports over HTTP": _share(collected, test.y),
        f"of {SIMULATIONS} exact simulations, mean": float(np.mean(simulated)),
        "their least": min(simulated),
        "their greatest": max(simulated),
    }


def _simulated(task: Task, holders: int, rng: np.random.Generator) -> list[QuestionCounts]:
    """Exact simulation of other holders of the same design, in bounded memory."""
    parts = []
    for start in range(0, holders, CHUNK):
        drawn = draw(min(CHUNK, holders - start), 1.0, rng)
        parts.append(simulate_counts(task, drawn.X, drawn.y, rng))
    return [
        QuestionCounts(
            one[0].partition,
            one[0].mechanism,
            np.sum([part.sums for part in one], axis=0),
            sum(part.n for part in one),
        )
        for one in zip(*parts, strict=True)
    ]


def _share(predicted: Any, truth: Any) -> float:
    return float(np.mean(np.asarray(predicted).astype(float) == truth))


def _as_csv(data: PublicData) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["x1", "x2", "y"])
    writer.writerows([x1, x2, int(y)] for (x1, x2), y in zip(data.X, data.y, strict=True))
    return text.getvalue().encode()
