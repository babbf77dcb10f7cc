"""Measure overall figures: their intervals beside the textbook's, coverage, and false "differ".

``python -m scripts.overall_figures`` simulates collections, exact in distribution, of two and five
classes with the default's cells and part asked for the label alone, and prints for each: the mean
half-width of the first class's interval over that of textbook randomized response (Warner, 1965)
by all holders at the same epsilon, 95 % and looks; the part of the collections whose intervals hold
the shares of those who reported, the worst class's, at the planned end for ``once`` and at every
one of ``LOOKS`` looks for ``many``; and the part in which public records of the same population are
said to differ. Of a coverage of .95 400 collections show less than .92 once in 200 trials.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from privet.learning.core.counts import QuestionCounts
from privet.learning.core.labels import ClassLabel
from privet.learning.core.looks import LEVEL
from privet.learning.figures.figure import PublicShare, Reports
from privet.learning.lpct.grid import grid_partition
from privet.learning.public_model.distilled import distilled_depth
from privet.learning.simulation import simulate_sums
from privet.learning.task_building.label_part import chosen_part, textbook_variance
from privet.learning.task_building.settings import TaskSettings
from privet.protocol.features import Classes
from privet.protocol.mechanisms import create_mechanism
from privet.protocol.partition import Partition

EPSILONS = 0.5, 1.0, 2.0, 4.0
HOLDERS = 10_000, 1_000_000
LOOKS = 5
PUBLIC = 500


@dataclass(frozen=True)
class Setting:
    """A collection of two or more ``classes``, the first of which half of the holders have."""

    epsilon: float
    holders: int
    classes: int

    @property
    def label(self) -> Classes:
        return Classes(name="y", classes=tuple("abcdefgh"[: self.classes]))

    @property
    def cells(self) -> int:
        """The number of cells by default."""
        return int(2 ** distilled_depth(self.holders, self.epsilon, slots=self.classes))

    @property
    def part(self) -> float:
        """The part asked for the label alone by default."""
        given = TaskSettings(name="t", label="y", epsilon=self.epsilon, holders=self.holders)
        return chosen_part(given, self.cells, self.classes)

    @property
    def law(self) -> np.ndarray:
        """The shares of cells and classes, ``(cells, classes)``: classes depend on the cell."""
        place = np.linspace(-1.0, 1.0, self.cells)[:, None]
        first = 0.5 + 0.3 * place
        others = np.tile((1.0 - first) / (self.classes - 1), (1, self.classes - 1))
        return np.hstack([first, others]) / self.cells

    def looks(self, rng: np.random.Generator) -> Iterator[tuple[Reports, np.ndarray]]:
        """The reports and the true shares at each look; reports come in at random."""
        sizes, of = (self.cells, 1), self.part
        mechanisms = [create_mechanism("subset", self.epsilon, k, self.classes) for k in sizes]
        trees = [grid_partition(1, self.cells), Partition.root(1)]
        sums = [np.zeros(each.sum_size, dtype=np.int64) for each in mechanisms]
        people, answered = np.zeros(self.classes), np.zeros(2, dtype=np.int64)
        for _ in range(LOOKS):
            joint = rng.multinomial(self.holders // LOOKS, self.law.ravel())
            alone = rng.binomial(joint, of).reshape(self.cells, -1)
            rest = joint.reshape(self.cells, -1) - alone
            people += rest.sum(axis=0) + alone.sum(axis=0)
            for place, counts in enumerate((rest, alone.sum(axis=0, keepdims=True))):
                sums[place] = sums[place] + simulate_sums(mechanisms[place], counts, rng)
                answered[place] += counts.sum()
            about, asked = (
                QuestionCounts(tree, mechanism, sum_, int(n), planned=self.holders * share)
                for tree, mechanism, sum_, n, share in zip(
                    trees, mechanisms, sums, answered, (1.0 - of, of), strict=True
                )
            )
            yield Reports(ClassLabel(self.label), about, asked), people / people.sum()


def once(reports: Reports) -> Reports:
    """The same reports of a collection that is looked at once."""
    assert reports.alone is not None
    return replace(
        reports,
        question=replace(reports.question, planned=None),
        alone=replace(reports.alone, planned=None),
    )


@dataclass
class Found:
    """Misses per class, ``(classes,)``, and false differences, of ``once`` and of ``many``."""

    missed: list[np.ndarray]
    differ: list[int]
    half: float = 0.0


def measured(setting: Setting, collections: int) -> Found:
    """The sums over so many collections."""
    found = Found([np.zeros(setting.classes) for _ in range(2)], [0, 0])
    shares = setting.law.sum(axis=0)
    for seed in range(collections):
        rng = np.random.default_rng([seed, setting.holders, setting.classes])
        hits = rng.multinomial(PUBLIC, shares)
        public = [PublicShare(float(of), float(PUBLIC)) for of in hits]
        ever, differs = np.zeros(setting.classes, dtype=np.bool_), False
        for reports, truth in setting.looks(rng):
            missed, differs_now = _seen(reports, truth, public)
            ever, differs = ever | missed, differs or differs_now
        last = once(reports)
        missed, differs_now = _seen(last, truth, public)
        found.half += float(last.overall()[0].half_width()) / collections
        for place, (these, differ) in enumerate(((missed, differs_now), (ever, differs))):
            found.missed[place] += these
            found.differ[place] += differ
    return found


def _seen(
    reports: Reports, truth: np.ndarray, public: list[PublicShare]
) -> tuple[np.ndarray, bool]:
    kind, figures = reports.kind, reports.overall()
    ends = np.array([(of.interval().low, of.interval().high) for of in figures])
    about = reports.overall(kind.middle)
    p = [float(one.p_value(of)) for of, one in zip(about, public, strict=True)]
    return (truth < ends[:, 0]) | (truth > ends[:, 1]), min(p) <= LEVEL / kind.tests


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--collections", type=int, default=400)
    parser.add_argument("--holders", type=int, nargs="*", default=HOLDERS)
    parser.add_argument("--epsilons", type=float, nargs="*", default=EPSILONS)
    given = parser.parse_args()
    print("classes,epsilon,holders,cells,part,width,once,many,differ once,differ many", flush=True)
    for classes in (2, 5):
        for epsilon in given.epsilons:
            for holders in given.holders:
                setting = Setting(epsilon, holders, classes)
                found, n = measured(setting, given.collections), given.collections
                textbook = 1.96 * (textbook_variance(epsilon, classes) / holders) ** 0.5
                cover = [1.0 - float(missed.max()) / n for missed in found.missed]
                print(
                    f"{classes},{epsilon:g},{holders},{setting.cells},{setting.part:g},"
                    f"{found.half / textbook:.3f},{cover[0]:.3f},{cover[1]:.3f},"
                    f"{found.differ[0] / n:.3f},{found.differ[1] / n:.3f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
