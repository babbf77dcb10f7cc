"""The load test's own population: LPCT's synthetic design, whose accuracies are known exactly."""

import csv
import io
from collections.abc import Iterator
from typing import Any

import numpy as np

from curator.estimation import fit
from curator.public_data import PublicData
from curator.simulation import simulate_evidence
from protocol.task import Task
from scripts.collection import Admin
from scripts.load.holders import Record
from scripts.reproduce.lpct_design import Design, draw

DESIGN = Design(gamma=0.5, n_public=1000)
TEST_ROWS = 20_000
CHUNK = 1_000
ESTIMATOR = "weighted"


def publish(admin: Admin, cells: int, epsilon: float) -> str:
    """Publish a task with about ``cells`` cells; its address."""
    public = DESIGN.public(np.random.default_rng(0))
    return admin.publish(
        _as_csv(public),
        {
            "name": "Load test",
            "label": "y",
            "epsilon": epsilon,
            "features": {"x1": {"low": 0, "high": 1}, "x2": {"low": 0, "high": 1}},
            "classes": ["0", "1"],
            "depth": max(1, round(np.log2(cells))),
            "min_leaf": 0,
        },
    )


def records(_: Task, rng: np.random.Generator) -> Iterator[Record]:
    """Holders' records, drawn from the design for ever."""
    while True:
        drawn = draw(CHUNK, 1.0, rng)
        for (x1, x2), y in zip(drawn.X.tolist(), drawn.y.tolist(), strict=True):
            yield {"x1": x1, "x2": x2, "y": str(int(y))}


def accuracies(admin: Admin, task_url: str, task: Task, holders: int) -> dict[str, float]:
    """Test accuracy of the model from the collected reports, and of one from simulated sums."""
    rng = np.random.default_rng(1)
    test, everybody = draw(TEST_ROWS, 1.0, rng), draw(holders, 1.0, rng)
    evidence = simulate_evidence(task, everybody.X, everybody.y, rng)
    simulated = fit(ESTIMATOR, task.label, DESIGN.public(np.random.default_rng(0)), evidence)
    rows = [{"x1": x1, "x2": x2} for x1, x2 in test.X.tolist()]
    collected = admin.predict(task_url, admin.fit(task_url, ESTIMATOR), rows)
    labels = simulated.predict(test.X).labels(task.label)
    return {
        "collected over HTTP": _share(collected, test.y),
        "exact simulation": _share(labels, test.y),
    }


def _share(predicted: Any, truth: Any) -> float:
    return float(np.mean(np.asarray(predicted).astype(float) == truth))


def _as_csv(data: PublicData) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["x1", "x2", "y"])
    writer.writerows([x1, x2, int(y)] for (x1, x2), y in zip(data.X, data.y, strict=True))
    return text.getvalue().encode()
