"""What an estimator works on: a question's debiased counts, and the public data in the same form.

Counts have shape ``(cells, slots)``. For classes a slot is a class. For a numeric label there are
two: slot 1 holds the sum over a cell of t, the label on the question's ``label_scale.Scale``,
slot 0 that of 1 - t.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from privet.curator.public_data import Floats, PublicData
from privet.curator.trees import locate
from privet.protocol.features import Classes, Range
from privet.protocol.label_scale import Scale
from privet.protocol.mechanisms.base import Mechanism, Sums
from privet.protocol.partition import Partition
from privet.protocol.task import Task

Label = Classes | Range


@dataclass(frozen=True, eq=False)
class QuestionCounts:
    """What the holders said to one question: the sums of ``n`` reports, and how to read them.

    ``scale`` is what a number was reported on; None is the label's whole range. Without
    ``exact_ranges`` a model's influence is a looser bound that is quicker to find.
    ``holders_per_record`` is above 1 where a few records play a population: sampling variances are
    multiplied by it.
    """

    partition: Partition
    mechanism: Mechanism
    sums: Sums
    n: int
    scale: Scale | None = field(default=None, kw_only=True)
    exact_ranges: bool = field(default=True, kw_only=True)
    holders_per_record: float = field(default=1.0, kw_only=True)

    @classmethod
    def of(cls, task: Task, question: int, sums: Sums, n: int) -> "QuestionCounts":
        """The sums of ``n`` answers to one question of a task."""
        return cls(
            task.tree_of(question),
            task.mechanisms[question],
            sums,
            n,
            scale=task.scales[question],
        )

    @property
    def centred(self) -> bool:
        """Whether a number was told around published centres."""
        return self.scale is not None and self.scale.centred

    def scale_of(self, label: Range) -> Scale:
        """How a number was told."""
        return Scale.of(label, self.partition.cells) if self.scale is None else self.scale

    @cached_property
    def counts(self) -> Floats:
        """Unbiased counts per cell and slot, ``(cells, slots)``; noise makes some negative."""
        if self.n == 0:
            return np.zeros((self.mechanism.cells, self.mechanism.slots))
        return np.asarray(self.mechanism.estimate(self.sums, self.n), dtype=np.float64)

    @cached_property
    def plausible(self) -> Floats:
        """The counts made possible: none negative, n in all. What variances are evaluated at."""
        positive = np.maximum(self.counts, 0.0)
        total = positive.sum()
        if total == 0.0:
            return np.full(self.counts.shape, self.n / self.counts.size)
        return np.asarray(positive * (self.n / total))

    @cached_property
    def noise(self) -> Floats:
        """Covariance of the mechanism's noise between a cell's slots, ``(cells, slots, slots)``."""
        if self.n == 0:
            return np.zeros((*self.counts.shape, self.mechanism.slots))
        return self.mechanism.slot_covariance(self.n, self.plausible)

    @cached_property
    def total_covariance(self) -> Floats:
        """The mechanism's noise and the chance of who answered, ``(cells, slots, slots)``."""
        return self.noise + self.holders_per_record * sampling_covariance(self.plausible)


def public_counts(
    label: Label, public: PublicData, partition: Partition, scale: Scale | None = None
) -> Floats:
    """The public records' counts per cell and slot, exact, shape ``(cells, slots)``.

    Numbers are counted on ``scale``, so that they add to what holders said on it.
    """
    cells = locate(partition, public.X)
    if isinstance(label, Classes):
        index = cells.astype(np.int64) * label.slots + public.y.astype(np.int64)
        counts = np.bincount(index, minlength=partition.cells * label.slots)
        return counts.reshape(partition.cells, label.slots).astype(np.float64)
    scale = Scale.of(label, partition.cells) if scale is None else scale
    t = scale.to_unit(cells, public.y)
    slots = [np.bincount(cells, weights, minlength=partition.cells) for weights in (1.0 - t, t)]
    return np.stack(slots, axis=1)


def sampling_covariance(counts: Floats) -> Floats:
    """Covariance of counts whose holders are a sample, ``(cells, slots, slots)``.

    The slots of a cell are independent Poisson counts; for a numeric label this bounds the truth.
    """
    return counts[:, :, None] * np.eye(counts.shape[1])
