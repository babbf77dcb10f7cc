"""A question without a file: its form, and its page without models."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from privet.curator.app import CuratorApp
from privet.curator.collection.task_cache import CachedTask
from privet.curator.dashboard.pages import PageRoute
from privet.curator.operations import relays
from privet.learning.planning import plan
from privet.protocol.report import make_report
from privet.protocol.status import RelayDescription
from privet.protocol.task import Task
from tests.curator.datastore.made import take
from tests.curator.http.conftest import Http
from tests.curator.studies import as_file, question_alone
from tests.manual_clock import ManualClock

OF_FILES = ("cell", "tree", "public record")
"""Words of studies with a file."""
NEVER = (*OF_FILES, "model", "holder", "predict")
"""Words that say nothing to whoever asks one question."""
YES_NO = {"columns.0.prompt": "Have you ever lied?", "holders": "1000", "epsilon": "2"}


async def publish(http: Http, form: Any, fields: dict[str, Any]) -> str:
    """The id of a question that the form publishes, which takes no plan."""
    made = await form("/new", {"study": as_file(question_alone(fields))})
    assert made.status_code == 303, made.text
    return str(made.headers["location"].split("/")[2].split("#")[0])


def answered(app: CuratorApp, task: Task, values: Sequence[Any], now: float) -> None:
    rng = np.random.default_rng(0)
    sent = [make_report(task, {task.label.name: value}, rng.bytes) for value in values]
    take(app.state.curator.store, CachedTask(task), sent, now=now)


def main_part(page: str) -> str:
    """The words of a page's main part."""
    return words_of(page.split("<main")[1].split("</main>", maxsplit=1)[0])


def words_of(page: str) -> str:
    """The words of a page: its main part, header and glossary."""
    page = re.sub("<code>.*?</code>|<pre.*?</pre>", "", page, flags=re.DOTALL)
    return " ".join(re.sub("<[^>]*>", " ", page).split())


async def test_the_page_of_one_question_opens_with_its_figure(
    http: Http, app: CuratorApp, clock: ManualClock
) -> None:
    """Drawn with its interval, before the number of people; the words are of people and answers,
    and no model is offered."""
    task = await publish(http, await http.sign_in(), YES_NO)
    page = (await http.get(f"/tasks/{task}")).text
    assert not [word for word in NEVER if word in main_part(page).lower()]
    answered(app, await http.published(task), ["yes"] * 300 + ["no"] * 700, clock())
    page = (await http.get(f"/tasks/{task}")).text
    words = main_part(page)
    assert not [word for word in NEVER if word in words.lower()], words
    insight = (await http.get(f"/v1/tasks/{task}/insight", headers=http.admin)).json()
    (yes,) = (row["reported"] for row in insight["overall"] if row["name"] == "yes")
    assert "1\u00a0% of the answers false on purpose" in insight["if_false"]
    assert insight["if_false"] in page
    assert (
        page.index(f"{100 * yes:.0f}\u00a0% say yes (")
        < page.index('class="interval"')
        < page.index('id="reports"')
    )
    assert 'id="models"' not in page
    for path in ("", "/collection"):
        assert (await http.get(f"/tasks/{task}{path}")).status_code == 200


@pytest.mark.parametrize("number", [False, True])
async def test_a_new_page_says_what_the_planned_answers_give(http: Http, *, number: bool) -> None:
    """As the plan does; before, "About 230 answers would give every share to ± 25 points"."""
    fields = {"columns.0.kind": "numeric", "columns.0.low": "0", "columns.0.high": "24"}
    fields = {**YES_NO, "holders": "300"} | (fields if number else {})
    task = await publish(http, await http.sign_in(), fields)
    asked = {"label_range": [0, 24]} if number else {"classes": ["yes", "no"]}
    planned = plan(label="answer", epsilon=2.0, holders=300, **asked).here.half_width
    half = f"{planned:.2g}" if number else f"{100.0 * planned:.2g} points"
    what = "the mean" if number else "every share"
    words = main_part((await http.get(f"/tasks/{task}")).text)
    assert (
        f"Precision of the planned answers 300 answers, as planned: {what} to ± {half}. " in words
    )
    assert "would give" not in words
    typed = main_part((await http.get(f"/tasks/{task}?wanted=2")).text)
    assert "answers would give" in typed


