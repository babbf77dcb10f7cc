"""Planning of a collection from public records only, so that it costs no privacy.

**Score without shift.** The stacked public model is cross-validated; where the holders are like the
public records, reports hardly improve it (docs/accuracy.md), so that is the score to expect.

**Shifts that reports show**, in closed form (``detection``), and the numbers of people that show
the shift and give the precision that are asked for: each with the task planned for that number.

**What reports are worth under shift.** Each scenario has holders who differ from the public records
in a known way (``populations``); their reports are simulated exactly in distribution, and the
fitted model is compared with the public one under the holders' own law. Holders have public
rows' values as often as public rows repeat. There is no noise but that of reports.
"""

import json
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from functools import partial
from math import floor, log10, sqrt
from pathlib import Path
from typing import Any

import numpy as np

from privet.protocol.errors import InvalidPublicData, InvalidRequest
from privet.protocol.features import Classes, Label
from privet.protocol.limits import BATCH, DELTA, TASK_CAP
from privet.protocol.panel import Mode
from privet.protocol.shuffling import epsilon_of_batch
from privet.protocol.task import Task

from ..core.amounts import TELLING
from ..core.labels import kind_of
from ..core.public_data import Floats, PublicData, class_count
from ..core.public_model import BaseModel
from ..core.ranking import auc
from ..core.trees import locate
from ..figures.power import TARGET
from ..figures.precision import HOLDERS
from ..figures.scores import LEAST_SHARE
from ..figures.sentences import ends_in_words, left_open
from ..methods import DEFAULT_ESTIMATOR, ESTIMATORS, Fitting
from ..public_model.knowledge import Knowledge
from ..simulation import simulate_counts
from ..task_building.build import (
    TaskBuilder,
    build_without_features,
    check_names,
    encode_columns,
    with_register,
)
from ..task_building.columns import Columns
from ..task_building.review import review
from ..task_building.schema import label_alone
from ..task_building.settings import TaskSettings
from .at_once import collection_at_once
from .behind_relay import Shuffling
from .detection import Collection, CollectionAlone
from .outcome import BehindRelay, Disclosing, Mean, PanelPlan, Plan, Prospect, RareClass, SampleSize
from .populations import DRAWS, LOWER, MOST_POINTS, OTHERS, RARE, Population, Scenario, few_rows
from .waves import check_panel, planned_panel

POWER, WIDTH = 0.8, 0.02
"""Default targets: shift in shares or in parts of a number's range, and half-width of shares."""
WIDTHS = (0.05, 0.03, 0.02, 0.01)
"""Half-widths of shares in the table of sample sizes; a number's are as round (``half_widths``)."""
FEWEST_RECORDS = 20
FEWEST_OF_A_CLASS = 5
MOST_RECORDS = 3000
"""Maximum number of public records; of more a random sample is used."""
RARE_SHARE = 0.1
"""A class that fewer public records have is judged by log loss and AUC too: predicting that nobody
has it is right for nine in ten."""


