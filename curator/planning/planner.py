"""Expected accuracy of a collection, estimated from public records alone.

In each fold (see ``folds``) the task is built from some public records, the reports of others are
simulated exactly in distribution, and the model fitted to them is tested on the rest, as are public
models of fewer and of more records. The public models' losses at three sizes give a learning curve,
linear in the logarithm of the number of records, which extrapolates the results to all public
records. No private record is involved, so planning costs no privacy.
"""

import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from math import ceil, exp, hypot, inf, isfinite, log, sqrt
from pathlib import Path
from typing import Any

import numpy as np

from privet.curator.estimation import DEFAULT_ESTIMATOR, ESTIMATORS, fit
from privet.curator.estimation.counts import Label
from privet.curator.planning.folds import PARTS, FoldModels, Part, make_folds, spread
from privet.curator.public_data import Floats, PublicData
from privet.curator.publishing.build import build_encoded, check_names, encode_columns
from privet.curator.publishing.settings import TaskSettings
from privet.curator.publishing.table import Columns, read_table
from privet.curator.simulation import simulate_counts
from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Classes, Feature
from privet.protocol.mechanisms.base import Mechanism
from privet.protocol.task import Task

CERTAIN = 2.0
"""Number of standard errors that separates a gain from its threshold."""
WORTHWHILE = 0.005
"""Smallest gain worth collecting for: in accuracy, or in a number's explained variance."""
MOST_RECORDS = 1e9
HOLDER_STEPS = tuple(10.0 ** (step / 2) for step in range(-4, 7))
"""Multiples of the planned number of holders that are tried for a wanted score."""
EPSILONS = (0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)


@dataclass(frozen=True)
class Figure:
    """A number with its standard error."""

    value: float
    standard_error: float

    @classmethod
    def of(cls, per_row: Floats) -> "Figure":
        """Mean and standard error over independent test rows."""
        return cls(float(per_row.mean()), float(per_row.std(ddof=1) / sqrt(len(per_row))))


class Verdict(StrEnum):
    """Whether to collect private reports."""

    COLLECT = "collect"
    UNCLEAR = "unclear"
    DO_NOT_COLLECT = "do not collect"


@dataclass(frozen=True)
class Requirement:
    """What it takes to achieve a wanted score; None where nothing that was tried does.

    ``holders`` goes with the planned epsilon and ``epsilon`` with the planned number of holders;
    ``public_records`` is the number of public records that would suffice without reports.
    ``best_by_holders`` and ``best_by_epsilon`` are the best scores found by varying either.
    """

    wanted: float
    holders: int | None
    epsilon: float | None
    public_records: int | None
    best_by_holders: float
    best_by_epsilon: float


@dataclass(frozen=True)
class Plan:
    """Expected results of ``holders`` reports at ``epsilon`` in addition to ``public_records``.

    ``score`` names what ``expected``, ``public_only`` and ``gain`` are: the accuracy, or the mean
    squared error of a numeric label. A positive gain is an improvement either way. ``worth`` is
    the number of further public records that would improve the public model as much. With
    ``lower_bound`` the reports carry more information than the public records can show in the
    trials, so the gain is at least what is stated. ``questions`` are the published questions'
    mechanisms and cells, and ``report_bytes`` is the length of one report.
    """

    score: str
    public_records: int
    holders: int
    epsilon: float
    estimator: str
    questions: tuple[dict[str, Any], ...]
    report_bytes: int
    expected: Figure
    public_only: Figure
    gain: Figure
    worth: float
    lower_bound: bool
    verdict: Verdict
    reason: str
    required: Requirement | None

    def to_document(self) -> dict[str, Any]:
        """The plan as JSON values; an unlimited ``worth`` is null."""
        worth = self.worth if isfinite(self.worth) else None
        return {**asdict(self), "worth": worth, "verdict": str(self.verdict)}


def plan(
    public: str | Path | bytes | Columns | Any,
    *,
    label: str,
    epsilon: float,
    holders: int,
    estimator: str | None = None,
    wanted: float | None = None,
    simulation_seed: int = 0,
    **settings: Any,
) -> Plan:
    """Estimate what ``holders`` reports at ``epsilon`` add to these public records.

    ``public`` is a CSV or Parquet file, its bytes, a DataFrame, or columns by name; ``settings``
    are the task's other settings (docs/api.md), with the same defaults. ``wanted`` is an accuracy
    (or mean squared error) for which the plan states what it takes. Raises ``InvalidRequest`` for
    impossible settings and ``InvalidPublicData`` for too few records.
    """
    values = {"name": "plan", "label": label, "epsilon": epsilon, "holders": holders, **settings}
    checked = TaskSettings.parse(json.dumps(values))
    check_names(checked)
    estimator = DEFAULT_ESTIMATOR if estimator is None else estimator
    if estimator not in ESTIMATORS:
        listed = ", ".join(sorted(ESTIMATORS))
        raise InvalidRequest(f"Unknown estimator {estimator!r}: choose among {listed}.")
    trials = Trials.of(checked, _columns(public), estimator, simulation_seed)
    return Planner(trials, checked).plan(wanted)


