"""What estimators, comparisons and sentences make of frozen counts of fourteen small tasks.

``frozen.json`` has each task's document and sums, and what was made of them. ``python -m
tests.learning.frozen`` computes that anew, for a change that is meant to change it; ``--counts``
makes tasks and counts anew as well. Public models are given, so that how Privet's own is stacked
moves nothing here.
"""

import json
import math
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from privet.learning.core.counts import QuestionCounts, without_label_question
from privet.learning.core.looks import Looks
from privet.learning.core.model import Model, question_about
from privet.learning.core.public_data import PublicData
from privet.learning.core.public_model import BaseModel
from privet.learning.figures.compare import (
    insight,
    mean_would_tell,
    over_time,
    overall_shares,
)
from privet.learning.figures.false_reports import worst_found
from privet.learning.figures.groups import divide_people
from privet.learning.figures.impossible import impossible
from privet.learning.figures.misfits import strata_in_words
from privet.learning.figures.node_shares import (
    BelowNodes,
    node_masses,
    reports_for_cells,
    untold_cells,
)
from privet.learning.figures.precision import narrowed, overall_precision
from privet.learning.figures.scores import known_scores, score_differences, scores_of, yardsticks
from privet.learning.figures.sentences import (
    average_of_cells,
    cells_in_words,
    figures_to_state,
    finding,
    finding_among,
    finding_in_cell,
    how_much_better,
    how_often_right,
    moved_in_words,
    still_missing,
    verdict,
    which_is_better,
    worth_of_accuracy,
)
from privet.learning.methods import ESTIMATORS, Fitting
from privet.learning.planning.detection import Collection
from privet.learning.planning.populations import Population
from privet.learning.planning.waves import change_to_detect
from privet.learning.simulation import simulate_counts
from privet.learning.task_building.build import TaskBuilder
from privet.learning.task_building.settings import TaskSettings
from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Classes, Label, Numeric
from privet.protocol.task import Task

from .examples import BINARY, NUMBER, THREE, linear_model, public_rows

FILE = Path(__file__).with_name("frozen.json")
FIVE = Classes(name="y", classes=tuple("abcde"))
FEATURES = tuple(Numeric(name=name, low=0.0, high=1.0) for name in "ab")
SLOPES = {2: [[-1.0, 1.0]], 3: [[-1.0, 0.0, 1.0]], 5: [[-1.0, -0.5, 0.0, 0.5, 1.0]]}
PUBLIC, HOLDERS, MISFITS = 600, 12_000, 300


@dataclass(frozen=True)
class Case:
    """A task, and the holders who answer it: ``moved`` from the public records in parts of a
    label's range, or with so many more of the last class; three times as far in a corner."""

    label: Label
    settings: Mapping[str, Any] = field(default_factory=dict)
    many: bool = True
    moved: float = 0.0
    holders: int = HOLDERS
    waves: int = 1
    register: bool = False
    prevalence: bool = False
    estimators: tuple[str, ...] = ("weighted", "drift")
    same: bool = False
    """One payload is sent again and again."""

    @property
    def public(self) -> PublicData:
        public = public_rows(self.label, PUBLIC, seed=1)
        if self.register:
            public = replace(public, register=np.random.default_rng(7).random((self.holders, 2)))
        if self.prevalence:
            public = replace(public, prevalence=np.array([0.7, 0.3]))
        return public

    @property
    def base(self) -> BaseModel:
        """A public model that leans as the public records do, and not quite as much."""
        if not isinstance(self.label, Classes):
            return linear_model([[3.5], [0.4]], [0.4], "identity")
        slope = np.array(SLOPES[self.label.slots])
        return linear_model(np.vstack([1.2 * slope, 0.1 * slope]), 0.2 - 0.5 * slope[0])


STRATA = {"disclosed": ["a"], "hidden_depth": 1, "smallest_group": 20}
CASES = {
    "two classes": Case(BINARY, {"epsilon": 4.0}, moved=0.2),
    "three classes, one look": Case(THREE, many=False),
    "five classes, few": Case(FIVE, holders=60),
    "number": Case(NUMBER, {"centred": False}, many=False, moved=0.1),
    "centred number": Case(NUMBER, {"centred": True}, moved=-0.2),
    "centred number, label part": Case(
        NUMBER, {"centred": True, "label_part": 0.3}, many=False, moved=0.15
    ),
    "two classes, label part": Case(BINARY, {"label_part": 0.2}, prevalence=True),
    "three classes, strata": Case(THREE, {**STRATA, "epsilon": 4.0}, moved=0.25, register=True),
    "centred number, strata": Case(NUMBER, {"centred": True, **STRATA}, many=False, moved=0.05),
    "waves of two classes": Case(BINARY, {"label_part": 0.2}, moved=0.1, waves=3),
    "waves of a centred number": Case(NUMBER, {"centred": True}, many=False, moved=0.1, waves=3),
    "one payload again and again": Case(BINARY, same=True),
    "cell and label": Case(
        BINARY,
        {"questions": [{"asks": "cell"}, {"asks": "label"}], "epsilon": 6.0},
        estimators=("histogram",),
    ),
    "two depths": Case(
        BINARY, {"questions": [{}, {"depth": 1}]}, moved=0.1, estimators=("pruned",)
    ),
}


