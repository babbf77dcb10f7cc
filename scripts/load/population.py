"""The load test's task and population: the synthetic design of Ma and Yang (2024)."""

from collections.abc import Iterator

import httpx
import numpy as np
from numpy.typing import NDArray

from privet import CuratorClient
from privet.protocol.calls import TASK_MEDIA_TYPE
from privet.protocol.task import Task

Floats = NDArray[np.float64]


def publish(admin: CuratorClient, cells: int) -> str:
    """Publish a task with about ``cells`` cells; its address."""
    X, y = draw(1_000, 0.5, np.random.default_rng(0))
    lines = [f"{x1},{x2},{label}" for (x1, x2), label in zip(X, y, strict=True)]
    task = admin.create(
        "\n".join(["x1,x2,y", *lines]).encode(),
        name="Load test",
        label="y",
        epsilon=1.0,
        features={"x1": {"low": 0, "high": 1}, "x2": {"low": 0, "high": 1}},
        classes=["0", "1"],
        depth=max(1, round(np.log2(cells))),
        min_leaf=0,
        label_part=0.0,  # one question, so that all reports are as long
    )
    return admin.task_url(task)


def fetch(task_url: str) -> Task:
    answer = httpx.get(task_url, headers={"Accept": TASK_MEDIA_TYPE}, timeout=60)
    answer.raise_for_status()
    return Task.parse(answer.content, task_url.rsplit("/", 1)[1])


def people(rng: np.random.Generator, count: int) -> Iterator[dict[str, float | str]]:
    """Holders' records, drawn from the design."""
    X, y = draw(count, 1.0, rng)
    for (x1, x2), label in zip(X.tolist(), y, strict=True):
        yield {"x1": x1, "x2": x2, "y": str(label)}


def draw(n: int, gamma: float, rng: np.random.Generator) -> tuple[Floats, NDArray[np.int64]]:
    """n records: features uniform on the unit square, ``(n, 2)``, and labels 0 or 1, ``(n,)``.

    A larger ``gamma`` moves the chances of the two labels closer to 1/2.
    """
    X = rng.random((n, 2))
    x1, x2 = X.T
    sign = np.sign(x1 - 0.33) * np.sign(x2 - 0.33)
    size = np.abs(1.5 * x1 - 0.5) * np.abs(1.5 * x2 - 0.5) * (1.0 - np.abs(2.0 * x2 - 1.0))
    chance = 0.5 + 0.4 * sign * size ** (0.1 * gamma)
    return X, (rng.random(n) < chance).astype(np.int64)
