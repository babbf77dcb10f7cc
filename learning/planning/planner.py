"""What to expect of a collection, from public records alone, so that planning costs no privacy.

**Score without shift.** The stacked public model is cross-validated; where the holders are like the
public records, reports hardly improve it (docs/accuracy.md), so that is the score to expect.

**Shifts that reports reveal.** In closed form from the mechanism's variances: what ``privet
insight`` would find with probability ``POWER``. For the label's share or mean overall, and in one
cell, a difference delta has the standard deviation sd of the test's statistic, and

    delta = (z(level / 2) + z(1 - POWER)) sd,

the level being ``insight``'s after its correction for several tests.

**What reports are worth under shift.** Each scenario has holders who differ from the public records
in a known way (``populations``); their reports are simulated exactly in distribution, and the
fitted model is compared with the public one under the holders' own law. Holders have public
rows' values as often as public rows repeat. There is no noise but that of reports.
"""

import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtri

from privet.protocol.errors import InvalidPublicData, InvalidRequest
from privet.protocol.features import Classes
from privet.protocol.label_scale import LabelScale
from privet.protocol.task import Task

from ..contrasts import contrast_variance
from ..counts import Label
from ..estimators import DEFAULT_ESTIMATOR, ESTIMATORS, fit
from ..insight import FALSE_DISCOVERY_RATE
from ..public_data import Floats, PublicData
from ..public_model.base import BaseModel
from ..public_model.knowledge import Knowledge
from ..selection import selection_factor
from ..simulation import simulate_counts
from ..task_building.build import build_encoded, check_names, encode_columns
from ..task_building.columns import Columns
from ..task_building.settings import TaskSettings
from ..trees import locate
from .outcome import Figure, Plan, Prospect, Verdict
from .populations import Population, few_rows

POWER = 0.8
"""The usual one."""
WORTHWHILE = 0.01
"""A gain worth asking for: a point of accuracy, or a percent of a number's variance."""
HOLDER_STEPS = (0.1, 10.0)
EPSILON_STEPS = (0.5, 2.0)
"""Multiples of the planned holders and epsilon that are shown beside the plan."""
FEWEST_RECORDS = 20
FEWEST_OF_A_CLASS = 5
MOST_RECORDS = 3000
"""Maximum number of public records; of more a random sample is used."""
MOST_POINTS = 4000
DRAWS = 2
"""Collections simulated per gain."""


def plan(
    public: str | Path | bytes | Columns | Any,
    *,
    label: str,
    epsilon: float,
    holders: int,
    estimator: str | None = None,
    simulation_seed: int = 0,
    **settings: Any,
) -> Plan:
    """What ``holders`` reports at ``epsilon`` would add to these public records.

    ``public`` is a CSV or Parquet file, its bytes, a DataFrame, or columns by name; ``settings``
    are the task's other settings (docs/api.md), with the same defaults. Raises ``InvalidRequest``
    for impossible settings and ``InvalidPublicData`` for too few records.
    """
    values = {"name": "plan", "label": label, "epsilon": epsilon, "holders": holders, **settings}
    checked = TaskSettings.parse(json.dumps(values))
    check_names(checked)
    estimator = DEFAULT_ESTIMATOR if estimator is None else estimator
    if estimator not in ESTIMATORS:
        listed = ", ".join(sorted(ESTIMATORS))
        raise InvalidRequest(f"Unknown estimator {estimator!r}: choose among {listed}.")
    return Planner(checked, _columns(public), estimator, simulation_seed).plan()


def _columns(public: Any) -> Columns:
    from ..task_building.table import read_table

    if isinstance(public, str | Path):
        return read_table(Path(public).read_bytes())
    if hasattr(public, "to_csv"):
        return read_table(public.to_csv(index=False).encode())
    if isinstance(public, Mapping):
        return public
    return read_table(bytes(public))


@dataclass(frozen=True, eq=False)
class Scenario:
    """The public records that a curator has, its model of them, and the holders."""

    public: PublicData
    base: BaseModel
    population: Population

    @cached_property
    def scores(self) -> Floats:
        """The public model's predictions at the population's points."""
        return self.base.predict(self.population.points)


