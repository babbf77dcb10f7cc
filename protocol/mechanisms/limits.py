"""What a mechanism can be asked for; everything else is an ``InvalidTask`` that says what to do."""

import math
from collections.abc import Mapping
from typing import Any

from privet.protocol.errors import InvalidTask

MIN_EPSILON = 0.001
"""Below this a report says so little that no population on Earth would make up for it."""

MAX_EPSILON = 64.0
"""Above this a report is as good as the truth: its odds are beyond what 64-bit words can hold."""

MAX_CATEGORIES = 2**20
"""Most categories of one question; the rounding of probabilities is negligible up to here."""


def checked_epsilon(epsilon: float) -> float:
    """``epsilon`` as a float within the limits, or InvalidTask."""
    number = isinstance(epsilon, int | float) and not isinstance(epsilon, bool)
    if not number or not math.isfinite(epsilon) or not MIN_EPSILON <= epsilon <= MAX_EPSILON:
        raise InvalidTask(
            f"epsilon is {epsilon!r}; choose a number from {MIN_EPSILON} to {MAX_EPSILON:g}"
            " (0.5 to 4 is usual; smaller is more private and needs more holders)"
        )
    return float(epsilon)


def check_shape(cells: int, slots: int, *, regression: bool) -> None:
    """InvalidTask unless ``cells x slots`` is a question that can be asked."""
    checked_whole("cells", cells, 1, MAX_CATEGORIES)
    checked_whole("slots", slots, 1, MAX_CATEGORIES)
    if cells * slots < 2:
        raise InvalidTask("one cell and one slot leave nothing to ask; grow a deeper partition")
    if cells * slots > MAX_CATEGORIES:
        raise InvalidTask(
            f"{cells} cells x {slots} slots are more than {MAX_CATEGORIES} categories;"
            " grow a shallower partition or merge classes"
        )
    if regression and slots != 2:
        raise InvalidTask(f"a numeric label has 2 slots, not {slots}")


def checked_whole(name: str, value: Any, low: int, high: int) -> int:
    """``value`` as an integer from ``low`` to ``high``, or InvalidTask."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InvalidTask(f"{name} is {value!r}; it must be a whole number from {low} to {high}")
    return value


def check_known(mechanism: str, parameters: Mapping[str, Any], *known: str) -> None:
    """InvalidTask if ``parameters`` has a name that ``mechanism`` does not know."""
    unknown = sorted(set(parameters) - set(known))
    if unknown:
        takes = f"takes {', '.join(known)}" if known else "takes no parameters"
        raise InvalidTask(f"mechanism {mechanism} {takes}; leave out {', '.join(unknown)}")
