"""Panels at the curator: created together, counted wave by wave, deleted together."""

import asyncio
import csv
import io
from datetime import UTC, datetime
from typing import Any

import pytest

from privet.curator.collection.task_cache import task_cache
from privet.curator.http.panel_files import table_of
from privet.curator.operations import models
from privet.curator.operations import tasks as cases
from privet.curator.operations.curator import Curator
from privet.curator.operations.panels import read_waves
from privet.learning.task_building.publication import Publication
from privet.protocol.errors import (
    IllegalMove,
    InvalidRequest,
    InvalidTask,
    NotAuthorized,
    TaskNotFound,
    TaskNotOpen,
)
from privet.protocol.lifecycle import Phase, TaskState
from privet.protocol.task import Task
from tests.curator.use_cases import ADMIN, Someone, answer, done, new_curator
from tests.manual_clock import ManualClock

PUBLIC = b"x,y\n" + b"".join(
    f"{i % 10},{'yes' if i % 10 > 4 + i % 3 else 'no'}\n".encode() for i in range(60)
)
RECORD = {"x": 7, "y": "yes"}
DAY = 86_400
START = 1_800_000_000


def wave(start: int, days: int = 10) -> str:
    """A wave that begins so many days after START."""
    ends = (START + start * DAY, START + (start + days) * DAY)
    return "/".join(datetime.fromtimestamp(end, UTC).isoformat() for end in ends)


WAVES = [wave(0), wave(60), wave(180)]


def settings(**more: Any) -> dict[str, Any]:
    plain = {"name": "panel", "label": "y", "epsilon": 1.0, "grower": "cart", "depth": 1}
    return {**plain, "mechanism": "grr", "waves": WAVES, **more}


@pytest.fixture
def curator() -> Curator:
    return new_curator(clock=ManualClock(START + DAY))


def created(curator: Curator, **more: Any) -> Task:
    """A new panel's document."""
    given = Publication.model_validate(settings(**more))
    return done(cases.create_task(curator, ADMIN, given, PUBLIC))[0].task


def test_a_panel_is_published_with_its_waves(curator: Curator) -> None:
    """One document and a task for each wave, all there at once, each once."""
    document = created(curator)
    assert document.is_panel
    assert [each.id for each in document.waves] == [
        each.id for each in cases.list_tasks(curator, ADMIN)[1:]
    ]
    assert created(curator) == document
    heads = cases.listed_tasks(curator, ADMIN)
    assert len(heads) == 4
    assert {each.head.panel for each in heads} == {document.id}
    assert [each.head.wave for each in heads] == [None, 0, 1, 2]
    assert [each.phase(curator.clock()) is Phase.OPEN for each in heads] == [
        False,
        True,
        False,
        False,
    ]


def test_reports_count_in_their_wave_alone(curator: Curator) -> None:
    """None to the panel itself, and none before a wave opens or after it has closed."""
    document = created(curator)
    first, second, _ = document.waves
    answer(curator, first, [RECORD] * 3)
    answer(curator, second, [RECORD])
    reports = [curator.store.standing.read(each.id).reports for each in document.waves]
    assert reports == [3, 0, 0]
    with pytest.raises(TaskNotOpen, match="its waves do"):
        asyncio.run(task_cache(curator.store).load(document.id))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"waves": WAVES[:1]}, "two waves or more"),
        ({"waves": [wave(0), wave(5)]}, "wave 2 opens before wave 1 has closed"),
        ({"waves": [wave(60), wave(0)]}, "wave 2 opens before wave 1 has closed"),
        ({"waves": [wave(0), wave(60, -1)]}, "wave 2 must open before it closes"),
        ({"waves": ["2030-01-01/2030-02-01"] * 2}, "time zones"),
        ({"waves": ["2030-01-01T08:00Z"] * 2}, "is no wave"),
        ({"closes": "2030-01-01T08:00Z"}, "leave opens and closes out"),
        ({"mode": "once"}, "'rotate' or 'repeat'"),
        ({"mode": "repeat", "waves": []}, "give its waves"),
    ],
)
def test_what_is_no_panel_is_refused_with_a_reason(more: dict[str, Any], said: str) -> None:
    """One wave, waves that overlap or end before they begin, dates without a zone."""
    with pytest.raises(ValueError, match=said):
        Publication.model_validate(settings(**more))


