"""Cross-fitted trials on public records: some play the public data, some the holders, some judge.

Strategy. The rows are dealt into five parts of like labels. In each of five rotations two parts
are the public data, two are the people whose reports are simulated, and the fifth judges; so every
row judges once, and never a model that any of its own data went into. The people's records are
used as evenly as possible until there are as many holders as planned. A few distinct records can
teach only what they know, however often they are used: with many more holders than public
records, the trial understates what a real population would teach.
"""

import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeRegressor

from curator.estimation import ESTIMATORS, Evidence, Model, fit
from curator.estimation.evidence import Label
from curator.estimation.public.base_model import BaseModel, mixture
from curator.estimation.public.candidates import as_arrays
from curator.estimation.public.distil import from_sklearn
from curator.estimation.public.knowledge import Knowledge
from curator.growth import GROWERS, default_criterion
from curator.planning.outlook import Choice
from curator.public_data import PublicData
from curator.simulation import simulate_question
from protocol.domain import Classes, Range
from protocol.errors import InvalidPublicData
from protocol.mechanisms import MECHANISMS
from protocol.mechanisms.base import Mechanism
from protocol.partition import Partition

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

PARTS = 5
FEWEST_RECORDS = 20
TREES = 30
SOFT_LEAF = 3


@dataclass(frozen=True, eq=False)
class Rotation:
    """Row numbers by the part they play."""

    known: Integers
    people: Integers
    judges: Integers


@dataclass(frozen=True, eq=False)
class Losses:
    """What every row, judging once, found; each of shape ``(rows,)``.

    ``loss`` is what is reported: 1 for a wrong class and 0 for the right one, or the squared error
    of a number. ``strict`` is what choices are made by: the squared error of the probabilities
    (Brier's score), which wavers less; for a number the same as ``loss``.
    """

    loss: Floats
    strict: Floats

    @classmethod
    def empty(cls, rows: int) -> "Losses":
        """Losses to be filled in."""
        return cls(np.empty(rows), np.empty(rows))

    def judge(self, rows: Integers, label: Label, values: Floats, y: Floats) -> None:
        """Fill in what ``rows`` with labels ``y`` find of the predicted ``values``."""
        self.loss[rows], self.strict[rows] = row_losses(label, values, y)


