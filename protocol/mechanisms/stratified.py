"""A mechanism for what a record hides, behind the number of its stratum in the clear.

A payload is the stratum as a little-endian integer, then a payload of ``inner``: the category
(hidden cell, level) or the misfit, among the ``inner.cells`` that the largest stratum has. With
g the stratum, h the hidden one and M the inner mechanism's law,

    P(g', payload | g, h, level) = [g' = g] M(payload | h, level),

so for two records of one stratum the likelihood ratio is that of M, at most e^ε. Of records of
different strata nothing is hidden. A misfit is hidden like any category of its stratum.

The sums are a table with a row for each stratum: how many reported from it, which is exact, and
their inner sums. Noise of different strata is independent. Where a formula is given a number
of holders above that of the counts, the misfits, these are spread over strata as the others.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidTask
from ..limits import MAX_SUMS
from .base import Counts, Frequencies, Mechanism, Payloads, Sums, Words
from .discrete_laplace import DiscreteLaplace
from .payloads import chunks, integer_width, read_integers

FEW = 2**15
"""Below this size, add reports one by one."""


@dataclass(frozen=True)
class StratifiedMechanism(Mechanism):
    """``inner`` for the hidden cells of each stratum; ``strata`` is the stratum of each cell.

    Built by ``around``.
    """

    name: ClassVar[str] = "stratified"
    inner: Mechanism
    strata: tuple[int, ...]

    @classmethod
    def around(cls, inner: Mechanism, strata: tuple[int, ...]) -> "StratifiedMechanism":
        """Raises ``InvalidTask`` if the sums would be too many."""
        built = cls(inner.epsilon, len(strata), inner.slots, inner, strata)
        if built.sum_size > MAX_SUMS:
            raise InvalidTask(
                f"{built.stratum_count} strata with up to {inner.cells} cells each need "
                f"{built.sum_size} sums, above {MAX_SUMS}: use fewer cells or classes."
            )
        return built

    def parameters(self) -> dict[str, int | float | str]:
        return self.inner.parameters()

    @cached_property
    def stratum_of_cell(self) -> NDArray[np.intp]:
        return np.array(self.strata, dtype=np.intp)

    @cached_property
    def hidden_of_cell(self) -> NDArray[np.intp]:
        """The number of each cell among those of its stratum, ``(cells,)``."""
        order = np.argsort(self.stratum_of_cell, kind="stable")
        sizes = np.bincount(self.stratum_of_cell)
        hidden = np.empty(self.cells, dtype=np.intp)
        hidden[order] = np.arange(self.cells) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return hidden

    @cached_property
    def stratum_count(self) -> int:
        return max(self.strata) + 1

    @property
    def levels(self) -> int:
        return self.inner.levels

    @property
    def categories(self) -> int:
        """All categories of all cells, then the misfit of each stratum."""
        return self.misfit + self.stratum_count

    def misfit_at(self, cell: int) -> int:
        return self.misfit + self.strata[cell]

    @property
    def width(self) -> int:
        """Bytes of the stratum."""
        return integer_width(self.stratum_count - 1)

    @property
    def integers(self) -> dict[str, int]:
        return self.inner.integers

    @property
    def report_bytes(self) -> int:
        return self.width + self.inner.report_bytes

    @property
    def random_bytes(self) -> int:
        return self.inner.random_bytes

    @property
    def lattice(self) -> DiscreteLaplace | None:
        return self.inner.lattice

    @property
    def sum_size(self) -> int:
        return self.stratum_count * (1 + self.inner.sum_size)

    def worst_ratio(self) -> Fraction:
        """The worst ratio between two categories of one stratum; between strata it is unbounded."""
        return self.inner.worst_ratio()

    @property
    def variation(self) -> Fraction:
        """The total variation between two categories of one stratum, like ``worst_ratio``."""
        return self.inner.variation

    def payload(self, category: int, words: Words) -> bytes:
        cell, level = divmod(category, self.levels)
        fits = category < self.misfit
        cell = (0, cell)[fits]
        chosen = int(self.hidden_of_cell[cell]) * self.levels + level
        strata = (category - self.misfit, self.strata[cell])[fits]
        hidden = self.inner.payload((self.inner.misfit, chosen)[fits], words)
        return strata.to_bytes(self.width, "little") + hidden

    def read_strata(self, payloads: Payloads) -> NDArray[np.int64]:
        """The stratum of each of B payloads, ``(B,)``; of an invalid one any number."""
        return read_integers(payloads[:, : self.width], self.width)[:, 0].astype(np.int64)

    def valid(self, payloads: Payloads) -> NDArray[np.bool_]:
        known = self.read_strata(payloads) < self.stratum_count
        return np.asarray(known & self.inner.valid(payloads[:, self.width :]))

    @property
    def rule(self) -> str:
        return f"the stratum must be below {self.stratum_count}, and behind it {self.inner.rule}"

    def accumulate(self, payloads: Payloads) -> Sums:
        sums = np.zeros((self.stratum_count, 1 + self.inner.sum_size), dtype=np.int64)
        for part in chunks(payloads, self.report_bytes):
            strata = self.read_strata(part)
            sums[:, 0] += np.bincount(strata, minlength=self.stratum_count)
            if len(part) * self.inner.sum_size < FEW:
                np.add.at(sums[:, 1:], strata, self.inner.sums_of_each(part[:, self.width :]))
                continue
            order = np.argsort(strata, kind="stable")
            present, starts = np.unique(strata[order], return_index=True)
            hidden = part[order, self.width :]
            for row, rows in zip(present, np.split(hidden, starts[1:]), strict=True):
                sums[row, 1:] += self.inner.accumulate(rows)
        return sums.ravel()

    def event_counts(self, payloads: Payloads) -> Sums:
        return self.inner.event_counts(payloads[:, self.width :])

    def could_be_events(self, events: Sums, n: int) -> bool:
        return self.inner.could_be_events(events, n)

    def event_bounds(self) -> NDArray[np.float64]:
        return self.inner.event_bounds()

    def reported(self, sums: Sums, n: int) -> NDArray[np.int64]:  # noqa: ARG002
        return self._table(sums)[:, 0]

    def of_all(self, sums: Sums) -> tuple[Mechanism, Sums]:
        return self.inner, self._table(sums)[:, 1:].sum(axis=0)

    def estimate(self, sums: Sums, n: int) -> Counts:  # noqa: ARG002
        table = self._table(sums)
        by_stratum = np.array([self.inner.estimate(row[1:], int(row[0])) for row in table])
        return np.asarray(by_stratum[self.stratum_of_cell, self.hidden_of_cell])

    def misfits(self, sums: Sums, n: int) -> float:  # noqa: ARG002
        return sum(self.inner.misfits(row[1:], int(row[0])) for row in self._table(sums))

    def frequencies(self, sums: Sums, n: int) -> tuple[tuple[Frequencies, ...], ...]:  # noqa: ARG002
        parts = (self.inner.frequencies(row[1:], int(row[0])) for row in self._table(sums))
        return tuple(of_stratum for (of_stratum,) in parts)

    def misfit_variance(self, n: float, misfits: float) -> float:
        """See ``Mechanism.misfit_variance``: linear in both numbers, so that strata add up."""
        return self.inner.misfit_variance(n, misfits)

    def variance(self, n: float, counts: Counts) -> Counts:
        return self._by_cell([self.inner.variance(*part) for part in self._parts(n, counts)])

    def slot_covariance(self, n: float, counts: Counts) -> NDArray[np.float64]:
        return self._by_cell([self.inner.slot_covariance(*part) for part in self._parts(n, counts)])

    def linear_variance(self, weights: Counts, n: float, counts: Counts) -> float:
        by_stratum = zip(self._padded(weights), self._parts(n, counts), strict=True)
        return sum(self.inner.linear_variance(w, *part) for w, part in by_stratum)

    def influence(self, weights: Counts) -> tuple[float, float]:
        low, high = zip(*map(self.inner.influence, self._padded(weights)), strict=True)
        return min(low), max(high)

    def _table(self, sums: Sums) -> Sums:
        return sums.reshape(self.stratum_count, -1)

    def _padded(self, by_cell: NDArray[np.generic]) -> NDArray[np.generic]:
        """Values of the cells, ``(cells, k)``, as ``(strata, inner.cells, k)``; rest 0."""
        padded = np.zeros((self.stratum_count, self.inner.cells, by_cell.shape[1]), by_cell.dtype)
        padded[self.stratum_of_cell, self.hidden_of_cell] = by_cell
        return padded

    def _parts(self, n: float, counts: Counts) -> Iterator[tuple[float, Counts]]:
        """The holders of each stratum and their counts, ``(inner.cells, slots)``."""
        padded = self._padded(counts)
        total = float(counts.sum())
        for part in padded:
            share = float(part.sum()) / total if total else 1.0 / self.stratum_count
            yield n * share, part

    def _by_cell(self, by_stratum: list[NDArray[np.float64]]) -> NDArray[np.float64]:
        return np.asarray(np.array(by_stratum)[self.stratum_of_cell, self.hidden_of_cell])
