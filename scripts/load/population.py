"""The load test's task and population: LPCT's synthetic design."""

from collections.abc import Iterator

import httpx
import numpy as np

from privet import CuratorClient
from privet.protocol.calls import TASK_MEDIA_TYPE
from privet.protocol.task import Task
from scripts.reproduce.lpct_design import draw


def publish(admin: CuratorClient, cells: int) -> str:
    """Publish a task with about ``cells`` cells; its address."""
    public = draw(1_000, 0.5, np.random.default_rng(0))
    lines = [f"{x1},{x2},{int(y)}" for (x1, x2), y in zip(public.X, public.y, strict=True)]
    task = admin.create(
        "\n".join(["x1,x2,y", *lines]).encode(),
        name="Load test",
        label="y",
        epsilon=1.0,
        features={"x1": {"low": 0, "high": 1}, "x2": {"low": 0, "high": 1}},
        classes=["0", "1"],
        depth=max(1, round(np.log2(cells))),
        min_leaf=0,
    )
    return admin.task_url(task)


def fetch(task_url: str) -> Task:
    answer = httpx.get(task_url, headers={"Accept": TASK_MEDIA_TYPE}, timeout=60)
    answer.raise_for_status()
    return Task.parse(answer.content, task_url.rsplit("/", 1)[1])


def people(rng: np.random.Generator, count: int) -> Iterator[dict[str, float | str]]:
    """Holders' records, drawn from the design."""
    drawn = draw(count, 1.0, rng)
    for (x1, x2), y in zip(drawn.X.tolist(), drawn.y, strict=True):
        yield {"x1": x1, "x2": x2, "y": str(int(y))}
