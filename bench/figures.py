"""Figures of a benchmark, and the time it may take."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from time import perf_counter

SHORT = 1.0
MOST_ROUNDS = 15

Work = Callable[[], object]


class Effort(StrEnum):
    """The size of a run: quick, to see that all works, or full, for the record."""

    QUICK = "quick"
    FULL = "full"


@dataclass(frozen=True)
class Figure:
    """One number; ``unit`` "x" is a time ratio, ours over the reference's: below 1 is faster."""

    section: str
    case: str
    what: str
    value: float
    unit: str

    @property
    def name(self) -> str:
        return f"{self.section}.{self.case}.{self.what}"

    @property
    def line(self) -> str:
        """``name value unit``."""
        return f"{self.name} {self.value:.4g} {self.unit}"


Section = Callable[[Effort], Iterator[Figure]]


def seconds(*works: Work) -> list[float]:
    """The best time of each piece of work; they take turns, so that all meet the same machine.

    Up to ``MOST_ROUNDS`` rounds, fewer if they take more than a second.
    """
    best = [float("inf")] * len(works)
    started, rounds = perf_counter(), 0
    while rounds == 0 or (rounds < MOST_ROUNDS and perf_counter() - started < SHORT):
        for place, work in enumerate(works):
            best[place] = min(best[place], timed(work))
        rounds += 1
    return best


def timed(work: Work) -> float:
    begun = perf_counter()
    work()
    return perf_counter() - begun