async def test_one_sentence_says_to_close_or_how_many_more_answers_another_target_takes(
    http: Http, app: CuratorApp, clock: ManualClock
) -> None:
    """Before, "close the study", and four lines below how many more answers it takes."""
    task = await publish(http, await http.sign_in(), {**YES_NO, "holders": "1000"})
    answered(app, await http.published(task), ["yes"] * 300 + ["no"] * 700, clock())
    words = main_part((await http.get(f"/tasks/{task}")).text)
    said = re.search(
        r"You know it to ± ([\d.]+) points\. If that is enough, close the study; ± ([\d.]+) would "
        r"take about ([\d\u202f ]+) more answers\.",
        words,
    )
    assert said
    insight = (await http.get(f"/v1/tasks/{task}/insight", headers=http.admin)).json()
    (yes,) = (row for row in insight["overall"] if row["name"] == "yes")
    half = 50.0 * (yes["high"] - yes["low"])
    assert float(said[1]) == pytest.approx(half, rel=0.05)
    needed = 1000.0 * ((half / float(said[2])) ** 2 - 1.0)
    more = float("".join(said[3].split()))
    assert needed <= 1.1 * more < 2.0 * needed, "later looks have wider intervals"
    assert "How many more answers?" not in words
    assert "would give" not in words
    assert "Ask for another target" in words


