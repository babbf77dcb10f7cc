"""The curator's use cases over a store, with a clock that the test moves."""

from datetime import UTC, datetime
from typing import Any, NoReturn

import numpy as np
import pytest
from pydantic import ValidationError

from privet.admin.results import ModelSummary
from privet.curator.operations.curator import Curator
from privet.curator.operations.models import (
    FitRequest,
    compare_models,
    fit,
    list_models,
    read_card,
    read_insight,
)
from privet.curator.operations.predictions import PredictRequest, predict
from privet.curator.operations.snapshot import Snapshot
from privet.curator.operations.strangers import STEP, reports_in_steps
from privet.curator.operations.tasks import (
    Uploaded,
    close_task,
    create_task,
    delete_task,
    make_task,
    open_task,
    read_status,
)
from privet.learning.core.looks import MEANING, factor_at
from privet.learning.methods import ESTIMATORS
from privet.learning.task_building.publication import Publication
from privet.protocol.errors import (
    IllegalMove,
    InvalidPublicData,
    InvalidRequest,
    InvalidTask,
    NotEnoughReports,
    PrivetError,
    StorageFailed,
)
from privet.protocol.lifecycle import TaskState
from privet.protocol.limits import LATE_SECONDS
from privet.protocol.task import Task
from tests.curator import samples
from tests.curator.use_cases import ADMIN, answer, done, new_curator
from tests.end_to_end.population import thirds
from tests.keeping import keeps
from tests.manual_clock import ManualClock
from tests.stat_checks import check_frequencies


@pytest.fixture
def curator(clock: ManualClock) -> Curator:
    return new_curator(clock=clock)


def settings(**more: Any) -> Publication:
    plain = {"name": "t", "label": "label", "epsilon": 1.0, "grower": "cart"}
    return Publication.model_validate(plain | more)


ALONE = FitRequest(estimator="weighted", parameters={"weight": "inf"})
"""A fit that needs no reports."""


def survey_task(curator: Curator, **more: Any) -> Task:
    return done(create_task(curator, ADMIN, settings(**more), samples.survey()))[0].task


PERSON = {"age": 50, "hours": 40, "job": "smith", "member": True}


