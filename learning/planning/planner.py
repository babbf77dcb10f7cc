"""Planning of a collection from public records only, so that it costs no privacy.

**Score without shift.** The stacked public model is cross-validated; where the holders are like the
public records, reports hardly improve it (docs/accuracy.md), so that is the score to expect.

**Shifts that reports show**, in closed form (``detection``), and the numbers of reports
to the same task that show the shift and give the precision that are asked for.

**What reports are worth under shift.** Each scenario has holders who differ from the public records
in a known way (``populations``); their reports are simulated exactly in distribution, and the
fitted model is compared with the public one under the holders' own law. Holders have public
rows' values as often as public rows repeat. There is no noise but that of reports.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

from privet.protocol.errors import InvalidPublicData, InvalidRequest
from privet.protocol.features import Classes, Label
from privet.protocol.limits import BATCH, DELTA, TASK_CAP
from privet.protocol.panel import Mode
from privet.protocol.shuffling import epsilon_of_batch
from privet.protocol.task import Task
from privet.tables.text_format import AS_PROGRAMS_WRITE, NOTHING_STATED, Stated

from ..core.amounts import TELLING
from ..core.public_data import Floats, PublicData, class_count
from ..core.public_model import BaseModel
from ..core.ranking import auc
from ..core.trees import locate
from ..figures.scores import LEAST_SHARE
from ..methods import DEFAULT_ESTIMATOR, ESTIMATORS, Fitting
from ..public_model.knowledge import Knowledge
from ..simulation import simulate_counts
from ..task_building.build import (
    build_encoded,
    check_names,
    encode_columns,
    with_register,
)
from ..task_building.columns import Columns, is_arrow
from ..task_building.review import review
from ..task_building.settings import TaskSettings
from .behind_relay import Shuffling
from .detection import Collection
from .outcome import BehindRelay, Mean, PanelPlan, Plan, Prospect, RareClass, SampleSize, Showing
from .populations import LOWER, OTHERS, RARE, Population, Scenario, few_rows
from .waves import check_panel, planned_panel

POWER, TARGET, WIDTH = 0.8, 0.05, 0.02
"""Default targets: shift and half-width in shares, or in parts of a number's range."""
WIDTHS = (0.05, 0.03, 0.02, 0.01)
"""Half-widths in the table of sample sizes, in shares or in parts of a number's range."""
FEWEST_RECORDS = 20
FEWEST_OF_A_CLASS = 5
MOST_RECORDS = 3000
"""Maximum number of public records; of more a random sample is used."""
MOST_POINTS = 4000
DRAWS = 5
"""Collections simulated per gain."""
RARE_SHARE = 0.1
"""A class that fewer public records have is judged by log loss and AUC too: predicting that nobody
has it is right for nine in ten."""


