"""In the manner of HistOfTree: some columns are disclosed, label and hidden ones perturbed."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from privet.learning.core.public_data import PublicData
from privet.learning.core.ratio import project_on_simplex
from privet.learning.core.trees import locate
from privet.learning.lpct.grid import grid_partition

from .base import BaselineClassifier, BaselineRegressor, Floats, Integers
from .trees import PublicPartition, ask


@dataclass(eq=False, repr=False)
class HistOfTree(PublicPartition):
    """Base of the classifier and the regressor."""

    _: KW_ONLY
    partition: str = "cart"
    disclosed: Sequence[int] | None = None
    bins: int = 2
    mechanism: str = "subset"

    def _learn(self, X: Floats, y: Floats, public: PublicData, rng: np.random.Generator) -> None:
        columns = X.shape[1]
        self.disclosed_: Integers = np.unique(
            range(columns) if self.disclosed is None else self.disclosed
        )
        if len(self.disclosed_) and not 0 <= self.disclosed_[0] <= self.disclosed_[-1] < columns:
            msg = f"disclosed is {self.disclosed}: give the numbers of columns, 0 to {columns - 1}."
            raise ValueError(msg)
        self.hidden_: Integers = np.setdiff1d(np.arange(columns), self.disclosed_)
        in_public, in_private = (
            self._columns(public.X, self.disclosed_),
            self._columns(X, self.disclosed_),
        )
        depth = self._depth(in_private, 0) if len(self.disclosed_) else 0
        self.tree_ = self._grown(PublicData(in_public, public.y), depth, rng)
        self.grid_ = grid_partition(max(len(self.hidden_), 1), self.bins)
        leaves, hidden = locate(self.tree_, in_private), self._columns(X, self.hidden_)
        counts, values = [], []
        for leaf in range(self.tree_.cells):
            at = leaves == leaf
            asked = ask(
                self.mechanism, self.epsilon, self._label, self.grid_, hidden[at], y[at], rng
            )
            counts.append(asked.counts)
            values.append(shares_in_leaf(asked.counts, int(at.sum())))
        self.mechanism_, self.counts_ = asked.mechanism, np.array(counts)
        self.shares_ = np.array(values)

    def _columns(self, X: Floats, columns: Integers) -> Floats:
        """These columns of ``X``, or one constant column where there are none."""
        return X[:, columns] if len(columns) else np.zeros((len(X), 1))

    def _values(self, X: Floats) -> Floats:
        leaves = locate(self.tree_, self._columns(X, self.disclosed_))
        cells = locate(self.grid_, self._columns(X, self.hidden_))
        return np.asarray(self.shares_[leaves, cells])


@dataclass(eq=False, repr=False)
class HistOfTreeClassifier(BaselineClassifier, HistOfTree):
    """In the manner of HistOfTree (Ma, Jia and Yang, AISTATS 2025, arXiv 2405.13481).

    Semi-feature local privacy: a holder shows its leaf of a tree on the ``disclosed`` columns, and
    perturbs with all of ε where it is in a histogram of the hidden columns in that leaf, with its
    label. Within a leaf

        shares = V / sum of V over the labels

    of the debiased counts V of each cell of the histogram and label. For two records in one leaf
    the law of the message differs by at most e^ε; the leaf itself has no privacy. One report, no
    interaction; public labels only choose the splits.

    From the paper come the tree on the disclosed features with a histogram of the others in each
    leaf, and perturbed cells. We have read its abstract and the beginning of its introduction. Ours
    are: the tree is grown on public records, as in LPCT; cell and label are one category, for which
    ``mechanism`` is chosen, so that the rival has no more noise than Privet; a cell without noisy
    mass has the shares of its leaf, whose number of holders is known; the default depth, which is
    LPDT's for the disclosed columns. The paper treats regression, and chooses the columns to show
    as well.

    Parameters
    ----------
    epsilon : from 0.001 to 64.
    partition : of the disclosed columns, ``cart``, ``max_edge`` or ``random``.
    depth : of the tree; by default floor(d / (2 + 2d) log2(n ε²)) for d disclosed columns.
    disclosed : numbers of the columns that are disclosed, from 0; None shows all, so that only the
    label
        is hidden.
    bins : parts of each hidden column; all together may be 2^16 at most. With 1 the hidden columns
        are not used.
    mechanism : any of the protocol's.
    min_leaf, public_fraction, random_state : as in ``LPCTClassifier``.
    """

    multi_class: ClassVar[bool] = True


@dataclass(eq=False, repr=False)
class HistOfTreeRegressor(BaselineRegressor, HistOfTree):
    """As ``HistOfTreeClassifier``, for a number: a cell predicts its mean label.

    The label is rounded at random, without bias, to one of two ends of ``label_range``, whose share
    is the mean on that range.
    """

    def _values(self, X: Floats) -> Floats:
        share = super()._values(X)[:, 1]
        return np.asarray(self.label_low_ + share * (self.label_high_ - self.label_low_))


def shares_in_leaf(counts: Floats, holders: int) -> Floats:
    """Each label's share in each cell of a leaf of ``holders``, ``(cells, slots)``.

    Of a cell whose noisy mass is not positive that of the leaf; equal ones where nobody is.
    """
    slots = counts.shape[1]
    of_leaf = counts.sum(axis=0) / holders if holders else np.full(slots, 1.0 / slots)
    mass = counts.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(mass > 0.0, counts / mass, of_leaf)
    return project_on_simplex(shares)
