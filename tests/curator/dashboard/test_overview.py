"""What stands first on a collection's page: each sentence is true of the figures in the API."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet.admin.results import ModelSummary, RelayReports, ReportBucket, TaskStatus
from privet.curator import dashboard
from privet.curator.app import CuratorApp
from privet.curator.collection.task_cache import CachedTask
from privet.curator.dashboard.overview import (
    Elsewhere,
    Sample,
    Step,
    chart_of,
    findings_of,
    next_step,
)
from privet.curator.dashboard.pages import STATIC, templates
from privet.curator.dashboard.poster import TEXTS, texts_for
from privet.curator.dashboard.tasks import WANTED
from privet.curator.dashboard.visitor import Visitor
from privet.curator.datastore.audit import SIGNING_KEY
from privet.curator.operations import relays
from privet.curator.operations.snapshot import Snapshot
from privet.learning.core.amounts import TELLING, about, figure, of_hundred, points, thousands
from privet.learning.figures.sentences import finding, precision_in_words
from privet.learning.planning import plan
from privet.protocol.features import Classes, Range
from privet.protocol.lifecycle import TaskState
from privet.protocol.report import make_report
from privet.protocol.results import Comparison
from privet.protocol.status import Holdings, RelayDescription
from privet.protocol.task import Task
from tests.curator import samples
from tests.curator.datastore.made import take
from tests.curator.http.conftest import Http
from tests.curator.studies import ASKER, as_file, question_alone
from tests.manual_clock import ManualClock

HERE = Path(dashboard.__file__).parent
TEMPLATES, DOCS = HERE / "templates", Path(__file__).parents[3] / "docs"
DAY = datetime(2030, 3, 4, tzinfo=UTC)
NUMBER = r"\d{1,3}(?: \d{3})*"
ADMIN, READER = Visitor("a", "admin"), Visitor("r", "reader")


def text_of(page: str) -> str:
    """The words of a page."""
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", page)))


@pytest.mark.parametrize("label", ["label", "age"])
async def test_the_page_says_how_many_answers_are_missing(
    http: Http, app: CuratorApp, clock: ManualClock, label: str
) -> None:
    """Of a class and of a number, before a model is fitted: by the number that ``privet`` gives for
    as wide an interval, once; the next step is to wait, and whoever types a target gets its own."""
    task = await http.task(name=label, label=label, holders=1_000, epsilon=0.5)
    answer_all(app, task, clock, 20)
    form, curator = await http.sign_in(), app.state.curator
    await form(f"/tasks/{task}/link", relay="https://relay.example")
    page = text_of((await http.get(f"/tasks/{task}")).text)
    of = curator.store.tasks.read(task).task.label
    width = 1.0 if isinstance(of, Classes) else of.high - of.low
    reports_for = Snapshot.of(curator, ADMIN, task).reports_needed()
    assert reports_for is not None
    least = reports_for(TELLING * width)
    assert least is not None
    assert least < 1e6
    more = about(least - 20).replace("\u202f", " ")
    assert f"about {more} more would give" in page
    assert len(re.findall("[Aa]bout [0-9 ]+ more", page)) == 1
    assert "How many more answers?" not in page, "no heading without a number below it"
    assert "Ask for another target" in page
    assert "Wait for more answers: there is nothing to read yet" in page
    typed = text_of((await http.get(f"/tasks/{task}?wanted=10")).text)
    assert len(re.findall("[Aa]bout [0-9 ]+ more", typed)) == 2
    assert "± 10 points" in typed or "which is 10 % of its range" in typed
    assert "Fit a model: it shows" not in page


async def test_the_target_is_near_the_plan(http: Http, app: CuratorApp, clock: ManualClock) -> None:
    """The finest that the planned answers give, also after a few of them; the next once it is
    reached; else one's own."""
    task, curator = await http.task(holders=1_000, epsilon=2.0), app.state.curator
    await http.sign_in()

    def finest(most: int) -> float:
        reports_for = Snapshot.of(curator, ADMIN, task).reports_needed()
        assert reports_for is not None
        needed = {each: reports_for(each / 100) for each in WANTED}
        return min((each for each, n in needed.items() if n is not None and n <= most), default=25)

    async def wanted() -> float:
        page = (await http.get(f"/tasks/{task}")).text
        found = re.search(r'name="wanted" inputmode="decimal" value="([^"]+)"', page)
        assert found
        return float(found[1])

    planned = finest(1_000)
    assert await wanted() == planned < 25.0
    for people in (10, 30, 100):
        answer_all(app, task, clock, people)
        assert await wanted() == planned
    answer_all(app, task, clock, 1_010)
    assert await wanted() == WANTED[WANTED.index(planned) + 1]
    assert (
        "1\u202f010 of 1\u202f000 planned have answered" in (await http.get(f"/tasks/{task}")).text
    )


