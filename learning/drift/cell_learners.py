"""Models of classes learned from the counts of strata, beside a drift of the public model.

``drift`` corrects a public model cell by cell along a tree that was grown for it. Where public
labels mislead, other columns matter than those that the tree looks at first. Strata are many
and their counts clear, so they serve as training data: for each cell one row at the mean of its
reference points, whose target is the cell's debiased share T = V / (n w), and whose weight is its
precision, 1 / Var T. Numbers are not learned so: a few far ones lead these models astray (ADR
0121).

**Members**: the drift; the public model; the overall shares; a linear model of
softmax with normal coefficients of variance 1, fitted by least squares, since debiased shares may
be negative; extra trees with leaves of two sizes on T, and on T less the public model's means.

**Weights** on the simplex minimise the squared error for left-out reports, with a pull to equal
ones. Reports are sums, of which none can be left out, but they can be thinned: with g_k of
covariance Cov V / K, and g their mean, the parts

    V_k = V / K + g_k - g,    k = 1 .. K,                                                      (20)

have means E V / K and are independent of each other if V is normal (Neufeld et al., 2024, "Data
thinning for convolution-closed distributions"). The members are fitted without V_k and judged
by it. Cov V is the mechanism's noise and, as the number of reports from a stratum is known, the
multinomial sampling of its slots.

**Part**: of the way from the drift to the weighted sum

    part = max(1 - s^2 / d^2, 0)                                                               (21)

is gone, d > 0 being by how much the sum's squared error on left-out reports is smaller and s the
standard error of d, given members and weights. Since the same reports choose the weights, d is
somewhat too large, and where no member is better than the drift chance may lead some of the way.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from privet.protocol.partition import Partition

from ..core.counts import Estimate, QuestionCounts
from ..core.model import SlotEstimates
from ..core.public_data import Floats
from ..core.public_model import BaseModel, Linear, Trees, mixture
from ..core.ratio import project_on_simplex
from ..core.sklearn_trees import fit_unchecked
from ..core.trees import cell_sums, locate
from ..public_model.knowledge import Knowledge
from .likelihood import LEAST_SPREAD
from .prior import Expected
from .shift import averaged

PARTS = 5
"""K, also the number of folds of cross-validation."""
PULL = 20.0
"""Reports that pull weights towards equal ones, as of the public stack."""
LEAVES = (25, 100)
"""Least reports in a leaf of extra trees; chosen, not measured: at ε = 1 shares of a leaf have
standard errors of .24 and .12, and an average over trees less."""
EXTRA_TREES = 40
"""More take time, and change an average less than the reports' noise does. Chosen, not measured."""
MOST_COEFFICIENTS = 1000
"""Maximum number of coefficients of the linear model, whose curvature takes their square."""
COLUMNS_TRIED = 0.5
"""Share of the columns tried at each split of extra trees: between all and few, scikit-learn's
defaults for numbers and for classes. Others were not measured."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Cells as training data: ``X``, ``(rows, columns)``, and targets and weights of each.

    ``T``, ``(rows, S)``; ``precision``, ``(rows,)``; ``holders``, ``(rows,)``, how many reported;
    ``public``, ``(rows, S)``, the public model's means.
    """

    X: Floats
    T: Floats
    precision: Floats
    holders: Floats
    public: Floats


@dataclass(frozen=True, eq=False)
class Member:
    """A fitted model, to which the public model is added if it is ``residual``."""

    model: BaseModel
    residual: bool = False


@dataclass(frozen=True, eq=False)
class Thinned(QuestionCounts):
    """The ``kept`` counts of a ``whole`` question, ``(cells, slots)``, without a part of reports.

    ``n`` reports are left, and as large a part of them in each stratum, and of misfits.
    """

    kept: Floats = field(kw_only=True)
    whole: QuestionCounts = field(kw_only=True)

    @property
    def counts(self) -> Floats:
        return self.kept

    @property
    def stratum_mass(self) -> Floats:
        return self.whole.stratum_mass

    @property
    def misfits(self) -> Estimate:
        part, whole = self.n / self.whole.n, self.whole.misfits
        return Estimate(part * whole.value, part * whole.variance)


@dataclass(frozen=True, eq=False)
class Learned:
    """The prediction ``base(x) + values - base_values`` in x's cell, the last two ``(K, S)``.

    ``part`` is that of all members together beside the drift, and ``own`` that of the drift;
    ``public`` that of those others that contain the public model.
    """

    base: BaseModel
    base_values: Floats
    values: Floats
    part: float
    own: float
    public: float