def _columns(public: Any) -> Columns:
    if isinstance(public, str | Path):
        return read_table(Path(public).read_bytes())
    if hasattr(public, "to_csv"):
        return read_table(public.to_csv(index=False).encode())
    if isinstance(public, Mapping):
        return public
    return read_table(bytes(public))


@dataclass(frozen=True, eq=False)
class Trials:
    """Simulated collections over the folds of one public data set.

    Losses are per row, each tested once, shape ``(rows,)``: 1 for a wrong class and 0 for the right
    one, or the squared error of a number.
    """

    features: tuple[Feature, ...]
    label: Label
    public: PublicData
    estimator: str
    seed: int
    models: FoldModels

    @classmethod
    def of(cls, settings: TaskSettings, columns: Columns, estimator: str, seed: int) -> "Trials":
        """Split the rows into folds; raises ``InvalidPublicData`` if there are too few."""
        features, label, public = encode_columns(settings, columns)
        slots = label.slots if isinstance(label, Classes) else 0
        models = FoldModels(public, slots, make_folds(label, public, seed))
        return cls(features, label, public, estimator, seed, models)

    def losses(self, settings: TaskSettings) -> Floats:
        """Losses of the model fitted to the reports of a task with these settings."""
        return self._losses(lambda number: self._collect(settings, number))

    def public_losses(self, part: Part) -> Floats:
        """Losses of a model of public records alone."""
        return self._losses(lambda number: self.models.predictions(number, part))

    def task(self, settings: TaskSettings, number: int, part: Part) -> Task:
        """The task published from some of a fold's records."""
        data, base = self.models.rows(number, part), self.models.model(number, part)
        return build_encoded(settings, self.features, self.label, data, base)

    def _collect(self, settings: TaskSettings, number: int) -> Floats:
        """Predictions for a fold's test rows after one simulated collection, ``(test rows, S)``.

        The generator depends on the seed and the arguments only, not on the order of the trials.
        """
        fold, task = self.models.folds[number], self.task(settings, number, Part.KNOWN)
        case = f"{settings.holders} {settings.epsilon}".encode()
        rng = np.random.default_rng([self.seed, number, zlib.crc32(case)])
        X, y = self.public.X[fold.holders], self.public.y[fold.holders]
        copies = spread(settings.holders, len(y), rng)
        counts = [
            replace(each, holders_per_record=max(1.0, each.n / len(y)))
            for each in simulate_counts(task, X, y, rng, copies=copies)
        ]
        takes_base = ESTIMATORS[self.estimator].takes_base
        base = self.models.model(number, Part.KNOWN) if takes_base else None
        known = self.models.rows(number, Part.KNOWN)
        model = fit(self.estimator, self.label, known, counts, base)
        return model.predict(self.public.X[fold.test]).values

    def _losses(self, predict: Callable[[int], Floats]) -> Floats:
        losses = np.empty(len(self.public))
        for number, fold in enumerate(self.models.folds):
            predicted, truth = predict(number), self.public.y[fold.test]
            if isinstance(self.label, Classes):
                losses[fold.test] = predicted.argmax(axis=1) != truth
            else:
                losses[fold.test] = (predicted[:, 0] - truth) ** 2
        return losses


