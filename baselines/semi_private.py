"""The semi-private learner of Alon, Bassily and Moran (NeurIPS 2019), and its bounds.

Public records without labels turn a class H into a finite one that covers it; the exponential
mechanism then chooses on the private records, which a trusted curator holds: ε-DP, not local.

Excess error (proofs of Lemma 3.3 and Theorem 3.1, with their constants). With probability 1 - β/2
the cover of n_pub public records has radius

    α_pub = (4 / n_pub) (log 2 + 2 log G(2 n_pub) + log(2/β)),                    from eq. (1)

G the growth function of H. With probability 1 - β/2 the hypothesis chosen from M of them on n_priv
private records is worse than the best of them by at most

    α_priv = 2 sqrt(log(8 M / β) / (2 n_priv)) + 2 log(4 M / β) / (ε n_priv),

uniform convergence (Hoeffding) at β/4 and the exponential mechanism at β/4.
"""

from bisect import bisect_left
from dataclasses import KW_ONLY, dataclass, replace
from math import log, sqrt

import numpy as np

from privet.learning.public_data import PublicData

from .base import BaselineClassifier, Floats, Integers

HYPOTHESES = ("thresholds", "stumps", "trees")


@dataclass(eq=False, repr=False)
class SemiPrivateClassifier(BaselineClassifier):
    """Algorithm 1 of Alon, Bassily and Moran (2019).

    ``thresholds`` are 1{x >= t} of a single column; ``stumps`` split one column and label both
    sides; ``trees`` have depth 2. Of the thresholds and stumps that agree on all public records one
    is kept (steps 2 to 5), with its cut in the middle between two records. Step 6 draws h with
    probability proportional to exp(-ε mistakes / 2).

    Trees are drawn from all cuts between public records, without removing those that agree: the
    law factorizes over the two sides of the root, so that drawing is exact and quick, and the class
    is a finite cover all the same, with repetitions.

    Costs ε-DP in the central model; no public labels.

    Parameters
    ----------
    epsilon : any positive budget.
    hypotheses : ``thresholds``, ``stumps`` or ``trees``.
    public_records : how many public records, drawn at random, make the cover, at most.
    public_fraction, random_state : as in ``PrivateTreeClassifier``.
    """

    needs_public_labels = False

    epsilon: float = 1.0
    _: KW_ONLY
    hypotheses: str = "stumps"
    public_records: int = 200

    def _learn(self, X: Floats, y: Floats, public: PublicData, rng: np.random.Generator) -> None:
        if self.hypotheses not in HYPOTHESES:
            msg = f"hypotheses is {self.hypotheses!r}: use one of {', '.join(HYPOTHESES)}."
            raise ValueError(msg)
        if self.hypotheses == "thresholds" and X.shape[1] > 1:
            msg = f"thresholds are of one column, and there are {X.shape[1]}: use stumps."
            raise ValueError(msg)
        X_public = rng.permutation(public.X)[: self.public_records]
        labels = y.astype(np.int64)
        if self.hypotheses == "trees":
            self.tree_ = draw_tree(X, labels, X_public, self.epsilon, rng)
        else:
            cover = stumps(X_public, both_ways=self.hypotheses == "stumps")
            mistakes = cover.mistakes(X, labels)
            chosen = draw(-self.epsilon * mistakes / 2, rng)
            self.tree_ = cover.tree(chosen)

    def _values(self, X: Floats) -> Floats:
        return self.tree_.labels(X).astype(np.float64)


@dataclass(frozen=True)
class SmallTree:
    """Splits ``x[column] >= cut`` of the root and its two sides, and the labels of four leaves.

    Leaves are numbered 2 (right of the root) + (right of its side's split).
    """

    columns: tuple[int, ...]
    cuts: tuple[float, ...]
    leaves: tuple[int, ...]

    def labels(self, X: Floats) -> Integers:
        """The labels of rows, shape ``(rows,)``."""
        root, left, right = (
            (X[:, column] >= cut).astype(np.int64)
            for column, cut in zip(self.columns, self.cuts, strict=True)
        )
        return np.array(self.leaves)[2 * root + np.where(root == 1, right, left)]