def learn(
    question: QuestionCounts,
    expected: Expected,
    knowledge: Knowledge,
    drift: SlotEstimates,
) -> Learned | None:
    """The sum of ``drift`` and models learned from cells; None where reports do not ask for it."""
    trial = LearnersTrial(question, expected, knowledge)
    if trial.cells.sum() < 2 * PARTS or question.n < PARTS:
        return None
    with threadpool_limits(1):  # for so few rows threads take longer to start than they compute
        weights, part = trial.judged()
        if part == 0.0:
            return None
        own = 1.0 - part + part * weights[0]
        members = trial.fitted(trial.rows(question.counts, question.n))
        pairs = list(zip(part * weights[1:], members, strict=True))
        return trial.summed(own, pairs, drift, part)


class LearnersTrial:
    """The cells of a question with reference points, and models of their counts."""

    def __init__(self, question: QuestionCounts, expected: Expected, knowledge: Knowledge) -> None:
        self.question, self.expected, self.knowledge = question, expected, knowledge
        tree = question.partition
        size, sums = _points_in(knowledge, tree)
        mass = question.plausible.sum(axis=1)
        self.cells = (size > 0) & (mass > 0.0)
        self.X = sums[self.cells] / size[self.cells, None]
        self.mass = mass[self.cells]
        self.public, _ = knowledge.cell_means(tree)
        plausible, stratum = question.plausible, question.mechanism.stratum_of_cell
        of_stratum = np.bincount(stratum, plausible.sum(axis=1))[stratum]
        known = plausible[:, :, None] * plausible[:, None, :]
        self.covariance = (
            question.total_covariance - known / np.maximum(of_stratum, 1e-300)[:, None, None]
        )

    def rows(self, counts: Floats, n: int) -> Rows:
        """The cells by ``counts`` of ``n`` of the reports."""
        part = n / self.question.n
        holders = part * self.mass
        V, slots = counts[self.cells], counts.shape[1]
        T = V / holders[:, None]
        T = T + (1.0 - T.sum(axis=1, keepdims=True)) / slots
        variance = np.diagonal(self.noise_of(n), axis1=1, axis2=2).mean(axis=1)
        precision = 1.0 / np.maximum(variance, LEAST_SPREAD / holders)
        return Rows(self.X, T, precision, holders, self.public[self.cells])

    def fitted(self, rows: Rows) -> list[Member]:
        """All members but the drift, fitted to these rows."""
        members = [Member(self.knowledge.model), overall(rows)]
        if rows.T.shape[1] * (rows.X.shape[1] + 1) <= MOST_COEFFICIENTS:
            members.append(linear(rows))
        for residual in (False, True):
            members += [extra_trees(rows, leaf, residual=residual) for leaf in LEAVES]
        return members

    def judged(self) -> tuple[Floats, float]:
        """Weights of the drift and the other members, and the part that goes to their sum."""
        from ..public_model.stacking import simplex_least_squares  # imports scikit-learn

        n, predicted, rows = self.question.n, [], []
        for kept, left_out in self.thinned():
            train = self.rows(kept, round(n * (1.0 - 1.0 / PARTS)))
            by_drift = self._drift(kept)[self.cells]
            others = [
                member.model.predict(self.X) + member.residual * train.public
                for member in self.fitted(train)
            ]
            predicted.append(np.stack([by_drift, *others]))
            rows.append(self.rows(left_out, round(n / PARTS)))
        P, T = np.array(predicted), np.array([part.T for part in rows])
        root = np.sqrt(rows[0].precision)[:, None]
        columns = np.moveaxis(root * P, 1, -1).reshape(-1, P.shape[1])
        weights = simplex_least_squares(columns, (root * T).ravel(), PULL / n)
        change = np.einsum("m,kmrs->krs", weights, P) - P[:, 0]
        # |T - drift|^2 - |T - sum|^2, by holders
        gained = ((2.0 * (T - P[:, 0]) - change) * change).sum(axis=2)
        holders, noise = rows[0].holders, self.noise_of(n / PARTS)
        d = float((gained @ holders).sum())
        s2 = 4.0 * float(np.einsum("r,kri,rij,krj->", holders**2, change, noise, change))
        return weights, max(1.0 - s2 / d**2, 0.0) if d > 0.0 else 0.0

    def noise_of(self, n: float) -> Floats:
        """Covariance of the targets from ``n`` of the reports, ``(rows, S, S)``."""
        slots = self.covariance.shape[1]
        around_mean = np.eye(slots) - 1.0 / slots
        of_reports = (
            self.covariance[self.cells] / (self.mass**2 * n / self.question.n)[:, None, None]
        )
        return np.asarray(around_mean @ of_reports @ around_mean)

    def thinned(self) -> Iterator[tuple[Floats, Floats]]:
        """Pairs of the counts without a part of the reports, and of that part."""
        rng, counts = np.random.default_rng(0), self.question.counts
        values, vectors = np.linalg.eigh(self.covariance / PARTS)
        root = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        g = np.einsum("cij,pcj->pci", root, rng.standard_normal((PARTS, *counts.shape)))
        for left_out in counts / PARTS + g - g.mean(axis=0):
            yield counts - left_out, left_out

    def _drift(self, kept: Floats) -> Floats:
        """Shares by the drift of the reports that are kept."""
        question, n = self.question, round(self.question.n * (1.0 - 1.0 / PARTS))
        thinned = Thinned(
            question.partition,
            question.mechanism,
            question.sums,
            n,
            scale=question.scale,
            kept=kept,
            whole=question,
        )
        return averaged(thinned, self.expected)[1].shares

    def summed(
        self,
        own: float,
        pairs: Sequence[tuple[float, Member]],
        drift: SlotEstimates,
        part: float,
    ) -> Learned:
        """``own`` of the drift and the members by their weights.

        Within cells the drift follows the public model by its slope (``shift``, equation 15), here
        the same in all cells: its mean over the holders.
        """
        slope = 1.0
        if drift.base_slope is not None:
            slope = float(np.average(drift.base_slope.mean(axis=1)[self.cells], weights=self.mass))
        residual = sum(weight for weight, member in pairs if member.residual)
        models = [self.knowledge.model, *(member.model for _, member in pairs)]
        name = f"{self.knowledge.model.name}, and models learned from cells"
        weights = [own * slope + residual, *(weight for weight, _ in pairs)]
        base = mixture(name, models, weights)
        scored = replace(self.knowledge, model=base, scores=base.predict(self.knowledge.points))
        base_values, _ = scored.cell_means(self.question.partition)
        values = base_values + own * (drift.shares - slope * self.public)
        public = residual + pairs[0][0]
        return Learned(base, base_values, values, part, own, public)


