"""The likelihood of reports: contrasts with any shares, and the masses of cells.

**Contrasts.** Of n holders whose record fits, a part w is in a cell, and a part p of these in a
slot. From the debiased counts V per slot and their sum U, and for any reference shares r,

    R = V - r U,    E R = n w (p - r),
    Cov R = noise of R + n w [diag(p) - p r' - r p' + r r'].                                    (3)

A wrong mass w therefore scales a difference and makes none. Slots are looked at one by one, so only
the diagonal is used, n w [p (1 - 2 r) + r^2], and with r near p that is n w r (1 - r).

**Noise between cells.** Counts and misfits of ``subset`` and ``grr`` add up to the reports, so
counts of different cells have the covariance -c. Contrasts of one slot have then -c a a',
a = 1 - S r, off the diagonal: with D the diagonal plus c a^2 their precision is one rank more,

    D^-1 + gamma D^-1 a a' D^-1,    gamma = c / (1 - c a' D^-1 a).                              (4)

**Masses.** The public share s of a cell and the reported one u, of variances v_s and v_u, are
joined by precision,

    w ~ N(s + (v_s + d s) / (v_s + d s + v_u) (u - s), 1 / (1 / (v_s + d s) + 1 / v_u)),        (5)

cut at 0, d being what they differ by beyond two standard deviations of chance, in proportion to s.
u = p C^-1 V / (n p C^-1 p), the generalised least-squares estimate for shares p and the covariance
C of counts, is uncorrelated with the contrasts at r = p, so noise cannot move a mass and a contrast
together and pass for a shift. Masses of strata are known.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from privet.protocol.label_scale import LabelScale

from ..core.counts import QuestionCounts, sampling_covariance
from ..core.public_data import Floats
from ..core.ratio import contrast_variance
from .prior import PER_THETA, Expected

LEAST_SPREAD = 0.02
"""Least p (1 - p) in (3), that of p = .02: a share that is taken to be 0 still varies."""
LEAST_SHARE = 1e-3
"""Least p in the sampling covariance of counts, so that it has an inverse; small beside the shares
that reports distinguish."""
LEAST_COUNT = 1e-6
"""Least expected count, likewise: nobody may have reported from a stratum. Any number far below
one report."""
LEAST_REMAINDER = 0.05
"""Least 1 - c a' D^-1 a, which rounding of an estimated c could make 0 or negative."""


@dataclass(frozen=True, eq=False)
class Overall:
    """Shares of all holders, ``(slots,)``, by those asked for the label alone, with variances."""

    share: Floats
    variance: Floats


@dataclass(eq=False)
class Contrasts:
    """(3) of one data set: ``values`` R, ``variance`` D and ``reference`` r, ``(cells, slots)``.

    ``size``, ``(cells, 1)``, is n w; ``common`` is c; ``overall`` what some holders were asked
    beside; ``known`` the masses of public records and of reports. From these follow n, w,
    ``(cells, 1)``, the ``direction`` a, ``(cells, slots)``, and the ``common_precision`` gamma of
    (4), ``(slots,)``.
    """

    reference: Floats
    values: Floats
    variance: Floats
    size: Floats
    common: float
    overall: Overall | None = None
    known: "KnownMasses | None" = None
    holders: float = field(init=False)
    mass: Floats = field(init=False)
    direction: Floats = field(init=False)
    common_precision: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.holders = float(self.size.sum())
        self.mass = self.size / max(self.holders, 1e-300)
        self.direction = 1.0 - self.reference.shape[1] * self.reference
        left = 1.0 - self.common * (self.direction**2 / self.variance).sum(axis=0)
        self.common_precision = self.common / np.maximum(left, LEAST_REMAINDER)