@dataclass(frozen=True, eq=False)
class Stumps:
    """Hypotheses label ``right`` where x[column] >= cut and the other class elsewhere."""

    column: Integers
    cut: Floats
    right: Integers

    def __len__(self) -> int:
        return len(self.cut)

    def mistakes(self, X: Floats, y: Integers) -> Integers:
        """How many rows each hypothesis gets wrong."""
        wrong = np.empty(len(self), dtype=np.int64)
        for j in np.unique(self.column):
            of_column = self.column == j
            order = np.argsort(X[:, j], kind="stable")
            ones = np.concatenate([[0], np.cumsum(y[order])])
            below = np.searchsorted(X[order, j], self.cut[of_column], side="left")
            # label 1 at and above the cut: ones below and zeros above are mistakes
            zeros_above = (len(y) - below) - (ones[-1] - ones[below])
            mistakes = ones[below] + zeros_above
            wrong[of_column] = np.where(self.right[of_column] == 1, mistakes, len(y) - mistakes)
        return wrong

    def tree(self, index: int) -> SmallTree:
        """One of them."""
        column, cut, right = int(self.column[index]), float(self.cut[index]), self.right[index]
        left = 1 - int(right)
        return SmallTree((column,) * 3, (cut,) * 3, (left, left, 1 - left, 1 - left))


def cuts_of(values: Floats) -> Floats:
    """Cuts that separate all distinct ``values``: between neighbours, and below and above all."""
    points = np.unique(values)
    return np.concatenate([[-np.inf], (points[:-1] + points[1:]) / 2, [np.inf]])


def stumps(X_public: Floats, *, both_ways: bool) -> Stumps:
    """One stump or threshold for each way to label the public records ``X_public``."""
    per_column = [cuts_of(X_public[:, j]) for j in range(X_public.shape[1])]
    column = np.repeat(np.arange(X_public.shape[1]), [len(cuts) for cuts in per_column])
    cut = np.concatenate(per_column)
    right = np.ones(len(cut), dtype=np.int64)
    if both_ways:
        column, cut = np.tile(column, 2), np.tile(cut, 2)
        right = np.repeat([1, 0], len(right))
    labels = (X_public[:, column] >= cut) == (right == 1)
    _, first = np.unique(np.packbits(labels, axis=0), axis=1, return_index=True)
    return Stumps(column[first], cut[first], right[first])


def draw(log_weights: Floats, rng: np.random.Generator) -> int:
    """An index with probability proportional to the exponential of its weight."""
    return int(np.argmax(log_weights + rng.gumbel(size=log_weights.shape)))


def draw_tree(
    X: Floats, y: Integers, X_public: Floats, epsilon: float, rng: np.random.Generator
) -> SmallTree:
    """A tree of depth 2 with probability proportional to exp(-ε mistakes / 2).

    A leaf with n_0 and n_1 records of the classes has the weight e^(-ε n_1/2) + e^(-ε n_0/2) over
    its labels, a side of the root the sum over its splits of the product of its leaves', a root the
    product of its sides'. So a root is drawn first, then the splits of its sides, then labels.
    """
    cuts = [cuts_of(X_public[:, j]) for j in range(X_public.shape[1])]
    bins = [
        np.searchsorted(column_cuts, X[:, j], side="right") for j, column_cuts in enumerate(cuts)
    ]
    roots = [(j, i) for j, column_cuts in enumerate(cuts) for i in range(len(column_cuts))]
    weights = np.concatenate(
        [
            sum(np.logaddexp.reduce(side, axis=1) for side in _sides(bins, cuts, y, j, epsilon))
            for j in range(len(cuts))
        ]
    )
    root, at = roots[draw(weights, rng)]
    left, right = (roots[draw(side[at], rng)] for side in _sides(bins, cuts, y, root, epsilon))
    splits = ((root, at), left, right)
    columns = tuple(j for j, _ in splits)
    tree = SmallTree(columns, tuple(float(cuts[j][i]) for j, i in splits), (0, 1, 2, 3))
    counts = np.bincount(2 * tree.labels(X) + y, minlength=8).reshape(4, 2)
    return replace(tree, leaves=tuple(draw(-epsilon * leaf[::-1] / 2, rng) for leaf in counts))