@dataclass(frozen=True)
class LearningCurve:
    """The public model's loss as ``level - slope * ln(records)``, fitted to a few sizes."""

    level: float
    slope: float
    slope_error: float = 0.0

    @classmethod
    def of(cls, records: Sequence[int], losses: Sequence[Floats]) -> "LearningCurve":
        """Least-squares fit to losses per test row at several sizes; the slope is at least 0."""
        x = np.log(np.asarray(records, dtype=np.float64))
        weights = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
        slope = Figure.of(-np.tensordot(weights, np.stack(losses), axes=1))
        falling = max(slope.value, 0.0)
        level = float(np.mean([loss.mean() for loss in losses]) + falling * x.mean())
        return cls(level, falling, slope.standard_error)

    def needed(self, loss: float) -> float:
        """Number of records at which the curve reaches ``loss``; infinite if it never does."""
        steps = (self.level - loss) / self.slope if self.slope else inf
        return exp(steps) if steps < 100.0 else inf

    def worth(self, gain: float, records: int) -> float:
        """How many more records than ``records`` would lower the loss by ``gain``."""
        if gain <= 0.0:
            return 0.0
        steps = gain / self.slope if self.slope else inf
        return records * (exp(steps) - 1.0) if steps < 100.0 else inf

    def carried(self, gain: Figure, records: int, full: int) -> Figure:
        """A gain with ``records`` public records, extrapolated to ``full`` of them.

        Reports are worth the same number m of public records in both places, so the gain becomes
        slope * ln(1 + m / full); on a flat curve it stays what it is.
        """
        if self.slope == 0.0:
            return gain
        share = records / full
        growth = log(share) + gain.value / self.slope
        whole = float(np.logaddexp(log(1.0 - share), growth))
        steepness = exp(growth - whole)
        return Figure(self.slope * whole, steepness * gain.standard_error)

    def extended(self, loss: Figure, records: int, full: int) -> Figure:
        """A loss with ``records`` public records, extrapolated to ``full`` of them."""
        steps = log(full / records)
        value = max(loss.value - self.slope * steps, 0.0)
        return Figure(value, hypot(loss.standard_error, self.slope_error * steps))