def test_what_cannot_be_a_panel_is_not_published(curator: Curator) -> None:
    """Invited holders; waves in the past; and nothing of it is kept."""
    for more, said in (
        ({"invited": True}, "for everybody"),
        ({"waves": [wave(-40), wave(0)]}, "first wave would close in the past"),
        ({"waves": [wave(0), wave(3 * 366)]}, "more than three years"),
    ):
        with pytest.raises(InvalidTask, match=said):
            created(curator, **more)
    assert cases.list_tasks(curator, ADMIN) == []


def test_a_panel_is_deleted_as_a_whole_or_wave_by_wave(curator: Curator) -> None:
    """Also where a wave is gone already; the same settings then make another panel, so that
    nobody's answer is taken twice."""
    document = created(curator)
    first, second, third = document.waves
    answer(curator, first, [RECORD] * 3)
    cases.delete_task(curator, ADMIN, second.id)
    assert curator.store.standing.read(first.id).reports == 3
    assert [each.task.id for each in cases.waves_of(curator, document.head)] == [first.id, third.id]
    cases.delete_task(curator, ADMIN, document.id)
    assert cases.list_tasks(curator, ADMIN) == []
    for each in (document, *document.waves):
        with pytest.raises(TaskNotFound):
            cases.read_task(curator, ADMIN, each.id)
    again = created(curator)
    assert again.edition == 2
    assert not {each.id for each in again.waves} & {each.id for each in document.waves}
    (deleted,) = [
        each
        for each in curator.store.audit.entries(100)
        if each.subject == document.id[:64] and each.action == "task deleted"
    ]
    assert deleted.detail["reports"] == 3


def test_a_deleted_wave_is_not_asked_again(curator: Curator) -> None:
    """Publishing the same panel again gives the one that is there, without that wave: another
    panel would ask the people of all the others twice."""
    document = created(curator)
    cases.delete_task(curator, ADMIN, document.waves[1].id)
    given = Publication.model_validate(settings())
    again, is_new = done(cases.create_task(curator, ADMIN, given, PUBLIC))
    assert (again.task, is_new) == (document, False)
    ids = [each.id for each in cases.list_tasks(curator, ADMIN)]
    assert ids == [document.id, document.waves[0].id, document.waves[2].id]


def test_a_panel_opens_and_closes_with_its_waves(curator: Curator) -> None:
    """And one of them by itself; a move that none of them can make is refused."""
    document = created(curator, draft=True)
    ids = [document.id, *(each.id for each in document.waves)]

    def states() -> list[TaskState]:
        return [cases.read_status(curator, ADMIN, each).state for each in ids]

    assert states() == [TaskState.DRAFT] * 4
    cases.open_task(curator, ADMIN, document.id)
    assert states() == [TaskState.OPEN] * 4
    cases.close_task(curator, ADMIN, ids[2])
    cases.close_task(curator, ADMIN, document.id)
    assert states() == [TaskState.CLOSED] * 4
    with pytest.raises(IllegalMove):
        cases.close_task(curator, ADMIN, document.id)


def test_a_panel_itself_has_no_model(curator: Curator) -> None:
    """Its waves have."""
    document = created(curator)
    with pytest.raises(InvalidRequest, match="fit each of them"):
        done(models.fit(curator, ADMIN, document.id))


def test_a_waves_model_starts_from_the_waves_before(curator: Curator) -> None:
    """The first is today's default; the next one says on how many earlier reports it rests, also
    where a wave between was deleted; other estimators fit it alone."""
    document = created(curator)
    first, second, third = document.waves
    answer(curator, first, [RECORD] * 40)
    done(models.fit(curator, ADMIN, first.id))
    assert "earlier waves" not in curator.models.get(first.id).model.facts
    assert isinstance(curator.clock, ManualClock)
    curator.clock.advance(180 * DAY)
    answer(curator, third, [{**RECORD, "y": "no"}] * 40)
    cases.delete_task(curator, ADMIN, second.id)
    done(models.fit(curator, ADMIN, third.id))
    assert curator.models.get(third.id).model.facts["earlier waves"] == "1, of 40 reports"
    done(
        models.fit(curator, ADMIN, third.id, models.FitRequest(estimator="weighted", promote=True))
    )
    assert "earlier waves" not in curator.models.get(third.id).model.facts


