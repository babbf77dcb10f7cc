"""What to expect of a collection, from public records alone, so that planning costs no privacy.

**Score without shift.** The stacked public model is cross-validated; where the holders are like the
public records, reports hardly improve it (docs/accuracy.md), so that is the score to expect.

**Shifts that reports reveal.** In closed form from the mechanism's variances: what ``privet
insight`` would find with probability ``POWER``. For the label's share or mean overall, and in one
cell, a difference delta has the standard deviation sd of the test's statistic, and

    delta = (z(level / 2) + z(1 - POWER)) sd,

the level being ``insight``'s after its correction for several tests.

**What reports are worth under shift.** In each of ``worlds`` a population is made whose records
differ from the public ones in a known way; its reports are simulated exactly in distribution, and
the fitted model is compared with the public one under the world's own law. Holders have public
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

from ..counts import Label
from ..estimators import DEFAULT_ESTIMATOR, ESTIMATORS, fit
from ..estimators.ratio import moments
from ..insight import FALSE_DISCOVERY_RATE
from ..public_data import Floats, PublicData
from ..public_model.base import BaseModel
from ..public_model.knowledge import Knowledge
from ..simulation import simulate_counts
from ..task_building.build import build_encoded, check_names, encode_columns
from ..task_building.settings import TaskSettings
from ..task_building.table import Columns, read_table
from ..trees import locate
from .outcome import Figure, Plan, Prospect, Verdict
from .worlds import World, few_rows

POWER = 0.8
WORTHWHILE = 0.01
"""A gain worth asking for: a point of accuracy, or a percent of a number's variance."""
HOLDER_STEPS = (0.1, 10.0)
EPSILON_STEPS = (0.5, 2.0)
"""Multiples of the planned holders and epsilon that are shown beside the plan."""
FEWEST_RECORDS = 20
FEWEST_OF_A_CLASS = 5
MOST_RECORDS = 3000
"""Of more public records a sample is used."""
MOST_POINTS = 4000
DRAWS = 2
"""Collections that are simulated for a gain."""


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
    if isinstance(public, str | Path):
        return read_table(Path(public).read_bytes())
    if hasattr(public, "to_csv"):
        return read_table(public.to_csv(index=False).encode())
    if isinstance(public, Mapping):
        return public
    return read_table(bytes(public))


@dataclass(frozen=True, eq=False)
class Situation:
    """The public records that a curator has, its model of them, and the holders."""

    public: PublicData
    base: BaseModel
    world: World

    @cached_property
    def scores(self) -> Floats:
        """The public model's predictions at the world's points."""
        return self.base.predict(self.world.points)