class Planner:
    """The public model of some public records, and the populations made from it."""

    def __init__(self, settings: TaskSettings, columns: Columns, estimator: str, seed: int) -> None:
        self.settings, self.estimator, self.seed = settings, estimator, seed
        self.features, self.label, every = encode_columns(settings, columns)
        check_enough(self.label, every)
        self.records = len(every)
        rng = np.random.default_rng(seed)
        rows = rng.permutation(len(every))[:MOST_RECORDS]
        public = PublicData(every.X[rows], every.y[rows])
        self.slots = self.label.slots if isinstance(self.label, Classes) else 0
        self.weights, out_of_fold = cross_validated(public, self.slots)
        self.residuals = public.y - out_of_fold[:, 0]
        wrong = out_of_fold.argmax(axis=1) != public.y
        self.losses = wrong.astype(np.float64) if self.slots else self.residuals**2
        self.variance = float(public.y.var())
        base = self.stack(public)
        knowledge = Knowledge.of(base, public.X)
        some = slice(knowledge.training_rows, knowledge.training_rows + MOST_POINTS)
        self.fair = Scenario(
            public, base, Population.fair(knowledge.points[some], knowledge.scores[some])
        )
        self.shifts = dict(self._shifts(rng))

    def _shifts(self, rng: np.random.Generator) -> Iterator[tuple[str, "Scenario"]]:
        public, population = self.fair.public, self.fair.population
        for name, rows in few_rows(public.X, FEWEST_RECORDS, rng):
            some = PublicData(public.X[rows], public.y[rows])
            yield name, Scenario(some, self.stack(some), population)
        volunteers = population.volunteers(sqrt(self.variance))
        yield "volunteers", replace(self.fair, population=volunteers)
        yield "changed", replace(self.fair, population=population.changed())

    def plan(self) -> Plan:
        """The plan for these settings and its variations."""
        settings = self.settings
        task = self.task(settings, self.fair)
        here = self.prospect(settings)
        n, epsilon = settings.holders, settings.epsilon
        others = [_changed(settings, n * step, epsilon) for step in HOLDER_STEPS]
        others += [_changed(settings, n, epsilon * step) for step in EPSILON_STEPS]
        expected = Figure.of(self.losses)
        if self.slots:
            expected = Figure(1.0 - expected.value, expected.standard_error)
        questions = tuple(
            {"mechanism": mechanism.name, "cells": mechanism.cells, "bytes": mechanism.report_bytes}
            for mechanism in task.mechanisms
        )
        worthwhile = max(here.gains.values()) >= WORTHWHILE
        verdict = Verdict.COLLECT if worthwhile else Verdict.DO_NOT_COLLECT
        return Plan(
            score="accuracy" if self.slots else "mean squared error",
            public_records=self.records,
            holders=n,
            epsilon=epsilon,
            estimator=self.estimator,
            questions=questions,
            report_bytes=task.longest_report,
            expected=expected,
            here=here,
            others=tuple(map(self.prospect, others)),
            verdict=verdict,
            reason=self._reason(expected, here, verdict),
        )

    def stack(self, public: PublicData) -> BaseModel:
        """The curator's stack with fewer trees and the weights of all public records."""
        from ..public_model import stacking
        from ..public_model.candidates import VALIDATION_TREES

        return stacking.stacked(public.X, public.y, self.slots, self.weights, VALIDATION_TREES)

    def task(self, settings: TaskSettings, scenario: "Scenario") -> Task:
        """The task published from a scenario's public records."""
        public, base = scenario.public, scenario.base
        return build_encoded(settings, self.features, self.label, public, base)

    def prospect(self, settings: TaskSettings) -> Prospect:
        """What a collection with these settings would reveal and be worth."""
        task = self.task(settings, self.fair)
        gains = {}
        for name, scenario in self.shifts.items():
            republished = scenario.base is not self.fair.base
            published = self.task(settings, scenario) if republished else task
            gains[name] = self.gain(settings, published, scenario)
        cells = task.mechanisms[_asking(task)].cells
        overall, in_cell = self.detectable(task, settings.holders)
        return Prospect(settings.holders, settings.epsilon, cells, overall, in_cell, gains)

    def gain(self, settings: TaskSettings, task: Task, scenario: "Scenario") -> float:
        """Mean improvement over the public model by the reports, of ``DRAWS`` collections."""
        base, population, scores = scenario.base, scenario.population, scenario.scores
        case = f"{settings.holders} {settings.epsilon}".encode()
        rng = np.random.default_rng([self.seed, zlib.crc32(case)])
        starts_from = base if ESTIMATORS[self.estimator].takes_base else None
        lost = []
        for _ in range(DRAWS):
            copies = rng.multinomial(settings.holders, population.weights)
            X, y, copies = self._holders(population, copies, rng)
            counts = simulate_counts(task, X, y, rng, copies=copies)
            model = fit(self.estimator, self.label, scenario.public, counts, starts_from)
            predicted = model.predict_from(locate(model.partition, population.points), scores)
            lost.append(self._loss(population, predicted.values))
        gained = self._loss(population, scores) - float(np.mean(lost))
        return gained if self.slots else gained / self.variance

    def _holders(
        self, population: Population, copies: Any, rng: np.random.Generator
    ) -> tuple[Floats, Floats, Any]:
        """Encoded rows, labels and how many holders have each, drawn from the population's law."""
        if isinstance(self.label, Classes):
            truth = np.clip(population.truth, 0.0, None)
            drawn = rng.multinomial(copies, truth / truth.sum(axis=1, keepdims=True))
            y = np.tile(np.arange(self.slots, dtype=np.float64), len(copies))
            return np.repeat(population.points, self.slots, axis=0), y, drawn.ravel()
        y = population.truth[:, 0] + rng.choice(self.residuals, len(copies))
        return population.points, np.clip(y, self.label.low, self.label.high), copies

    def _loss(self, population: Population, predicted: Floats) -> float:
        """Expected error under the population's law; for numbers less what no model can explain."""
        if self.slots:
            right = population.truth[np.arange(len(predicted)), predicted.argmax(axis=1)]
            return float(population.weights @ (1.0 - right))
        return float(population.weights @ (predicted[:, 0] - population.truth[:, 0]) ** 2)

    def detectable(self, task: Task, holders: int) -> tuple[float | None, float | None]:
        """The smallest shifts, overall and in a cell of median noise, that ``insight`` finds."""
        place, label, population = _asking(task), self.label, self.fair.population
        mechanism, tree = task.mechanisms[place], task.tree_of(place)
        n = holders / len(task.questions) if task.allocation == "one" else holders
        cells, m = locate(tree, population.points), self.records
        points = np.bincount(cells, minlength=tree.cells) + 0.5
        w = points / points.sum()
        sums = np.stack(
            [np.bincount(cells, t, minlength=tree.cells) for t in population.truth.T], axis=1
        )
        q = (sums + 0.5 * population.truth.mean(axis=0)) / points[:, None]
        selection = selection_factor(label, self.fair.public, tree, q)
        if isinstance(label, Classes):
            width, largest, tests = 1.0, 1.0, tree.cells * (1 + label.slots)
            q /= q.sum(axis=1, keepdims=True)
            units = [np.broadcast_to(row, q.shape) for row in np.eye(label.slots)]
            spread = (w @ q) * (1.0 - w @ q)
        else:
            scale = task.label_scales[place] or LabelScale.of(label, tree.cells)
            width, largest, tests = scale.width, label.high - label.low, 2 * tree.cells
            t = scale.to_unit(np.arange(tree.cells), q[:, 0])
            q = np.stack([1.0 - t, t], axis=1)
            low = np.broadcast_to(scale.low, tree.cells)
            ends = np.stack([low, low + width], axis=1)
            units, spread = [ends - self.fair.public.y.mean()], np.array([self.variance])
        counts, size = n * w[:, None] * q, n * w[:, None]
        noise = [mechanism.linear_variance(unit, ceil(n), counts) / n**2 for unit in units]
        overall = float(np.sqrt(np.array(noise) + spread * (1 / n + 1 / m)).max())
        variance = contrast_variance(mechanism.slot_covariance(ceil(n), counts), q)
        variance += size * q * (1.0 - q) * (1.0 + selection * size / (m * w + 1.0)[:, None])
        in_cell = width * np.sqrt(np.maximum(variance, 0.0)) / size
        everywhere = _smallest(overall, len(units))
        local = _smallest(float(np.median(in_cell.max(axis=1))), tests)
        return (
            everywhere if everywhere < largest else None,
            local if local < largest else None,
        )

    def _reason(self, expected: Figure, here: Prospect, verdict: Verdict) -> str:
        """The verdict in words, with its figures."""
        name = "accuracy" if self.slots else "a mean squared error of"
        fair_case = (
            f"If the public data are fair, expect {name} {expected.value:.4g} ± "
            f"{expected.standard_error:.2g} from them alone, and nothing more from the reports."
        )
        if verdict is Verdict.DO_NOT_COLLECT:
            little = "a point" if self.slots else "a percent of the variance"
            return (
                f"{fair_case} Nor would the reports gain {little} under any shift that was tried, "
                "which is what they are for: use the public model, or plan with more holders or a "
                "larger epsilon."
            )
        if here.overall_shift is None:
            detection = "If they mislead, the reports do not show by how much"
        else:
            amount = self._amount(here.overall_shift)
            detection = f"If they are off by {amount} or more, the reports show it"
            if here.cell_shift is not None:
                detection += (
                    f", as they show {self._amount(here.cell_shift)} or more in a single cell"
                )
        gains = [
            f"{round(100.0 * gain, 1) + 0.0:+.1f} ({shift})" for shift, gain in here.gains.items()
        ]
        unit = "points of accuracy" if self.slots else "percent of the label's variance"
        return f"{fair_case} {detection}; expect {', '.join(gains)} {unit} from them."

    def _amount(self, shift: float) -> str:
        return f"{100 * shift:.1f} points" if self.slots else f"{shift:.3g}"


