"""Trials on public records: collections simulated from some, and judged by others."""

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from privet.curator.estimation import ESTIMATORS, Model, QuestionCounts, fit
from privet.curator.estimation.counts import Label
from privet.curator.partitioning import GROWERS
from privet.curator.planning.foreknowledge import Foreknowledge
from privet.curator.planning.losses import Losses
from privet.curator.planning.outlook import Choice
from privet.curator.planning.rotations import Part, Rotation, check_records, deal, spread
from privet.curator.public_data import Floats, PublicData
from privet.curator.public_model.knowledge import residual_centring
from privet.curator.simulation import simulate_question
from privet.curator.trees import locate
from privet.protocol.features import Classes, Range
from privet.protocol.label_scale import LabelScale
from privet.protocol.mechanisms import create_mechanism
from privet.protocol.mechanisms.base import Mechanism
from privet.protocol.partition import Partition


@dataclass(frozen=True, eq=False)
class Study:
    """The rotations over one public data set, and what has been grown and fitted for them."""

    label: Label
    public: PublicData
    estimator: str
    seed: int
    rotations: tuple[Rotation, ...]
    before: Foreknowledge
    centred: bool | None = None
    advance: Callable[[], None] = lambda: None
    _partitions: dict[tuple[int, str, int, Part], Partition] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        label: Label,
        public: PublicData,
        estimator: str,
        seed: int,
        *,
        centred: bool | None = None,
        advance: Callable[[], None] = lambda: None,
    ) -> "Study":
        """Deal the rows; raises ``InvalidPublicData`` if there are too few to play all parts."""
        check_records(label, public)
        slots = label.slots if isinstance(label, Classes) else 0
        rotations = deal(public.y, seed)
        before = Foreknowledge(public, slots, rotations)
        return cls(label, public, estimator, seed, rotations, before, centred, advance)

    @property
    def classes(self) -> int:
        """Number of classes; 0 for a numeric label."""
        return self.before.slots

    @property
    def everyone(self) -> NDArray[np.bool_]:
        """A mask of all rows."""
        return np.ones(len(self.public), dtype=bool)

    def losses(self, choice: Choice, holders: int, epsilon: float) -> Losses:
        """Held-out losses after ``holders`` reports at ``epsilon``."""
        return self._judged(
            lambda number: self._trial(
                number, Part.KNOWN, self._collect(number, choice, holders, epsilon)
            )
        )

    def silent_losses(self, choice: Choice, part: Part, epsilon: float) -> Losses:
        """Held-out losses of the same tree when nobody reports."""

        def trial(number: int) -> Floats:
            partition = self.partition(number, choice.grower, choice.depth, part)
            mechanism = self.mechanism(choice.mechanism, epsilon, partition)
            nothing = QuestionCounts(
                partition, mechanism, np.zeros(mechanism.sum_size, np.int64), 0
            )
            return self._trial(number, part, nothing)

        return self._judged(trial)

    def public_losses(self, part: Part) -> Losses:
        """Held-out losses of a model of public records alone."""
        return self._judged(lambda number: self.before.judged(number, part))

    def mechanism(self, name: str, epsilon: float, partition: Partition) -> Mechanism:
        """The mechanism for one partition; raises ``InvalidTask`` where there is none."""
        regression = isinstance(self.label, Range)
        return create_mechanism(
            name, epsilon, partition.cells, self.label.slots, regression=regression
        )

    def partition(self, number: int, grower: str, depth: int, part: Part = Part.KNOWN) -> Partition:
        """The partition grown on some of a rotation's rows."""
        key = (number, grower, depth, part)
        if key not in self._partitions:
            uses_model = GROWERS[grower].uses_public_model
            records = self.before.rows(number, part)
            self._partitions[key] = GROWERS[grower](
                records.X,
                records.y,
                depth=depth,
                classes=self.classes,
                rng=np.random.default_rng([self.seed, number]),
                base=self.before.model(number, part) if uses_model else None,
            )
        return self._partitions[key]

    def _collect(self, number: int, choice: Choice, holders: int, epsilon: float) -> QuestionCounts:
        """One simulated collection; its chance depends on the seed and the arguments only."""
        people = self.rotations[number].people
        partition = self.partition(number, choice.grower, choice.depth)
        mechanism = self.mechanism(choice.mechanism, epsilon, partition)
        told = f"{choice} {holders} {epsilon}".encode()
        rng = np.random.default_rng([self.seed, number, zlib.crc32(told)])
        scale = self._scale(number, choice, partition)
        sums = simulate_question(
            partition,
            mechanism,
            label=self.label,
            X=self.public.X[people],
            y=self.public.y[people],
            copies=spread(holders, len(people), rng),
            rng=rng,
            scale=scale,
        )
        return QuestionCounts(
            partition,
            mechanism,
            sums,
            holders,
            scale=scale,
            holders_per_record=max(1.0, holders / len(people)),
        )

    def _scale(self, number: int, choice: Choice, partition: Partition) -> LabelScale | None:
        """As a task is published: numbers are centred on the public model in cells of its own."""
        wanted = self.centred
        if wanted is None:
            wanted = GROWERS[choice.grower].uses_public_model
        if not isinstance(self.label, Range) or not wanted:
            return None
        means, _ = self.before.knowledge(number, Part.KNOWN).cell_means(partition)
        centring = residual_centring(
            self.label, self.before.rows(number, Part.KNOWN), partition, means[:, 0]
        )
        return LabelScale.of(self.label, partition.cells, centring)

    def _trial(self, number: int, part: Part, question: QuestionCounts) -> Floats:
        """What the judges are told by the model of these reports, ``(judges, S)``."""
        model = self._fit(number, part, question)
        cells = locate(question.partition, self.public.X[self.rotations[number].judges])
        scores = None if model.base is None else self.before.judged(number, part)
        return model.predict_from(cells, scores).values

    def _fit(self, number: int, part: Part, question: QuestionCounts) -> Model:
        takes_base = ESTIMATORS[self.estimator].takes_base
        base = self.before.model(number, part) if takes_base else None
        return fit(self.estimator, self.label, self.before.rows(number, part), [question], base)

    def _judged(self, predict: Callable[[int], Floats]) -> Losses:
        losses = Losses.empty(len(self.public))
        for number, rotation in enumerate(self.rotations):
            judges = rotation.judges
            losses.judge(judges, self.label, predict(number), self.public.y[judges])
            self.advance()
        return losses


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