class Planner:
    """The public model of some public records, and the worlds made from it."""

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
        self.losses, self.residuals = losses(out_of_fold, public.y, self.slots)
        self.variance = float(public.y.var())
        base = stack(public, self.weights, self.slots)
        known = Knowledge.of(base, public.X)
        some = slice(known.own, known.own + MOST_POINTS)
        self.fair = Situation(public, base, World.fair(known.points[some], known.scores[some]))
        self.shifts = dict(self._shifts(rng))

    def _shifts(self, rng: np.random.Generator) -> Iterator[tuple[str, "Situation"]]:
        public, world = self.fair.public, self.fair.world
        for name, rows in few_rows(public.X, FEWEST_RECORDS, rng):
            some = PublicData(public.X[rows], public.y[rows])
            yield name, Situation(some, stack(some, self.weights, self.slots), world)
        yield "volunteers", replace(self.fair, world=world.volunteers(sqrt(self.variance)))
        yield "changed", replace(self.fair, world=world.changed())

    def plan(self) -> Plan:
        """The whole answer."""
        settings = self.settings
        task = self.task(settings, self.fair)
        here = self.prospect(settings)
        n, epsilon = settings.holders, settings.epsilon
        others = [_changed(settings, n * step, epsilon) for step in HOLDER_STEPS]
        others += [_changed(settings, n, epsilon * step) for step in EPSILON_STEPS]
        expected = Figure.of(self.losses)
        if self.slots:
            expected = Figure(1.0 - expected.value, expected.standard_error)
        worthwhile = max(here.gains.values()) >= WORTHWHILE
        verdict = Verdict.COLLECT if worthwhile else Verdict.DO_NOT_COLLECT
        return Plan(
            score="accuracy" if self.slots else "mean squared error",
            public_records=self.records,
            holders=n,
            epsilon=epsilon,
            estimator=self.estimator,
            questions=tuple(_questions(task)),
            report_bytes=task.longest_report,
            expected=expected,
            here=here,
            others=tuple(map(self.prospect, others)),
            verdict=verdict,
            reason=self._reason(expected, here, verdict),
        )

    def task(self, settings: TaskSettings, situation: "Situation") -> Task:
        """The task published from a situation's public records."""
        public, base = situation.public, situation.base
        return build_encoded(settings, self.features, self.label, public, base)

    def prospect(self, settings: TaskSettings) -> Prospect:
        """What a collection with these settings would reveal and be worth."""
        task = self.task(settings, self.fair)
        gains = {}
        for name, situation in self.shifts.items():
            own = situation.base is not self.fair.base
            published = self.task(settings, situation) if own else task
            gains[name] = self.gain(settings, published, situation)
        cells = task.mechanisms[_asking(task)].cells
        overall, in_cell = self.detectable(task, settings.holders)
        return Prospect(settings.holders, settings.epsilon, cells, overall, in_cell, gains)

    def gain(self, settings: TaskSettings, task: Task, situation: "Situation") -> float:
        """How much better models of the reports are than the public model, mean of ``DRAWS``."""
        base, world, scores = situation.base, situation.world, situation.scores
        case = f"{settings.holders} {settings.epsilon}".encode()
        rng = np.random.default_rng([self.seed, zlib.crc32(case)])
        own = base if ESTIMATORS[self.estimator].takes_base else None
        lost = []
        for _ in range(DRAWS):
            copies = rng.multinomial(settings.holders, world.weights)
            X, y, copies = self._holders(world, copies, rng)
            counts = simulate_counts(task, X, y, rng, copies=copies)
            model = fit(self.estimator, self.label, situation.public, counts, own)
            found = model.predict_from(locate(model.partition, world.points), scores)
            lost.append(self._loss(world, found.values))
        gained = self._loss(world, scores) - float(np.mean(lost))
        return gained if self.slots else gained / self.variance

    def _holders(
        self, world: World, copies: Any, rng: np.random.Generator
    ) -> tuple[Floats, Floats, Any]:
        """Encoded rows, labels and how many holders have each, drawn from the world's law."""
        if isinstance(self.label, Classes):
            truth = np.clip(world.truth, 0.0, None)
            drawn = rng.multinomial(copies, truth / truth.sum(axis=1, keepdims=True))
            y = np.tile(np.arange(self.slots, dtype=np.float64), len(copies))
            return np.repeat(world.points, self.slots, axis=0), y, drawn.ravel()
        y = world.truth[:, 0] + rng.choice(self.residuals, len(copies))
        return world.points, np.clip(y, self.label.low, self.label.high), copies

    def _loss(self, world: World, predicted: Floats) -> float:
        """Expected error under the world's law; for numbers less what no model can explain."""
        if self.slots:
            right = world.truth[np.arange(len(predicted)), predicted.argmax(axis=1)]
            return float(world.weights @ (1.0 - right))
        return float(world.weights @ (predicted[:, 0] - world.truth[:, 0]) ** 2)

    def detectable(self, task: Task, holders: int) -> tuple[float | None, float | None]:
        """The smallest shifts, overall and in a cell of median noise, that ``insight`` finds."""
        place, label, world = _asking(task), self.label, self.fair.world
        mechanism, tree = task.mechanisms[place], task.tree_of(place)
        n = holders / len(task.questions) if task.allocation == "one" else holders
        cells, m = locate(tree, world.points), self.records
        points = np.bincount(cells, minlength=tree.cells) + 0.5
        w = points / points.sum()
        sums = np.stack(
            [np.bincount(cells, t, minlength=tree.cells) for t in world.truth.T], axis=1
        )
        q = (sums + 0.5 * world.truth.mean(axis=0)) / points[:, None]
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
        own, with_mass, of_mass = moments(mechanism.slot_covariance(ceil(n), counts))
        variance = own - 2.0 * q * with_mass + q**2 * of_mass[:, None]
        variance += size * q * (1.0 - q) * (1.0 + size / (m * w + 1.0)[:, None])
        in_cell = width * np.sqrt(np.maximum(variance, 0.0)) / size
        found = (
            _smallest(overall, len(units)),
            _smallest(float(np.median(in_cell.max(axis=1))), tests),
        )
        reach, local = (each if each < largest else None for each in found)
        return reach, local

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
            found = "If they mislead, the reports do not show by how much"
        else:
            amount = self._amount(here.overall_shift)
            found = f"If they are off by {amount} or more, the reports show it"
            if here.cell_shift is not None:
                found += f", as they show {self._amount(here.cell_shift)} or more in a single cell"
        gains = [
            f"{round(100.0 * gain, 1) + 0.0:+.1f} ({shift})" for shift, gain in here.gains.items()
        ]
        unit = "points of accuracy" if self.slots else "percent of the label's variance"
        return f"{fair_case} {found}; expect {', '.join(gains)} {unit} from them."

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
    found = np.empty(by_member.shape[1:])
    for others, fold in stacking.folds(y, slots).split(X, y if slots else None):
        weights = stacking.weights_for(members, by_member[:, others], y[others], slots)
        found[fold] = np.tensordot(weights, by_member[:, fold], axes=1)
    return stacking.weights_for(members, by_member, y, slots), found


def stack(public: PublicData, weights: Floats, slots: int) -> BaseModel:
    """The curator's stack with fewer trees, and these weights of its members."""
    from ..public_model import stacking
    from ..public_model.candidates import VALIDATION_TREES, candidates

    members = candidates(len(public), public.X.shape[1], slots)
    if stacking.too_few(public.y):
        return stacking.constant(public.y, public.X.shape[1], slots)
    trees = [VALIDATION_TREES if weight > 0.0 else 0 for weight in weights]
    return stacking.mixed(
        members, stacking.fitted(members, public.X, public.y, slots, trees), weights
    )


def losses(predicted: Floats, y: Floats, slots: int) -> tuple[Floats, Floats]:
    """Per row 1 for a wrong class, or a number's squared error; and a number's residuals."""
    if slots:
        return np.asarray(predicted.argmax(axis=1) != y, dtype=np.float64), np.zeros(1)
    residuals = y - predicted[:, 0]
    return residuals**2, residuals


def _smallest(deviation: float, tests: int) -> float:
    """The difference that one of ``tests`` finds with probability ``POWER``."""
    level = FALSE_DISCOVERY_RATE / tests
    return float(-ndtri(level / 2.0) - ndtri(1.0 - POWER)) * deviation


def _asking(task: Task) -> int:
    """The first question that asks for the label."""
    for place, question in enumerate(task.questions):
        if question.asks == "label":
            return place
    raise InvalidRequest("No question asks for the label: plan a task with one that does.")


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


def _questions(task: Task) -> list[dict[str, Any]]:
    return [
        {"mechanism": question.mechanism, "cells": mechanism.cells, "bytes": mechanism.report_bytes}
        for question, mechanism in zip(task.questions, task.mechanisms, strict=True)
    ]
