"""The contract of a local randomizer: the holder's half and the curator's half in one object.

A mechanism answers one question at budget ``epsilon``. The holder's private input is one
*category* out of ``cells * levels + 1``: ``cell * levels + level``, and the last one, ``misfit``,
for a record that does not fit the task. For classification a level is the class label. For
regression the label is first rounded at random, without bias, onto ``levels`` evenly spaced points
of its published range (two points, unless the question asks for more levels, or the mechanism adds
its own noise to the label and asks for a finer lattice), so a level is a number on that lattice.

The curator's estimate is a ``cells x slots`` array of unbiased counts of the holders whose record
fits; ``misfits`` is that of the others. For classification ``slots == levels``. For regression with
``slots == 2``, whatever ``levels`` is, slot 1 holds the sum of ``t = (y - low) / (high - low)``
over the cell's holders and slot 0 that of ``1 - t``, so a cell's mean label and its mass are
computed in the same way for every mechanism. With more slots each is a level: slot j has the
holders whose label was rounded to ``low + j (high - low) / (slots - 1)``.

The holder's side is exact integer work: randomness comes as bytes from a ``RandomBytes`` callable
(``os.urandom`` in production), probabilities are integers over ``2**64``. The sums of simulated
populations are drawn elsewhere, in ``privet.learning.simulation``.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .discrete_laplace import DiscreteLaplace
from .exact import draw, log_of
from .limits import checked_question

RandomBytes = Callable[[int], bytes]
"""``randomness(n)`` returns n uniform bytes; ``os.urandom`` and ``io.BytesIO(b).read`` qualify."""

Counts = NDArray[np.float64]
Sums = NDArray[np.int64]
Payloads = NDArray[np.uint8]
Words = NDArray[np.uint64]


class Frequencies(NamedTuple):
    """Unbiased numbers of holders, whose true values are not negative and add up to at most n.

    Uncorrelated but for what follows from a fixed sum. One per coordinate, ``(coordinates,)``.
    """

    values: NDArray[np.float64]
    n: int
    """The reports that they are of; exact."""
    own: float
    """Variance that a holder adds to its own number."""
    other: float
    """Variance that a holder adds to every other number."""
    least: float
    """The least that one report can add to a number."""
    length: float
    """The greatest Euclidean length of what one report adds to all."""
    kurtosis: float
    """The kurtosis of what a report adds to a number that is not its holder's."""