def _sides(
    bins: list[Integers], cuts: list[Floats], y: Integers, root: int, epsilon: float
) -> tuple[Floats, Floats]:
    """Log weights of both sides of each cut of column ``root``, shape ``(its cuts, all cuts)``."""
    left, right = [], []
    for column, column_cuts in enumerate(cuts):
        shape = (2, len(cuts[root]) + 1, len(column_cuts) + 1)
        flat = np.ravel_multi_index((y, bins[root], bins[column]), shape)
        cells = np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape)
        # records below cut a of the root and below cut b of the other column
        below = cells.cumsum(axis=1).cumsum(axis=2)
        row, total = below[:, :, -1:], below[:, -1:, -1:]
        corner = below[:, :-1, :-1]
        other = below[:, -1:, :-1]
        left.append(_leaf(corner, epsilon) + _leaf(row[:, :-1] - corner, epsilon))
        above = other - corner
        rest = total - row[:, :-1] - above
        right.append(_leaf(above, epsilon) + _leaf(rest, epsilon))
    return np.concatenate(left, axis=1), np.concatenate(right, axis=1)


def _leaf(counts: Integers, epsilon: float) -> Floats:
    """Log weight of a leaf over its labels, from ``(2, ...)`` counts of both classes."""
    return np.asarray(np.logaddexp(-epsilon * counts[0] / 2, -epsilon * counts[1] / 2))


def log_growth(hypotheses: str, columns: int, records: int) -> float:
    """log of a bound on how many ways ``hypotheses`` label ``records`` records of ``columns``.

    ``records + 1`` for thresholds; with s = columns (records - 1) + 1 ways to split, one of which
    is none, 2 s for stumps and s (4 s)² for trees of depth 2.
    """
    splits = columns * (records - 1) + 1
    if hypotheses == "thresholds":
        return log(records + 1)
    return log(2 * splits) if hypotheses == "stumps" else 3 * log(splits) + 2 * log(4)


@dataclass(frozen=True)
class ExcessError:
    """Bounds that together hold with probability 1 - β; see this module."""

    cover: float
    choice: float

    @property
    def total(self) -> float:
        """α: at most this above the best error in the class."""
        return self.cover + self.choice


def excess_error(
    public_records: int,
    private_records: int,
    epsilon: float,
    *,
    hypotheses: str = "stumps",
    columns: int = 1,
    beta: float = 0.05,
) -> ExcessError:
    """α_pub and α_priv for these numbers of records."""
    size = log_growth(hypotheses, columns, public_records)
    spread = log(2) + 2 * log_growth(hypotheses, columns, 2 * public_records) + log(2 / beta)
    deviation = sqrt((size + log(8 / beta)) / (2 * private_records))
    choice = 2 * deviation + 2 * (size + log(4 / beta)) / (epsilon * private_records)
    return ExcessError(4 * spread / public_records, choice)


def least_public_records(alpha: float) -> float:
    """Public records that any semi-private learner of thresholds needs for an excess error of α.

    More than 1 / (1600 α), labelled or not: the proof of Theorem 4.1, for confidence 17/18,
    ε <= 0.1 and δ <= 1 / (100 n² log n) on n private records.
    """
    return 1.0 / (1600.0 * alpha)


def sample_sizes(
    alpha: float,
    epsilon: float,
    *,
    hypotheses: str = "stumps",
    columns: int = 1,
    beta: float = 0.05,
) -> tuple[int, int]:
    """n_pub and n_priv that are enough for an excess error of α: half of it from each.

    Raises ``ValueError`` unless 0 < α < 1.
    """
    if not 0 < alpha < 1:
        msg = f"alpha is {alpha}: choose an excess error between 0 and 1."
        raise ValueError(msg)

    def bound(public: int, private: int) -> ExcessError:
        return excess_error(
            public, private, epsilon, hypotheses=hypotheses, columns=columns, beta=beta
        )

    numbers = range(1, 2**60)  # both bounds fall
    public = bisect_left(numbers, True, key=lambda n: bound(n, 1).cover <= alpha / 2)
    private = bisect_left(
        numbers, True, key=lambda n: bound(numbers[public], n).choice <= alpha / 2
    )
    return numbers[public], numbers[private]