def plan(
    public: str | Path | bytes | Columns | Any,
    *,
    label: str,
    holders: int,
    epsilon: float | None = None,
    central_epsilon: float | None = None,
    delta: float = DELTA,
    batch: int = BATCH,
    target_shift: float | None = None,
    power: float = POWER,
    half_width: float | None = None,
    estimator: str | None = None,
    register: str | Path | bytes | Columns | Any = None,
    waves: int | None = None,
    mode: Mode = "rotate",
    simulation_seed: int = 0,
    **settings: Any,
) -> Plan:
    """The gain of ``holders`` reports at ``epsilon`` over these public records.

    ``public`` is a CSV or Parquet file, its bytes, a pandas, polars or Arrow table, or columns by
    name; ``settings`` are the task's other settings (docs/api.md), with the same defaults. The plan
    says what it takes to show a shift of ``target_shift`` with probability ``power``, and to know
    every overall figure to plus or minus ``half_width``: in shares, .05 and .02 by default, or in
    the label's units, that part of its range. ``register``, in a form of ``public``, are the people
    asked, without labels. With ``waves`` it is the plan of one wave of a panel of so many, and
    says which changes between waves holders who rotate show, and the same people if they repeat;
    ``mode`` is the panel's own, and a wished change is ``target_shift`` too.

    With ``central_epsilon`` reports come through a relay that sends at least ``batch`` of honest
    holders together. The plan then has the mechanism, unless one is set, and the local epsilon that
    are most precise with a central (``central_epsilon``, ``delta``); ``epsilon`` is the most that
    holders accept, by default ``TASK_CAP``. Raises ``InvalidRequest`` for impossible settings and
    ``InvalidPublicData`` for too few records.
    """
    shuffling = None
    if central_epsilon is not None:
        epsilon = TASK_CAP if epsilon is None else epsilon
        shuffling = Shuffling(central_epsilon, delta, batch, epsilon)
        shuffling.check(holders)
    elif epsilon is None:
        raise InvalidRequest("There is no epsilon: give it, or a central epsilon behind a relay.")
    values = {"name": "plan", "label": label, "epsilon": epsilon, "holders": holders, **settings}
    checked = TaskSettings.parse(json.dumps(values))
    check_names(checked)
    estimator = DEFAULT_ESTIMATOR if estimator is None else estimator
    if estimator not in ESTIMATORS:
        listed = ", ".join(sorted(ESTIMATORS))
        raise InvalidRequest(f"Unknown estimator {estimator!r}: choose among {listed}.")
    wishes = {"power": power, "target_shift": target_shift, "half_width": half_width}
    for name, wish in wishes.items():
        if wish is not None and not 0.0 < wish < (1.0 if name == "power" else np.inf):
            raise InvalidRequest(f"{name} is {wish:g}: give one above 0, and a power below 1.")
    if shuffling is not None and checked.disclosed:
        raise InvalidRequest(
            "A report with disclosed columns hides only among those of its stratum, and a relay "
            "does not wait for a number of these: plan without disclosed columns, or give an "
            "epsilon."
        )
    if shuffling is not None and waves is not None:
        raise InvalidRequest(
            "A central epsilon is that of one report: plan waves without it, and give an epsilon."
        )
    if waves is not None:
        check_panel(waves, mode, checked.disclosed)
    people = None if register is None else _columns(register)
    columns = _columns(public, checked.stated)
    planner = Planner(checked, columns, estimator, simulation_seed, people)
    made = planner.plan(target_shift, power, half_width, shuffling, waves, mode)
    return replace(made, remarks=tuple(review(columns, checked)))


def _columns(public: Any, stated: Stated = NOTHING_STATED) -> Columns:
    from ..task_building.table import read_arrow, read_table

    if isinstance(public, str | Path):
        return read_table(Path(public).read_bytes(), stated)
    if is_arrow(public) or isinstance(public, Mapping):
        return read_arrow(public)
    if hasattr(public, "to_csv"):
        return read_table(public.to_csv(index=False).encode(), AS_PROGRAMS_WRITE)
    if not isinstance(public, bytes | bytearray | memoryview):
        raise InvalidPublicData(
            "The public data are none: give a CSV or Parquet file or its bytes, a pandas, polars "
            "or Arrow table, or columns by name."
        )
    return read_table(bytes(public), stated)