def plan(
    public: str | Path | bytes | Columns | Any = None,
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

    ``public`` is a CSV, Parquet or Excel file, its bytes, a pandas, polars or Arrow table, or
    columns by name; without it the task asks for the label alone, and the plan says how precisely
    figures are known. ``settings`` are the task's other settings (docs/api.md), with the same
    defaults. A plan says what it takes to show a shift of ``target_shift`` with probability
    ``power``, and to know every overall figure to plus or minus ``half_width``: in shares, .05 and
    .02 by default, or in the label's units, that part of its range, rounded. ``register``, in a
    form of ``public``, are the people asked, without labels. With ``waves`` it is the plan of one
    wave of a panel of so many, and says which changes between waves holders who rotate show, and
    the same people if they repeat; ``mode`` is the panel's own, and a wished change is
    ``target_shift`` too.

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
    if public is None:
        alone = PlannerAlone(checked, register)
        return alone.plan(target_shift, power, half_width, shuffling, waves, mode)
    from ..task_building.table import table_of  # pyarrow is slow to import

    people = None if register is None else table_of(register)
    columns = table_of(public, checked.stated)
    planner = Planner(checked, columns, estimator, simulation_seed, people)
    made = planner.plan(target_shift, power, half_width, shuffling, waves, mode)
    return replace(made, remarks=tuple(review(columns, checked)))


class Planning(ABC):
    """A collection that is planned, by the settings of its task."""

    settings: TaskSettings
    label: Label

    def __init__(self) -> None:
        self._planned = dict[int, Collection]()

    @property
    def headline_share(self) -> float | None:
        """The share of the headline in the public records; None where nothing tells it."""
        return None

    @abstractmethod
    def collection_of(self, settings: TaskSettings) -> Collection:
        """The task of these settings, and what its reports show."""

    def collection(
        self,
        settings: TaskSettings | None = None,
        holders: int | None = None,
        epsilon: float | None = None,
    ) -> Collection:
        """The same of the plan's settings by default, for other ``holders`` and another
        ``epsilon``, if given."""
        settings = settings or self.settings
        return self.collection_of(
            resized(settings, holders or settings.holders, epsilon or settings.epsilon)
        )

    def planned_for(self, holders: int) -> Collection:
        """The collection that the plan's settings lead to with other ``holders``; made once."""
        if holders not in self._planned:
            settings = self.settings.model_copy(update={"holders": holders})
            self._planned[holders] = self.collection(settings)
        return self._planned[holders]

    def fewest_people(self, enough: Callable[[Collection], bool]) -> int | None:
        """The fewest people, in two digits, for whom a planned task is ``enough``; None where no
        number is. More people get a finer tree, so that twice as many may tell hardly more."""
        place = bisect_left(HOLDERS, True, key=lambda people: enough(self.planned_for(people)))
        return HOLDERS[place] if place < len(HOLDERS) else None

    @abstractmethod
    def found(
        self, collection: Collection, target: float, power: float, width: float, /
    ) -> dict[str, Any]:
        """The fields of the plan that rest on public records."""

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
        widths, is_share = half_widths(label), isinstance(label, Classes)
        width = half_width or (WIDTH if is_share else widths[1])
        settings, collection, telling = self.settings, self.collection(), TELLING * unit
        needed = {
            each: self.fewest_people(partial(_is_known, each)) for each in {width, telling, *widths}
        }
        sizes = ((each, needed[each]) for each in widths)
        return Plan(
            score="accuracy" if is_share else "mean squared error",
            label=label.name,
            holders=settings.holders,
            epsilon=settings.epsilon,
            looks=settings.looks,
            questions=asked_in(collection.task),
            report_bytes=collection.task.longest_report,
            target_shift=target,
            power=power,
            half_width=width,
            stop_after=collection.reports(width),
            people_needed=needed[width],
            sample_sizes=tuple(SampleSize(each, people) for each, people in sizes if people),
            span=unit,
            telling_after=needed[telling],
            at_one_look=collection.at_one_look().reports(width),
            ends=ends_in_words(label),
            left_open=left_open(label, collection.here.half_width, self.headline_share),
            question=label.prompt or "",
            label_unit="" if isinstance(label, Classes) else label.unit or "",
            relay=relay,
            panel=None if waves is None else self.panel(waves, mode, target, power),
            **self.found(collection, target, power, width),
        )

    def choose_behind(self, shuffling: Shuffling) -> BehindRelay:
        """Take the settings that are best behind the relay, and say what they gain."""

        def publish(settings: TaskSettings, epsilon: float) -> Task:
            return self.collection(settings, epsilon=epsilon).task

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


class PlannerAlone(Planning):
    """A task without features, of which a plan knows no more than the settings."""

    def __init__(self, settings: TaskSettings, register: Any = None) -> None:
        if register is not None:
            raise InvalidRequest("A register has columns, and there is no file: leave it out.")
        super().__init__()
        self.settings, self.label = settings, label_alone(settings)

    def collection_of(self, settings: TaskSettings) -> Collection:
        task = build_without_features(settings)
        return CollectionAlone(task, settings.holders, settings.looks)

    def found(self, collection: Collection, *_: float) -> dict[str, Any]:
        """The precision of its figures, and no more."""
        return {
            "public_records": 0,
            "estimator": "",
            "expected": None,
            "here": Prospect(1, collection.here.half_width, None, None, 0.0),
            "shift_after": None,
            "gains": {},
        }


class Planner(Planning):
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

        super().__init__()
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
        self.public = public
        tasks = TaskBuilder(self.features, self.label, public, base)
        self.fair = Scenario(tasks, base, population)

    @property
    def residuals(self) -> Floats:
        """The errors of public models of other rows, for each public label that is a number."""
        return np.asarray(self.public.y - self.out_of_fold[:, 0])

    def expected(self) -> Mean:
        """The score if the public records are fair."""
        if not self.slots:
            return Mean.of(self.residuals**2)
        y = self.public.y.astype(np.int64)
        wrong = (self.out_of_fold * self.ratio).argmax(axis=1) != y
        times = (self.ratio * np.ones(self.slots))[y]
        lost = Mean.of(wrong * times / times.mean())
        return Mean(1.0 - lost.value, lost.standard_error)

    @property
    def shares(self) -> Floats:
        """The classes' shares among the holders, if the public records are fair."""
        y = self.public.y.astype(np.int64)
        records = np.bincount(y, minlength=self.slots) * self.ratio
        return np.asarray(records / records.sum())

    @property
    def headline_share(self) -> float | None:
        return float(self.shares[kind_of(self.label).headline]) if self.slots else None

    @property
    def rarest(self) -> str:
        """The answer that ``RARE`` is about; none of a number."""
        place = int(self.fair.population.truth.sum(axis=0).argmin())
        return self.label.classes[place] if isinstance(self.label, Classes) else ""

    def asked_alone(self) -> float | None:
        """The half-width of shares if the same people are asked for the label only."""
        if not self.slots:
            return None
        of = self.settings
        alone = TaskSettings(
            name=of.name, label=of.label, epsilon=of.epsilon, holders=of.holders, looks=of.looks
        )
        return collection_at_once(alone, self.label, 0, self.shares).here.half_width

    def scenarios(self) -> Iterator[tuple[str, Scenario]]:
        """Holders who differ from the public records, by a sentence that says how."""
        public, population = self.public, self.fair.population
        for name, rows in few_rows(public.X, FEWEST_RECORDS, self._rng):
            some = replace(public, X=public.X[rows], y=public.y[rows])
            base = self.stack(some)
            tasks = TaskBuilder(self.features, self.label, some, base)
            yield name, Scenario(tasks, base, population)
        volunteers = population.volunteers(sqrt(float(public.y.var())))
        yield RARE if self.slots else LOWER, replace(self.fair, population=volunteers)
        yield OTHERS, replace(self.fair, population=population.changed())

    def stack(self, public: PublicData) -> BaseModel:
        """The curator's stack with fewer trees and the weights of all public records."""
        from ..public_model import stacking
        from ..public_model.candidates import VALIDATION_TREES

        return stacking.stacked(public.X, public.y, self.slots, self.weights, VALIDATION_TREES)

    def collection_of(self, settings: TaskSettings) -> Collection:
        return Collection(
            self.fair.tasks.task(settings),
            settings.holders,
            settings.looks,
            self.public,
            self.records,
            self.fair.population,
        )

    def found(
        self, collection: Collection, target: float, power: float, width: float, /
    ) -> dict[str, Any]:
        """The gains, shifts and precisions that public records tell."""
        gains = {name: self.gain(scenario) for name, scenario in self.scenarios()}
        rare, register = self.rare(), self.public.register
        # the score of the likeliest class, or of the mean, for everybody
        same_for_all = float(self.shares.max() if self.slots else self.public.y.var())
        disclosed = self.settings.disclosed
        return {
            "public_records": self.records,
            "estimator": self.estimator,
            "expected": self.expected(),
            "same_for_all": same_for_all,
            "asked_alone": self.asked_alone(),
            "here": _prospect(collection, target, power),
            "shift_after": self.fewest_people(
                lambda planned: planned.here.overall.power(target) >= power
            ),
            "around_centres": collection.around_centres,
            "gains": {name: gain for name, (gain, _) in gains.items()},
            "rarest": self.rarest,
            "disclosing": tuple(self._disclosing(target, power, width)) if disclosed else (),
            "registered": 0 if register is None else len(register),
            "strata_without_register": self.strata_without_register(),
            "rare": rare and replace(rare, gains={name: of for name, (_, of) in gains.items()}),
        }

    def _disclosing(self, target: float, power: float, width: float) -> Iterator[Disclosing]:
        """The plan with no column disclosed, its own, and all."""
        every = tuple(feature.name for feature in self.features)
        mine = tuple(name for name in every if name in self.settings.disclosed)
        for columns in dict.fromkeys(((), mine, every)):
            settings = self.settings.model_copy(update={"disclosed": columns})
            if len(columns) == len(every):
                settings = settings.model_copy(update={"hidden_depth": None})
            other = self.collection(settings)
            yield Disclosing(
                columns,
                other.task.disclosed,
                other.cells,
                _strata(other.task),
                _prospect(other, target, power),
                other.reports(width),
            )

    def strata_without_register(self) -> int | None:
        """The strata that public records alone allow; None without a register."""
        if self.public.register is None or not self.settings.disclosed:
            return None
        public = replace(self.public, register=None)
        alone = TaskBuilder(self.features, self.label, public, self.fair.base)
        return _strata(alone.task(self.settings))

    def gain(self, scenario: Scenario) -> tuple[Mean, Mean]:
        """Improvement over the public model by the reports, over ``DRAWS`` collections.

        In the plan's score, and of classes in log loss; of a number both are the same.
        """
        public, base, population = scenario.tasks.public, scenario.base, scenario.population
        task, rng = scenario.tasks.task(self.settings), np.random.default_rng(self.seed)
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
        score, log_loss = (gained if self.slots else gained / self.public.y.var()).T
        return Mean.of(score), Mean.of(log_loss)

    def rare(self) -> RareClass | None:
        """The rarest class with a model's scores, but for its gains.

        None if it is not rare, one record has it, or its share of the holders is stated.
        """
        label, public = self.label, self.public
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


def half_widths(label: Label) -> tuple[float, ...]:
    """The half-widths in the table of sample sizes: of a number four of 1, 2, 5, 10 ... in its
    unit, from about a twentieth of its range on."""
    if isinstance(label, Classes):
        return WIDTHS
    most = floor(3.0 * log10(WIDTHS[0] * label.span) + 0.5)
    return tuple((1.0, 2.0, 5.0)[at % 3] * 10.0 ** (at // 3) for at in range(most, most - 4, -1))


def asked_in(task: Task) -> tuple[dict[str, Any], ...]:
    """The questions of a task in numbers."""
    return tuple(
        {"mechanism": question.mechanism, "cells": asked.cells, "bytes": asked.report_bytes}
        for question, asked in zip(task.questions, task.mechanisms, strict=True)
    )


def _is_known(half_width: float, planned: Collection) -> bool:
    return planned.here.half_width <= half_width


def _strata(task: Task) -> int:
    return 1 if task.strata is None else len(task.strata)


def _prospect(collection: Collection, target: float, power: float) -> Prospect:
    """The differences detected with probability ``power``, and the power for the ``target``."""
    here, states_cells = collection.here, not collection.around_centres
    return Prospect(
        collection.cells,
        here.half_width,
        here.overall.smallest(power),
        here.cell.smallest(power) if states_cells else None,
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
    if settings.disclosed and settings.smallest_group > 1:
        update["smallest_group"] = max(
            2, round(settings.smallest_group * holders / settings.holders)
        )
    return settings.model_copy(update=update)