async def test_a_mean_is_as_precise_as_its_interval_says(
    http: Http, app: CuratorApp, clock: ManualClock
) -> None:
    """Where a fit would tell it the next step is to fit, and then the number of answers missing is
    that of the interval on the page."""
    task = await http.task(name="mean", label="age", holders=1_000, epsilon=2.0)
    form = await http.sign_in()
    await form(f"/tasks/{task}/link", relay="https://relay.example")
    answer_all(app, task, clock, 300)
    before = text_of((await http.get(f"/tasks/{task}")).text)
    assert "Fit a model: it shows what the answers say" in before
    assert "too little yet" not in before
    await http.fit(task, estimator="weighted")
    insight = (await http.get(f"/v1/tasks/{task}/models/1/insight", headers=http.admin)).json()
    (row,), of = insight["overall"], (await http.published(task)).label
    assert isinstance(of, Range)
    half = max(row["high"] - row["reported"], row["reported"] - row["low"])
    part = 100.0 * half / (of.high - of.low)
    assert part < 50.0
    coarser, finer = [
        text_of((await http.get(f"/tasks/{task}?wanted={part * by:.6f}")).text)
        for by in (1.01, 0.99)
    ]
    assert "The mean is known to" in coarser
    assert "more answers would give the mean to ± " in finer