def overall_of(
    alone: QuestionCounts | None,
    question: QuestionCounts,
    reference: Floats,
    mass: "Masses",
) -> Overall | None:
    """The shares by the question about the label alone, if anybody answered it.

    Their variance has noise, chance, and what the masses are unsure by, at shares ``reference``.
    """
    if alone is None or alone.n == 0:
        return None
    if question.scale is not None:
        return _overall_number(alone, question.scale, reference[:, 1], mass)
    expected = mass.mean @ reference
    of_slots = np.eye(len(expected))
    at = alone.holders * expected[None]
    found = [alone.mean(unit[None], at) for unit in of_slots]
    noise = np.array([each.variance for each in found])
    chance = np.maximum(expected * (1.0 - expected), LEAST_SPREAD) / alone.holders
    unsure = mass.variance @ (reference - expected) ** 2
    return Overall(np.array([each.value for each in found]), noise + chance + unsure)


def _overall_number(alone: QuestionCounts, scale: LabelScale, t: Floats, mass: "Masses") -> Overall:
    """The mean of a number on the ``scale`` of cells, whose expected means are ``t``.

    Labels that lie beyond their cell's scale are not clipped here, so it may be beyond 0 to 1.
    """
    whole = alone.scale_of(scale.label)
    low, unit = float(mass.mean @ scale.low), whole.width / scale.width
    means = scale.low / scale.width + t
    expected = float(mass.mean @ means)
    place = min(max((expected * scale.width - float(whole.low[0])) / whole.width, 0.0), 1.0)
    found = alone.mean(np.array([[0.0, 1.0]]), alone.holders * np.array([[1.0 - place, place]]))
    apart = (means - expected) ** 2
    chance = ((2.0 * PER_THETA) ** 2 + float(mass.mean @ apart)) / alone.holders
    variance = unit**2 * found.variance + chance + float(mass.variance @ apart)
    share = unit * found.value + (float(whole.low[0]) - low) / scale.width
    return Overall(np.array([1.0 - share, share]), np.full(2, variance))


def contrasts_of(
    question: QuestionCounts,
    reference: Floats,
    mass: Floats,
    overall: Overall | None = None,
    known: "KnownMasses | None" = None,
) -> Contrasts:
    """Contrasts of reports with ``reference``, ``(cells, slots)``, at masses ``(cells,)``."""
    slots, counts, common = reference.shape[1], question.counts, question.noise_between
    noise = contrast_variance(question.noise, reference)
    size = question.holders * mass[:, None]
    sampling = size * np.maximum(reference * (1.0 - reference), LEAST_SPREAD)
    a = 1.0 - slots * reference
    return Contrasts(
        reference,
        counts - reference * counts.sum(axis=1, keepdims=True),
        np.maximum(noise, 0.0) + common * a**2 + np.maximum(sampling, 1e-9),
        size,
        common,
        overall,
        known,
    )


@dataclass(eq=False)
class KnownMasses:
    """The masses of public records and of reports, ``(cells,)`` each.

    ``public`` s of variance ``sampling``, ``reported`` u of variance ``noise``; u is the sum over
    slots of ``weights``, ``(cells, slots)``, times the counts. Of ``stratum``, ``(cells,)``, the
    masses are known, ``of_stratum``. ``beyond_chance`` is d of (5), and ``free_evidence`` the log
    evidence of u where masses differ from s by chance or by more, whichever is likelier.
    """

    public: Floats
    sampling: Floats
    reported: Floats
    noise: Floats
    weights: Floats
    stratum: NDArray[np.int64]
    of_stratum: Floats
    beyond_chance: float = field(init=False)
    free_evidence: float = field(init=False)

    def __post_init__(self) -> None:
        left, chance = self.reported - self.public, self.noise + self.sampling
        excess = float((left**2 - self.noise - self.sampling).sum())
        self.beyond_chance = max(excess - 2.0 * float(np.sqrt(2.0 * (chance**2).sum())), 0.0)
        beyond = chance + max(excess, 0.0) * self.public
        self.free_evidence = max(log_normal(left, chance), log_normal(left, beyond))

    def followed(self, odds: Floats, p: Floats) -> tuple[Floats, Floats]:
        """Masses, ``(cells, 1)``, that are ``odds`` times the public ones within each stratum, and
        each stratum's shares, ``(cells, slots)``, where ``p`` are those of its cells."""
        strata = len(self.of_stratum)
        mass = self.public * odds[:, 0]
        mass = mass * (self.of_stratum / np.bincount(self.stratum, mass, strata))[self.stratum]
        shares = np.zeros((strata, p.shape[1]))
        np.add.at(shares, self.stratum, mass[:, None] * p)
        shares = shares / np.maximum(self.of_stratum, 1e-300)[:, None]
        return mass[:, None], shares[self.stratum]


