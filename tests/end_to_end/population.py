"""Holders as they are: objects that only touch HTTP, and keep nothing but their own ledger."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from privet.client import UNLIMITED, Holder, MemoryLedger, ReportClient, StoredAnswer

Record = Mapping[str, Any]


def answer_all(task_url: str, records: Sequence[Record]) -> list[StoredAnswer]:
    """Let every record's own holder answer the task; what each of them keeps."""

    async def collect() -> list[StoredAnswer]:
        async with ReportClient() as http:
            holders = [Holder(http, MemoryLedger(UNLIMITED)) for _ in records]
            answers = (
                holder.answer(task_url, record)
                for holder, record in zip(holders, records, strict=True)
            )
            return await asyncio.gather(*answers)

    return asyncio.run(collect())


def thirds(n: int, seed: int) -> list[Record]:
    """Records of ``samples.classes``: x in [0, 1], and the third it is in."""
    names = ("low", "middle", "high")
    xs = np.random.default_rng(seed).uniform(0, 1, n)
    return [{"x": float(x), "level": names[int(3 * x)]} for x in xs]


def line(n: int, seed: int) -> list[Record]:
    """Records of ``samples.line``: y = 10 x."""
    xs = np.random.default_rng(seed).uniform(0, 1, (n, 2))
    return [{"x": float(x), "z": float(z), "y": float(10 * x)} for x, z in xs]


def survey(n: int, seed: int) -> list[Record]:
    """Records of ``samples.survey``."""
    rng = np.random.default_rng(seed)
    return [
        {
            "age": int(rng.integers(18, 70)),
            "hours": float(rng.uniform(0, 60)),
            "job": str(rng.choice(["farmer", "nurse", "smith"])),
            "member": bool(rng.integers(2)),
            "label": int(rng.integers(2)),
        }
        for _ in range(n)
    ]
