"""The curator's use cases over the store in memory, with a clock that the test moves."""

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NoReturn

import numpy as np
import pytest

from privet.curator.collection.task_cache import CachedTask
from privet.curator.service import STEP, Curator
from privet.learning.estimators import ESTIMATORS
from privet.learning.mechanism_comparison import choose
from privet.learning.partitions import GROWERS
from privet.learning.task_building.settings import TaskSettings
from privet.protocol.errors import (
    IllegalMove,
    InvalidPublicData,
    InvalidRecord,
    InvalidRequest,
    InvalidTask,
    ModelNotFound,
    NotEnoughReports,
    PrivetError,
    StorageFailed,
    TaskNotFound,
    TooLarge,
)
from privet.protocol.features import Range
from privet.protocol.lifecycle import Move, TaskState
from privet.protocol.report import make_report
from privet.protocol.task import Task
from tests.curator import samples
from tests.end_to_end.population import thirds
from tests.manual_clock import ManualClock
from tests.memory_store import MemoryStore
from tests.naive import path_to
from tests.stat_checks import check_frequencies


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def curator(clock: ManualClock) -> Curator:
    return Curator(MemoryStore(), clock)


def settings(**more: Any) -> TaskSettings:
    plain = {"name": "t", "label": "label", "epsilon": 1.0, "grower": "cart"}
    return TaskSettings.model_validate(plain | more)


def survey_task(curator: Curator, **more: Any) -> Task:
    return curator.create_task(settings(**more), samples.survey())[0].task


def answer(curator: Curator, task: Task, records: Sequence[Mapping[str, Any]]) -> None:
    """Let every record's holder send its report, past the network."""
    cached = CachedTask(task)
    bodies = [make_report(task, record, os.urandom).pack() for record in records]
    found = [(cached.layout_of(body), body) for body in bodies]
    known = [(layout, body) for layout, body in found if layout is not None]
    assert len(known) == len(records)
    group = cached.group_of_bodies(known, [None] * len(known))
    curator.store.take([group], curator.clock())


PERSON = {"age": 50, "hours": 40, "job": "smith", "member": True}


