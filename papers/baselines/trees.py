"""Trees on a partition of public data: LPCT, LPCT-prune, LPDT; and trees without privacy."""

from copy import copy
from dataclasses import KW_ONLY, dataclass, replace
from math import exp, log, log2
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from privet.learning.core.counts import QuestionCounts, public_counts
from privet.learning.core.growth import Growth, GrowthSpec, lpct_depth
from privet.learning.core.public_data import PublicData
from privet.learning.core.trees import locate
from privet.learning.methods import GROWERS, fit
from privet.learning.simulation import simulate_question
from privet.learning.sklearn.data import value_errors
from privet.protocol.features import Classes, Label, Range
from privet.protocol.label_scale import LabelScale
from privet.protocol.mechanisms import create_mechanism
from privet.protocol.partition import Partition

from .base import LABEL, Baseline, BaselineClassifier, BaselineRegressor, Floats, Integers
from .published_pruning import published_shares

PARTITIONS = {"max_edge": "max_edge", "random": "random_max_edge", "cart": "cart"}


@dataclass(eq=False, repr=False)
class PublicPartition(Baseline):
    """Base of the methods on a partition of the public records."""

    epsilon: float = 1.0
    _: KW_ONLY
    partition: str = "max_edge"
    depth: int | None = None
    min_leaf: int | None = 0

    def _depth(self, X: Floats, public_rows: int) -> int:
        """``depth``, or p_0 of LPCT's Algorithm 2 for this number of public records."""
        if self.depth is not None:
            return self.depth
        return lpct_depth(len(X), self.epsilon, columns=X.shape[1], public_rows=public_rows)

    def _grown(self, public: PublicData, depth: int, rng: np.random.Generator) -> Partition:
        """A partition of [0, 1]^d.

        Where all public labels are equal, or no record is public, every split scores the same, and
        LPCT's rule takes the smallest index (section 3.2). Raises ``ValueError`` for an unknown
        ``partition``.
        """
        if self.partition not in PARTITIONS:
            msg = f"partition is {self.partition!r}: use one of {', '.join(PARTITIONS)}."
            raise ValueError(msg)
        min_leaf = max(1, len(public) >> depth) if self.min_leaf is None else self.min_leaf
        classes = self._label.slots if isinstance(self._label, Classes) else 0
        spec = GrowthSpec(depth=depth, min_leaf=min_leaf)
        X, y = public.X, public.y
        if not len(public):
            X, y = np.zeros((1, X.shape[1])), np.zeros(1)
        growth = Growth(X, y, classes, spec, rng)
        return GROWERS[PARTITIONS[self.partition]].grow(growth)

    def _values(self, X: Floats) -> Floats:
        cells = locate(self.model_.partition, X)
        return np.asarray(self.model_.predict_from(cells, None).values)