def test_a_task_is_created_and_opened_at_once(
    curator: Curator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No second transaction can fail and leave a draft that a retry answers as the open task."""

    def fail(*_: object) -> NoReturn:
        raise StorageFailed("the disk is full")

    monkeypatch.setattr(curator.store.tasks, "move", fail)
    for created in (True, False):
        stored, new = done(create_task(curator, ADMIN, settings(), samples.survey()))
        assert (stored.state, new) == (TaskState.OPEN, created)


def test_lists_of_models_read_no_model(curator: Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers, estimators and facts are stored next to the models, which may be large."""
    task = survey_task(curator)
    fitted = done(fit(curator, ADMIN, task.id, ALONE))

    def fail(*_: object) -> None:
        raise AssertionError("a model was read")

    monkeypatch.setattr(curator.store.models, "document", fail)
    known = ModelSummary(**fitted.model_dump(exclude={"same_as"}))
    assert list_models(curator, ADMIN, task.id) == [known]
    assert Snapshot.of(curator, ADMIN, task.id).info() == known
    assert fitted.estimator == "weighted"
    assert fitted.cells == task.trees[0].cells


def test_growing_at_random_is_repeatable(curator: Curator) -> None:
    """A published seed makes random growers repeatable; another seed gives another partition."""
    tasks = [survey_task(curator, grower="random_max_edge", seed=s, depth=4) for s in (1, 1, 2)]
    assert tasks[0].id == tasks[1].id != tasks[2].id


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
    task = done(create_task(curator, ADMIN, given, samples.classes()))[0].task
    assert len(task.partitions) == 1
    assert [q.asks for q in task.questions] == ["cell", "label"]


def test_a_mechanisms_parameters_are_published(curator: Curator) -> None:
    """Holders need no defaults of ours: the parameters that a mechanism chose are in the task."""
    task = survey_task(curator)
    assert dict(task.questions[0].parameters) == task.mechanisms[0].parameters()
    assert task.questions[0].parameters


@pytest.mark.parametrize(
    ("more", "error", "advice"),
    [
        ({"grower": "oak"}, InvalidTask, "Unknown grower 'oak': choose one of"),
        ({"mechanism": "magic"}, InvalidTask, "Unknown mechanism 'magic': choose one of"),
        ({"epsilon": 1e-9}, InvalidTask, "epsilon"),
        ({"parameters": {"regression": 1}}, InvalidTask, "regression"),
        ({"parameters": {"size": 1}}, InvalidTask, "size"),
        ({"label": "wage"}, InvalidPublicData, "no column 'wage'"),
        ({"ignore": ["wage"]}, InvalidPublicData, "no column 'wage'"),
        ({"closes": datetime(2020, 1, 1, tzinfo=UTC)}, InvalidTask, "past"),
        ({"opens": 1_800_000_000, "closes": 1_800_000_000}, ValidationError, "before it closes"),
        ({"features": {"job": {"categories": ["nurse"]}}}, InvalidPublicData, "Row"),
    ],
)
def test_impossible_settings_are_refused_and_nothing_is_kept(
    curator: Curator, more: dict[str, Any], error: type[PrivetError], advice: str
) -> None:
    """A refused task leaves no trace."""
    with pytest.raises(error, match=advice):
        survey_task(curator, **more)
    assert curator.store.tasks.listed() == []


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
        Publication.parse(text)


def test_a_task_past_its_end_is_not_opened_again(curator: Curator, clock: ManualClock) -> None:
    """Its closing time is published, so it would be open in name only."""
    closes = datetime.fromtimestamp(clock() + 60, UTC)
    task = survey_task(curator, closes=closes)
    close_task(curator, ADMIN, task.id)
    clock.advance(60)
    with pytest.raises(IllegalMove, match="closing time has passed"):
        open_task(curator, ADMIN, task.id)


def test_a_task_that_is_made_again_is_another_task(curator: Curator) -> None:
    """Who answered the deleted one would not answer the same id again; editions go on."""
    first = survey_task(curator)
    delete_task(curator, ADMIN, first.id)
    second = survey_task(curator)
    assert (second.edition, second.id != first.id) == (2, True)
    assert survey_task(curator).id == second.id
    delete_task(curator, ADMIN, second.id)
    assert survey_task(curator).edition == 3


def test_an_invited_task_says_so(curator: Curator) -> None:
    """In its bytes, which holders read before they draw."""
    task = survey_task(curator, invited=True)
    assert Task.parse(task.canonical).invited
    assert curator.store.standing.read(task.id).invited
    assert not survey_task(curator).invited


@keeps(
    "threat-model: each step is late at random",
    in_="curator/operations/strangers.py",
    instead_of="(rest < int.from_bytes(drawn) % STEP)",
    plant="False",
)
@keeps(
    "threat-model: and not predictably",
    in_="curator/operations/strangers.py",
    instead_of='f"{key} {task_id} {step}"',
    plant='f"{task_id} {step}"',
)
def test_strangers_do_not_see_when_a_report_arrives(curator: Curator) -> None:
    """Once in each ``STEP`` reports the number that they see grows by as much, at any of them alike
    (false alarm: one in a million), and other curators of the database show the same."""
    steps = 200
    seen = np.array([reports_in_steps(curator.steps_key, "t", n) for n in range(steps * STEP)])
    grows = np.flatnonzero(np.diff(seen)) + 1
    assert (np.diff(seen)[grows - 1] == STEP).all()
    step, late = np.divmod(grows, STEP)
    np.testing.assert_array_equal(step, np.arange(1, steps))
    bins = np.bincount(late * 10 // STEP, minlength=10)
    check_frequencies(bins, np.full(10, 0.1), what="places where a step is seen")
    again, few = new_curator(curator.store, curator.clock), range(5 * STEP)
    assert [reports_in_steps(again.steps_key, "t", n) for n in few] == seen[: 5 * STEP].tolist()
    assert [reports_in_steps(again.steps_key, "other", n) for n in few] != seen[: 5 * STEP].tolist()
    others = new_curator(clock=curator.clock)  # where the random steps cannot be known from here
    assert [reports_in_steps(others.steps_key, "t", n) for n in few] != seen[: 5 * STEP].tolist()


def test_models_are_compared_on_the_public_records(curator: Curator) -> None:
    """The same model changes nothing; another one something, by no more than its values allow."""
    task = survey_task(curator)
    answer(curator, task, [PERSON | {"label": 1}] * 50)
    done(fit(curator, ADMIN, task.id, ALONE))
    done(fit(curator, ADMIN, task.id, FitRequest(estimator="weighted", parameters={"weight": 9.0})))
    same, other = (done(compare_models(curator, ADMIN, task.id, 1, number)) for number in (1, 2))
    assert (same.same_label, same.mean, same.largest, same.outside) == (1.0, 0.0, 0.0, 0.0)
    assert 0 < other.mean <= other.largest <= 1
    assert other.records == same.records > 10


@pytest.mark.parametrize(("allocation", "planned"), [("all", 50), ("one", 25)])
def test_a_task_says_at_how_many_looks_its_intervals_hold(
    clock: ManualClock, allocation: str, planned: float
) -> None:
    """At every look unless it was made for one; wider then, by where the collection stands."""
    records = [{"age": 30, "hours": 7.5, "job": "nurse", "member": False, "label": 0}] * 40
    questions = [{"depth": 1}, {"depth": 2}]
    for looks in ("many", "once"):
        curator = new_curator(clock=clock)
        plan = {"holders": 50, "looks": looks, "allocation": allocation, "questions": questions}
        task = survey_task(curator, epsilon=20.0, **plan)
        answer(curator, task, records)
        fitted = done(fit(curator, ADMIN, task.id, FitRequest(estimator="pruned")))
        model = curator.models.get(task.id, fitted.number).model
        assert model.facts["95 % intervals"] == MEANING[looks]
        insight = read_insight(curator, ADMIN, task.id, fitted.number)
        assert insight.looks == looks
        asked = next(
            q for q in Snapshot.of(curator, ADMIN, task.id).counts if q.n == insight.reports
        )
        assert asked.factor == factor_at(None if looks == "once" else asked.n / planned)


def test_advice_fits_a_task_with_several_questions(curator: Curator) -> None:
    """``weighted`` takes one question: it is not advised, and its refusal names others."""
    task = survey_task(curator, questions=[{"depth": 3}, {"depth": 1}])
    with pytest.raises(NotEnoughReports) as refused:
        done(fit(curator, ADMIN, task.id, FitRequest(estimator="pruned")))
    assert "weighted" not in refused.value.detail
    with pytest.raises(InvalidRequest, match="use pruned, histogram"):
        done(
            fit(
                curator,
                ADMIN,
                task.id,
                ALONE,
            )
        )


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_estimator_fits_what_it_says_it_serves(curator: Curator, estimator: str) -> None:
    """An estimator fits a plain one-question task, or names the task or estimator to take."""
    task = done(create_task(curator, ADMIN, settings(label="level", epsilon=4), samples.classes()))[
        0
    ].task
    answer(curator, task, thirds(300, seed=1))
    try:
        fitted = done(fit(curator, ADMIN, task.id, FitRequest(estimator=estimator)))
    except InvalidRequest as refused:
        advice = ("question", "another estimator", *(n for n in ESTIMATORS if n != estimator))
        assert any(words in refused.detail for words in advice)  # noqa: PT017
        return
    values = predict(
        curator, ADMIN, task.id, PredictRequest(records=[{"x": 0.5}])
    ).predictions.values
    assert fitted.estimator == estimator
    assert values.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("holders", "asked", "published"),
    [
        (10_000, None, 20),
        (30, None, 15),
        (1, None, 1),
        (50, 7, 7),
        (50, "7", 7),
        (50, "all", "all"),
    ],
)
def test_a_task_publishes_how_few_go_together(
    curator: Curator, holders: int, asked: Any, published: Any
) -> None:
    """Twenty, or half of a small number of holders, so that no survey waits for more than come."""
    given = settings(holders=holders, smallest_batch=asked)
    task = done(create_task(curator, ADMIN, given, samples.survey(60)))[0].task
    assert task.smallest_batch == published


def test_a_batch_of_more_than_all_holders_is_refused() -> None:
    """Every report would be lost."""
    with pytest.raises(ValidationError, match="would lose every report"):
        settings(holders=50, smallest_batch=51)


def test_a_card_says_that_counts_may_still_grow(curator: Curator, clock: ManualClock) -> None:
    """Until the grace period after the end is over."""
    task = done(create_task(curator, ADMIN, settings(), samples.survey(60)))[0].task
    done(
        fit(
            curator,
            ADMIN,
            task.id,
            ALONE,
        )
    )
    assert "Open: figures may still change." in read_card(curator, ADMIN, task.id)
    close_task(curator, ADMIN, task.id)
    assert "Closed. Answers on their way may count" in read_card(curator, ADMIN, task.id)
    clock.advance(LATE_SECONDS)
    assert "may still change" not in read_card(curator, ADMIN, task.id)


def test_one_account_says_whether_counts_may_still_grow(
    curator: Curator, clock: ManualClock
) -> None:
    """By date, by hand and reopened; nothing grows of a draft, or before its first day."""

    def said(task: Task) -> str:
        return read_status(curator, ADMIN, task.id).growth

    begins, ends = (int(clock()) + seconds for seconds in (100, 200))
    dated = settings(name="dated", opens=begins, closes=ends)
    by_date = done(create_task(curator, ADMIN, dated, samples.survey(60)))[0].task
    draft = settings(name="a draft", draft=True)
    by_hand = done(create_task(curator, ADMIN, draft, samples.survey(60)))[0].task
    assert (said(by_date), said(by_hand)) == ("", "")
    open_task(curator, ADMIN, by_hand.id)
    clock.advance(150)
    assert said(by_date) == said(by_hand)
    assert said(by_hand).startswith("Open: ")
    clock.advance(ends - clock())
    last = datetime.fromtimestamp(-(-(ends + LATE_SECONDS) // 3_600) * 3_600, UTC)
    end = f"{last.day} {last:%B %Y, %H:%M} UTC"
    assert f"until {end}" in said(by_date)
    close_task(curator, ADMIN, by_hand.id)
    assert said(by_hand) == said(by_date)
    clock.advance(LATE_SECONDS)
    assert (said(by_date), said(by_hand)) == ("", "")
    open_task(curator, ADMIN, by_hand.id)
    assert said(by_hand).startswith("Open: ")


def test_relays_forward_half_of_a_small_register_together() -> None:
    """The people asked are as many as the register has, also where no number is given."""
    header, *rows = samples.survey(40).decode().splitlines()
    people = "\n".join(row.rpartition(",")[0] for row in (header, *rows[:10])).encode()
    settings = Publication(name="few people", label="label", epsilon=1.0, depth=1, grower="cart")
    uploaded = Uploaded(samples.survey(40), None, people)
    assert make_task(settings, uploaded)[0].smallest_batch == 5