def log_normal(left: Floats, variance: Floats) -> float:
    """The log density of independent normals at ``left`` from their means, up to a constant."""
    return -0.5 * float((left**2 / variance + np.log(variance)).sum())


@dataclass(frozen=True, eq=False)
class Masses:
    """Each cell's share of the holders and about how unsure it is, ``(cells,)`` each.

    ``known`` is what they follow from, None before any report.
    """

    mean: Floats
    variance: Floats
    known: KnownMasses | None = None


def cell_masses(question: QuestionCounts, shares: Floats, expected: Expected) -> Masses:
    """(5): each cell's share w of the holders, positive, adding up to 1, if these are their shares
    p of slots."""
    public = (expected.points + 0.5) / (expected.points + 0.5).sum()  # Jeffreys' prior
    public = _of_stratum(question, public)
    sampling = public / max(min(expected.rows, expected.points.sum()), 1.0)
    if question.n == 0:
        return Masses(np.asarray(public), sampling)
    weights, noise = reported_masses(question, shares, public)
    known = KnownMasses(
        public=public,
        sampling=sampling,
        reported=(weights * question.counts).sum(axis=1),
        noise=noise,
        weights=weights,
        stratum=question.mechanism.stratum_of_cell,
        of_stratum=question.stratum_mass,
    )
    of_public = sampling + known.beyond_chance * public
    mean = public + of_public / (of_public + noise) * (known.reported - public)
    deviation = np.sqrt(of_public * noise / (of_public + noise))
    mass = _positive_part(mean, np.maximum(deviation, 1e-12))
    return Masses(_of_stratum(question, mass / mass.sum()), deviation**2, known)


def _of_stratum(question: QuestionCounts, mass: Floats) -> Floats:
    """Masses, ``(cells,)``, with those of strata as they were reported."""
    if question.mechanism.stratum_count == 1 or question.n == 0:
        return mass
    return question.within_strata(mass[:, None])[:, 0]


def reported_masses(
    question: QuestionCounts, shares: Floats, public: Floats
) -> tuple[Floats, Floats]:
    """Weights by which counts add up to the reported masses u, ``(cells, slots)``, if the
    ``shares`` are right, and the variances of u, ``(cells,)``.

    ``public``, ``(cells,)``, are the masses at which sampling variances are evaluated.
    """
    at_least = question.holders * public[:, None] * np.maximum(shares, LEAST_SHARE)
    at_least = np.maximum(at_least, LEAST_COUNT)
    covariance = question.noise + sampling_covariance(at_least)
    weights = np.linalg.solve(covariance, shares[:, :, None])[:, :, 0]
    precision = (weights * shares).sum(axis=1)
    weights = weights / (precision * question.holders)[:, None]
    return weights, 1.0 / (precision * question.holders**2)


def _positive_part(mean: Floats, deviation: Floats) -> Floats:
    """Means of normals given that they are positive."""
    from scipy.special import log_ndtr  # slow to import

    x = np.maximum(mean / deviation, -30.0)
    return np.asarray(deviation * (x + np.exp(-0.5 * x**2 - log_ndtr(x)) / np.sqrt(2.0 * np.pi)))