@dataclass(eq=False, repr=False)
class LPCTClassifier(BaselineClassifier, PublicPartition):
    """LPCT (Ma and Yang, JMLR 2024): weighted private and public counts in the cells of a tree.

    A holder sends U + (4/ε) ζ and V + (4/ε) ξ, U one-hot over the cells, V = Y U, ζ and ξ standard
    Laplace (eq. 5, 6). In a cell with public counts U_Q, V_Q

        η = (V_P + λ V_Q) / (U_P + λ U_Q)                                                  (eq. 8)

    Costs ε-LDP (Proposition 2), one report, no interaction; uses public labels.

    Parameters
    ----------
    epsilon : from 0.001 to 64.
    partition : ``max_edge`` (Algorithm 1), ``random`` among the longest edges (LPCT-R), or
        ``cart``, the criterion reduction scheme of the paper's real data; Gini index.
    depth : p; by default p_0 of Algorithm 2.
    weight : λ; 0 is LPCT-P and infinity LPCT-Q.
    mechanism : ``laplace`` as published; with ``subset``, Privet's, a holder sends the joint cell
        and label with less noise.
    min_leaf : public records that a cell keeps at least; 0 is the full grid of 2**p cells.
    beyond : ``edge`` counts records beyond the features' ranges at the edge; with ``zero`` they are
        in no cell, and predicted as class 0: Theorem 5's estimator, f times the indicator of
        [0, 1]^d.
    public_fraction, random_state : as in ``PrivateTreeClassifier``.
    """

    multi_class: ClassVar[bool] = True

    _: KW_ONLY
    weight: float = 1.0
    mechanism: str = "laplace"
    beyond: str = "edge"

    def with_weight(self, weight: float) -> Self:
        """The same reports under another λ: post-processing, which costs no privacy."""
        other = copy(self)
        other.weight = weight
        with value_errors():
            other._estimate()  # noqa: SLF001 - its own class
        return other

    def labels_at(self, weight: float) -> Integers:
        """Each cell's class number under another λ, ``(cells,)``: ``with_weight`` without shares.

        The class with the largest weighted count has the largest share.
        """
        counts = self.public_counts_
        if weight != np.inf:
            counts = self.question_.counts + weight * counts
        return np.asarray(counts.argmax(axis=1))

    def _scale(self, X: Floats) -> Floats:
        if self.beyond not in ("edge", "zero"):
            msg = f"beyond is {self.beyond!r}: use edge or zero."
            raise ValueError(msg)
        return super()._scale(X) if self.beyond == "edge" else self._min_max(X)

    def _values(self, X: Floats) -> Floats:
        of_class_0 = np.eye(len(self.classes_))[0]
        return np.where(in_cube(X)[:, None], super()._values(X), of_class_0)

    def _learn(self, X: Floats, y: Floats, public: PublicData, rng: np.random.Generator) -> None:
        fits, known = in_cube(X), in_cube(public.X)
        public = PublicData(public.X[known], public.y[known])
        cells = self._grown(public, self._depth(X, len(public)), rng)
        self.public_ = public
        self.public_counts_ = public_counts(self._label, public, cells)
        misfits = int((~fits).sum())
        self.question_ = ask(
            *(self.mechanism, self.epsilon, self._label, cells),
            *(X[fits], y[fits], rng),
            misfits=misfits,
        )
        self._estimate()

    def _estimate(self) -> None:
        self.model_ = fit(
            "weighted",
            self._label,
            self.public_,
            [self.question_],
            weight=self.weight,
            counts="unbiased",
        )


def in_cube(X: Floats) -> NDArray[np.bool_]:
    """Whether each row of scaled features is in [0, 1]^d, ``(rows,)``."""
    return np.asarray(((X >= 0.0) & (X <= 1.0)).all(axis=1))


def theorem_4(
    private_rows: int, public_rows: int, epsilon: float, *, columns: int, alpha: float, gamma: float
) -> tuple[int, float]:
    """Depth p and weight λ of LPCT's Theorem 4 where η_P is α-Hölder and γ is the relative signal.

    2^p = 1/δ and λ = δ^(min(γα - α, 2γα - d) / d), with δ of eq. 11. The theorem gives orders only:
    the constants are 1 here.
    """
    log_n = log(private_rows + public_rows)
    a, d = alpha, columns
    public = (public_rows / log_n) ** ((2 * a + 2 * d) / (2 * gamma * a + d))
    delta = (private_rows * epsilon**2 / log_n + public) ** (-d / (2 * a + 2 * d))
    return max(round(-log2(delta)), 1), delta ** (min(gamma * a - a, 2 * gamma * a - d) / d)


@dataclass(eq=False, repr=False)
class LPCTPruneClassifier(BaselineClassifier, PublicPartition):
    """LPCT-prune (Ma and Yang, JMLR 2024, Algorithm 2): each cell climbs to a clear ancestor.

    The deep tree has p_0 = floor(d / (2 + 2d) log2(n_P ε² + n_Q^((2 + 2d) / d))) levels, the
    fallback floor(d / (2 + 2d) log2(n_P ε²)); each question has half of ε and Laplace noise. Both
    are asked at once, so that no holder is contacted twice. Costs ε-LDP; uses public labels.

    Parameters
    ----------
    epsilon, partition, min_leaf, public_fraction, random_state : as in ``LPCTClassifier``.
    depth, least_depth : p_0 and the fallback's, if they are not to be derived. The authors' Figure
        7b is the best over both; no cell climbs above ``least_depth`` with their constants.
    constants : ``paper`` as printed, ``published`` as in the authors' code
        (``published_pruning``), or ``calibrated`` so that the private and the public signal have
        the same law where there is none.
    fallback : False asks the deep question alone, with all of ε, as Figures 5 and 7 leave the
        second query out; so does the authors' code, for which this is ignored.
    """

    _: KW_ONLY
    least_depth: int | None = None
    constants: str = "calibrated"
    fallback: bool = True

    def _learn(self, X: Floats, y: Floats, public: PublicData, rng: np.random.Generator) -> None:
        shallow = self.least_depth
        if shallow is None:
            shallow = lpct_depth(len(X), self.epsilon, columns=X.shape[1], public_rows=0)
        published = self.constants == "published"
        depths = (self._depth(X, len(public)), shallow)[: 1 + (self.fallback and not published)]
        share = self.epsilon / len(depths)
        self.questions_ = []
        for depth in depths:
            cells = self._grown(public, depth, rng)
            self.questions_.append(ask("laplace", share, self._label, cells, X, y, rng))
        constants = "calibrated" if published else self.constants
        self.model_ = fit("pruned", self._label, public, self.questions_, constants=constants)
        if published:
            deep = self.questions_[0]
            counts_q = public_counts(self._label, public, deep.partition)
            ones = published_shares(deep, counts_q, self.epsilon, depths[0], shallow)
            self.model_ = replace(self.model_, values=np.column_stack([1.0 - ones, ones]))


