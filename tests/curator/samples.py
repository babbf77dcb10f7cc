"""Small public data sets for tests, as the bytes an admin would upload."""

from typing import Any

import numpy as np

PUBLIC_ALONE: dict[str, Any] = {"estimator": "weighted", "parameters": {"weight": "inf"}}
"""A fit that needs no reports."""


def survey(rows: int = 200, seed: int = 0) -> bytes:
    """Two numbers, a text and a truth value; the label is 1 where age and job say so."""
    rng = np.random.default_rng(seed)
    lines = ["age,hours,job,member,label"]
    for _ in range(rows):
        age, hours = rng.integers(18, 70), round(rng.uniform(0, 60), 1)
        job, member = rng.choice(["farmer", "nurse", "smith"]), rng.choice(["true", "false"])
        label = int((age > 40) ^ (job == "nurse") ^ (rng.uniform() < 0.1))
        lines.append(f"{age},{hours},{job},{member},{label}")
    return "\n".join(lines).encode()


def classes(rows: int = 300, seed: int = 0) -> bytes:
    """One number x in [0, 1] whose thirds are the classes low, middle and high."""
    rng = np.random.default_rng(seed)
    names = ("low", "middle", "high")
    lines = [f"{x:.6f},{names[int(3 * x)]}" for x in rng.uniform(0, 1, rows)]
    return "\n".join(["x,level", *lines]).encode()


def line(rows: int = 300, seed: int = 0) -> bytes:
    """Two numbers x, z in [0, 1]; the label is 10 x, so a number in [0, 10]."""
    rng = np.random.default_rng(seed)
    lines = [f"{x:.6f},{z:.6f},{10 * x:.6f}" for x, z in rng.uniform(0, 1, (rows, 2))]
    return "\n".join(["x,z,y", *lines]).encode()