def frozen_counts(case: Case, seed: int) -> dict[str, Any]:
    """A task's document, and the sums and number of reports to each question in each wave."""
    given = {"name": "t", "label": "y", "epsilon": 2.0, "grower": "max_edge", "depth": 3}
    given |= {"holders": case.holders, **case.settings}
    settings = TaskSettings.model_validate_json(json.dumps(given))
    task = TaskBuilder(FEATURES, case.label, case.public, case.base).task(settings)
    waves = []
    for wave in range(case.waves):
        rng = np.random.default_rng([seed, wave])
        holders = public_rows(case.label, case.holders, seed=100 * seed + wave)
        y, moved = holders.y, case.moved * (wave + 1) * np.where(holders.X.max(axis=1) < 0.5, 3, 1)
        if isinstance(case.label, Classes):
            y = np.where(rng.random(len(y)) < moved, case.label.slots - 1, y).astype(np.float64)
        else:
            y = np.clip(y + moved * case.label.span, case.label.low, case.label.high)
        misfits = min(MISFITS, case.holders // 10)
        counts = simulate_counts(task, holders.X, y, rng, misfits=misfits)
        if case.same:
            counts = [_sent_again(question, rng) for question in counts]
        waves.append([[question.n, question.sums.tolist()] for question in counts])
    return {"task": b64encode(task.canonical).decode(), "waves": waves}


def _sent_again(question: QuestionCounts, rng: np.random.Generator) -> QuestionCounts:
    mechanism = question.mechanism
    payload = np.frombuffer(mechanism.privatize(3, rng.bytes), np.uint8)[np.newaxis]
    more = question.n
    sums = question.sums + more * mechanism.accumulate(payload)
    return replace(question, sums=sums, n=question.n + more)


def results_of(case: Case, kept: Mapping[str, Any]) -> dict[str, Any]:
    """All that is made of a task's frozen counts, as JSON has it."""
    task, public, label = Task.parse(b64decode(kept["task"])), case.public, case.label
    planned = float(case.holders) if case.many else None
    waves = {
        number: [
            QuestionCounts.of(task, place, np.array(sums), n, planned)
            for place, (n, sums) in enumerate(questions)
        ]
        for number, questions in enumerate(kept["waves"], 1)
    }
    questions = waves[1]
    found: dict[str, Any] = {}
    models: dict[str, Model] = {}
    for name in case.estimators:
        base = case.base if ESTIMATORS[name].takes_base else None
        fitting = Fitting.of(name, label, public, base)
        model = models[name] = fitting.model(questions)
        found[name] = {
            "insight": said_or_refused(insight, label, public, questions, model),
            **{
                of: getattr(model, of)
                for of in ("values", "low", "high", "standard_error", "public_share", "facts")
            },
            "selection": model.selection,
        }
    if case.waves > 1:
        earlier = [waves[1], waves[2]]
        fitting = replace(Fitting.of("drift", label, public, case.base), earlier=earlier)
        found["drift"]["after waves"] = fitting.model(waves[3]).values
        found["waves"] = over_time(label, waves, case.waves)
    if "drift" in models:
        found["scores"] = scores_of_both(models, questions)
        if models["drift"].states_cells:
            found["reports"] = reports_of(case, public, questions, models["drift"])
        by_counts = Fitting.of("weighted", label, public).estimate
        (found["worst found"],) = worst_found(models["weighted"], questions, by_counts, 5)
        found["said of strata"] = strata_in_words(questions[0], questions, task, public.register)
        found["plan"] = said_or_refused(planned_of, case, task, planned)
    found["impossible"] = impossible(questions)
    return {name: plain(of) for name, of in found.items()}


def said_or_refused(of: Callable[..., Any], *given: Any) -> Any:
    """What a function returns, or its words for why nothing is stated."""
    try:
        return of(*given)
    except InvalidRequest as refusal:
        return refusal.detail


def reports_of(
    case: Case, public: PublicData, questions: Sequence[QuestionCounts], model: Model
) -> dict[str, Any]:
    """Nodes, cells, precision, and sentences of these."""
    label, question = case.label, question_about(model, questions)
    assert question is not None
    _, alone = without_label_question(questions)
    part = 0.0 if alone is None else alone.n / (question.n + alone.n)
    wide = overall_precision(label, question, alone, part)
    assert wide is not None
    halves = [each * label.span for each in (0.25, 0.05, 0.02)]
    untold = untold_cells(label, question)
    comparison = insight(label, public, questions, model)
    overall = comparison.overall
    cells = [reports_for_cells(label, public, question, each, None) for each in (0.25, 0.05)]
    more = still_missing(wide.reports(halves[0], question.planned), question.n)
    mass = question.plausible.sum(axis=1)
    average = float(mass @ model.values[:, -1] / mass.sum())
    return {
        "nodes": [
            BelowNodes(label, public, question).shares(node)
            for node in (0, 2, int(question.partition.leaves[1]))
        ],
        "masses": node_masses(question),
        "groups": divide_people(label, public, question, model.selection),
        "untold": untold,
        "for cells": cells,
        "half width": wide.half_width(5e4, question.factor),
        "needed": [wide.reports(half, question.planned) for half in halves],
        "narrowed": [narrowed(0.2 * label.span, 500, half, 1e4) for half in halves],
        "shares": overall_shares(label, public, questions) if isinstance(label, Classes) else (),
        "tells": None if isinstance(label, Classes) else mean_would_tell(label, public, questions),
        "sentences": [
            verdict(label, overall, question.n, more),
            *(finding(label, row) for row in figures_to_state(label, overall)),
            *(finding_among(label, row) for row in overall),
            *(finding_in_cell(label, row, ["a < 1"]) for row in comparison.differences[:3]),
            cells_in_words(label, len(untold), int(untold.sum()), cells[0]),
            moved_in_words(label, comparison.moved, comparison.relabelled, len(untold)),
            average_of_cells(label, average, overall[-1]),
        ],
    }


def scores_of_both(
    models: Mapping[str, Model], questions: Sequence[QuestionCounts]
) -> dict[str, Any]:
    """Scores of both models, whose optimism is given: drawing it takes an eigenvector's sign."""
    label = models["drift"].label
    first, second = (
        replace(models[name], optimism=dict.fromkeys(scores_of(label), (bias, 4.0)))
        for name, bias in (("weighted", 10.0), ("drift", 20.0))
    )
    both = score_differences(first, second, questions)
    known = known_scores(second, questions)
    than = yardsticks(second, questions)
    said = [which_is_better(label, "one", "two", both), how_much_better(label, "one", "two", both)]
    if than is not None:
        said += [how_often_right(known["accuracy"]), worth_of_accuracy(than)]
    return {"known": known, "differences": both, "yardsticks": than, "sentences": said}


def planned_of(case: Case, task: Task, planned: float | None) -> dict[str, Any]:
    """The detectable differences of a plan, with the holders that a public model describes."""
    public, base = case.public, case.base
    points = np.random.default_rng(3).random((500, 2))
    population = Population.fair(points, base.predict(points))
    looks: Looks = "once" if planned is None else "many"
    collection = Collection(task, case.holders, looks, public, PUBLIC, population)
    found = collection.here
    halves = [each * case.label.span for each in (0.25, 0.05, 0.02)]
    changes = [change_to_detect(of, case.label.span, 40) for of in (found.overall, found.cell)]
    return {
        "least": [of.smallest() for of in (found.overall, found.cell, *changes)],
        "likely": [of.smallest(0.95) for of in (found.overall, found.cell, *changes)],
        "power": [of.power(0.1 * case.label.span) for of in (found.overall, found.cell, *changes)],
        "half width": found.half_width,
        "needed": [collection.reports(half) for half in halves],
    }


def plain(of: Any) -> Any:
    """Values as JSON has them; an infinity and no number by name."""
    if is_dataclass(of) and not isinstance(of, type):
        return {each.name: plain(getattr(of, each.name)) for each in fields(of) if each.compare}
    if isinstance(of, Mapping):
        return {str(name): plain(value) for name, value in of.items()}
    if isinstance(of, np.ndarray | np.generic):
        return plain(of.tolist())
    if isinstance(of, list | tuple):
        return [plain(each) for each in of]
    return str(of) if isinstance(of, float) and not math.isfinite(of) else of


ONE_POINT = 1e-4
"""One of 3 000 points, in one of five collections, in accuracy; more than one moves more."""


def differences(kept: Any, found: Any, place: str = "") -> Iterator[str]:
    """Where two results differ by more than 1e-12 of a figure; of gains in accuracy, by a point.

    Exponentials differ in their last bit between processors, and accuracy is a step: a point whose
    classes are as likely may be right on one, and wrong on another.
    """
    if isinstance(kept, dict) and isinstance(found, dict):
        for name in kept | found:
            yield from differences(kept.get(name), found.get(name), f"{place} {name}".strip())
    elif isinstance(kept, list) and isinstance(found, list) and len(kept) == len(found):
        for at, (one, other) in enumerate(zip(kept, found, strict=True)):
            yield from differences(one, other, f"{place}[{at}]")
    elif isinstance(kept, float) and isinstance(found, float | int):
        near = ONE_POINT if place.startswith("gains ") else 1e-12
        if not math.isclose(kept, found, rel_tol=1e-12, abs_tol=near):
            yield f"{place}: {found!r} in place of {kept!r}"
    elif kept != found:
        yield f"{place}: {found!r} in place of {kept!r}"


def read() -> dict[str, Any]:
    """The file, by case."""
    kept: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return kept


def main() -> None:
    kept = {} if "--counts" in sys.argv or not FILE.exists() else read()
    lines = []
    for seed, (name, case) in enumerate(CASES.items(), 1):
        of = kept.get(name) or frozen_counts(case, seed)
        of = {**of, "results": results_of(case, of)}
        lines.append(f"{json.dumps(name)}: {json.dumps(of)}")
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