@dataclass(eq=False, repr=False)
class LPDT(PublicPartition):
    """Base of LPDT's classifier and regressor: eq. 3 to 5, with 0 and 1 taken as numbers."""

    _: KW_ONLY
    min_leaf: int | None = None

    def _learn(self, X: Floats, y: Floats, public: PublicData, rng: np.random.Generator) -> None:
        label, cells = self._label, self._grown(public, self._depth(X, 0), rng)
        number = label if isinstance(label, Range) else Range(name=LABEL, low=0.0, high=1.0)
        self.question_ = ask("randomized_response", self.epsilon, number, cells, X, y, rng)
        model = fit("weighted", number, public, [self.question_], weight=0.0, counts="unbiased")
        middle = (number.low + number.high) / 2
        empty = self.question_.counts.sum(axis=1) <= 0
        self.model_ = replace(model, values=np.where(empty[:, None], middle, model.values))

    def _values(self, X: Floats) -> Floats:
        return super()._values(X)[:, 0]


@dataclass(eq=False, repr=False)
class LPDTRegressor(BaselineRegressor, LPDT):
    """LPDT (Ma et al., NeurIPS 2023): a regression tree on a public partition, private means.

    A holder sends every bit of U flipped with probability 1 / (1 + e^(ε/4)) (eq. 3), centred to Ũ,
    and Ỹ = Y + (4M/ε) ξ once (eq. 4), Y in [-M, M] about the middle of the label's range. A cell
    predicts Σ Ỹ Ũ / Σ Ũ (eq. 5), kept within the range. A cell whose noisy mass is not positive
    counts as empty and predicts 0, the middle, as the text has 0/0 = 0. Costs ε-LDP (Theorem 3.1),
    one report, no interaction; public labels only choose the splits.

    Parameters
    ----------
    epsilon : from 0.001 to 64.
    partition : ``max_edge`` (LPDT-M), ``cart`` (LPDT-V) or ``random``; variance reduction.
    depth : p; by default floor(d / (2 + 2d) log2(n ε²)), which has Theorem 3.4's order.
    min_leaf : n_l; by default n_q / 2**p, as in Theorem 3.4.
    label_range : the label's range; by default that of the public labels.
    public_fraction, random_state : as in ``PrivateTreeRegressor``.
    """