def test_a_task_is_created_and_opened_at_once(
    curator: Curator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No second transaction can fail and leave a draft that a retry answers as the open task."""

    def fail(*_: object) -> NoReturn:
        raise StorageFailed("the disk is full")

    monkeypatch.setattr(curator.store, "move", fail)
    for created in (True, False):
        stored, new = curator.create_task(settings(), samples.survey())
        assert (stored.state, new) == (TaskState.OPEN, created)


def test_a_task_is_published_open_with_what_the_public_data_says(curator: Curator) -> None:
    """Features come from the columns in file order, the label has classes, the task is open."""
    stored, created = curator.create_task(settings(), samples.survey())
    assert created
    assert stored.state is TaskState.OPEN
    assert [f.name for f in stored.task.features] == ["age", "hours", "job", "member"]
    assert stored.task.label.model_dump() == {
        "kind": "classes",
        "name": "label",
        "classes": ("0", "1"),
    }
    assert curator.task(stored.task.id) == stored
    assert [listed.published.id for listed in curator.tasks()] == [stored.task.id]


def test_creating_is_idempotent_by_content(curator: Curator, clock: ManualClock) -> None:
    """The same data and settings give the same task, whatever has become of it meanwhile."""
    first, _ = curator.create_task(settings(), samples.survey())
    curator.move(first.task.id, Move.CLOSE)
    clock.advance(100)
    again, created = curator.create_task(settings(), samples.survey())
    assert not created
    assert (again.task.id, again.state, again.created) == (
        first.task.id,
        TaskState.CLOSED,
        first.created,
    )
    assert curator.create_task(settings(depth=1), samples.survey())[1]


def test_lists_of_models_read_no_model(curator: Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers, estimators and facts are stored next to the models, which may be large."""
    task = survey_task(curator)
    fitted = curator.fit(task.id, "public")

    def fail(*_: object) -> None:
        raise AssertionError("a model was read")

    monkeypatch.setattr(curator.store, "model", fail)
    assert curator.models(task.id) == [fitted]
    assert curator.model_info(task.id) == fitted
    assert fitted.summary["estimator"] == "public"
    assert fitted.summary["cells"] == task.trees[0].cells


def test_growing_at_random_is_repeatable(curator: Curator) -> None:
    """A published seed makes random growers repeatable; another seed gives another partition."""
    tasks = [survey_task(curator, grower="random_max_edge", seed=s, depth=4) for s in (1, 1, 2)]
    assert tasks[0].id == tasks[1].id != tasks[2].id


@pytest.mark.parametrize("grower", GROWERS)
def test_every_grower_makes_an_answerable_task(curator: Curator, grower: str) -> None:
    """Each grower leads to a task that survives its own bytes and has more than one cell."""
    given = settings(label="y", grower=grower, depth=3)
    task = curator.create_task(given, samples.line())[0].task
    assert Task.parse(task.canonical, task.id) == task
    assert task.trees[0].cells > 1


def test_a_number_may_be_the_label(curator: Curator) -> None:
    """Where the settings say so, a column of whole numbers is a range and not classes."""
    assert isinstance(survey_task(curator, label="age", label_type="range").label, Range)


def test_epsilon_is_shared_or_whole_by_allocation(curator: Curator) -> None:
    """Two questions share epsilon under ``all`` and have it each under ``one``."""
    two = {"questions": [{"depth": 2}, {"depth": 4}], "epsilon": 1.0}
    shared = survey_task(curator, allocation="all", **two)
    whole = survey_task(curator, allocation="one", **two)
    assert [q.epsilon for q in shared.questions] == [0.5, 0.5]
    assert [q.epsilon for q in whole.questions] == [1.0, 1.0]
    assert shared.epsilon == whole.epsilon == 1.0
    part = survey_task(curator, questions=[{"depth": 2, "epsilon": 0.2}, {"depth": 4}])
    assert [q.epsilon for q in part.questions] == pytest.approx([0.2, 0.8])


def test_equal_growths_share_one_partition(curator: Curator) -> None:
    """Berrett and Butucea's task, the same grid twice, publishes the grid once."""
    twice = {"allocation": "one", "questions": [{"asks": "cell"}, {}]}
    given = settings(label="level", grower="grid", depth=2, **twice)
    task = curator.create_task(given, samples.classes())[0].task
    assert len(task.partitions) == 1
    assert [q.asks for q in task.questions] == ["cell", "label"]


def test_a_mechanisms_parameters_are_published(curator: Curator) -> None:
    """Holders need no defaults of ours: the parameters that a mechanism chose are in the task."""
    task = survey_task(curator)
    assert dict(task.questions[0].parameters) == task.mechanisms[0].parameters()
    assert task.questions[0].parameters


def test_auto_publishes_the_mechanism_of_least_variance_that_fits(curator: Curator) -> None:
    """The published name is a real one; a limit on the report's size is kept, or refused."""
    deep = {"mechanism": "auto", "grower": "max_edge", "depth": 6}
    free = survey_task(curator, **deep)
    tight = survey_task(curator, **deep, max_report_bytes=4)
    assert free.mechanisms[0] == choose(1.0, free.trees[0].cells, 2)
    assert tight.mechanisms[0].report_bytes <= 4 < free.mechanisms[0].report_bytes
    with pytest.raises(InvalidTask, match="allow"):
        survey_task(curator, **deep | {"depth": 8}, max_report_bytes=1, min_leaf=0)


@pytest.mark.parametrize(
    ("more", "error", "advice"),
    [
        ({"grower": "oak"}, InvalidTask, "Unknown grower 'oak': choose one of"),
        ({"mechanism": "magic"}, InvalidTask, "Unknown mechanism 'magic': choose one of"),
        ({"criterion": "taste"}, InvalidTask, "Unknown criterion 'taste'"),
        ({"criterion": "variance"}, InvalidTask, "does not fit"),
        ({"epsilon": 1e-9}, InvalidTask, "epsilon"),
        ({"parameters": {"regression": 1}}, InvalidTask, "regression"),
        ({"parameters": {"size": 1}}, InvalidTask, "size"),
        ({"label": "wage"}, InvalidPublicData, "no column 'wage'"),
        ({"ignore": ["wage"]}, InvalidPublicData, "no column 'wage'"),
        ({"closes": datetime(2020, 1, 1, tzinfo=UTC)}, InvalidTask, "past"),
        ({"opens": 1_800_000_000, "closes": 1_800_000_000}, InvalidTask, "before it closes"),
        ({"features": {"job": {"categories": ["nurse"]}}}, InvalidPublicData, "Row"),
    ],
)
def test_impossible_settings_are_refused_and_nothing_is_kept(
    curator: Curator, more: dict[str, Any], error: type[PrivetError], advice: str
) -> None:
    """A refused task leaves no trace."""
    with pytest.raises(error, match=advice):
        survey_task(curator, **more)
    assert curator.tasks() == []


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("{", "JSON"),
        ("[]", "object"),
        ('{"name": "t", "label": "y"}', "epsilon: Field required"),
        ('{"name": "t", "label": "y", "epsilon": NaN}', "epsilon"),
        ('{"name": "t", "label": "y", "epsilon": 1, "questions": []}', "questions"),
        ('{"name": "t", "label": "y", "epsilon": 1, "questions": [{"epsilon": 2}]}', "add up"),
        (
            '{"name": "t", "label": "y", "epsilon": 1, "allocation": "one",'
            ' "questions": [{"epsilon": 2}]}',
            "more than the task's epsilon",
        ),
        (
            '{"name": "t", "label": "y", "epsilon": 1, "classes": ["a","b"],'
            ' "label_range": [0, 1]}',
            "not both",
        ),
        (
            '{"name": "t", "label": "y", "epsilon": 1, "classes": ["a","b"],'
            ' "label_type": "range"}',
            "contradicts",
        ),
    ],
)
def test_settings_are_one_strict_form(text: str, advice: str) -> None:
    """What the form does not know or allow is refused, naming the field."""
    with pytest.raises(InvalidRequest, match=advice):
        TaskSettings.parse(text)


