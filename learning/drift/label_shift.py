"""The member of the model average in which only the classes' odds have moved.

If holders of a class are like public records of that class, and only how many there are of each
class differs, one number per class moves all cells (Saerens, Latinne and Decaestecker, 2002):

    p_s = q_s e^(x_s) / sum over t of q_t e^(x_t),    x ~ N(0, d^2 I).                          (1)

``posterior`` looks at slots one by one, and in each cell for whether it moved otherwise. Here all
contrasts tell of few numbers, at the mode of x by Gauss and Newton; the evidence is Laplace's. Of a
cell's S contrasts S - 1 are free, so each counts (S - 1) / S. Since dp_s / dx_t = p_s ([s = t] -
p_t), sums over cells with weights c, ``(cells, slots)``, have the derivatives by x

    diag(sum over cells of c) - c' p,

(``_along``), and nothing takes more than cells times slots squared.
"""

from dataclasses import dataclass

import numpy as np

from ..core.public_data import Floats
from .likelihood import Contrasts
from .prior import LARGE, LARGE_SHIFTS, USUAL, Expected

DEVIATIONS, PROBABILITIES = (USUAL, LARGE), (1.0 - LARGE_SHIFTS, LARGE_SHIFTS)
"""d, as at the root of the other members."""
STEPS = 30
"""More than are needed: steps stop once they are below ``CONVERGED``."""
LONGEST_STEP, CONVERGED = 1.5, 1e-4


@dataclass(frozen=True, eq=False)
class LabelShift:
    """(1) after the reports: arrays by deviation, ``(2, cells, slots)``; ``weights``, ``(2,)``.

    ``each`` are the shares at the modes, ``shares`` their mean, ``(cells, slots)``;
    ``log_evidence`` is that of all. ``by_contrasts``, ``(2, slots, cells, slots)``, and
    ``by_share``, ``(2, slots, slots)``, are derivatives of x by contrasts and by the shares of the
    label alone, and ``surprise``, ``(2, slots)``, is that of the log evidence by the latter.
    ``unmoved`` is the part of the prior variance of log-odds that reports left, ``(cells, slots)``.
    """

    shares: Floats
    log_evidence: float
    weights: Floats
    each: Floats
    by_contrasts: Floats
    by_share: Floats
    surprise: Floats
    unmoved: Floats


def label_shift(contrasts: Contrasts, expected: Expected) -> LabelShift:
    """The member's shares and evidence, from the same contrasts as those of ``posterior``."""
    from scipy.special import logsumexp, softmax  # slow to import

    modes = [_mode(contrasts, expected.q, deviation**2) for deviation in DEVIATIONS]
    odds = np.log(PROBABILITIES) + np.array([mode.log_evidence for mode in modes])
    weights = softmax(odds)
    p, by_contrasts, by_share, surprise, unmoved = (
        np.array([getattr(mode, name) for mode in modes])
        for name in ("p", "by_contrasts", "by_share", "surprise", "unmoved")
    )
    return LabelShift(
        shares=np.tensordot(weights, p, 1),
        log_evidence=float(logsumexp(odds)),
        weights=weights,
        each=p,
        by_contrasts=by_contrasts,
        by_share=by_share,
        surprise=surprise,
        unmoved=np.tensordot(weights, unmoved, 1),
    )


@dataclass(frozen=True, eq=False)
class _Mode:
    p: Floats
    log_evidence: float
    by_contrasts: Floats
    by_share: Floats
    surprise: Floats
    unmoved: Floats


def _mode(contrasts: Contrasts, q: Floats, v: float) -> _Mode:
    """The mode of x with variance ``v``, and what follows from it."""
    D, slots = contrasts.variance, q.shape[1]
    gamma, off = contrasts.common_precision, contrasts.direction / contrasts.variance
    free, unit, overall = (slots - 1) / slots, np.eye(slots), contrasts.overall
    x = np.zeros(slots)
    for _ in range(STEPS):
        p = q * np.exp(x - x.max())
        p /= p.sum(axis=1, keepdims=True)
        of_R = contrasts.size * p
        left = contrasts.values - contrasts.size * (p - contrasts.reference)
        # noise between cells is one more observation of each slot (``posterior``)
        u, h = _along(off * of_R, p), (off * left).sum(axis=0)
        square = of_R**2 / D
        information = np.diag(square.sum(axis=0)) - square.T @ p - p.T @ square
        information += (p * square.sum(axis=1, keepdims=True)).T @ p + (u.T * gamma) @ u
        gradient = _along(of_R * left / D, p).sum(axis=0) + u.T @ (gamma * h)
        misfit = float((left**2 / D).sum() + (gamma * h**2).sum())
        of_share, surprise = np.zeros((slots, slots)), np.zeros(slots)
        if overall is not None:
            of_all = _along(contrasts.mass * p, p)
            beyond = overall.share - (contrasts.mass * p).sum(axis=0)
            of_share, surprise = of_all.T / overall.variance, -beyond / overall.variance
            information += of_share @ of_all
            gradient += of_share @ beyond
            misfit -= float(surprise @ beyond)
        covariance = np.linalg.inv(free * information + unit / v)
        step = np.clip(covariance @ (free * gradient - x / v), -LONGEST_STEP, LONGEST_STEP)
        if np.abs(step).max() < CONVERGED:
            break
        x = x + step
    _, log_det = np.linalg.slogdet(unit + v * free * information)
    of_p = p @ covariance
    by_contrasts = covariance[:, None, :] - of_p.T[:, :, None]
    by_contrasts = free * (by_contrasts * (of_R / D) + (covariance @ u.T * gamma)[:, None, :] * off)
    left_of = np.diag(covariance) - 2.0 * of_p + (of_p * p).sum(axis=1, keepdims=True)
    return _Mode(
        p=p,
        log_evidence=-0.5 * (free * misfit + float(x @ x) / v + float(log_det)),
        by_contrasts=by_contrasts,
        by_share=free * covariance @ of_share,
        surprise=free * surprise,
        unmoved=left_of / (v * (1.0 - 2.0 * p + (p**2).sum(axis=1, keepdims=True))),
    )


def _along(c: Floats, p: Floats) -> Floats:
    """The sum over cells of c_s ([s = t] - p_t), ``(slots, slots)``."""
    return np.asarray(np.diag(c.sum(axis=0)) - c.T @ p)
