"""How the holders' shares differ from expected ones: a Gaussian shift on the tree.

**Contrasts** (``likelihood``). Of n holders whose record fits, a part w is in a cell, and a part p
of these in a slot. From the debiased counts V per slot and their sum U, and for any reference
shares r,

    R = V - r U,    E R = n w (p - r),
    Cov R = noise of R + n w [diag(p) - p r' - r p' + r r'].                                    (1)

A wrong mass w therefore scales a difference and makes none. Slots are looked at one by one, so only
the diagonal is used, n w [p (1 - 2 r) + r^2]. Two rounds: the first has r = q, the expected shares,
the second the first one's result, so that p = r in the sampling variance n w r (1 - r), and in the
masses.

**Shift** (``prior``). For classes theta is a shift of log-odds, for numbers a twelfth of a scale's
width:

    p = q e^theta / (1 - q + q e^theta),    or    p = q + theta / 12,                           (2)
    theta = slope * z + tree,    slope ~ N(0, b^2),    tree as in ``tree_smoothing``.           (3)

z is logit q (for numbers 12 (mean - average) / width) less its mean. The unit of theta is half a
standard deviation of the label in both: at q = 1/2 one is 1/2 and p' = 1/4, and a scale around a
centre is six of them wide. The root's step moves all cells, the slope makes expected shares
flatter, steeper or reversed, and the further steps of a path have equal variances. The deviations
(root, slope, path) are integrated over ``prior.GRID``, weighted by evidence.

**Within a cell** expected shares q(x) differ too. To first order around q, (2) and (3) make of it

    p(x) = p + p (1 - p) / (q (1 - q)) (1 + slope) (q(x) - q),                                  (4)

and for numbers p + (1 + slope) (q(x) - q). The factor is kept within 0 and 1.

**Noise between cells.** Counts and misfits of ``subset`` and ``grr`` add up to the reports, so
counts of different cells have the covariance -c. Contrasts of one slot have then -c a a',
a = 1 - S r, off the diagonal: with D the diagonal plus c a^2 their precision is
D^-1 + gamma D^-1 a a' D^-1, one rank more.

**Posterior** (``posterior``). (2) is linearised at the current theta until that stays (Gauss and
Newton); then all is normal, and linear in the cells, but for the two additions of rank one. Each
slot has deviations and evidence of its own, so that one class may move alone; two slots mirror each
other. The share is the mean over the priors of (2) at each one's mode.

**Average** (``average``). For classes, one more member has the same q in all cells.

**Intervals** are those of the reports alone: what holds for every shift cannot lean on a prior.
"""

from .estimate import estimate_shift, shift_shares
from .prior import Expected, Prior

__all__ = ["Expected", "Prior", "estimate_shift", "shift_shares"]