def test_collecting_follows_state_and_clock(curator: Curator, clock: ManualClock) -> None:
    """Reports would count only while the task is open and between its published dates."""
    start = int(clock()) + 100
    stored, _ = curator.create_task(settings(opens=start, closes=start + 100), samples.survey())
    seen = []
    for moment in (start - 1, start, start + 99, start + 100):
        clock.move_to(moment)
        seen.append(stored.takes_reports(clock()))
    assert seen == [False, True, True, False]
    clock.move_to(start)
    curator.move(stored.task.id, Move.CLOSE)
    assert not curator.task(stored.task.id).takes_reports(clock())


def test_a_task_past_its_end_is_not_opened_again(curator: Curator, clock: ManualClock) -> None:
    """Its closing time is published, so it would be open in name only."""
    closes = datetime.fromtimestamp(clock() + 60, UTC)
    task = survey_task(curator, closes=closes)
    curator.move(task.id, Move.CLOSE)
    clock.advance(60)
    with pytest.raises(IllegalMove, match="closing time has passed"):
        curator.move(task.id, Move.OPEN)


def test_a_draft_opens_closes_and_goes(curator: Curator) -> None:
    """The moves of a task are those of the lifecycle table, and a deleted task is not found."""
    task_id = survey_task(curator, open=False).id
    assert curator.task(task_id).state is TaskState.DRAFT
    with pytest.raises(IllegalMove):
        curator.move(task_id, Move.CLOSE)
    assert curator.move(task_id, Move.OPEN) is TaskState.OPEN
    assert curator.move(task_id, Move.CLOSE) is TaskState.CLOSED
    assert curator.move(task_id, Move.DELETE) is TaskState.DELETED
    with pytest.raises(TaskNotFound):
        curator.task(task_id)