async def test_the_link_comes_first_until_somebody_answers(
    http: Http, app: CuratorApp, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then what they say; and a page that is open turns into the other one. What the link warns of
    stays beside it, and in no fold."""
    task = await http.task(holders=1_000, epsilon=8.0)
    described = RelayDescription(
        curator_key=None, least=1, smallest_batch=1, as_files=False, one_operator=True
    )
    monkeypatch.setattr(relays, "described_at", lambda _: described)
    form = await http.sign_in()
    await form(f"/tasks/{task}/link", relay="https://relay.example")
    parts, shapes = ("The link for people", "How it is going", "Models"), []
    for people in (0, 30):
        if people:
            answer_all(app, task, clock, people)
        page = (await http.get(f"/tasks/{task}")).text
        places = [page.index(f">{part}<") for part in parts]
        assert (places == sorted(places)) == (not people)
        before, found, _ = page.partition("One operator, for a trial")
        assert found
        assert before.count("<details") == before.count("</details>"), "not folded"
        assert ("Fit a model</button>" in page) == bool(people)
        shapes += re.findall(r'data-shape="([^"]*)"', page)
    await http.fit(task, estimator="weighted")
    shapes += re.findall(r'data-shape="([^"]*)"', (await http.get(f"/tasks/{task}")).text)
    assert len(set(shapes)) == len(shapes) == 3


async def test_a_closed_collection_asks_nobody(http: Http) -> None:
    """Its page recommends neither the link nor the poster any more, and says nothing of what a
    relay does or of how many answers more would tell."""
    task, form = await http.task(), await http.sign_in()
    await form(f"/tasks/{task}/link", relay="https://relay.example")
    begun = (await http.get(f"/tasks/{task}")).text
    parts = (
        "Copy the link",
        "Precision of the planned answers",
        "people so far",
        "there is no QR code",
        "Ask for this",
    )
    for part in parts:
        assert part in begun
    await form(f"/tasks/{task}/move", move="close")
    page = (await http.get(f"/tasks/{task}")).text
    for part in (*parts, "/poster", "Give everybody", "img class"):
        assert part not in page
    assert "people</span>" in page
    assert "nobody can answer there until it is opened again" in page


@pytest.mark.parametrize("relay", ["", "https://relay.example"])
async def test_a_closed_collection_asks_for_nobodys_answer(http: Http, relay: str) -> None:
    """It says that nobody can answer; no link is made and nobody invited until it opens again."""
    task, form = await http.task(invited=True), await http.sign_in()
    if relay:
        await form(f"/tasks/{task}/link", relay=relay)
    asks = ["Invite people", "On a machine with Privet"]
    asks += (
        ["Change the relay", "In a page of your own"] if relay else ["best run by somebody else"]
    )

    async def holders() -> str:
        return text_of((await http.get(f"/tasks/{task}")).text.split('id="holders"')[1])

    said = await holders()
    assert [each for each in asks if each not in said] == []
    await form(f"/tasks/{task}/move", move="close")
    said = await holders()
    assert "closed, so nobody can answer" in said
    assert "until it is opened again" in said
    assert [each for each in (*asks, "Create the link") if each in said] == []
    await form(f"/tasks/{task}/move", move="open")
    assert "Invite people" in await holders()


async def test_a_study_that_is_not_open_yet_is_not_called_closed(http: Http) -> None:
    """Its link is there to be given, and people to be invited."""
    task, form = (
        await http.task(opens="2040-01-01T00:00:00Z", invited=True),
        await http.sign_in(),
    )
    await form(f"/tasks/{task}/link", relay="https://relay.example")
    said = text_of((await http.get(f"/tasks/{task}")).text.split('id="holders"')[1])
    assert "Once the study is open, people answer at" in said
    assert "Invite people" in said
    assert "The study is closed" not in said


async def test_a_stranger_reads_the_question_and_nothing_that_operators_do(http: Http) -> None:
    """What a relay did not answer, the poster and a command are for those who run the study."""
    task = await http.task(label="member", describe={"member": {"prompt": "Are you one?"}})
    form = await http.sign_in()
    await form(f"/tasks/{task}/link", relay="https://relay.example")
    parts = ("there is no QR code", "Give everybody", "On a machine with Privet")
    page = (await http.get(f"/tasks/{task}")).text
    for part in parts:
        assert part in page
    http.cookies.clear()
    page = (await http.get(f"/tasks/{task}")).text
    assert '<h3 class="asked">Are you one?</h3>' in page
    assert "People answer at" in page
    for part in parts:
        assert part not in page


def status(**values: object) -> TaskStatus:
    given: dict[str, object] = {"id": "0" * 64, "state": TaskState.OPEN, "phase": "open"}
    given |= {"settled": False, "expected": None, "invited": False, "asks_again": False}
    return TaskStatus.model_validate({**given, "reports": 0, "step": 1, "models": 0, **values})


def model_of(
    reports: int, number: int = 1, *, serves: bool = False, estimator: str = "drift"
) -> ModelSummary:
    shape = {"estimator": estimator, "parameters": {}, "cells": 2, "facts": {}, "number": number}
    shape["aliases"] = ["serving"] * serves
    given = {"task": "0" * 64, "created": DAY, "reports": reports}
    return ModelSummary.model_validate(shape | given)


@pytest.mark.parametrize(
    ("said", "where", "visitor", "of_status", "models", "others"),
    [
        (None, None, Visitor(), {}, None, {}),
        ("false reports", "false", ADMIN, {"reports": 9}, [9], {"is_false": True}),
        ("Wait until", "models", READER, {"reports": 9}, [], {}),
        ("Read the model", "models", READER, {"reports": 9}, [9], {}),
        (
            "Open the study: nobody can",
            "state",
            ADMIN,
            {"state": "draft", "phase": "draft"},
            [],
            {},
        ),
        ("Name a relay", "holders", ADMIN, {"reports": 9}, [9], {"has_link": False}),
        (
            "Fit a model",
            "models",
            ADMIN,
            {"reports": 90},
            [],
            {"has_link": False, "planned": 90},
        ),
        ("it opens by itself", "holders", ADMIN, {"phase": "not-yet-open"}, [], {}),
        ("create another study", "holders", ADMIN, {"phase": "over"}, [], {}),
        (
            "Open the study: nobody has",
            "state",
            ADMIN,
            {"state": "closed", "phase": "closed"},
            [],
            {},
        ),
        ("Give people the link", "holders", ADMIN, {}, [], {}),
        ("Fit a model: it", "models", ADMIN, {"reports": 9}, [], {}),
        (
            "Wait for more answers",
            "holders",
            ADMIN,
            {"reports": 9},
            [],
            {"is_unread": True},
        ),
        (
            "Ask more people: there",
            "holders",
            ADMIN,
            {"reports": 9},
            [9],
            {"is_unread": True, "planned": 9},
        ),
        (
            "Open the study again",
            "state",
            ADMIN,
            {"reports": 9, "phase": "closed"},
            [],
            {"is_unread": True},
        ),
        (
            "Create another study",
            "holders",
            ADMIN,
            {"reports": 9, "phase": "over"},
            [],
            {"is_unread": True},
        ),
        ("again: 4 more answers are in", "models", ADMIN, {"reports": 9}, [5, 3], {}),
        ("Read the model", "models", ADMIN, {"reports": 9, "phase": "closed"}, [9], {}),
        (
            "Share the results",
            "share",
            ADMIN,
            {"reports": 9, "phase": "closed"},
            [9],
            {"has_results": True},
        ),
        (
            "Share the results",
            "share",
            ADMIN,
            {"reports": 9, "phase": "closed"},
            [],
            {"has_results": True, "has_features": False},
        ),
        (
            None,
            None,
            ADMIN,
            {"reports": 9, "phase": "closed"},
            [],
            {"has_features": False},
        ),
        (
            "Fit a model to all 21 ",
            "models",
            ADMIN,
            {"reports": 21, "phase": "closed"},
            [20],
            {"has_results": True},
        ),
        ("Fit a model to all 21 ", "models", ADMIN, {"reports": 21, "phase": "closed"}, [20], {}),
        ("Put model 2 in use", "models", ADMIN, {"reports": 9, "phase": "closed"}, [5, 9], {}),
        ("Put model 2 in use", "models", ADMIN, {"reports": 9}, [5, 9], {}),
        ("Compare model 2, which has 9", "models", ADMIN, {"reports": 9}, [5, -9], {}),
        ("All planned answers are in", "state", ADMIN, {"reports": 9}, [9], {"planned": 9}),
        ("earlier looks prove", "holders", ADMIN, {"reports": 9}, [9], {"looks": "once"}),
        ("Collect more answers", "holders", ADMIN, {"reports": 9}, [9], {"planned": 10}),
    ],
)
def test_the_next_step_has_its_reason(
    said: str | None,
    where: str | None,
    visitor: Visitor,
    of_status: dict[str, object],
    models: list[int] | None,
    others: dict[str, object],
) -> None:
    """The first of the steps whose reason is there."""
    views = None
    if models is not None:  # the first serves
        views = [
            model_of(abs(reports), at, serves=at == 1, estimator="own" if reports < 0 else "drift")
            for at, reports in enumerate(models, 1)
        ]
    given = {"has_link": True, "is_false": False, "planned": None, "looks": "many", **others}
    step = next_step(status(**of_status), visitor, views, **given)  # type: ignore[arg-type]
    if said is None:
        assert step is None
    else:
        assert isinstance(step, Step)
        assert said in step.sentence
        assert step.where == where


def test_bars_stand_where_their_day_is() -> None:
    """Days without reports leave a gap, and the highest bar ends below the top of the axis."""
    counts = {0: 10, 1: 5, 4: 130}
    buckets = [
        ReportBucket(starts=DAY + timedelta(days=d), reports=n, checksum="")
        for d, n in counts.items()
    ]
    chart = chart_of(buckets)
    assert chart is not None
    assert [bar.at for bar in chart.points] == pytest.approx([0.1, 0.3, 0.9])
    assert chart.bar == pytest.approx(0.82 / 5)
    assert chart.ticks == ((0, "0"), (100, "100"), (200, "200"))
    assert [bar.value for bar in chart.points] == [10, 5, 130]
    assert [bar.name.split()[0] for bar in chart.named] == ["4", "5", "8"]
    assert chart_of([]) is None
    assert chart_of(buckets[:2]) is None  # one day or two are no picture of anything
    ends = [buckets[0], buckets[2]]
    assert [chart_of([b.model_copy(update={"reports": n}) for b in ends]).ticks[-1][0]  # type: ignore[union-attr]
            for n in (0, 1, 2, 3, 7, 40, 41)] == [2, 2, 2, 4, 10, 40, 60]  # fmt: skip


def test_reports_elsewhere_are_counted_with_their_reasons() -> None:
    lost = {"too-few": 7, "task-not-open": 2}
    relays = [
        RelayReports(relay="north", held=40, least=100, lost=lost, reported=DAY, since=DAY),
        RelayReports(relay="south", held=0, least=100, lost={}, reported=DAY, since=None),
        RelayReports(relay="west", held=20, least=None, lost={}, reported=DAY, since=DAY),
    ]
    found = Elsewhere.of(status(relays=relays, rejects={"wrong-payload": 2, "new-one": 1}))
    assert (found.held, found.lost, found.refused) == (60, 9, 3)
    north, west, *refused = found.reasons
    assert "to be sent on together, when the collection has ended" in west
    assert north.startswith(
        "north: about 40 wait since 4 March 2030, 00:00 UTC, to be sent on once 100"
    )
    assert "7 lost, because too few others were with it" in north
    assert "2 lost, because the collection had ended" in north
    assert refused == ["2 refused: the payload is impossible.", "1 refused: new-one."]
    assert Elsewhere.of(status()) == Elsewhere(0, 0, 0, ())


@pytest.mark.parametrize(
    ("p", "public", "misses"), [(0.5, 0.1, True), (0.5, 0.3, False), (0.01, 0.1, False)]
)
def test_an_interval_that_misses_the_public_figure_is_explained(
    p: float, public: float, misses: bool
) -> None:
    """In the sentence of one figure, and below several."""
    key = '{% from "macros.html" import key_of %}{{ key_of(found) }}'
    for classes in (("no", "yes"), ("a", "b", "c")):
        label = Classes(name="y", classes=classes)
        rows = [Comparison(name, 0.4, 0.2, 0.6, public, p, 0.3) for name in label.classes]
        found = findings_of(label, rows)
        assert {each.misses for each in found} == {misses}
        of_one = [
            each.sentence.endswith("could have answered it is too close to call.") for each in found
        ]
        of_many = "which need not be so of others" in templates.from_string(key).render(found=found)
        assert (any(of_one), of_many) == ((misses, False) if len(found) == 1 else (False, misses))


def test_a_figure_that_may_be_anything_has_no_dot() -> None:
    """In a picture and in words, among others; where all may be, there is nothing to list."""
    label = Classes(name="y", classes=("a", "b", "c"))
    wide = Comparison("a", 0.06, 0.0, 0.74, 0.5, 1.0, None)
    known = Comparison("b", 0.4, 0.3, 0.5, 0.4, 1.0, 0.3)
    first, second, _ = findings_of(label, [wide, known, known])
    assert (first.known, second.known) == (False, True)
    assert first.sentence == ("a: 0\u00a0% to 74\u00a0%, too few answers; your file 50\u00a0%.")
    assert second.sentence.startswith("b: 40\u00a0% (30\u00a0% to 50\u00a0%); your file 40")
    drawn = templates.from_string('{% from "macros.html" import finding %}{{ finding(of, "") }}')
    assert 'class="dot"' not in drawn.render(of=first)
    assert 'class="line"' in drawn.render(of=first)
    assert 'class="dot"' in drawn.render(of=second)
    nothing = Comparison("a", 0.3, 0.0, 1.0, 0.5, 1.0, None)
    assert findings_of(label, [nothing] * 3) == []


def test_answers_beside_no_file_are_listed_by_their_shares() -> None:
    """Each with its name before its share, all in one form."""
    label = Classes(name="y", classes=("none", "some", "all"))
    rows = [
        Comparison(name, share, share - 0.02, share + 0.02, None, 1.0, None)
        for name, share in (("none", 0.2), ("some", 0.5), ("all", 0.3))
    ]
    said = [each.sentence.split(":")[0] for each in findings_of(label, rows)]
    assert said == ["some", "all", "none"]


def test_the_target_says_of_what() -> None:
    """And, where the target is reached, that it is."""
    classes, number = Classes(name="y", classes=("no", "yes")), Range(name="z", low=0.0, high=2.0)
    said = precision_in_words(classes, 150_499 + 9, 9, 2.0).replace("\u202f", " ")
    assert said == ("About 150 000 more answers would give every share to ± 2 points.")
    assert precision_in_words(classes, 9, 9, 2.0) == ("Every share is known to ± 2 points.")
    assert precision_in_words(classes, 19, 0, 2.0).startswith(
        "About 19 answers would give every share"
    )
    assert precision_in_words(classes, 5_038, 5_000, 10.0) == "Every share is known to ± 10 points."
    assert "known to" in precision_in_words(classes, 5_500, 5_000, 10.0), "± 10.49 has two digits"
    assert precision_in_words(classes, 5_600, 5_000, 10.0).startswith("About 600 more"), "± 10.6"
    assert precision_in_words(classes, 5_020, 5_000, 10.01).startswith("About 20 more"), "± 10.03"
    metres = number.model_copy(update={"unit": "m"})
    said = "the mean to ± 0.1{}, which is 5 % of its range."
    assert precision_in_words(number, 10, 9, 5.0).endswith(said.format(""))
    assert precision_in_words(metres, 10, 9, 5.0).endswith(said.format(" m"))


def answer_all(
    app: CuratorApp, task_id: str, clock: ManualClock, people: int, part: float = 1.0
) -> Task:
    """Honest answers of people, half of whom are members; of young nurses none is. A ``part`` of
    them has the label 1."""
    store, rng = app.state.curator.store, np.random.default_rng(0)
    task: Task = store.tasks.read(task_id).task
    sent = []
    for place in range(people):
        record = {"age": 20 + place % 50, "hours": 40, "job": "nurse", "member": place % 2 == 0}
        label = int((place + 0.5) * part % 1.0 < part)
        sent.append(make_report(task, {**record, "label": label}, rng.bytes))
    take(store, CachedTask(task), sent, now=clock())
    return task


async def test_the_page_begins_with_what_is_known(
    http: Http, app: CuratorApp, clock: ManualClock
) -> None:
    """People, planned, waiting, lost, the finding of the API's own figures, the next step."""
    task = await http.task(holders=1_000, epsilon=8.0)
    await http.sign_in()
    empty = text_of((await http.get(f"/tasks/{task}")).text)
    assert "0 people so far" in empty
    assert "What you will see here" in empty
    assert "the figures are made up" in empty
    label = answer_all(app, task, clock, 300).label
    held = Holdings(reports=20, least=50, lost={"too-few": 4})
    app.state.curator.store.standing.tell(task, "north", held, clock())
    begun = text_of((await http.get(f"/tasks/{task}")).text)
    assert "made up" not in begun
    before = re.search(r'id="known">([^<]+)<', (await http.get(f"/tasks/{task}")).text)
    assert before
    assert "Name a relay" in begun
    await http.fit(task, estimator="weighted")
    page = (await http.get(f"/tasks/{task}")).text
    said = text_of(page)
    insight = (await http.get(f"/v1/tasks/{task}/models/1/insight", headers=http.admin)).json()
    row = Comparison(**insight["overall"][-1])
    assert f"{insight['reports']} people so far" in said
    assert "30 % of the 1 000 planned have answered" in said
    assert "about 20 waiting at relays 4 lost at relays" in said
    found = re.search(r'id="known">([^<]+)<', page)
    assert found
    assert unescape(found[1]) == finding(label, row)
    assert before[1] == found[1]  # the shares of all need no model
    assert "more than" in found[1]
    order = ("more than", "people so far", "waiting at", "lost at", "Next:", "How many more")
    places = [said.index(part) for part in (*order, "Close the study", "What is asked", "Models")]
    assert places == sorted(places)


async def test_the_least_difference_stands_once_on_a_page(
    http: Http, app: CuratorApp, clock: ManualClock
) -> None:
    """In detail, where the rest of insight's sentence stands, and not in the headline too; before
    there is a model, in the headline. A closed study is headed by its results."""
    prompt = {"label": {"prompt": "Are you ill?"}}
    task = await http.task(holders=1_000, epsilon=8.0, describe=prompt)
    await http.sign_in()
    answer_all(app, task, clock, 300, part=0.5)
    least = "or more would have shown 8 times in 10"
    before = re.search(r'id="known">([^<]+)<', (await http.get(f"/tasks/{task}")).text)
    assert before
    assert "too close to call. A difference of" in before[1]
    await http.fit(task, estimator="weighted")
    page = text_of((await http.get(f"/tasks/{task}")).text)
    insight = (await http.get(f"/v1/tasks/{task}/models/1/insight", headers=http.admin)).json()
    headline, close, rest = insight["sentence"].partition("too close to call.")
    for part in (f"{headline}{close}", rest):
        assert page.count(" ".join(part.split())) == 1
    assert rest.startswith(" A difference of ")
    assert least in rest
    assert "What is asked: “Are you ill?” and 4 other questions" in page
    assert "How it is going" in page
    await http.post(f"/v1/tasks/{task}/close", headers=http.admin)
    page = text_of((await http.get(f"/tasks/{task}")).text)
    assert "How it is going" not in page
    assert " Results Are you ill?" in page


async def test_strangers_read_the_results_of_a_closed_collection(
    http: Http, app: CuratorApp, clock: ManualClock
) -> None:
    """The sentence that readers read, and none before the end."""
    task = await http.task(holders=1_000, epsilon=8.0)
    label = answer_all(app, task, clock, 300).label
    await http.fit(task, estimator="weighted")
    assert 'class="findings"' not in (await http.get(f"/tasks/{task}")).text
    await http.post(f"/v1/tasks/{task}/close", headers=http.admin)
    insight = (await http.get(f"/v1/tasks/{task}/models/1/insight", headers=http.admin)).json()
    sentence = finding(label, Comparison(**insight["overall"][-1]))
    page = unescape((await http.get(f"/tasks/{task}")).text)
    assert sentence.replace("your file", "the earlier file") in page
    assert "◇ that of the earlier file" in page
    assert "your file" not in page
    await http.sign_in()
    assert sentence in unescape((await http.get(f"/tasks/{task}")).text)


async def test_strangers_read_one_number_of_people_on_all_pages(
    http: Http, app: CuratorApp, clock: ManualClock
) -> None:
    """The same range of people and of a model's answers, wherever either stands."""
    task = await http.task(holders=4_000, epsilon=8.0)
    answer_all(app, task, clock, 3_600)
    for estimator in ("weighted", "pruned"):
        assert (await http.fit(task, estimator=estimator)).status_code == 201
    await http.post(f"/v1/tasks/{task}/close", headers=http.admin)
    found = set[str]()
    page = f"/tasks/{task}"
    for path in ("/", page, f"{page}/models/1", f"{page}/compare?one=1&other=2"):
        said = text_of((await http.get(path)).text)
        said = re.sub(rf"with {NUMBER} people", "", said)  # what as many as these would tell
        said = re.sub(rf"the {NUMBER} people in the earlier file", "", said)
        numbers = re.findall(rf"(?<!of )\b({NUMBER}(?: to {NUMBER})?) (?:people|answers)\b", said)
        assert numbers, (path, said)
        found |= set(numbers)
    status = (await http.get(f"/v1/tasks/{task}/status")).json()
    ends = (status["reports"], status["reports"] + 2 * status["step"])
    assert found == {" to ".join(f"{end:,}".replace(",", " ") for end in ends)}
    assert ends[0] <= 3_600 < ends[1]


async def test_a_wrong_name_deletes_nothing_and_is_said_on_the_page(http: Http) -> None:
    task, form = await http.task(), await http.sign_in()
    answer = await form(f"/tasks/{task}/delete", name="another")
    assert answer.status_code == 422
    assert "nothing was deleted" in answer.text
    assert '<details class="card" id="delete" open>' in answer.text
    assert "The study was deleted" not in (await http.get(f"/?deleted={task}")).text
    answer = await form(f"/tasks/{task}/delete", name="survey")
    assert answer.headers["location"] == f"/?deleted={task}"
    assert (await http.get(f"/tasks/{task}")).status_code == 404
    assert "The study was deleted" in (await http.get(answer.headers["location"])).text
    http.cookies.clear()
    assert "The study was deleted" not in (await http.get(f"/?deleted={task}")).text


async def test_a_poster_has_the_link_and_the_askers_words(
    http: Http, app: CuratorApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the task's language; none without a link, nor where everybody has a link of their own."""
    key = app.state.curator.store.facts.read(SIGNING_KEY) or None
    shape = {"least": 1, "smallest_batch": 1, "as_files": False, "one_operator": False}
    description = RelayDescription.model_validate({"curator_key": key, **shape})
    monkeypatch.setattr(relays, "described_at", lambda _: description)
    task = await http.task(asker=ASKER, language="de-CH", closes="2040-01-01T00:00:00Z")
    invited, form = await http.task(name="invited", invited=True), await http.sign_in()
    assert (await http.get(f"/tasks/{task}/poster")).status_code == 422
    await form(f"/tasks/{task}/link", relay="https://relay.example")
    page = (await http.get(f"/tasks/{task}/poster")).text
    said = text_of(page)
    words = (f"https://relay.example/answer/{task}", *ASKER.values(), "Bis 2040-01-01 00:00")
    assert "Fragen: 5." in said
    assert "Only this machine" not in said
    for each in words:
        assert each in said
    assert texts_for("de").how in said
    assert said.index("Fragen: 5.") < said.index(f"https://relay.example/answer/{task}")
    assert 'src="data:image/svg+xml' in page
    await form(f"/tasks/{task}/link", relay="http://127.0.0.1:8100")
    assert "Only this machine can open" in (await http.get(f"/tasks/{task}/poster")).text
    assert "Only this machine can open" in (await http.get(f"/tasks/{task}")).text
    await form(f"/tasks/{task}/link", relay="https://relay.example")
    assert (await http.get(f"/tasks/{invited}/poster")).status_code == 422
    assert "/poster" not in (await http.get(f"/tasks/{invited}")).text
    assert f'href="/tasks/{task}/poster"' in (await http.get(f"/tasks/{task}")).text
    assert [texts_for(texts.language) for texts in TEXTS] == list(TEXTS)
    assert {texts_for(none).language for none in (None, "tlh")} == {"en"}


async def test_the_list_begins_with_sample_data(http: Http) -> None:
    """An admin without a task is offered the file of the documentation, which can be published."""
    await http.sign_in()
    assert 'href="/static/sample.csv"' in (await http.get("/")).text
    sample = (await http.get("/static/sample.csv")).content
    assert (await http.create(sample, label="readmitted")).status_code == 201
    assert "sample.csv" not in (await http.get("/")).text
    assert samples.survey() != sample


async def test_the_front_page_says_how_private_and_how_many(http: Http) -> None:
    """By the bound of one message, and by plans of one yes-or-no question."""
    page = text_of((await http.get("/")).text)
    assert "habit or an opinion, and which people more often, without" in page
    assert f"two answers equally likely is at most {of_hundred(1.0)} % sure of either" in page
    assert page.index("± 12 points") < page.index("ε = 1")
    assert "privet pilot" in page
    found = re.search(r"± (\d+) points with ([\d ]+) people, ± (\d+) with ([\d ]+)\.", page)
    assert found
    for stated, people in (found.groups()[:2], found.groups()[2:]):
        assert f"{100.0 * half_width_of(int(''.join(people.split()))):.0f}" == stated


def half_width_of(people: int) -> float:
    """Of the figures of one yes-or-no question at ε = 1, by their plan."""
    settings: Any = {"label": "answer", "classes": ("yes", "no"), "epsilon": 1.0}
    return plan(**settings, holders=people).here.half_width


async def asked_alone(http: Http, form: Any, **fields: str) -> str:
    """The id of a question without a file, planned for 1 000 people."""
    asked = {"columns.0.prompt": "Have you ever lied?", "holders": "1000", "epsilon": "1"}
    made = await form("/new", {"study": as_file(question_alone(asked | fields))})
    assert made.status_code == 303, made.text
    return str(re.findall("[0-9a-f]{64}", made.headers["location"])[0])


async def test_the_example_has_the_precision_of_its_people(http: Http) -> None:
    """In the drawing of the front page and on a new study's page, at ε = 1; a study without a file
    has no figure of one."""
    for has_file in (True, False):
        sample = Sample.made_up(has_file=has_file)
        found = sample.finding
        assert (found.public is not None) == has_file
        assert ("in your file" in found.sentence) == has_file
        half = half_width_of(sample.reports)
        assert f"{found.value - half:.2f} {found.value + half:.2f}" == (
            f"{found.low:.2f} {found.high:.2f}"
        )
        said = f"yes for {figure(found.value, found.low, found.high, is_share=True)}"
        for drawing in ("front", "front-narrow"):
            drawn = " ".join((await http.get(f"/static/{drawing}.svg")).text.split())
            assert " ".join(said.split()) in drawn
            assert f"of {' '.join(thousands(sample.reports).split())} people" in drawn
    asked = await asked_alone(http, await http.sign_in())
    page = text_of((await http.get(f"/tasks/{asked}")).text)
    assert "10 000 people, each with ε = 1" in page
    assert "34 % say yes (30 % to 38 %)." in page


@pytest.mark.parametrize("looks", ["many", "once"])
async def test_another_target_says_what_a_new_study_takes(http: Http, looks: str) -> None:
    """Beside the answers that this one takes, and the precision of those that are planned."""
    asked = await asked_alone(http, await http.sign_in(), looks=looks)
    page = text_of((await http.get(f"/tasks/{asked}?wanted=3")).text)
    settings: Any = {"label": "answer", "classes": ("yes", "no"), "epsilon": 1.0, "looks": looks}
    of_plan = plan(**settings, holders=1_000)
    half = points(of_plan.here.half_width)
    assert f"1 000 answers, as planned: every share to ± {' '.join(half.split())}." in page
    found = re.search(r"About ([\d ]+) answers would give every share to ± 3 points\.", page)
    assert found
    anew = re.findall(r"A new study that is planned for it takes about ([\d ]+)\.", page)
    of_new = of_plan.sizes["± 3.0 points"].replace("\u202f", " ")
    assert anew == ([of_new] if looks == "many" else [])
    assert looks == "once" or found[1] != of_new


async def test_a_study_without_a_link_is_not_said_to_be_answered(http: Http) -> None:
    """Neither on its page nor in the list, where an open one is green."""
    form = await http.sign_in()
    asked = await asked_alone(http, form)
    page, listed = [text_of((await http.get(path)).text) for path in (f"/tasks/{asked}", "/")]
    assert "but without a link: nobody can answer in a browser yet" in page
    assert "people can answer now" not in page
    assert "open, no link yet" in listed.lower()
    assert 'class="state open"' not in (await http.get("/")).text
    await form(f"/tasks/{asked}/link", relay="https://relay.example")
    page, listed = [text_of((await http.get(path)).text) for path in (f"/tasks/{asked}", "/")]
    assert "people can answer now" in page
    assert "no link yet" not in listed.lower()


def test_the_sample_is_the_documentations_file() -> None:
    """So that the session of the pages and the dashboard show the same."""
    example = DOCS / "examples/clinic.csv"
    assert STATIC["sample.csv"] == example.read_bytes()
    rows = len(STATIC["sample.csv"].splitlines()) - 1
    assert f"{rows} stays in a hospital" in (TEMPLATES / "tasks.html").read_text(encoding="utf-8")
