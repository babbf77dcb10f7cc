"""The sums of a population's reports, drawn at once and exact in distribution.

Exact up to the rounding of probabilities to doubles and numpy's own binomial sampler. To draw those
of a mechanism of your own at once too, write a function as below and decorate it with
``simulate_sums.register``.
"""

from fractions import Fraction
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from privet.protocol.mechanisms import Mechanism, StratifiedMechanism
from privet.protocol.mechanisms.base import Sums
from privet.protocol.mechanisms.exact import WORD
from privet.protocol.mechanisms.grr import GeneralizedResponse
from privet.protocol.mechanisms.label_response import LabelResponse
from privet.protocol.mechanisms.laplace import Laplace
from privet.protocol.mechanisms.projective import ProjectiveResponse
from privet.protocol.mechanisms.randomized_response import RandomizedResponse
from privet.protocol.mechanisms.subset import SubsetSelection

from .hyperplanes import hyperplane_draws
from .multinomial import multinomial
from .subset import subset_sums

Holders = NDArray[np.int64]
COORDINATES_AT_ONCE = 2**19
"""Pairs of a coordinate and a lattice point of ``laplace`` that are held in memory."""
LABELS_AT_ONCE = 2**20
"""Pairs of a cell and a noisy label of ``LabelResponse`` that are held in memory."""


@singledispatch
def simulate_sums(
    mechanism: Mechanism, counts: Holders, rng: np.random.Generator, misfits: int = 0
) -> Sums:
    """The sums, ``(sum_size,)``, of the reports of ``counts`` holders and ``misfits``.

    ``counts`` has shape ``(cells, levels)`` and is the true number of holders per category. Of a
    mechanism without a function of its own report by report, which takes the longer the more
    holders there are.
    """
    sums = np.zeros(mechanism.sum_size, dtype=np.int64)
    for category, holders in enumerate([*counts.ravel().tolist(), misfits]):
        for _ in range(holders):
            payload = mechanism.privatize(category, rng.bytes)
            sums += mechanism.accumulate(np.frombuffer(payload, np.uint8)[np.newaxis])
    return sums


@simulate_sums.register
def _of_subset(
    mechanism: SubsetSelection, counts: Holders, rng: np.random.Generator, misfits: int = 0
) -> Sums:
    return subset_sums(np.append(counts, misfits), mechanism.k, float(mechanism.p), rng)


@simulate_sums.register
def _of_grr(
    mechanism: GeneralizedResponse, counts: Holders, rng: np.random.Generator, misfits: int = 0
) -> Sums:
    # each category has Q words for every holder; the holder's own has P - Q more
    holders = np.append(counts, misfits)
    kept = rng.binomial(holders, float(mechanism.p - mechanism.q))
    spread = multinomial(int(holders.sum() - kept.sum()), np.ones(mechanism.categories), rng)
    return np.asarray(kept + spread)


@simulate_sums.register
def _of_projective(
    mechanism: ProjectiveResponse, counts: Holders, rng: np.random.Generator, misfits: int = 0
) -> Sums:
    # every point has B words for every holder; the c orthogonal ones have A - B more
    (A, B), space = mechanism.words, mechanism.space
    bound = float(Fraction((A - B) * space.hyperplane_size, WORD))
    holders = np.append(counts, misfits)
    own = rng.binomial(holders, bound)
    rest = multinomial(int(holders.sum() - own.sum()), np.ones(space.size), rng)
    return rest + hyperplane_draws(space, own, rng)


@simulate_sums.register
def _of_randomized_response(
    mechanism: RandomizedResponse, counts: Holders, rng: np.random.Generator, misfits: int = 0
) -> Sums:
    ones = np.concatenate([counts.sum(axis=1), [misfits], counts[:, 1:].ravel()])
    q, n = mechanism.flip_words / WORD, counts.sum() + misfits
    return np.asarray(rng.binomial(ones, 1 - q) + rng.binomial(n - ones, q))