@dataclass(frozen=True)
class Mechanism(ABC):
    """A local randomizer of one category; immutable, cheap to share.

    A published task carries ``name``, the question and ``parameters()``, from which
    ``create_mechanism`` builds an equal object.
    """

    name: ClassVar[str]
    parameter_names: ClassVar[tuple[str, ...]] = ()
    """The keyword parameters of ``create``, each also an attribute of the mechanism."""

    epsilon: float
    cells: int
    slots: int

    @classmethod
    def create(cls, epsilon: float, cells: int, slots: int, *, regression: bool = False) -> Self:
        """Build the mechanism for ``cells x slots`` categories at ``epsilon``.

        ``regression`` says that the slots are a numeric label. A mechanism with parameters
        adds them as keywords; the best value is the default. Raises InvalidTask for an epsilon
        outside the limits, for fewer than two categories in all (one slot means that only
        the cell is asked), and for an impossible parameter.
        """
        return cls(*checked_question(epsilon, cells, slots, regression=regression))

    def parameters(self) -> dict[str, int | float | str]:
        """Arguments of ``create`` beyond (epsilon, cells, slots) that build an equal mechanism."""
        return {name: getattr(self, name) for name in self.parameter_names}

    @property
    def levels(self) -> int:
        """Points the label is coded on; more than ``slots`` if the label is on a fine lattice."""
        return self.slots

    @property
    def misfit(self) -> int:
        """The last category: that of a record which does not fit the task."""
        return self.cells * self.levels

    @property
    def categories(self) -> int:
        """m, the number of different private inputs: ``cells * levels + 1``."""
        return self.misfit + 1

    def misfit_at(self, cell: int) -> int:  # noqa: ARG002
        """The category of a record that does not fit, whose ``cell`` is found by stand-ins."""
        return self.misfit

    @property
    def stratum_count(self) -> int:
        """Number of strata, which a payload names in the clear; 1 if it discloses nothing."""
        return 1

    @property
    def stratum_of_cell(self) -> NDArray[np.intp]:
        """The stratum of each cell, ``(cells,)``."""
        return np.zeros(self.cells, dtype=np.intp)

    def reported(self, sums: Sums, n: int) -> NDArray[np.int64]:  # noqa: ARG002
        """The exact numbers of the n reports per stratum, ``(stratum_count,)``."""
        return np.array([n], dtype=np.int64)

    def of_all(self, sums: Sums) -> tuple["Mechanism", Sums]:
        """The mechanism and the sums of the reports of all strata together, as one stratum."""
        return self, sums

    @property
    @abstractmethod
    def report_bytes(self) -> int:
        """Length in bytes of every payload, whatever the private value."""

    @property
    @abstractmethod
    def random_bytes(self) -> int:
        """Bytes of randomness that ``privatize`` draws, which is also a measure of its work."""

    @property
    def lattice(self) -> DiscreteLaplace | None:
        """The noise that is drawn from a table, if the mechanism has one."""
        return None

    @property
    def integers(self) -> dict[str, int]:
        """The probabilities that it compares random words with, in words, by their names in
        docs/mechanisms.md; tables of noise aside."""
        return {}

    @property
    @abstractmethod
    def sum_size(self) -> int:
        """Length of the int64 vector that payloads are added up into."""

    def privatize(self, category: int, randomness: RandomBytes) -> bytes:
        """One payload of ``report_bytes`` for a holder of ``category``.

        Draws ``random_bytes`` in one call, for every category. Raises ValueError for a
        category outside ``range(categories)``.
        """
        if not 0 <= category < self.categories:
            raise ValueError(f"category {category} is not in range({self.categories})")
        words = np.frombuffer(draw(randomness, self.random_bytes), dtype="<u8")
        return self.payload(category, words.astype(np.uint64, copy=False))

    @abstractmethod
    def payload(self, category: int, words: Words) -> bytes:
        """The payload that ``words``, all of ``random_bytes``, give for a ``category``.

        The steps taken do not depend on the category.
        """

    @abstractmethod
    def valid(self, payloads: Payloads) -> NDArray[np.bool_]:
        """A mask of the rows of a ``(B, report_bytes)`` array that some holder could have sent."""

    @property
    @abstractmethod
    def rule(self) -> str:
        """The rule for valid payloads of the right length, in words for their sender."""

    def fault(self, payload: bytes) -> str | None:
        """The reason why ``payload`` is invalid, in words for its sender; None if it is valid."""
        if len(payload) != self.report_bytes:
            return (
                f"the payload has {len(payload)} bytes; this mechanism's have {self.report_bytes}"
            )
        return None if self.valid(as_row(payload))[0] else self.rule

    @abstractmethod
    def accumulate(self, payloads: Payloads) -> Sums:
        """Sum of a ``(B, report_bytes)`` array of valid payloads, shape ``(sum_size,)``.

        Additive: the sums of two batches add up to the sums of both. Memory is bounded however
        large B is. Rows must have passed ``valid``.
        """

    def sums_of_each(self, payloads: Payloads) -> Sums:
        """``accumulate`` per row, ``(B, sum_size)``; for small inputs."""
        rows = [self.accumulate(payload[np.newaxis]) for payload in payloads]
        return np.array(rows, dtype=np.int64).reshape(len(payloads), self.sum_size)

    def event_counts(self, payloads: Payloads) -> Sums:  # noqa: ARG002
        """The number of payloads in each of some events, ``(events,)``; events may overlap."""
        return np.zeros(0, dtype=np.int64)

    def could_be_events(self, events: Sums, n: int) -> bool:
        """True if ``n`` payloads can be in these events."""
        return bool(np.all((events >= 0) & (events <= n)))

    def event_bounds(self) -> NDArray[np.float64]:
        """The greatest probability of each event, whatever the holder's category, ``(events,)``."""
        return np.zeros(0)

    @abstractmethod
    def estimate(self, sums: Sums, n: int) -> Counts:
        """Unbiased counts, shape ``(cells, slots)``, from the sums of n reports."""

    @abstractmethod
    def misfits(self, sums: Sums, n: int) -> float:
        """Unbiased number of those of n holders whose record did not fit; may be negative."""

    @abstractmethod
    def misfit_variance(self, n: float, misfits: float) -> float:
        """Variance of ``misfits`` given the true number."""

    @abstractmethod
    def frequencies(self, sums: Sums, n: int) -> tuple[tuple[Frequencies, ...], ...]:
        """For each stratum, the numbers that tests of honest reports are about, misfits included.

        A stratum with several has the same reports in each.
        """

    @abstractmethod
    def variance(self, n: float, counts: Counts) -> Counts:
        """Variance of each entry of ``estimate`` given the true ``(cells, slots)`` counts.

        ``n`` minus the sum of ``counts`` is the number of misfits; fractional values are allowed.
        Only the mechanism is random: the true data are held fixed.
        """

    @abstractmethod
    def slot_covariance(self, n: float, counts: Counts) -> NDArray[np.float64]:
        """Covariance between the slots of one cell, shape ``(cells, slots, slots)``.

        Its diagonal is ``variance``.
        """

    @abstractmethod
    def linear_variance(self, weights: Counts, n: float, counts: Counts) -> float:
        """Variance of ``sum(weights * estimate)``, correlations between cells included."""

    @abstractmethod
    def influence(self, weights: Counts) -> tuple[float, float]:
        """Minimum and maximum that one report can add to ``sum(weights * estimate)``."""

    @abstractmethod
    def worst_ratio(self) -> Fraction:
        """The greatest likelihood ratio of any report between any two categories.

        Of the integers implemented here, exact; at most ``e**epsilon``.
        """

    def log_ratio(self) -> float:
        """ln of ``worst_ratio``: the budget actually spent, at most ``epsilon``."""
        return log_of(self.worst_ratio())

    @property
    def variation(self) -> Fraction:
        """At least the total variation between the reports of any two categories.

        1 where none is known that is better than what follows from ``worst_ratio``.
        """
        return Fraction(1)


def as_row(payload: bytes) -> Payloads:
    """One payload as a batch of one."""
    return np.frombuffer(payload, dtype=np.uint8)[np.newaxis]