@dataclass(eq=False, repr=False)
class PublishedLPDTRegressor(LPDTRegressor):
    """LPDT by the rules of its authors' code, Karlmyh/LPDT, where they are not the text's.

    Bits are flipped with probability 1 / (1 + e^(share ε / 2)) and Ỹ = Y + 2M / ((1 - share) ε) ξ,
    which is eq. 3 and 4 where ``share`` is 1/2. A cell whose noisy mass is negative predicts the
    mean of its public records, and no prediction is cut at the label's range. Costs ε-LDP, one
    report, no interaction; the code takes M from the private labels, which is not private: here it
    is declared.

    Parameters
    ----------
    share : the part of ε that the bits have; the code takes the best of .3, .5 and .7.
    epsilon, partition, depth, min_leaf, label_range, public_fraction, random_state : as in
        ``LPDTRegressor``.
    """

    _: KW_ONLY
    share: float = 0.5

    def _learn(self, X: Floats, y: Floats, public: PublicData, rng: np.random.Generator) -> None:
        if not 0.0 < self.share < 1.0:
            msg = f"share is {self.share}: choose a number between 0 and 1."
            raise ValueError(msg)
        self.cells_ = self._grown(public, self._depth(X, 0), rng)
        count = self.cells_.cells
        flip = 1.0 / (1.0 + exp(self.share * self.epsilon / 2.0))
        middle = (self.label_low_ + self.label_high_) / 2.0
        scale = (self.label_high_ - self.label_low_) / ((1.0 - self.share) * self.epsilon)
        inside = locate(self.cells_, X)[:, None] == np.arange(count)
        centred = (inside ^ (rng.random((len(X), count)) < flip)) - flip
        mass = centred.sum(axis=0)
        total = (y - middle + rng.laplace(scale=scale, size=len(y))) @ centred
        of_public = locate(self.cells_, public.X)
        records = np.bincount(of_public, minlength=count)
        public_sums = np.bincount(of_public, public.y, minlength=count)
        public_means = np.where(records > 0, public_sums / np.maximum(records, 1), public.y.mean())
        used = mass > 0
        self.means_ = np.where(used, middle + total / np.where(used, mass, 1.0), public_means)

    def _values(self, X: Floats) -> Floats:
        return np.asarray(self.means_[locate(self.cells_, X)])


class LPDTClassifier(BaselineClassifier, LPDT):
    """LPDT as LPCT's section 7.2 adapts it: the regression of a label in {0, 1}, cut at 1/2.

    Splits by the Gini index, everything else and its parameters as in ``LPDTRegressor``.
    """


@dataclass(eq=False, repr=False)
class NonPrivateTree(Baseline):
    """Base of the trees without privacy."""

    _estimator: ClassVar[type[Any]]

    rows: str = "all"
    _: KW_ONLY
    max_depth: int | None = None

    def _learn(self, X: Floats, y: Floats, public: PublicData, rng: np.random.Generator) -> None:
        choices = {
            "all": (np.vstack([X, public.X]), np.concatenate([y, public.y])),
            "private": (X, y),
            "public": (public.X, public.y),
        }
        if self.rows not in choices:
            msg = f"rows is {self.rows!r}: use all, private or public."
            raise ValueError(msg)
        seed = int(rng.integers(2**31))
        tree = self._estimator(max_depth=self.max_depth, random_state=seed)
        self.tree_ = tree.fit(*choices[self.rows])


class NonPrivateTreeClassifier(BaselineClassifier, NonPrivateTree):
    """CART without privacy: CT-W on ``all`` records, CT-Q on the ``public`` ones (LPCT, 7.2).

    scikit-learn's ``DecisionTreeClassifier`` with its defaults. ``rows="private"`` and ``"all"``
    give no privacy at all.
    """

    multi_class: ClassVar[bool] = True
    _estimator = DecisionTreeClassifier

    def _values(self, X: Floats) -> Floats:
        values = np.zeros((len(X), len(self.classes_)))
        values[:, self.tree_.classes_.astype(np.int64)] = self.tree_.predict_proba(X)
        return values


@dataclass(eq=False, repr=False)
class NonPrivateTreeRegressor(BaselineRegressor, NonPrivateTree):
    """As ``NonPrivateTreeClassifier``, for a numeric label; DT of LPDT's Table 2 on ``private``."""

    _estimator = DecisionTreeRegressor

    def _values(self, X: Floats) -> Floats:
        return np.asarray(self.tree_.predict(X), dtype=np.float64)


def ask(
    mechanism: str,
    epsilon: float,
    label: Label,
    partition: Partition,
    X: Floats,
    y: Floats,
    rng: np.random.Generator,
    *,
    scale: LabelScale | None = None,
    misfits: int = 0,
) -> QuestionCounts:
    """The counts of all holders' reports to one question, exact in distribution.

    ``misfits`` more holders have a record that does not fit.
    """
    randomizer = create_mechanism(
        mechanism, epsilon, partition.cells, label.slots, regression=isinstance(label, Range)
    )
    sums = simulate_question(
        partition,
        randomizer,
        label=label,
        X=X,
        y=y,
        copies=np.ones(len(X), dtype=np.int64),
        rng=rng,
        scale=scale,
        misfits=misfits,
    )
    return QuestionCounts(partition, randomizer, sums, len(X) + misfits, scale=scale)
