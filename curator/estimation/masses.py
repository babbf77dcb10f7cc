"""How many holders are in each cell: reports and public data, each trusted as it deserves."""

from typing import Protocol

import numpy as np

from privet.curator.estimation.counts import sampling_covariance
from privet.curator.public_data import Floats

LEAST = 0.1
"""A cell keeps at least this part of its public share."""


class Counted(Protocol):
    """Counts of ``n`` holders, ``(cells, slots)``, and their noise, ``(cells, slots, slots)``.

    ``holders_per_record`` is as in ``QuestionCounts``.
    """

    @property
    def counts(self) -> Floats: ...
    @property
    def noise(self) -> Floats: ...
    @property
    def n(self) -> int: ...
    @property
    def holders_per_record(self) -> float: ...


def cell_masses(evidence: Counted, q: Floats, points: Floats, rows: int) -> Floats:
    """Each cell's share of the holders, ``(cells,)``, positive, adding up to 1.

    ``q``, ``(cells, slots)``, are the expected shares of slots; ``points`` counts reference points
    per cell and ``rows`` is how many public records they stand for. The public share has the
    variance of such a sample plus that of a population that differs in proportion to the cell's
    share, ``drift * share``; ``drift`` is what the reported shares stray from the public ones
    beyond two standard deviations of chance. Both are weighed by precision.
    """
    share = (points + 0.5) / (points + 0.5).sum()
    if evidence.n == 0:
        return np.asarray(share)
    reported, noise = reported_masses(evidence, q, share)
    sample = share / max(rows, 1)
    excess = float(((reported - share) ** 2 - noise - sample).sum())
    chance = float(np.sqrt(2.0 * ((noise + sample) ** 2).sum()))
    own = sample + max(excess - 2.0 * chance, 0.0) * share
    mass = share + own / (own + noise) * (reported - share)
    mass = np.maximum(mass, LEAST * share)
    return np.asarray(mass / mass.sum())


def reported_masses(evidence: Counted, q: Floats, share: Floats) -> tuple[Floats, Floats]:
    """Masses as reported, with their variances, each ``(cells,)``, as if the shares q were right.

    With C the covariance of a cell's counts N, the generalised least-squares estimate
    ``q C^-1 N / q C^-1 q`` is uncorrelated with the contrasts N - q sum(N), so that noise cannot
    move a mass and a contrast together and pass for drift.
    """
    asked = evidence.n * share[:, None] * np.maximum(q, 1e-3)
    sampling = evidence.holders_per_record * sampling_covariance(asked)
    weights = np.linalg.solve(evidence.noise + sampling, q[:, :, None])[:, :, 0]
    precision = (weights * q).sum(axis=1)
    estimate = (weights * evidence.counts).sum(axis=1) / precision
    return estimate / evidence.n, 1.0 / (precision * evidence.n**2)