@lru_cache(maxsize=8)
def _points_in(knowledge: Knowledge, tree: Partition) -> tuple[NDArray[np.int64], Floats]:
    """The number of reference points in each cell, ``(cells,)``, and their sums."""
    at = locate(tree, knowledge.points)
    return np.bincount(at, minlength=tree.cells), cell_sums(at, knowledge.points, tree.cells)


def overall(rows: Rows) -> Member:
    """The overall shares of the reports."""
    mean = project_on_simplex(np.average(rows.T, axis=0, weights=rows.holders)[None])[0]
    constant = Linear("identity", np.zeros((rows.X.shape[1], len(mean))), mean)
    return Member(BaseModel("overall", (constant,), (1.0,)))


def linear(rows: Rows) -> Member:
    """softmax(X B + b) by penalised least squares."""
    from scipy.optimize import minimize  # slow to import
    from scipy.special import softmax  # slow to import

    A = np.column_stack([rows.X, np.ones(len(rows.X))])
    S, w = rows.T.shape[1], rows.precision
    start = np.zeros((A.shape[1], S))

    def objective(flat: Floats) -> tuple[float, Floats]:
        B = flat.reshape(start.shape)
        p = softmax(A @ B, axis=1)
        error = w[:, None] * (p - rows.T)
        slope = p * (error - (p * error).sum(axis=1, keepdims=True))
        loss = 0.5 * float((error * (p - rows.T)).sum()) + 0.5 * float((B[:-1] ** 2).sum())
        return loss, (A.T @ slope + np.vstack([B[:-1], np.zeros(S)])).ravel()

    found = minimize(objective, start.ravel(), jac=True, method="L-BFGS-B")
    B = found.x.reshape(start.shape)
    return Member(BaseModel("linear", (Linear("softmax", B[:-1], B[-1]),), (1.0,)))


def extra_trees(rows: Rows, leaf: int, *, residual: bool) -> Member:
    """A forest of Geurts et al. (2006) with at least about ``leaf`` reports in a leaf."""
    from sklearn import config_context  # slow to import
    from sklearn.tree import ExtraTreeRegressor  # slow to import

    from ..public_model.candidates import as_trees  # imports scikit-learn

    Y = np.ascontiguousarray(rows.T - rows.public if residual else rows.T)
    least = min(leaf / float(rows.holders.sum()), 0.5)
    X, trees = rows.X.astype(np.float32), []
    seeds, own = np.random.RandomState(0), np.random.RandomState()  # making one takes half a fit
    with config_context(assume_finite=True):
        for _ in range(EXTRA_TREES):
            own.seed(seeds.randint(np.iinfo(np.int32).max))
            tree = ExtraTreeRegressor(
                max_features=COLUMNS_TRIED, min_weight_fraction_leaf=least, random_state=own
            )
            trees.append(fit_unchecked(tree, X, Y, rows.precision))
    component: Trees = as_trees(trees, Y.shape[1])
    name = f"{'residual ' if residual else ''}extra trees, {leaf} in a leaf"
    return Member(BaseModel(name, (component,), (1.0,)), residual)