def test_a_task_that_is_made_again_is_another_task(curator: Curator) -> None:
    """Who answered the deleted one would not answer the same id again; editions go on."""
    first = survey_task(curator)
    curator.move(first.id, Move.DELETE)
    second = survey_task(curator)
    assert (second.edition, second.id != first.id) == (2, True)
    assert survey_task(curator).id == second.id
    curator.move(second.id, Move.DELETE)
    assert survey_task(curator).edition == 3


def test_an_invited_task_says_so(curator: Curator) -> None:
    """In its bytes, which holders read before they draw."""
    task = survey_task(curator, invited=True)
    assert Task.parse(task.canonical).invited
    assert curator.status(task.id).invited
    assert not survey_task(curator).invited


def test_strangers_do_not_see_when_a_report_arrives(curator: Curator) -> None:
    """Once in each ``STEP`` reports the number that they see grows by as much, at any of them alike
    (false alarm: one in a million), and other curators of the database show the same."""
    steps = 200
    seen = np.array([curator.in_steps("t", n) for n in range(steps * STEP)])
    grows = np.flatnonzero(np.diff(seen)) + 1
    assert (np.diff(seen)[grows - 1] == STEP).all()
    step, late = np.divmod(grows, STEP)
    np.testing.assert_array_equal(step, np.arange(1, steps))
    bins = np.bincount(late * 10 // STEP, minlength=10)
    check_frequencies(bins, np.full(10, 0.1), what="places where a step is seen")
    again, few = Curator(curator.store, curator.clock), range(5 * STEP)
    assert [again.in_steps("t", n) for n in few] == seen[: 5 * STEP].tolist()
    assert [again.in_steps("other", n) for n in few] != seen[: 5 * STEP].tolist()


def test_a_fit_does_not_change_what_is_served(curator: Curator) -> None:
    """The first model serves until another is promoted, by its fit or afterwards."""
    task = survey_task(curator)
    served = []
    for promote in (False, False, True, False):
        curator.fit(task.id, "public", promote=promote)
        served.append(curator.model(task.id).number)
    assert served == [1, 1, 3, 3]
    assert curator.promote(task.id, 2).aliases == ("serving",)
    assert curator.predict(task.id, records=[PERSON]).model.number == 2
    with pytest.raises(ModelNotFound):
        curator.promote(task.id, 9)


def test_models_are_compared_on_the_public_records(curator: Curator) -> None:
    """The same model changes nothing; another one something, by no more than its values allow."""
    task = survey_task(curator)
    answer(curator, task, [PERSON | {"label": 1}] * 50)
    curator.fit(task.id, "public")
    curator.fit(task.id, "weighted", {"weight": 9.0})
    same, other = curator.compare(task.id, 1, 1), curator.compare(task.id, 1, 2)
    assert (same.same_label, same.mean, same.largest, same.outside) == (1.0, 0.0, 0.0, 0.0)
    assert 0 < other.mean <= other.largest <= 1
    assert other.records == same.records > 10


def test_fitting_needs_reports_unless_the_estimator_does_not(curator: Curator) -> None:
    """Without reports only ``public`` can be fitted; the refusal says so."""
    task = survey_task(curator)
    with pytest.raises(NotEnoughReports, match="or fit 'public' on the public data"):
        curator.fit(task.id)
    with pytest.raises(ModelNotFound, match="fit one first"):
        curator.model(task.id)
    assert curator.fit(task.id, "public").summary["reports"] == 0


def test_advice_fits_a_task_with_several_questions(curator: Curator) -> None:
    """``public`` takes one question, so it is not advised; its refusal names what takes several."""
    task = survey_task(curator, questions=[{"depth": 3}, {"depth": 1}])
    with pytest.raises(NotEnoughReports) as refused:
        curator.fit(task.id, "pruned")
    assert "public" not in refused.value.detail
    with pytest.raises(InvalidRequest, match="use pruned, histogram"):
        curator.fit(task.id, "public")


@pytest.mark.parametrize(
    ("estimator", "parameters", "advice"),
    [
        ("guess", {}, "Unknown estimator 'guess': use one of"),
        ("weighted", {"wait": 1}, "no parameter wait"),
        ("weighted", {"weight": -1}, "weight is -1.* greater than or equal to 0"),
        ("weighted", {"weight": "heavy"}, "number"),
    ],
)
def test_wrong_fits_are_refused(
    curator: Curator, estimator: str, parameters: dict[str, Any], advice: str
) -> None:
    """An unknown estimator or parameter is refused with the known ones, and makes no model."""
    task = survey_task(curator)
    answer(curator, task, [PERSON | {"label": 1}])
    with pytest.raises(InvalidRequest, match=advice):
        curator.fit(task.id, estimator, parameters)
    assert curator.models(task.id) == []


def test_models_are_numbered_and_do_not_change(curator: Curator) -> None:
    """A later fit gets the next number; an earlier model goes on saying what it said."""
    task = curator.create_task(settings(label="level", epsilon=8), samples.classes())[0].task
    answer(curator, task, thirds(200, seed=1))
    first = curator.fit(task.id, "private")
    before = curator.predict(task.id, 1, records=[{"x": 0.9}]).predictions.values
    answer(curator, task, thirds(200, seed=2))
    second = curator.fit(task.id, "private")
    assert (first.number, second.number) == (1, 2)
    assert [info.summary["reports"] for info in (first, second)] == [200, 400]
    after = curator.predict(task.id, 1, records=[{"x": 0.9}]).predictions.values
    np.testing.assert_array_equal(before, after)
    assert curator.predict(task.id, records=[{"x": 0.9}]).model.number == 1
    with pytest.raises(ModelNotFound, match="1 to 2"):
        curator.model(task.id, 3)


def test_a_restarted_curator_predicts_the_same(curator: Curator, clock: ManualClock) -> None:
    """Models are read back from the store exactly as they were fitted."""
    task = curator.create_task(settings(label="level", epsilon=8), samples.classes())[0].task
    answer(curator, task, thirds(100, seed=1))
    curator.fit(task.id, "weighted")
    asked = {"x": np.linspace(0, 1, 50).tolist()}
    before = curator.predict(task.id, columns=asked).predictions
    after = Curator(curator.store, clock).predict(task.id, columns=asked).predictions
    for name in ("values", "cells"):
        np.testing.assert_array_equal(getattr(before, name), getattr(after, name))


def test_private_reports_teach_three_classes(curator: Curator) -> None:
    """At epsilon 8, 2 000 holders teach the thirds of [0, 1]: all centres are predicted right.

    A wrong centre needs an error of more than 20 standard deviations.
    """
    given = settings(label="level", epsilon=8, grower="cart", depth=2)
    task = curator.create_task(given, samples.classes())[0].task
    answer(curator, task, thirds(2000, seed=1))
    curator.fit(task.id, "private")
    answers = curator.predict(task.id, records=[{"x": 1 / 6}, {"x": 1 / 2}, {"x": 5 / 6}])
    predicted = answers.predictions.labels(task.label).tolist()
    assert predicted == ["low", "middle", "high"]


def test_private_reports_teach_a_number(curator: Curator) -> None:
    """At epsilon 8, 2 000 holders teach y = 10 x to within 2 at the quarter points.

    The depth-2 cells' means are within 1.3 of the line there, and their errors below 0.2.
    """
    given = settings(label="y", epsilon=8, grower="cart", depth=2)
    task = curator.create_task(given, samples.line())[0].task
    rng = np.random.default_rng(3)
    answer(curator, task, [{"x": x, "z": z, "y": 10 * x} for x, z in rng.uniform(size=(2000, 2))])
    curator.fit(task.id, "private")
    answers = curator.predict(task.id, columns={"x": [0.125, 0.375, 0.625, 0.875], "z": [0.5] * 4})
    predicted = answers.predictions.labels(task.label)
    np.testing.assert_allclose(predicted, [1.25, 3.75, 6.25, 8.75], atol=2.0)


def test_predictions_say_why(curator: Curator) -> None:
    """Every cell that was met comes with the splits that lead to it, in words."""
    task = survey_task(curator, depth=3)
    curator.fit(task.id, "public")
    answers = curator.predict(task.id, records=[PERSON])
    cell = int(answers.predictions.cells[0])
    assert set(answers.paths) == {cell}
    assert len(answers.paths[cell]) == len(path_to(task.trees[0], cell)) - 1


def test_records_and_columns_are_one(curator: Curator) -> None:
    """Records and columns of the same rows get the same predictions; a label is ignored."""
    task = survey_task(curator, depth=3)
    curator.fit(task.id, "public")
    records = [PERSON, {"age": 20, "hours": 1.5, "job": "nurse", "member": False, "label": 1}]
    columns = {name: [record[name] for record in records] for name in PERSON}
    by_record = curator.predict(task.id, records=records).predictions
    by_column = curator.predict(task.id, columns=columns).predictions
    np.testing.assert_array_equal(by_record.values, by_column.values)
    assert len(curator.predict(task.id, records=[]).predictions.values) == 0


@pytest.mark.parametrize(
    ("asked", "advice"),
    [
        ({"records": [{**PERSON, "wage": 1}]}, "Unknown fields 'wage'"),
        ({"records": [PERSON, {"age": 1}]}, "Row 2"),
        ({"records": [{**PERSON, "age": "old"}]}, "must be a number"),
        ({"records": [{**PERSON, "age": float("inf")}]}, "finite"),
        ({"records": [{**PERSON, "age": 10**400}]}, "number"),
        ({"records": [{**PERSON, "age": []}]}, "number"),
        ({"records": [{**PERSON, "job": "astronaut"}]}, "must be one of"),
        ({"records": [{**PERSON, "job": {}}]}, "must be one of"),
        ({"columns": {**{k: [v] for k, v in PERSON.items()}, "age": [1, 2]}}, "unequal lengths"),
        ({"columns": {"age": [1]}}, "Missing fields"),
        ({"columns": {"wage": [1]}}, "Unknown fields 'wage'"),
    ],
)
def test_records_that_do_not_fit_are_refused(
    curator: Curator, asked: dict[str, Any], advice: str
) -> None:
    """A field that is unknown, missing or of the wrong kind is named, with its row."""
    task = survey_task(curator, depth=3)
    curator.fit(task.id, "public")
    with pytest.raises(InvalidRecord, match=advice):
        curator.predict(task.id, **asked)


def test_too_many_rows_are_refused(curator: Curator) -> None:
    """Rows above the limit are refused before anything is computed."""
    curator.max_rows = 3
    task = survey_task(curator, depth=1)
    curator.fit(task.id, "public")
    with pytest.raises(TooLarge, match="at most 3"):
        curator.predict(task.id, records=[PERSON] * 4)


def test_unknown_tasks_are_not_found(curator: Curator) -> None:
    """Every call on a task that is not there says so."""
    calls: list[Callable[[], object]] = [
        lambda: curator.task("0" * 64),
        lambda: curator.status("0" * 64),
        lambda: curator.fit("0" * 64, "public"),
        lambda: curator.models("0" * 64),
        lambda: curator.predict("0" * 64, records=[]),
        lambda: curator.move("0" * 64, Move.OPEN),
    ]
    for call in calls:
        with pytest.raises(TaskNotFound):
            call()


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_estimator_fits_what_it_says_it_serves(curator: Curator, estimator: str) -> None:
    """An estimator fits a plain one-question task, or names the task or estimator to take."""
    task = curator.create_task(settings(label="level", epsilon=4), samples.classes())[0].task
    answer(curator, task, thirds(300, seed=1))
    try:
        fitted = curator.fit(task.id, estimator)
    except InvalidRequest as refused:
        advice = ("question", "another estimator", *(n for n in ESTIMATORS if n != estimator))
        assert any(words in refused.detail for words in advice)  # noqa: PT017
        return
    values = curator.predict(task.id, records=[{"x": 0.5}]).predictions.values
    assert fitted.summary["estimator"] == estimator
    assert values.sum() == pytest.approx(1.0)
