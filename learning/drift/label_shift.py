"""The member of the model average in which only the classes' odds have moved.

If holders of a class are like public records of that class, and only how many there are of each
class differs, one number per class moves all cells (Saerens, Latinne and Decaestecker, 2002):

    p_s = q_s e^(x_s) / o,    o = sum over t of q_t e^(x_t),    x ~ N(0, d^2 I).               (11)

``posterior`` looks at slots one by one, and in each cell for whether it moved otherwise. Here all
contrasts tell of few numbers, at the mode of x by Gauss and Newton; the evidence is Laplace's. Of a
cell's S contrasts S - 1 are free, so each counts (S - 1) / S.

**Masses** follow too: that of a cell is o times the public one s, within each stratum,

    w = s o / sum over cells of s o,    dw / dx_t = w (p_t - pi_t),                            (12)

pi being the stratum's shares. Where a class that is rare among the holders is half of the public
records, cells in which it prevails are nearly empty of holders, so that their contrasts are noise,
and the reported masses u say so. In two of four components (12) holds, contrasts are n w (p - r),
and u is normal around w, with its noise and what s is unsure by. In the other two only shares have
moved, masses are those of all members, and u has the evidence that any masses have: columns may
differ as well. All are as likely before any report, but for d.
"""

from dataclasses import dataclass

import numpy as np

from ..core.public_data import Floats
from .likelihood import Contrasts, KnownMasses, log_normal
from .prior import LARGE, LARGE_SHIFTS, USUAL, Expected

DEVIATIONS, PROBABILITIES = (USUAL, LARGE), (1.0 - LARGE_SHIFTS, LARGE_SHIFTS)
"""d, as at the root of the other members."""
STEPS = 30
"""More than are needed: steps stop once they are below ``CONVERGED``."""
LONGEST_STEP, CONVERGED = 1.5, 1e-4


@dataclass(frozen=True, eq=False)
class LabelShift:
    """(11) after the reports.

    ``shares``, ``(cells, slots)``, are the mean of those at the components' modes by their
    probabilities; ``log_evidence`` is that of all. ``unmoved`` is the part of the prior variance of
    log-odds that reports left, ``(cells, slots)``.
    """

    shares: Floats
    log_evidence: float
    unmoved: Floats


def label_shift(contrasts: Contrasts, expected: Expected) -> LabelShift:
    """The member's shares and evidence, from the same contrasts as those of ``posterior``."""
    from scipy.special import logsumexp, softmax  # slow to import

    masses = (None,) if contrasts.known is None else (None, contrasts.known)
    modes = [_mode(contrasts, expected.q, d**2, known) for known in masses for d in DEVIATIONS]
    prior = np.tile(PROBABILITIES, len(masses)) / len(masses)
    odds = np.log(prior) + np.array([mode.log_evidence for mode in modes])
    weights = softmax(odds)
    p, unmoved = (np.array([getattr(mode, name) for mode in modes]) for name in ("p", "unmoved"))
    return LabelShift(
        shares=np.tensordot(weights, p, 1),
        log_evidence=float(logsumexp(odds)),
        unmoved=np.tensordot(weights, unmoved, 1),
    )


@dataclass(frozen=True, eq=False)
class _Mode:
    p: Floats
    log_evidence: float
    unmoved: Floats


def _mode(contrasts: Contrasts, q: Floats, v: float, known: KnownMasses | None) -> _Mode:
    """The mode of x with variance ``v``, and what follows from it; masses follow if they
    are ``known``."""
    D, r, slots = contrasts.variance, contrasts.reference, q.shape[1]
    gamma, off = contrasts.common_precision, contrasts.direction / contrasts.variance
    free, unit, overall = (slots - 1) / slots, np.eye(slots), contrasts.overall
    n, w, by_w = contrasts.holders, contrasts.mass, np.zeros_like(q)
    x = np.zeros(slots)
    for _ in range(STEPS):
        p = q * np.exp(x - x.max())
        odds = p.sum(axis=1, keepdims=True)
        p /= odds
        if known is not None:
            w, pi = known.followed(odds, p)
            by_w = w * (p - pi)
        by_p = p[:, :, None] * (unit - p[:, None, :])
        left = contrasts.values - n * w * (p - r)
        by_x = n * (w[:, :, None] * by_p + (p - r)[:, :, None] * by_w[:, None, :])
        # noise between cells is one more observation of each slot (``posterior``)
        u, h = np.einsum("ls,lst->st", off, by_x), (off * left).sum(axis=0)
        of_R = by_x / D[:, :, None] + (gamma * off)[:, :, None] * u
        information = of_R.reshape(-1, slots).T @ by_x.reshape(-1, slots)
        gradient = np.einsum("lst,ls->t", of_R, left)
        misfit = float((left**2 / D).sum() + (gamma * h**2).sum())
        if overall is not None:
            of_all = (w[:, :, None] * by_p + p[:, :, None] * by_w[:, None, :]).sum(axis=0)
            beyond = overall.share - (w * p).sum(axis=0)
            of_share = of_all.T / overall.variance
            information += of_share @ of_all
            gradient += of_share @ beyond
            misfit += float((beyond**2 / overall.variance).sum())
        information, gradient = free * information, free * gradient
        if known is not None:
            # reported masses beside those of (12), and the derivatives of these by x
            scale = (known.weights * p).sum(axis=1, keepdims=True)  # 1 / n where p is r
            mean = (n * w * scale)[:, 0]
            of_mass = n * by_w * scale + n * w * np.einsum("ls,lst->lt", known.weights, by_p)
            seen, unsure = known.reported - mean, mean / np.maximum(known.public, 1e-300)
            unsure = known.noise + known.sampling * unsure**2
            weighted = (of_mass / unsure[:, None]).T
            information += weighted @ of_mass
            gradient += weighted @ seen
        covariance = np.linalg.inv(information + unit / v)
        step = np.clip(covariance @ (gradient - x / v), -LONGEST_STEP, LONGEST_STEP)
        if np.abs(step).max() < CONVERGED:
            break
        x = x + step
    _, log_det = np.linalg.slogdet(unit + v * information)
    beside = 0.0
    if known is not None:
        beside = log_normal(seen, unsure) - known.free_evidence
    of_p = p @ covariance
    left_of = np.diag(covariance) - 2.0 * of_p + (of_p * p).sum(axis=1, keepdims=True)
    return _Mode(
        p=p,
        log_evidence=-0.5 * (free * misfit + float(x @ x) / v + float(log_det)) + beside,
        unmoved=left_of / (v * (1.0 - 2.0 * p + (p**2).sum(axis=1, keepdims=True))),
    )