class Planner:
    """The public model of some public records, and the tasks and populations made from it."""

    def __init__(
        self,
        settings: TaskSettings,
        columns: Columns,
        estimator: str,
        seed: int,
        register: Columns | None = None,
    ) -> None:
        from ..public_model.stacking import cross_validated  # scikit-learn is slow to import

        self.settings, self.estimator, self.seed = settings, estimator, seed
        self.features, self.label, every = encode_columns(settings, columns)
        if register is not None:
            _, every = with_register(settings, self.features, self.label, every, register)
        check_enough(self.label, every)
        self.records, self.ratio = len(every), every.odds_ratio
        self._rng = np.random.default_rng(seed)
        rows = self._rng.permutation(len(every))[:MOST_RECORDS]
        public = replace(every, X=every.X[rows], y=every.y[rows])
        self.slots = class_count(self.label)
        self.weights, self.out_of_fold = cross_validated(public.X, public.y, self.slots)
        base = self.stack(public)
        knowledge = Knowledge.of(base, public.X, public.register)
        some = slice(knowledge.training_rows, knowledge.training_rows + MOST_POINTS)
        population = Population.fair(knowledge.points[some], knowledge.scores[some])
        if public.prevalence is not None:
            population = population.with_odds(self.ratio)
        self.fair = Scenario(public, base, population)

    @property
    def residuals(self) -> Floats:
        """The errors of public models of other rows, for each public label that is a number."""
        return np.asarray(self.fair.public.y - self.out_of_fold[:, 0])

    def expected(self) -> Mean:
        """The score if the public records are fair."""
        if not self.slots:
            return Mean.of(self.residuals**2)
        y = self.fair.public.y.astype(np.int64)
        wrong = (self.out_of_fold * self.ratio).argmax(axis=1) != y
        times = (self.ratio * np.ones(self.slots))[y]
        lost = Mean.of(wrong * times / times.mean())
        return Mean(1.0 - lost.value, lost.standard_error)

    def scenarios(self) -> Iterator[tuple[str, Scenario]]:
        """Holders who differ from the public records, by a sentence that says how."""
        public, population = self.fair.public, self.fair.population
        for name, rows in few_rows(public.X, FEWEST_RECORDS, self._rng):
            some = replace(public, X=public.X[rows], y=public.y[rows])
            yield name, Scenario(some, self.stack(some), population)
        volunteers = population.volunteers(sqrt(float(public.y.var())))
        yield RARE if self.slots else LOWER, replace(self.fair, population=volunteers)
        yield OTHERS, replace(self.fair, population=population.changed())

    def stack(self, public: PublicData) -> BaseModel:
        """The curator's stack with fewer trees and the weights of all public records."""
        from ..public_model import stacking
        from ..public_model.candidates import VALIDATION_TREES

        return stacking.stacked(public.X, public.y, self.slots, self.weights, VALIDATION_TREES)

    def task(self, settings: TaskSettings, scenario: Scenario) -> Task:
        """The task published from a scenario's public records."""
        return build_encoded(settings, self.features, self.label, scenario.public, scenario.base)

    def collection(
        self,
        settings: TaskSettings | None = None,
        holders: int | None = None,
        epsilon: float | None = None,
    ) -> Collection:
        """The task of these settings, by default the plan's, and what its reports show; planned for
        other ``holders`` and another ``epsilon``, if given."""
        settings, fair = settings or self.settings, self.fair
        settings = resized(settings, holders or settings.holders, epsilon or settings.epsilon)
        return Collection(
            self.task(settings, fair),
            settings.holders,
            settings.looks,
            fair.public,
            self.records,
            fair.population,
            self.residuals,
        )

    def choose_behind(self, shuffling: Shuffling) -> BehindRelay:
        """Take the settings that are best behind the relay, and say what they gain."""

        def publish(settings: TaskSettings, epsilon: float) -> Task:
            return self.task(resized(settings, settings.holders, epsilon), self.fair)

        def width(settings: TaskSettings, epsilon: float) -> float:
            return self.collection(settings, epsilon=epsilon).here.half_width

        direct = width(self.settings, shuffling.epsilon)
        settings, epsilon = shuffling.best(self.settings, publish, width)
        stated = epsilon_of_batch(publish(settings, epsilon), shuffling.batch, shuffling.delta)
        self.settings = resized(settings, settings.holders, epsilon)
        return BehindRelay(
            **asdict(shuffling), stated=stated, mechanism=settings.mechanism, direct_width=direct
        )

    def panel(self, waves: int, mode: Mode, target: float, power: float) -> PanelPlan:
        """The changes between waves that the planned holders in each show; see ``waves``."""
        of, collection = self.settings, self.collection
        return planned_panel(self.label, of, collection, waves, mode, target=target, power=power)

    def plan(
        self,
        target_shift: float | None,
        power: float,
        half_width: float | None,
        shuffling: Shuffling | None = None,
        waves: int | None = None,
        mode: Mode = "rotate",
    ) -> Plan:
        """The plan for these settings; raises as the function ``plan``."""
        label, unit = self.label, self.label.span
        relay = None if shuffling is None else self.choose_behind(shuffling)
        target = TARGET * unit if target_shift is None else target_shift
        width = WIDTH * unit if half_width is None else half_width
        settings, collection = self.settings, self.collection()
        task, here = collection.task, collection.here
        questions = tuple(
            {"mechanism": question.mechanism, "cells": asked.cells, "bytes": asked.report_bytes}
            for question, asked in zip(task.questions, task.mechanisms, strict=True)
        )
        gains = {name: self.gain(scenario) for name, scenario in self.scenarios()}
        rare = self.rare()
        return Plan(
            score="accuracy" if self.slots else "mean squared error",
            label=label.name,
            public_records=self.records,
            holders=settings.holders,
            epsilon=settings.epsilon,
            looks=settings.looks,
            estimator=self.estimator,
            questions=questions,
            report_bytes=task.longest_report,
            expected=self.expected(),
            here=_prospect(collection, target, power),
            target_shift=target,
            power=power,
            shift_after=collection.fewest(lambda found: found.overall.power(target) >= power),
            half_width=width,
            stop_after=here.reports(width),
            sample_sizes=tuple(
                SampleSize(part * unit, here.reports(part * unit)) for part in WIDTHS
            ),
            span=unit,
            telling_after=here.reports(TELLING * unit),
            around_centres=collection.clip is not None,
            question=label.prompt or "",
            label_unit="" if isinstance(label, Classes) else label.unit or "",
            gains={name: gain for name, (gain, _) in gains.items()},
            showing=tuple(self._showing(target, power, width)) if settings.disclosed else (),
            relay=relay,
            rare=rare and replace(rare, gains={name: of for name, (_, of) in gains.items()}),
            panel=None if waves is None else self.panel(waves, mode, target, power),
        )

    def _showing(self, target: float, power: float, width: float) -> Iterator[Showing]:
        """The plan with no column disclosed, its own, and all."""
        every = tuple(feature.name for feature in self.features)
        mine = tuple(name for name in every if name in self.settings.disclosed)
        for columns in dict.fromkeys(((), mine, every)):
            settings = self.settings.model_copy(update={"disclosed": columns})
            if len(columns) == len(every):
                settings = settings.model_copy(update={"hidden_depth": None})
            other = self.collection(settings)
            yield Showing(
                columns,
                other.task.disclosed,
                other.tree.cells,
                1 if other.task.strata is None else len(other.task.strata),
                _prospect(other, target, power),
                other.here.reports(width),
            )

    def gain(self, scenario: Scenario) -> tuple[Mean, Mean]:
        """Improvement over the public model by the reports, over ``DRAWS`` collections.

        In the plan's score, and of classes in log loss; of a number both are the same.
        """
        public, base, population = scenario.public, scenario.base, scenario.population
        task, rng = self.task(self.settings, scenario), np.random.default_rng(self.seed)
        starts_from = base if ESTIMATORS[self.estimator].takes_base else None
        fitting = Fitting.of(self.estimator, self.label, public, starts_from)
        scores = base.predict(population.points)
        lost = []
        for _ in range(DRAWS):
            X, y, copies = population.draw(self.settings.holders, self.residuals, rng)
            if not self.slots:
                y = np.clip(y, *self.label.bounds)
            model = fitting.estimate(simulate_counts(task, X, y, rng, copies=copies))
            predicted = model.predict_from(locate(model.partition, population.points), scores)
            lost.append(population.losses(predicted.values))
        without = scores
        if public.prevalence is not None:
            joint = scores * public.odds_ratio
            without = joint / joint.sum(axis=1, keepdims=True)
        gained = np.array(population.losses(without)) - np.array(lost)
        score, log_loss = (gained if self.slots else gained / self.fair.public.y.var()).T
        return Mean.of(score), Mean.of(log_loss)

    def rare(self) -> RareClass | None:
        """The rarest class with a model's scores, but for its gains.

        None if it is not rare, one record has it, or its share of the holders is stated.
        """
        label, public = self.label, self.fair.public
        if not isinstance(label, Classes) or public.prevalence is not None:
            return None
        y, out_of_fold = public.y.astype(np.int64), self.out_of_fold
        records = np.bincount(y, minlength=label.slots)
        occur = np.flatnonzero(records)
        rarest = int(occur[records[occur].argmin()])
        if records[rarest] > RARE_SHARE * len(y) or records[rarest] < 2:
            return None
        share = records / len(y)
        own = out_of_fold[np.arange(len(y)), y]
        return RareClass(
            label.classes[rarest],
            float(share[rarest]),
            Mean.of(-np.log(own.clip(min=LEAST_SHARE))),
            float(-(share[occur] * np.log(share[occur])).sum()),
            Mean(*auc(out_of_fold[:, rarest], y == rarest)),
            {},
        )


def _prospect(collection: Collection, target: float, power: float) -> Prospect:
    """The differences detected with probability ``power``, and the power for the ``target``."""
    here = collection.here
    return Prospect(
        collection.tree.cells,
        here.half_width,
        here.overall.smallest(power),
        here.cell.smallest(power),
        here.overall.power(target),
    )


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


def resized(settings: TaskSettings, holders: int, epsilon: float) -> TaskSettings:
    """The settings with other ``holders`` and ``epsilon``; each question keeps its share of
    epsilon, and each stratum its share of the holders at least; a group of 1 stays one."""
    share = epsilon / settings.epsilon
    questions = tuple(
        question.model_copy(update={"epsilon": question.epsilon and question.epsilon * share})
        for question in settings.questions
    )
    update = {"holders": max(1, holders), "epsilon": epsilon, "questions": questions}
    if settings.smallest_group > 1:
        update["smallest_group"] = max(
            2, round(settings.smallest_group * holders / settings.holders)
        )
    return settings.model_copy(update=update)