def check_enough(label: Label, public: PublicData) -> None:
    """Raise ``InvalidPublicData`` for too few records to cross-validate a public model."""
    if len(public) < FEWEST_RECORDS:
        raise InvalidPublicData(
            f"Planning needs at least {FEWEST_RECORDS} public records, and there are "
            f"{len(public)}: add some, or create the task without a plan."
        )
    common = np.sort(np.unique(public.y, return_counts=True)[1])[::-1]
    if isinstance(label, Classes) and (len(common) < 2 or common[1] < FEWEST_OF_A_CLASS):
        raise InvalidPublicData(
            f"Planning needs at least {FEWEST_OF_A_CLASS} public records of each of two classes: "
            "add records of the rarer ones, or create the task without a plan."
        )


def cross_validated(public: PublicData, slots: int) -> tuple[Floats, Floats]:
    """Stacking weights ``(members,)``, and predictions for each row ``(rows, S)`` without it.

    A fold's predictions are weighted by what the other folds favour.
    """
    from ..public_model import stacking  # scikit-learn is slow to import
    from ..public_model.candidates import candidates

    X, y = public.X, public.y
    members = candidates(len(X), X.shape[1], slots)
    with stacking.quietly():
        by_member = stacking.out_of_fold(members, X, y, slots)
    predicted = np.empty(by_member.shape[1:])
    for others, fold in stacking.folds(y, slots).split(X, y if slots else None):
        weights = stacking.weights_for(members, by_member[:, others], y[others], slots)
        predicted[fold] = np.tensordot(weights, by_member[:, fold], axes=1)
    return stacking.weights_for(members, by_member, y, slots), predicted


def _smallest(deviation: float, tests: int) -> float:
    """The difference that one of ``tests`` finds with probability ``POWER``."""
    level = FALSE_DISCOVERY_RATE / tests
    return float(-ndtri(level / 2.0) - ndtri(1.0 - POWER)) * deviation


def _asking(task: Task) -> int:
    """The first question that asks for the label."""
    asked = [question.asks for question in task.questions]
    if "label" not in asked:
        raise InvalidRequest("No question asks for the label: plan a task with one that does.")
    return asked.index("label")


def _changed(settings: TaskSettings, holders: float, epsilon: float) -> TaskSettings:
    """The settings with other ``holders`` and ``epsilon``; each question keeps its share of
    epsilon."""
    share = epsilon / settings.epsilon
    questions = tuple(
        question.model_copy(update={"epsilon": question.epsilon and question.epsilon * share})
        for question in settings.questions
    )
    update = {"holders": max(1, round(holders)), "epsilon": epsilon, "questions": questions}
    return settings.model_copy(update=update)