@dataclass(frozen=True, eq=False)
class Study:
    """The rotations over one public data set, and what has been grown and fitted for them."""

    label: Label
    public: PublicData
    estimator: str
    seed: int
    rotations: tuple[Rotation, ...]
    advance: Callable[[], None] = lambda: None
    _partitions: dict[tuple[int, str, int, str], Partition] = field(default_factory=dict)
    _models: dict[tuple[int, str], BaseModel] = field(default_factory=dict)
    _knowledge: dict[tuple[int, str], Knowledge] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        label: Label,
        public: PublicData,
        estimator: str,
        seed: int,
        advance: Callable[[], None] = lambda: None,
    ) -> "Study":
        """Deal the rows; raises ``InvalidPublicData`` if there are too few to play all parts."""
        check_records(label, public)
        return cls(label, public, estimator, seed, deal(public.y, seed), advance)

    @property
    def classes(self) -> int:
        """Number of classes; 0 for a numeric label."""
        return len(self.label.classes) if isinstance(self.label, Classes) else 0

    @property
    def takes_base(self) -> bool:
        """Whether the estimator corrects a public model, which is then the quick one."""
        return ESTIMATORS[self.estimator].takes_base

    def losses(self, choice: Choice, holders: int, epsilon: float) -> Losses:
        """Held-out losses after ``holders`` reports at ``epsilon``."""
        losses = Losses.empty(len(self.public))
        for number, rotation in enumerate(self.rotations):
            model = self._fit(number, "known", self._collect(number, choice, holders, epsilon))
            values = model.predict(self.public.X[rotation.judges]).values
            losses.judge(rotation.judges, self.label, values, self.public.y[rotation.judges])
            self.advance()
        return losses

    def silent_losses(self, choice: Choice, rows: str, epsilon: float) -> Losses:
        """Held-out losses of the same tree on public ``rows`` when nobody reports."""
        losses = Losses.empty(len(self.public))
        for number, rotation in enumerate(self.rotations):
            partition = self.partition(number, choice.grower, choice.depth, rows)
            mechanism = self.mechanism(choice.mechanism, epsilon, partition)
            nothing = Evidence(partition, mechanism, np.zeros(mechanism.sum_size, np.int64), 0)
            values = self._fit(number, rows, nothing).predict(self.public.X[rotation.judges]).values
            losses.judge(rotation.judges, self.label, values, self.public.y[rotation.judges])
            self.advance()
        return losses

    def public_losses(self, rows: str) -> Losses:
        """Held-out losses of a model of public records alone.

        ``rows`` says which: ``half`` of a rotation's known ones, all ``known``, or ``all`` but the
        judges.
        """
        losses = Losses.empty(len(self.public))
        for number, rotation in enumerate(self.rotations):
            model = self.public_model(number, rows)
            values = model.predict(self.public.X[rotation.judges])
            losses.judge(rotation.judges, self.label, values, self.public.y[rotation.judges])
        return losses

    def mechanism(self, name: str, epsilon: float, partition: Partition) -> Mechanism:
        """The mechanism for one partition; raises ``InvalidTask`` where there is none."""
        regression = isinstance(self.label, Range)
        return MECHANISMS[name].create(
            epsilon, partition.cells, self.label.slots, regression=regression
        )

    def partition(self, number: int, grower: str, depth: int, rows: str = "known") -> Partition:
        """The partition grown on some of a rotation's rows, its public part as a rule."""
        key = (number, grower, depth, rows)
        if key not in self._partitions:
            grow = self._distil if grower == "distilled" else self._grow
            self._partitions[key] = grow(number, grower, depth, rows)
        return self._partitions[key]

    def _grow(self, number: int, grower: str, depth: int, rows: str) -> Partition:
        chosen = self._rows(number, rows)
        return GROWERS[grower](
            self.public.X[chosen],
            self.public.y[chosen],
            depth=depth,
            classes=self.classes,
            criterion=default_criterion(self.classes),
            min_leaf=0,
            rng=np.random.default_rng([self.seed, number]),
        )

    def _distil(self, number: int, _grower: str, depth: int, rows: str) -> Partition:
        """As the grower ``distilled``, from the quick public model."""
        X = self.public.X[self._rows(number, rows)]
        if (number, rows) not in self._knowledge:
            self._knowledge[number, rows] = Knowledge.of(self.public_model(number, rows), X)
        known = self._knowledge[number, rows]
        tree = DecisionTreeRegressor(
            max_leaf_nodes=2**depth, min_samples_leaf=2, random_state=self.seed
        ).fit(known.points, known.scores[:, 1:] if self.classes == 2 else known.scores)
        return from_sklearn(tree, X.shape[1])

    def public_model(self, number: int, rows: str) -> BaseModel:
        """The quick public model of some of a rotation's rows."""
        if (number, rows) not in self._models:
            chosen = self._rows(number, rows)
            self._models[number, rows] = quick_public_model(
                self.public.X[chosen], self.public.y[chosen], self.classes
            )
        return self._models[number, rows]

    def _rows(self, number: int, rows: str) -> Integers:
        rotation = self.rotations[number]
        if rows == "all":
            return np.concatenate([rotation.known, rotation.people])
        return rotation.known[::2] if rows == "half" else rotation.known

    def _collect(self, number: int, choice: Choice, holders: int, epsilon: float) -> Evidence:
        """One simulated collection; its chance depends on the seed and the arguments only."""
        people = self.rotations[number].people
        partition = self.partition(number, choice.grower, choice.depth)
        mechanism = self.mechanism(choice.mechanism, epsilon, partition)
        told = f"{choice} {holders} {epsilon}".encode()
        rng = np.random.default_rng([self.seed, number, zlib.crc32(told)])
        sums = simulate_question(
            partition,
            mechanism,
            label=self.label,
            X=self.public.X[people],
            y=self.public.y[people],
            copies=spread(holders, len(people), rng),
            rng=rng,
        )
        return Evidence(partition, mechanism, sums, holders)

    def _fit(self, number: int, rows: str, evidence: Evidence) -> Model:
        chosen = self._rows(number, rows)
        public = PublicData(self.public.X[chosen], self.public.y[chosen])
        base = self.public_model(number, rows) if self.takes_base else None
        return fit(self.estimator, self.label, public, [evidence], base=base)


