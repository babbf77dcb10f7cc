"""Columns that a collector knows of everybody, and what disclosing them gains or costs.

Of each set ``KNOWN`` names about the half of the columns that a collector would plausibly know. The
made populations have random laws (``shapes.Law``) in five columns, of which the first three are
known.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa

from baselines import HistOfTreeClassifier
from privet.learning.core.counts import QuestionCounts, StratumMisfits
from privet.learning.core.public_data import PublicData
from privet.learning.lpct.grid import grid_partition
from privet.learning.methods import Fitting, fit
from privet.learning.simulation import simulate_counts, simulate_sums
from privet.learning.task_building.build import TaskBuilder
from privet.learning.task_building.settings import DEFAULT_SMALLEST_GROUP, TaskSettings
from privet.protocol.features import Classes, Numeric, Range
from privet.protocol.mechanisms.stratified import StratifiedMechanism
from privet.protocol.mechanisms.subset import SubsetSelection
from reproduce import fair_survey
from reproduce.contestants import Scored, Tuned, value_scores
from reproduce.datasets import CLASSES, Split, encode_tables, take
from reproduce.shapes import COLUMNS, Law, drawn, of_public

LARGEST_HISTOGRAM = 2**10
"""Hidden cells in the manner of HistOfTree: far more than reports can tell apart."""
DEPTHS, BINS = (1, 2, 3, 4, 5), (1, 2, 3)
MADE = {"fair": ("faithful", 2), "flipped": ("changed", 2), "useless": ("useless", 5)}
"""The kinds of public labels, of ``shapes.KINDS``, with their numbers of classes."""
MADE_PUBLIC, MADE_HOLDERS, MADE_POINTS, MADE_KNOWN = 300, 4000, 3000, (0, 1, 2)
PARTS = (1.0, 1 / 2, 1 / 5, 1 / 10, 1 / 30)
"""Fractions of the holders who report."""
HIDDEN, HALF, LABEL = "Privet, all hidden", "Privet, half disclosed", "Privet, label only"
TREE_OF_HISTOGRAMS = "in the manner of HistOfTree"
"""The algorithm of the paper is not known here: its abstract and introduction are."""
WAYS: tuple[tuple[str, Literal["none", "known", "all"], bool], ...] = (
    ("half disclosed", "known", False),
    ("label only", "all", False),
    ("all hidden, register", "none", True),
    ("half disclosed, register", "known", True),
    ("label only, register", "all", True),
)
"""Tasks to compare with all hidden: name, what is disclosed, and whether with a register."""
MISFITS = (
    "evenly: the ward",
    "evenly: the others",
    "by stratum: the ward",
    "by stratum: the others",
)
ALONE, FINEST = "Privet, label only, groups of 1", 10


@dataclass(frozen=True)
class Privet:
    """The default tree and estimator, with none of the columns disclosed, the known half, or all.

    With ``alone`` strata need no group, and the tree has ``FINEST`` levels.
    """

    name: str
    disclosed: Literal["none", "known", "all"]
    alone: bool = False

    def __call__(self, split: Split, epsilon: float, seed: int) -> Iterator[Scored]:
        yield self.name, {}, self.scored(split, epsilon, seed)

    def scored(
        self, split: Split, epsilon: float, seed: int, *, register: bool = False
    ) -> dict[str, float]:
        """The scores of a collection, whose groups are counted in a ``register`` of the holders."""
        names = [f"x{place}" for place in range(split.public.X.shape[1])]
        known = [names[place] for place in split.known]
        settings = TaskSettings(
            name="simulation",
            label=split.label.name,
            epsilon=epsilon,
            disclosed=tuple({"none": [], "known": known, "all": names}[self.disclosed]),
            holders=len(split.private),
            smallest_group=1 if self.alone else DEFAULT_SMALLEST_GROUP,
            depth=FINEST if self.alone else None,
        )
        public = split.public
        if register:
            people = split.private.X.copy()
            if settings.disclosed:
                people[:, [name not in settings.disclosed for name in names]] = np.nan
            public = replace(public, register=people)
        features = tuple(Numeric(name=name, low=0.0, high=1.0) for name in names)
        task = TaskBuilder(features, split.label, public).task(settings)
        rng = np.random.default_rng([seed, round(1000 * epsilon)])
        reports = simulate_counts(task, split.private.X, split.private.y, rng)
        # what else a fit states costs as much again
        model = Fitting.of("drift", split.label, public).estimate(reports)
        return value_scores(model.predict(split.test.X).values, split)


def against_hidden(
    split: Split, epsilon: float, seed: int, *, with_register: bool = False
) -> Iterator[Scored]:
    """The ``WAYS`` with or without a register by their error (Brier score, or squared error), in %
    above all hidden's."""
    hidden = error(split, epsilon, seed, "none", with_register=False)
    for name, disclosed, register in WAYS:
        if register == with_register and (disclosed != "known" or split.known):
            of_way = error(split, epsilon, seed, disclosed, with_register=register)
            yield name, {}, {"score": 100.0 * (of_way / hidden - 1.0)}


@lru_cache(maxsize=16)  # all hidden's is wanted without and with a register
def error(
    split: Split,
    epsilon: float,
    seed: int,
    disclosed: Literal["none", "known", "all"],
    *,
    with_register: bool,
) -> float:
    """The Brier score of classes, or the squared error of a number, of one collection."""
    measure = "brier" if isinstance(split.label, Classes) else "score"
    return Privet(HIDDEN, disclosed).scored(split, epsilon, seed, register=with_register)[measure]


