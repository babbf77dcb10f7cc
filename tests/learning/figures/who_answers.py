"""Collections in which some groups answer more often than others, with a register of all.

``python -m tests.learning.figures.who_answers`` writes docs/adr/0133's table: of 400 collections
the bias, half width and coverage of the figure of those who answered, of the weighted one, and of
the one that adds public predictions by group in its place.
"""

from dataclasses import dataclass, replace

import numpy as np

from privet.learning.core.counts import QuestionCounts
from privet.learning.core.labels import kind_of
from privet.learning.core.public_data import Floats, PublicData
from privet.learning.core.trees import locate
from privet.learning.figures.figure import Reports
from privet.learning.figures.weighting import Groups, figures_of_register
from privet.learning.simulation import simulate_counts
from privet.learning.task_building.build import TaskBuilder
from privet.learning.task_building.settings import TaskSettings
from privet.protocol.features import Classes, Label, Numeric, Range
from privet.protocol.task import Task

FEATURES = tuple(Numeric(name=name, low=0.0, high=1.0) for name in "abc")
CLASSES = Classes(name="y", classes=("no", "yes"))
NUMBER = Range(name="y", low=0.0, high=10.0)


@dataclass(frozen=True)
class Setting:
    """A register of ``people`` of whom some answer, at ``epsilon``: from ``least`` to ``most`` of
    them, by the disclosed columns. ``misled`` public records have the opposite label where the
    disclosed columns say most. A ``part`` is asked for the label alone."""

    epsilon: float
    people: int = 10_000
    least: float = 0.1
    most: float = 0.7
    misled: bool = False
    label: Label = CLASSES
    planned: int | None = None
    misfits: int = 0
    part: float = 0.0


SETTINGS = (
    *(Setting(epsilon) for epsilon in (0.5, 1.0, 2.0, 4.0, 8.0)),
    *(Setting(epsilon, misled=True) for epsilon in (1.0, 4.0)),
    Setting(1.0, people=1_000),
    Setting(4.0, people=1_000, least=0.02),
    Setting(2.0, least=0.02, most=0.95),
    Setting(2.0, misfits=300),
    Setting(2.0, planned=4_000),
    *(Setting(epsilon, label=NUMBER) for epsilon in (1.0, 4.0)),
)


@dataclass(frozen=True, eq=False)
class Study:
    """A task, its public data with the register, and the labels of all people in it."""

    setting: Setting
    task: Task
    public: PublicData
    X: Floats
    y: Floats

    @classmethod
    def of(cls, setting: Setting) -> "Study":
        rng = np.random.default_rng(5)
        X, rows = rng.random((setting.people, 3)), rng.random((600, 3))
        y, of_rows = _labels(setting, X, rng), _labels(setting, rows, rng)
        if setting.misled:
            low, high = setting.label.bounds
            wrong = rows[:, 0] > 0.5
            of_rows = np.where(wrong, low + high - of_rows, of_rows)
        register = np.column_stack([X[:, :2], np.full(len(X), np.nan)])
        public = PublicData(rows, of_rows, register=register)
        given = {
            "name": "t",
            "label": "y",
            "epsilon": setting.epsilon,
            "grower": "cart",
            "depth": 4,
        }
        given |= {"disclosed": ("a", "b"), "hidden_depth": 1, "holders": setting.people // 3}
        given |= {"label_part": setting.part}
        given |= {"centred": False} if isinstance(setting.label, Range) else {}
        task = TaskBuilder(FEATURES, setting.label, public).task(TaskSettings.model_validate(given))
        return cls(setting, task, public, X, y)

    def collected(self, seed: int) -> QuestionCounts:
        """The reports of those who answer, to the question about the cell."""
        return self.questions(seed)[0]

    def questions(self, seed: int) -> list[QuestionCounts]:
        """The reports of those who answer, to each question."""
        rng, setting = np.random.default_rng([7, seed]), self.setting
        likely = setting.least + (setting.most - setting.least) * self.X[:, 0]
        some = rng.random(setting.people) < likely
        misfits = setting.misfits
        found = simulate_counts(self.task, self.X[some], self.y[some], rng, misfits=misfits)
        kind = kind_of(setting.label)
        return [kind.scaled(replace(counts, planned=setting.planned)) for counts in found]

    @property
    def truth(self) -> float:
        """The figure of all people in the register."""
        return float(self.y.mean())


def _labels(setting: Setting, X: Floats, rng: np.random.Generator) -> Floats:
    share = 0.1 + 0.5 * X[:, 0] + 0.2 * X[:, 2]
    if isinstance(setting.label, Classes):
        return (rng.random(len(X)) < share).astype(np.float64)
    return np.clip(10.0 * share + rng.normal(0.0, 1.0, len(X)), 0.0, 10.0)


def measured(setting: Setting, collections: int = 400) -> dict[str, tuple[float, float, float]]:
    """Mean bias, mean half width and coverage, by figure."""
    study = Study.of(setting)
    found: dict[str, list[tuple[float, float]]] = {}
    register = study.public.register
    assert register is not None
    for seed in range(collections):
        reports = Reports(kind_of(setting.label), study.collected(seed))
        groups = Groups.of(reports.question, register)
        plain, mine = reports.overall()[-1], figures_of_register(reports, groups)[-1][0]
        drawn = plain.drawn
        for name, figure in (("answered", drawn), ("weighted", mine)):
            off = float(figure.value) - study.truth
            found.setdefault(name, []).append((off, float(figure.half_width())))
        found.setdefault("predictions", []).append(
            (_corrected(study, reports, groups) - study.truth, float(drawn.half_width()))
        )
    table = {}
    for name, rows in found.items():
        off, half = np.array(rows).T
        table[name] = (float(off.mean()), float(half.mean()), float((abs(off) <= half).mean()))
    return table


def _corrected(study: Study, reports: Reports, groups: Groups) -> float:
    """The figure of those who answered, and the groups' public means by what is missing of them."""
    public, size = study.public, len(groups.people)
    group = groups.of_cell[locate(study.task.tree_of(0), public.X)]
    means = np.bincount(group, public.y, size) / np.maximum(np.bincount(group, minlength=size), 1)
    missing = groups.people / groups.people.sum() - groups.reports / groups.reports.sum()
    return float(reports.overall()[-1].value + missing @ means)


def main() -> None:
    for setting in SETTINGS:
        for name, (bias, half, cover) in measured(setting).items():
            print(setting, name, f"{bias:+.4f} {half:.4f} {cover:.3f}")


if __name__ == "__main__":
    main()