def check_records(label: Label, public: PublicData) -> None:
    """Raise ``InvalidPublicData`` unless every part can have records of two labels."""
    if len(public) < FEWEST_RECORDS:
        raise InvalidPublicData(
            f"Planning needs at least {FEWEST_RECORDS} public records, and there are "
            f"{len(public)}: add some, or create the task without a plan."
        )
    common = np.sort(np.unique(public.y, return_counts=True)[1])[::-1]
    if isinstance(label, Classes) and (len(common) < 2 or common[1] < PARTS):
        raise InvalidPublicData(
            f"Planning needs at least {PARTS} public records of each of two classes: "
            "add records of the rarer ones, or create the task without a plan."
        )


def deal(y: Floats, seed: int) -> tuple[Rotation, ...]:
    """Five rotations over parts that have like labels."""
    shuffled = np.random.default_rng(seed).permutation(len(y))
    by_label = shuffled[np.argsort(y[shuffled], kind="stable")]
    parts = [by_label[part::PARTS] for part in range(PARTS)]
    return tuple(
        Rotation(
            known=_joined(parts[(judge + step) % PARTS] for step in (1, 2)),
            people=_joined(parts[(judge + step) % PARTS] for step in (3, 4)),
            judges=parts[judge],
        )
        for judge in range(PARTS)
    )


def spread(holders: int, records: int, rng: np.random.Generator) -> Integers:
    """How many holders have each record: as evenly as possible, the rest drawn at random."""
    copies = np.full(records, holders // records, dtype=np.int64)
    copies[rng.permutation(records)[: holders % records]] += 1
    return copies


def information(mechanism: Mechanism, holders: int) -> float:
    """How many public records would tell as much of the cells' labels as so many reports.

    In a cell of share 1/K, m records tell the contrast of two slots with variance m / K; reports
    tell it with the mechanism's noise c beside n / K. Equal signal to noise at equal contrast
    makes m = (n**2 / K) / (c + n / K).
    """
    shape = (mechanism.cells, mechanism.slots)
    noise = mechanism.slot_covariance(holders, np.full(shape, holders / np.prod(shape)))
    contrast = noise[:, 0, 0] + noise[:, 1, 1] - noise[:, 0, 1] - noise[:, 1, 0]
    per_cell = holders / mechanism.cells
    return float(np.mean(holders * per_cell / (contrast + per_cell)))


def row_losses(label: Label, values: Floats, y: Floats) -> tuple[Floats, Floats]:
    """``Losses.loss`` and ``Losses.strict`` of predicted ``values``, ``(rows,)`` each."""
    if isinstance(label, Classes):
        truth = y.astype(np.int64)
        wrong = np.asarray(values.argmax(axis=1) != truth, dtype=np.float64)
        return wrong, np.asarray(((values - np.eye(values.shape[1])[truth]) ** 2).sum(axis=1))
    squared = (values[:, 0] - y) ** 2
    return squared, squared


def quick_public_model(X: Floats, y: Floats, classes: int) -> BaseModel:
    """A small forest and a linear model in equal parts: near the curator's stack, in a moment."""
    if classes:
        members: list[Any] = [
            ExtraTreesClassifier(TREES, min_samples_leaf=SOFT_LEAF, random_state=0),
            LogisticRegression(max_iter=5000, tol=1e-3),
        ]
    else:
        members = [
            ExtraTreesRegressor(TREES, min_samples_leaf=SOFT_LEAF, random_state=0),
            Ridge(alpha=1.0),
        ]
    arrays = [as_arrays(type(m).__name__, m.fit(X, y), classes) for m in members]
    return mixture("quick", arrays, [0.5, 0.5])


def _joined(parts: Iterable[Integers]) -> Integers:
    return np.concatenate(list(parts))
