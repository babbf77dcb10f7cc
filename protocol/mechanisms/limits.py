"""Limits on the parameters of mechanisms, and the ``InvalidTask`` errors beyond them."""

import math
from typing import Any

from ..errors import InvalidTask
from ..limits import MAX_CATEGORIES, MAX_LEVELS, MAX_TABLE_ENTRIES

MIN_EPSILON = 0.001
"""Below this a report carries so little information that no population is large enough."""

MAX_EPSILON = 64.0
"""Above this a report is as good as the truth, and its odds exceed what 64-bit words can hold."""


def checked_question(
    epsilon: float, cells: int, slots: int, *, regression: bool, most_levels: int = MAX_LEVELS
) -> tuple[float, int, int]:
    """``epsilon`` as a float, ``cells`` and ``slots``; InvalidTask if that cannot be asked.

    ``most_levels`` are those of a numeric label that the mechanism takes.
    """
    number = isinstance(epsilon, int | float) and not isinstance(epsilon, bool)
    if not number or not math.isfinite(epsilon) or not MIN_EPSILON <= epsilon <= MAX_EPSILON:
        raise InvalidTask(
            f"epsilon is {epsilon!r}; choose a number from {MIN_EPSILON} to {MAX_EPSILON:g}"
            " (0.5 to 4 is usual; smaller is more private and needs more holders)"
        )
    checked_integer("cells", cells, 1, MAX_CATEGORIES)
    checked_integer("slots", slots, 1, MAX_CATEGORIES)
    if cells * slots < 2:
        raise InvalidTask("one cell and one slot leave nothing to ask; grow a deeper partition")
    if cells * slots + 1 > MAX_CATEGORIES:
        raise InvalidTask(
            f"{cells} cells x {slots} slots + 1 are more than {MAX_CATEGORIES} categories;"
            " grow a shallower partition or merge classes"
        )
    if regression and not 2 <= slots <= most_levels:
        allowed = "2" if most_levels == 2 else f"2 to {most_levels}"
        raise InvalidTask(f"this mechanism takes a numeric label on {allowed} levels, not {slots}")
    return float(epsilon), cells, slots


def checked_integer(name: str, value: Any, low: int, high: int) -> int:
    """``value`` as an integer from ``low`` to ``high``, or InvalidTask."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InvalidTask(f"{name} is {value!r}; it must be a whole number from {low} to {high}")
    return value


def checked_noise_table(entries: int, epsilon: float, resolution: int) -> None:
    """Raise InvalidTask if the noise table would be too large."""
    if entries > MAX_TABLE_ENTRIES:
        raise InvalidTask(
            f"resolution {resolution} at epsilon {epsilon:g} needs a table of {entries} entries,"
            f" above {MAX_TABLE_ENTRIES}; leave resolution out, or choose a smaller one or a"
            " larger epsilon"
        )