@dataclass(frozen=True)
class Wards:
    """Eight wards of 2 500 holders, one with a share of .043 beside .1 in the others.

    Its public share is .4, and ``unfit`` of its holders have a record that does not fit.
    """

    unfit: float


def misfits_of_a_ward(of: Wards, epsilon: float, seed: int) -> Iterator[Scored]:
    """The excess of a ward's predicted share, with misfits spread evenly and by
    stratum."""
    wards, ward, each = 8, 3, 2500
    share = np.where(np.arange(wards) == ward, 0.043, 0.1)
    rng = np.random.default_rng([seed, 41])
    X = (rng.integers(wards, size=(600, 1)) + 0.5) / wards
    expected = np.where(np.arange(wards) == ward, 0.4, 0.1)[(wards * X[:, 0]).astype(int)]
    public = PublicData(X, (rng.random(600) < expected).astype(float))
    tree = grid_partition(1, wards)
    mechanism = StratifiedMechanism.around(
        SubsetSelection.create(epsilon, 1, 2), tuple(range(wards))
    )
    table = []
    for stratum in range(wards):
        misfits = round(each * of.unfit) if stratum == ward else 0
        yes = rng.binomial(each - misfits, share[stratum])
        counts = np.array([[each - misfits - yes, yes]])
        table.append([each, *simulate_sums(mechanism.inner, counts, rng, misfits)])
    question = QuestionCounts(tree, mechanism, np.array(table).ravel(), wards * each)
    for name, counted in (("evenly", EvenMisfits.of(question)), ("by stratum", question)):
        values = fit("drift", CLASSES, public, [counted]).values[:, 1]
        yield f"{name}: the ward", {}, {"score": values[ward] - share[ward]}
        others = np.delete(values - share, ward)
        yield f"{name}: the others", {}, {"score": float(others.mean())}


@dataclass(frozen=True, eq=False)
class EvenMisfits(QuestionCounts):
    """Counts whose misfits are taken to be as many in every stratum."""

    @classmethod
    def of(cls, question: QuestionCounts) -> "EvenMisfits":  # type: ignore[override]
        """The same sums."""
        return cls(question.partition, question.mechanism, question.sums, question.n)

    @property
    def stratum_misfits(self) -> StratumMisfits:
        overall = self.misfits.value / self.n
        of_each = np.full(self.mechanism.stratum_count, overall)
        return StratumMisfits(of_each, np.zeros_like(of_each), overall, of_each)


def far_numbers(_folder: Path, seed: int) -> Split:
    """y = 200 [x0 < .004] + 5 sin 6 x1 + 3 [x2 > .5] + N(0, 1): one record in 250 is far off."""
    rng = np.random.default_rng([seed, 200])

    def drawn_rows(n: int) -> PublicData:
        X = rng.random((n, 3))
        far = 200.0 * (X[:, 0] < 0.004) + 5.0 * np.sin(6.0 * X[:, 1]) + 3.0 * (X[:, 2] > 0.5)
        return PublicData(X, np.clip(far + rng.standard_normal(n), -10.0, 215.0))

    label = Range(name="label", low=-10.0, high=215.0)
    return Split(drawn_rows(800), drawn_rows(6000), drawn_rows(4000), label, known=(0,))


def hist_of_tree(split: Split, epsilon: float, seed: int) -> Iterator[Scored]:
    """In the manner of HistOfTree, the known columns disclosed, at each depth and bins that fit."""
    hidden = split.public.X.shape[1] - len(split.known)
    grid = {"depth": DEPTHS, "bins": [k for k in BINS if k**hidden <= LARGEST_HISTOGRAM]}
    tuned = Tuned(TREE_OF_HISTOGRAMS, HistOfTreeClassifier, grid, {"disclosed": split.known})
    return tuned(split, epsilon, seed)


def of_part(split: Split, part: float, seed: int) -> Split:
    """The split with a random part of the holders; the parts of one seed are nested."""
    order = np.random.default_rng([seed, 28]).permutation(len(split.private))
    return replace(split, private=take(split.private, order[: round(part * len(order))]))


def survey(_folder: Path, seed: int, *, part: float = 1.0) -> Split:
    """Fair's survey in its one split, so that seeds only draw reports, and which holders report."""
    return of_part(_survey(), part, seed)


@cache
def _survey() -> Split:
    parts = fair_survey.load()
    rest = pa.concat_tables([parts.holders, parts.test])
    public, others, known = encode_tables("survey", parts.public, rest)
    holders, test = np.split(np.arange(len(others)), [len(parts.holders)])
    return Split(public, take(others, holders), take(others, test), CLASSES, known=known)


def made(_folder: Path, seed: int, *, kind: str, part: float = 1.0) -> Split:
    """Holders of a random law, and public records by one of ``MADE``."""
    labels, classes = MADE[kind]
    rng = np.random.default_rng([seed, classes, 5])
    law = Law.drawn(classes, rng)
    rows = (MADE_PUBLIC, MADE_HOLDERS, MADE_POINTS)
    X, private, points = (rng.random((n, COLUMNS)) for n in rows)
    split = Split(
        PublicData(X, drawn(of_public(labels, law(X), X, rng), rng)),
        PublicData(private, drawn(law(private), rng)),
        PublicData(points, np.zeros(len(points))),
        Classes(name="label", classes=tuple(map(str, range(classes)))),
        law(points),
        MADE_KNOWN,
    )
    return of_part(split, part, seed)
