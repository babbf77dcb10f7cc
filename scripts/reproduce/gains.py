"""What variants gained over the plain form, over all settings of an experiment, as one table."""

from collections.abc import Sequence

import numpy as np

from scripts.reproduce.datasets import REGRESSION
from scripts.reproduce.paired import Rows

SURE = 2.0
"""Standard errors beyond which a difference counts."""


def gains(rows: Rows, plain: str, *, numbers: bool = False) -> str:
    """Markdown: per estimator and variant the mean, least and greatest gain, and how many count.

    Gains are points of accuracy; for ``numbers``, by how many per cent the squared error falls.
    """
    kept = [row for row in rows if (row["set"] in REGRESSION) == numbers]
    base = {_setting(row): float(row["mean"]) for row in kept if row["variant"] == plain}
    unit = "%" if numbers else "points"
    lines = [["estimator", "variant", f"mean, least, most, {unit}", "gain / lose"], ["---"] * 4]
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for row in kept:
        if row["variant"] != plain:
            scale = -100.0 / base[_setting(row)] if numbers else 100.0
            key = str(row["method"]), str(row["variant"])
            gain, error = float(row["difference"]) * scale, float(row["standard_error"]) * scale
            found.setdefault(key, []).append((gain, abs(error)))
    lines += [[*key, *_told(each)] for key, each in found.items()]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _setting(row: dict[str, str | float]) -> tuple[str | float, ...]:
    return row["set"], row["epsilon"], row["method"]


def _told(found: Sequence[tuple[float, float]]) -> list[str]:
    gain, error = np.array(found).T
    more, less = int((gain > SURE * error).sum()), int((gain < -SURE * error).sum())
    return [
        f"{gain.mean():+.1f}, {gain.min():+.1f}, {gain.max():+.1f}",
        f"{more} / {less} of {len(gain)}",
    ]
