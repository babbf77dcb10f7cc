"""The load test's task and population: LPCT's synthetic design, whose accuracies are known."""

from typing import Any

import httpx
import numpy as np
from numpy.typing import NDArray

from privet import CuratorClient
from privet.learning.estimators import fit
from privet.learning.simulation import simulate_counts
from privet.protocol.task import TASK_MEDIA_TYPE, Task
from scripts.reproduce.lpct_design import draw
from scripts.simulate import weighted_points

Floats = NDArray[np.float64]

PUBLIC = draw(1_000, 0.5, np.random.default_rng(0))
TEST_ROWS = 20_000
SIMULATIONS = 5
ESTIMATOR = "weighted"


def publish(admin: CuratorClient, cells: int, epsilon: float) -> str:
    """Publish a task with about ``cells`` cells; its address."""
    lines = [f"{x1},{x2},{int(y)}" for (x1, x2), y in zip(PUBLIC.X, PUBLIC.y, strict=True)]
    task = admin.create(
        "\n".join(["x1,x2,y", *lines]).encode(),
        name="Load test",
        label="y",
        epsilon=epsilon,
        features={"x1": {"low": 0, "high": 1}, "x2": {"low": 0, "high": 1}},
        classes=["0", "1"],
        depth=max(1, round(np.log2(cells))),
        min_leaf=0,
    )
    return admin.task_url(task)


def fetch(task_url: str) -> Task:
    """The task at an address."""
    answer = httpx.get(task_url, headers={"Accept": TASK_MEDIA_TYPE}, timeout=60)
    answer.raise_for_status()
    return Task.parse(answer.content, task_url.rsplit("/", 1)[1])


def people(rng: np.random.Generator, count: int) -> tuple[Floats, Floats]:
    """Holders' encoded records, (count, 2), and labels, drawn from the design."""
    drawn = draw(count, 1.0, rng)
    return drawn.X, drawn.y


def accuracies(admin: CuratorClient, task_url: str, task: Task, holders: int) -> dict[str, float]:
    """Test accuracy of the model from the collected reports, and of some from simulated sums."""
    rng = np.random.default_rng(1)
    test = draw(TEST_ROWS, 1.0, rng)
    columns = {"x1": test.X[:, 0], "x2": test.X[:, 1]}
    number = admin.fit(task_url, ESTIMATOR)["number"]
    collected = admin.predict(task_url, columns, model=number)["label"]
    X, y, weights = weighted_points()
    simulated = []
    for _ in range(SIMULATIONS):
        counts = simulate_counts(task, X, y, rng, copies=rng.multinomial(holders, weights))
        model = fit(ESTIMATOR, task.label, PUBLIC, counts)
        simulated.append(_share(model.predict(test.X).labels(task.label), test.y))
    return {
        "of reports over HTTP": _share(collected, test.y),
        f"of {SIMULATIONS} exact simulations, mean": float(np.mean(simulated)),
        "their least": min(simulated),
        "their greatest": max(simulated),
    }


def _share(predicted: Any, truth: Any) -> float:
    return float(np.mean(np.asarray(predicted).astype(float) == truth))