@simulate_sums.register
def _of_laplace(
    mechanism: Laplace, counts: Holders, rng: np.random.Generator, misfits: int = 0
) -> Sums:
    n, one = counts.sum() + misfits, mechanism.resolution
    U = _noisy_sums(mechanism, {one: np.append(counts.sum(axis=1), misfits)}, n, rng)
    if mechanism.regression:
        V = _noisy_sums(mechanism, dict(enumerate(counts.T)), n, rng)
    else:
        V = _noisy_sums(mechanism, {one: counts[:, 1:].ravel()}, n, rng)
    return np.concatenate([U, V])


def _noisy_sums(
    mechanism: Laplace, holders: dict[int, Holders], n: int, rng: np.random.Generator
) -> Sums:
    """Sum of each coordinate when ``holders[x]`` have it at x and the rest of n at 0.

    The outputs of holders with the same x are independent draws from one law over the lattice, so
    how many fall on each of its points is multinomial.
    """
    lattice = mechanism.lattice
    zeros: Sums = n - np.sum(list(holders.values()), axis=0)
    sums = np.zeros_like(zeros)
    for x, number in [(0, zeros), *holders.items()]:
        law = np.array(lattice.law(x), dtype=np.float64)
        rows = max(1, COORDINATES_AT_ONCE // len(law))
        for start in range(0, len(number), rows):
            part = slice(start, start + rows)
            sums[part] += multinomial(number[part], law, rng) @ lattice.outputs
    return sums


@simulate_sums.register
def _of_label_response(
    mechanism: LabelResponse, counts: Holders, rng: np.random.Generator, misfits: int = 0
) -> Sums:
    """Drawn in stretches of the lattice, to bound memory."""
    lattice, resolution = mechanism.lattice, mechanism.resolution
    inputs = np.append(np.arange(0, 2 * mechanism.levels, 2), resolution)  # the last is a misfit's
    by_law = np.zeros((mechanism.levels + 1, mechanism.cells + 1), dtype=np.int64)
    by_law[:-1, :-1], by_law[-1, -1] = counts.T, misfits
    has_holders = by_law.any(axis=1)
    by_law = by_law[has_holders]
    laws = lattice.laws(inputs[has_holders].tolist()).astype(np.float64)
    labels = lattice.outputs - resolution
    length = max(1, LABELS_AT_ONCE // mechanism.cells)
    starts = np.arange(0, len(labels), length)
    stretches = [
        multinomial(holders, np.add.reduceat(law, starts), rng)
        for holders, law in zip(by_law, laws, strict=True)
    ]
    sums = np.zeros(mechanism.sum_size, dtype=np.int64)
    for i, start in enumerate(starts):
        part = slice(start, start + length)
        at_labels = np.zeros((mechanism.cells + 1, len(labels[part])), dtype=np.int64)
        for stretch, law in zip(stretches, laws[:, part], strict=True):
            at_labels += multinomial(stretch[:, i], law, rng)
        sums += _answers(mechanism, at_labels, labels[part], rng)
    return sums


def _answers(
    mechanism: LabelResponse, holders: Holders, labels: Holders, rng: np.random.Generator
) -> Sums:
    """Sums of the reports of ``holders`` holders by cell and noisy label."""
    q, everyone = mechanism.flip_words / WORD, holders.sum(axis=0)
    ones = rng.binomial(holders, 1 - q) + rng.binomial(everyone - holders, q)
    return np.concatenate([ones.sum(axis=1), ones @ labels, [everyone @ labels]])


@simulate_sums.register
def _of_strata(
    mechanism: StratifiedMechanism, counts: Holders, rng: np.random.Generator, misfits: int = 0
) -> Sums:
    """Misfits are as rare in one stratum as in another."""
    inner, strata = mechanism.inner, mechanism.stratum_count
    hidden = np.zeros((strata, inner.cells, counts.shape[1]), dtype=counts.dtype)
    hidden[mechanism.stratum_of_cell, mechanism.hidden_of_cell] = counts
    holders = hidden.sum(axis=(1, 2))
    table = np.empty((strata, 1 + inner.sum_size), dtype=np.int64)
    of_misfits = multinomial(misfits, holders + (holders.sum() == 0), rng)
    for row, of_stratum, unfit in zip(table, hidden, of_misfits, strict=True):
        row[0] = of_stratum.sum() + unfit
        row[1:] = simulate_sums(inner, of_stratum, rng, int(unfit))
    return table.ravel()