def test_a_plan_is_for_the_waves_of_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the wizard asks for one."""
    given: dict[str, Any] = {}
    monkeypatch.setattr(cases, "plan", lambda _public, **values: given.update(values))
    cases.planned(PUBLIC, Publication.model_validate(settings(mode="repeat")), None)
    assert (given["waves"], given["mode"]) == (3, "repeat")
    plain = settings()
    del plain["waves"]
    given.clear()
    cases.planned(PUBLIC, Publication.model_validate(plain), None)
    assert "waves" not in given


def test_a_panel_stands_as_its_waves_do(curator: Curator) -> None:
    """Its status says that it takes reports while a wave is open, and not that it has ended before
    the last one has, and what relays took of it; of each wave there is one word."""
    document = created(curator, waves=[wave(0), wave(60), wave(180)])
    clock = curator.clock
    assert isinstance(clock, ManualClock)
    said = []
    for day in (0, 59, 120, 179, 11, 20):
        view = cases.read_status(curator, Someone("", None), document.id)
        words = [each.phase(clock()).in_words for each in cases.waves_of(curator, document.head)]
        said.append((view.collecting, " ".join(view.growth.split()[:4]), words))
        clock.advance({0: 59, 59: 61, 120: 59, 179: 11, 11: 20, 20: 0}[day] * DAY)
    taking, ended = "Open: figures may still", "Closed. Answers on their"
    assert said == [
        (True, taking, ["open", "not open yet", "not open yet"]),
        (True, taking, ["over", "open", "not open yet"]),
        (False, "Waves are still to", ["over", "over", "not open yet"]),
        (True, taking, ["over", "over", "open"]),
        (False, ended, ["over", "over", "over"]),
        (False, "", ["over", "over", "over"]),
    ]


def test_waves_are_shown_beside_each_other(curator: Curator) -> None:
    """With what changed since, by any of their addresses; deleted ones are said to be, and
    strangers see no counts."""
    document = created(curator, epsilon=4.0)
    first, second, third = document.waves
    answer(curator, first, [RECORD] * 300)
    assert isinstance(curator.clock, ManualClock)
    curator.clock.advance(180 * DAY)
    answer(curator, third, [{**RECORD, "y": "no"}] * 300)
    cases.delete_task(curator, ADMIN, second.id)
    standing = read_waves(curator, ADMIN, document.id)
    assert standing == read_waves(curator, ADMIN, third.id)
    assert [wave.reports for wave in standing.waves] == [300, 0, 300]
    assert [wave.phase is Phase.DELETED for wave in standing.waves] == [False, True, False]
    assert "The share of yes fell from" in standing.sentence
    assert {change.cell for change in standing.changes} >= {None}
    rows = list(csv.DictReader(io.StringIO(table_of(standing))))
    assert [row["phase"] for row in rows if row["row"] == "wave"] == ["over", "deleted", "open"]
    of_all = [row for row in rows if row["row"] == "figure" and not row["group"]]
    assert len(of_all) == 2 * 2
    changes = [row for row in rows if row["row"] == "change"]
    for row, change in zip(changes, standing.changes, strict=True):
        assert (row["since"], row["wave"], row["name"]) == ("1", "3", "yes")
        assert -1.0 <= float(row["low"]) <= float(row["value"]) < float(row["high"]) < 0.0
        assert float(row["before"]) + float(row["value"]) == pytest.approx(change.after)
        assert bool(row["splits"]) == (change.cell is not None)
    with pytest.raises(NotAuthorized):
        read_waves(curator, Someone("stranger", None), document.id)
    plain = settings()
    del plain["waves"]
    lone, _ = done(cases.create_task(curator, ADMIN, Publication.model_validate(plain), PUBLIC))
    with pytest.raises(InvalidRequest, match="no waves"):
        read_waves(curator, ADMIN, lone.task.id)