@dataclass(frozen=True, eq=False)
class Baseline:
    """Losses per row of public models on ``known`` and on ``most`` of the ``every`` records.

    A collection is simulated with ``known`` public records and the reports of the rest of ``most``;
    a plan's figures are extrapolated to all ``every`` records.
    """

    alone: Floats
    alone_most: Floats
    curve: LearningCurve
    known: int
    most: int
    every: int

    @classmethod
    def of(cls, trials: Trials) -> "Baseline":
        """Public models tested at three sizes."""
        every = len(trials.public)
        most = every - every // PARTS
        known = round(most / 2)
        sizes = {Part.HALF: known // 2, Part.KNOWN: known, Part.MOST: most}
        losses = [trials.public_losses(part) for part in sizes]
        curve = LearningCurve.of(list(sizes.values()), losses)
        return cls(losses[1], losses[2], curve, known, most, every)

    def gain(self, planned: Floats) -> Figure:
        """Difference in loss to the best public model when both have ``most`` records.

        At least the measured advantage of the plan with ``known`` over public models with ``most``:
        a curator could leave records unused. Where that is small, the gain with ``known`` is
        extrapolated along the learning curve, at most to half as many public records again.
        """
        measured = Figure.of(self.alone_most - planned)
        carried = self.curve.carried(Figure.of(self.alone - planned), self.known, self.most)
        bounded = min(carried.value, self.curve.slope * log(1.5))
        return measured if measured.value >= bounded else Figure(bounded, carried.standard_error)

    def public_only(self) -> Figure:
        """The public models' loss with every record, along the learning curve from ``most``."""
        return self.curve.extended(Figure.of(self.alone_most), self.most, self.every)

    def expected(self, planned: Floats) -> Figure:
        """The plan's loss with every public record."""
        error = self.curve.extended(Figure.of(planned), self.most, self.every).standard_error
        return Figure(max(self.public_only().value - self.gain(planned).value, 0.0), error)


class Planner:
    """The figures of one plan."""

    def __init__(self, trials: Trials, settings: TaskSettings) -> None:
        self.trials, self.settings = trials, settings
        self.classes = isinstance(trials.label, Classes)
        self.score = "accuracy" if self.classes else "mean squared error"
        self.baseline = Baseline.of(trials)

    def plan(self, wanted: float | None) -> Plan:
        """The whole answer; ``wanted`` is an accuracy or a mean squared error."""
        baseline, settings = self.baseline, self.settings
        task = self.trials.task(settings, 0, Part.MOST)
        planned = self.trials.losses(settings)
        gain, scale = baseline.gain(planned), 1.0 if self.classes else self.trials.public.y.var()
        verdict = verdict_on(gain, WORTHWHILE * float(scale))
        bound = information(task, settings.holders) > baseline.most - baseline.known
        found = Plan(
            score=self.score,
            public_records=baseline.every,
            holders=settings.holders,
            epsilon=settings.epsilon,
            estimator=self.trials.estimator,
            questions=tuple(_questions(task)),
            report_bytes=task.longest_report,
            expected=self._scored(baseline.expected(planned)),
            public_only=self._scored(baseline.public_only()),
            gain=gain,
            worth=baseline.curve.worth(gain.value, baseline.every),
            lower_bound=bound,
            verdict=verdict,
            reason="",
            required=None if wanted is None else self._requirement(wanted),
        )
        return replace(found, reason=_reason(found))

    def _scored(self, loss: Figure) -> Figure:
        return Figure(1.0 - loss.value, loss.standard_error) if self.classes else loss

    def _requirement(self, wanted: float) -> Requirement:
        loss = 1.0 - wanted if self.classes else wanted

        def expected(holders: float, epsilon: float) -> float:
            losses = self.trials.losses(_changed(self.settings, holders, epsilon))
            return self.baseline.expected(losses).value

        holders, epsilon = self.settings.holders, self.settings.epsilon
        numbers = [max(1.0, float(round(holders * step))) for step in HOLDER_STEPS]
        people, by_holders = least_amount(numbers, lambda n: expected(n, epsilon), loss)
        budget, by_epsilon = least_amount(EPSILONS, lambda e: expected(holders, e), loss)
        records = self.baseline.curve.needed(loss)
        return Requirement(
            wanted=wanted,
            holders=None if people is None else round(people),
            epsilon=budget,
            public_records=ceil(records) if records < MOST_RECORDS else None,
            best_by_holders=1.0 - by_holders if self.classes else by_holders,
            best_by_epsilon=1.0 - by_epsilon if self.classes else by_epsilon,
        )


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


def least_amount(
    amounts: Sequence[float], loss: Callable[[float], float], wanted: float
) -> tuple[float | None, float]:
    """The smallest of increasing ``amounts`` with ``loss`` at most ``wanted``; the smallest loss.

    Found by bisection, assuming that the loss falls with the amount, and interpolated on a
    logarithmic scale; None if the largest amount is not enough.
    """
    losses = {len(amounts) - 1: loss(amounts[-1])}
    low, high = -1, len(amounts) - 1
    while losses[high] <= wanted and high - low > 1:
        middle = (low + high) // 2
        losses[middle] = loss(amounts[middle])
        low, high = (low, middle) if losses[middle] <= wanted else (middle, high)
    smallest = min(losses.values())
    if losses[high] > wanted:
        return None, smallest
    if low < 0:
        return float(amounts[high]), smallest
    share = (losses[low] - wanted) / (losses[low] - losses[high])
    start, end = log(amounts[low]), log(amounts[high])
    return exp(start + share * (end - start)), smallest


def information(task: Task, holders: int) -> float:
    """Number of public records with as much information on the cells' labels as the reports.

    In a cell of share 1/K, m records give the contrast of two slots with variance m / K; reports
    give it with the mechanism's noise c in addition to n / K. Equal signal to noise at equal
    contrast makes m = (n**2 / K) / (c + n / K).
    """
    answers = holders / len(task.questions) if task.allocation == "one" else holders
    return sum(_information(mechanism, answers) for mechanism in task.mechanisms)


def _information(mechanism: Mechanism, n: float) -> float:
    if mechanism.slots == 1:
        return 0.0
    shape = (mechanism.cells, mechanism.slots)
    noise = mechanism.slot_covariance(ceil(n), np.full(shape, n / np.prod(shape)))
    contrast = noise[:, 0, 0] + noise[:, 1, 1] - noise[:, 0, 1] - noise[:, 1, 0]
    per_cell = n / mechanism.cells
    return float(np.mean(n * per_cell / (contrast + per_cell)))


def verdict_on(gain: Figure, worthwhile: float) -> Verdict:
    """Collect if the gain is certainly above 0 and worthwhile; do not if it certainly is not."""
    margin = CERTAIN * gain.standard_error
    if gain.value >= worthwhile and gain.value > margin:
        return Verdict.COLLECT
    if gain.value + margin < worthwhile:
        return Verdict.DO_NOT_COLLECT
    return Verdict.UNCLEAR


def _reason(plan: Plan) -> str:
    """The verdict in words, with its figures."""
    figures = (
        f"{plan.holders} reports at epsilon {plan.epsilon:g}: expected {plan.score} "
        f"{plan.expected.value:.4g} ± {plan.expected.standard_error:.2g}, against "
        f"{plan.public_only.value:.4g} from the public records alone."
    )
    if plan.verdict is Verdict.DO_NOT_COLLECT:
        advice = (
            "Private reports add nothing worth asking for: use the public model, unless people "
            "may differ from the public records, which no plan can see."
        )
    elif plan.verdict is Verdict.UNCLEAR:
        advice = (
            f"{plan.public_records} public records are too few to tell whether that is a gain: "
            "add public records, or plan with more holders or a larger epsilon."
        )
    elif not isfinite(plan.worth):
        advice = "More public records would not bring that: collect."
    else:
        advice = f"That is what about {plan.worth:.2g} more public records would bring: collect."
    if not plan.lower_bound:
        return f"{figures} {advice}"
    what = (
        "expect at least that"
        if plan.verdict is Verdict.COLLECT
        else "a gain that takes more records to see is not excluded"
    )
    limit = "So many reports carry more information than the public records can show in the trials"
    return f"{figures} {advice} {limit}: {what}."