async def test_no_page_of_one_question_has_words_of_files(
    http: Http, app: CuratorApp, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every page that has a task in its address, with its glossary, before and after answers, for
    its admin and for strangers. Refusals say that there is no model."""
    described = RelayDescription(
        curator_key=None, least=1, smallest_batch=1, as_files=False, one_operator=True
    )
    monkeypatch.setattr(relays, "described_at", lambda _: described)
    form = await http.sign_in()
    task = await publish(http, form, YES_NO)
    await form(f"/tasks/{task}/link", relay="https://relay.example")
    pages = [
        route.path.format(task_id=task)
        for route in app.api.routes
        if isinstance(route, PageRoute)
        and "GET" in (route.methods or ())
        and [*route.param_convertors] == ["task_id"]
    ]
    read: list[str] = []

    async def read_all() -> None:
        for path in pages:
            found = await http.get(path, headers={"Accept": "text/html"})
            if found.status_code != 200:
                words = main_part(found.text)
                assert not [word for word in OF_FILES if word in words.lower()], (path, words)
                continue
            words = words_of(found.text)
            assert not [word for word in NEVER if word in words.lower()], (path, words)
            plain = "/collection" in path or "/results" in path
            assert ("Words on these pages" in words) == (not plain)
            read.append(path)

    await read_all()
    answered(app, await http.published(task), ["yes"] * 300 + ["no"] * 700, clock())
    await read_all()
    await form(f"/tasks/{task}/move", move="close")
    await read_all()
    http.cookies.clear()
    await read_all()
    for path in (f"/tasks/{task}", f"/tasks/{task}/collection", f"/v1/tasks/{task}"):
        assert read.count(path) == 4
    assert f"/tasks/{task}/poster" in read
    with_file = await http.task()
    assert "Earlier file" in words_of((await http.get(f"/tasks/{with_file}")).text)


async def test_a_number_is_shown_in_bins(http: Http, app: CuratorApp, clock: ManualClock) -> None:
    """With an interval for each, also for strangers once the study has ended."""
    number = {"columns.0.kind": "numeric", "columns.0.low": "0", "columns.0.high": "10"}
    form = await http.sign_in()
    task = await publish(http, form, YES_NO | number | {"columns.0.unit": "cups", "bins": "6"})
    answered(app, await http.published(task), [2] * 600 + [7] * 400, clock())
    page = (await http.get(f"/tasks/{task}")).text
    assert "Share of people (cups): " in page
    assert (
        len(re.findall("<rect ", page.split("Share of people (cups): ")[1].split("</svg>")[0])) == 6
    )
    assert not [word for word in NEVER if word in main_part(page).lower()]
    parts = re.findall("<li>(.+? have at most .+? cups)[.;]</li>", page)
    assert [each.split(" have")[0] for each in parts[1:4]] == [
        "a quarter",
        "half",
        "three quarters",
    ]
    await form(f"/tasks/{task}/move", move="close")
    http.cookies.clear()
    stranger = (await http.get(f"/tasks/{task}")).text
    assert "Share of people (cups): " in stranger
    assert not [word for word in NEVER if word in main_part(stranger).lower()]


async def test_of_a_number_that_few_answered_nothing_is_drawn_that_may_be_anything(
    http: Http, app: CuratorApp, clock: ManualClock
) -> None:
    """Neither the mean nor a share of people is stated, to strangers either; and of quantiles only
    those that the answers tell."""
    number = {"columns.0.kind": "numeric", "columns.0.low": "0", "columns.0.high": "10"}
    form = await http.sign_in()
    task = await publish(http, form, YES_NO | number | {"columns.0.unit": "cups", "bins": "6"})
    asked = await http.published(task)
    answered(app, asked, [2] * 30, clock())
    page = (await http.get(f"/tasks/{task}")).text
    assert "Share of people" not in page
    assert " have at most " not in page
    await form(f"/tasks/{task}/move", move="close")
    http.cookies.clear()
    said_of_study = words_of((await http.get(f"/tasks/{task}")).text)
    for path in (f"/tasks/{task}", f"/tasks/{task}/results"):
        said = words_of((await http.get(path)).text)
        assert re.search(
            r"The mean is between 0 and [0-9.]+ cups \(too few answers to say more\)\.", said
        ), path
        assert not re.search("The mean is [0-9]|Share of people|have at most|●", said), path
    assert "●" not in (await http.get(f"/tasks/{task}/results.svg")).text
    assert "a number from 0 to 10 cups" in said_of_study


async def test_too_few_people_are_published_knowingly(http: Http) -> None:
    """Where the figure beside the people says that they tell nothing, a plan is asked for."""
    form = await http.sign_in()
    few = as_file(question_alone(YES_NO | {"holders": "3", "smallest_batch": "1"}))
    assert "Plan first" in (await form("/new", {"study": few})).text
    made = await form("/new", {"study": few}, unplanned="on")
    assert made.status_code == 303, made.text


async def test_one_question_in_waves(http: Http, app: CuratorApp, clock: ManualClock) -> None:
    """Its figure over time, without models of waves."""
    now = datetime.fromtimestamp(clock(), UTC)
    days = [(now + timedelta(days=day)).date().isoformat() for day in (0, 3, 10, 13)]
    waves = {"wave_count": "2", "mode": "rotate"}
    waves |= {f"waves.{n // 2}.{('first', 'last')[n % 2]}": day for n, day in enumerate(days)}
    panel = await publish(http, await http.sign_in(), YES_NO | waves)
    whole = await http.published(panel)
    for number, wave in enumerate(whole.waves):
        clock.advance(timedelta(days=10 * number).total_seconds())
        answered(app, wave, ["yes"] * (200 + 200 * number) + ["no"] * 400, clock())
    await http.sign_in()
    page = (await http.get(f"/tasks/{panel}")).text
    assert 'class="lines"' in page, main_part(page)
    words = main_part(page)
    assert not [word for word in NEVER if word in words.lower()], words
    one = main_part((await http.get(f"/tasks/{whole.waves[0].id}")).text)
    assert not [word for word in NEVER if word in one.lower()], one


@pytest.mark.parametrize("goal", ["count", "change"])
async def test_the_form_of_one_question_has_few_fields(http: Http, goal: str) -> None:
    """Of methods none; over time, waves are filled in."""
    form = await http.sign_in()
    page = (await form("/new/question", {}, goal=goal)).text
    for name in ("depth", "grower", "label_part", "smallest_group", "label"):
        assert f'name="{name}"' not in page
    for name in ("columns.0.prompt", "holders", "asker.name", "closes"):
        assert page.count(f'name="{name}"') == 1
    assert ('"wave_count": 2' in page) == (goal == "change")
