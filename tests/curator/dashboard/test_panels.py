"""A panel on the dashboard: its own page and those of its waves, before and after reports."""

import re
import threading
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any, NamedTuple

import pytest

from privet.curator.app import CuratorApp
from privet.curator.dashboard.panels import charts_of
from privet.curator.datastore.status import KeptTasks, StatusStore
from privet.curator.operations import models
from privet.learning.core.amounts import figure, percent, thousands
from privet.learning.figures.results import Line, WaveFigure
from privet.protocol.calls import TASK_MEDIA_TYPE
from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Classes
from privet.protocol.task import Task
from tests.curator import samples
from tests.curator.http.conftest import Http
from tests.curator.use_cases import answer
from tests.manual_clock import ManualClock

YES = {"age": 50, "hours": 40.0, "job": "smith", "member": True, "label": 1}
NO = {**YES, "label": 0}


def waves(clock: ManualClock, *days: int) -> list[str]:
    """Waves that begin and end so many days from now."""
    now = datetime.fromtimestamp(clock(), UTC)
    ends = [(now + timedelta(days=each)).isoformat() for each in days]
    return [f"{a}/{b}" for a, b in zip(ends[::2], ends[1::2], strict=True)]


async def created(http: Http, dates: list[str], **more: Any) -> Task:
    """A new panel's document."""
    given = {"label": "label", "epsilon": 2, "depth": 1, "waves": dates, **more}
    made = await http.create(samples.survey(), **given)
    assert made.status_code == 201, made.text
    headers = {**http.admin, "Accept": TASK_MEDIA_TYPE}
    return Task.parse((await http.get(f"/v1/tasks/{made.json()['id']}", headers=headers)).content)


async def test_a_panel_and_its_waves_have_pages(
    http: Http, app: CuratorApp, clock: ManualClock
) -> None:
    """Nobody meets an error there; strangers see no counts, and every page leads to the panel."""
    panel = await created(http, waves(clock, -1, 1, 30, 40))
    assert '<span class="number">fewer than 4\u202f000</span>' in (await http.get("/")).text
    for each in (panel, *panel.waves):
        page = await http.get(f"/tasks/{each.id}")
        assert page.status_code == 200, page.text
        assert (f'href="/tasks/{panel.id}"' in page.text) is not each.is_panel
        part = await http.get(f"/tasks/{each.id}/collection")
        assert part.status_code == 200
    overview = (await http.get("/")).text
    assert re.findall(r'<th scope="row"><a href="/tasks/(\w+)"', overview) == [panel.id]
    assert "<small>panel of 2 waves</small>" in overview
    await http.sign_in()
    for wave in panel.waves:
        asked = (await http.get(f"/tasks/{wave.id}")).text
        assert re.search("[0-9\u202f]+ answers, as planned: every share to ± ", asked)
    http.cookies.clear()
    seen = await http.get(f"/v1/tasks/{panel.id}/waves", headers=http.admin)
    assert [wave["wave"] for wave in seen.json()["waves"]] == [1, 2]
    page = await http.get(f"/tasks/{panel.id}")
    assert states(page.text) == ["open", "not open yet"]
    for_all = "is there for everybody once it is over and has a model."
    assert for_all in page.text
    app.state.curator.guard_models = True
    assert for_all not in (await http.get(f"/tasks/{panel.id}")).text
    hour = datetime.fromtimestamp(clock(), UTC).strftime("%H:%M")
    assert (f" {hour}</span>" in page.text) == (hour != "00:00")
    begins = datetime.fromtimestamp(clock() - 86_400, UTC)
    assert f'<span class="number">{begins.day} {begins:%B %Y}' in page.text, (
        "as in moments elsewhere"
    )
    assert re.findall('data-label="people">([^<]+)<', page.text) == ["–", "–"]
    assert "people so far" not in page.text


def states(page: str) -> list[str]:
    """What a panel's page says of its waves."""
    table = re.search(r'<table id="waves"[^>]*>.*?</table>', page, re.DOTALL)
    assert table
    return re.findall(r'class="state[ \w]*">([^<]+)', table[0])


async def test_every_call_says_whether_a_panel_takes_reports(
    http: Http, clock: ManualClock
) -> None:
    """The list, the task and its status alike: while one of its waves does."""
    panel = await created(http, waves(clock, -1, 1, 30, 40))

    async def said() -> set[bool]:
        listed = (await http.get("/v1/tasks")).json()
        (of_list,) = (each["collecting"] for each in listed if each["id"] == panel.id)
        one, status = f"/v1/tasks/{panel.id}", f"/v1/tasks/{panel.id}/status"
        read = [(await http.get(path)).json()["collecting"] for path in (one, status)]
        return {of_list, *read}

    assert await said() == {True}
    clock.advance(10 * 86_400)
    assert await said() == {False}
    clock.advance(25 * 86_400)
    assert await said() == {True}
    closed = await http.post(f"/v1/tasks/{panel.id}/close", headers=http.admin)
    assert closed.json()["collecting"] is False
    assert await said() == {False}
    opened = await http.post(f"/v1/tasks/{panel.id}/open", headers=http.admin)
    assert opened.json()["collecting"] is True


async def test_a_panels_people_are_those_of_its_waves(
    http: Http, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the front page, in one row, which says how its waves stand."""
    panel = await created(http, waves(clock, -1, 1, 30, 40))
    counted = {wave.id: 2 + number for number, wave in enumerate(panel.waves)}
    monkeypatch.setattr(StatusStore, "counted", lambda _: counted)

    async def states() -> list[str]:
        found = re.findall(r'<span class="state[ a-z]*">(.*?)</span>', (await http.get("/")).text)
        return list(found)

    await http.sign_in()
    assert re.findall(r'"number">(\d)</span>', (await http.get("/")).text) == ["5"]
    assert await states() == ["wave 1 open, no link yet"]
    clock.advance(10 * 86_400)
    assert await states() == ["wave 2 not open yet"]
    await http.delete(f"/v1/tasks/{panel.waves[1].id}", headers=http.admin)
    assert await states() == ["over"]


async def test_a_panels_page_says_what_to_do_next(http: Http, clock: ManualClock) -> None:
    """From a draft to the waves' models; a wave that was deleted is said to be."""
    await http.sign_in()
    panel = await created(http, waves(clock, -1, 1, 30, 40, 60, 70), draft=True)

    async def said(step: str) -> None:
        assert f'</b> <a href="#{step}' in (await http.get(f"/tasks/{panel.id}")).text

    await said('state">Open the study')
    await http.post(f"/v1/tasks/{panel.id}/open", headers=http.admin)
    await said('holders">Name a relay')
    fields = {"relay": "https://relay.example"}
    await (await http.form())(f"/tasks/{panel.id}/link", **fields)
    for each in (panel, panel.waves[1]):  # that has not begun
        page = (await http.get(f"/tasks/{each.id}")).text
        assert f'id="link" href="https://relay.example/answer/{panel.id}"' in page
    await said('holders">Give people')
    assert "so nobody can answer any more" not in page
    await http.delete(f"/v1/tasks/{panel.waves[2].id}", headers=http.admin)
    clock.advance(10 * 86_400)
    assert states((await http.get(f"/tasks/{panel.id}")).text) == [
        "over",
        "not open yet",
        "deleted",
    ]


async def test_a_panel_that_is_over_asks_nobody(
    http: Http, app: CuratorApp, clock: ManualClock
) -> None:
    """No relay is wanted any more; its pages and those of its waves say alike that they are over,
    and what is left is to share the results, or to read the models where those are not shown."""
    panel = await created(http, waves(clock, -1, 1, 30, 40), epsilon=4)
    answer(app.state.curator, panel.waves[0], [YES] * 20 + [NO] * 20)
    clock.advance(50 * 86_400)
    await http.sign_in()

    async def page(of: Task = panel) -> str:
        return (await http.get(f"/tasks/{of.id}")).text

    assert 'href="#models">Fit models: wave 1 has none yet.' in await page()
    await http.fit(panel.waves[0].id)
    assert 'href="#share">Share the results: a page for everybody.' in await page()
    assert '<a id="share" ' in await page()
    app.state.curator.guard_models = True
    assert 'href="#waves">Read the model of wave 1, on its page.' in await page()
    for of in (panel, *panel.waves):
        text = await page(of)
        assert "The study is over, so nobody can answer any more" in text
        assert "Name a relay" not in text
        assert "Create the link" not in text
        assert "Show how to start a relay" not in text
        assert of.is_panel or '<b class="state ">over</b>: nobody can answer now' in text


async def test_strangers_read_what_the_answers_of_waves_say_once_they_are_over(
    http: Http, app: CuratorApp, clock: ManualClock
) -> None:
    """On the panel's pages, as on the waves' own; nothing of a wave that still takes answers."""
    panel = await created(http, waves(clock, -1, 1, 30, 40), epsilon=4)
    first = panel.waves[0]
    answer(app.state.curator, first, [YES] * 200 + [NO] * 200)
    await http.fit(first.id)

    async def row(page: str) -> str:
        read = unescape((await http.get(f"/tasks/{panel.id}{page}")).text)
        table = re.search(r"<table[^>]*>.*?</table>", read, re.DOTALL)
        assert table
        assert f'href="/tasks/{first.id}{page}"' in table[0]
        assert states(read) == states((await http.get(f"/tasks/{panel.id}")).text)
        return table[0].split("<tr>")[2]

    people = '<td class="number" data-label="people">'
    for page in ("", "/results"):
        assert f"{people}–</td><td>–</td>" in await row(page)
    address = f"/tasks/{panel.id}/results"
    assert f'id="share" href="{address}"' in (await http.get(f"/tasks/{panel.id}")).text
    assert "<iframe" in unescape((await http.get(address)).text)
    clock.advance(20 * 86_400)
    (*_, of) = (await http.get(f"/v1/tasks/{first.id}/status")).json()["results"]["figures"]
    said = figure(of["value"], of["low"], of["high"], is_share=True)
    for page in ("", "/results"):  # strangers see how many came in steps
        assert f"{people}fewer than {thousands(2000)}</td><td>1 {said}</td>" in await row(page)
    await http.sign_in()
    assert f"<td>1 {said}</td>" in await row("/results")
    page = unescape((await http.get(address)).text)
    assert f"In wave 1 the share of 1 is {said}." in page
    assert 'role="img"' not in page, "one wave is no line"
    clock.advance(12 * 86_400)
    answer(app.state.curator, panel.waves[1], [YES] * 400)
    await http.fit(panel.waves[1].id)
    clock.advance(20 * 86_400)
    page = unescape((await http.get(address)).text)
    (*_, now) = (await http.get(f"/v1/tasks/{panel.waves[1].id}/status")).json()["results"][
        "figures"
    ]
    stated = figure(now["value"], now["low"], now["high"], is_share=True)
    assert f"In wave 2 the share of 1 is {stated}. That is more than in wave 1: {said}." in page
    assert "in at least 19 of 20 studies like this one" in page
    assert "data-print" in page
    (chart,) = re.findall(r'role="img" aria-label="([^"]+)"', page)
    assert f"wave 1 {said}, wave 2 {stated}" in chart
    assert "What the answers of a wave say is shown here" not in page, "every wave has its figure"
    of_first = unescape((await http.get(f"/tasks/{first.id}/results")).text)
    assert "<b>Wave 1 of 2</b>, " in of_first
    assert f'<a href="{address}">All waves</a>' in of_first


async def test_what_is_deleted_is_counted_with_its_waves(
    http: Http, app: CuratorApp, clock: ManualClock
) -> None:
    """On the panel's page and in the audit log; a wave's page and its entry have its own."""
    panel = await created(http, waves(clock, -1, 1, 30, 40), epsilon=4)
    first, second = panel.waves
    answer(app.state.curator, first, [YES] * 30)
    clock.advance(31 * 86_400)
    answer(app.state.curator, second, [YES] * 12)
    form = await http.sign_in()
    for task, said in ((panel, 42), (first, 30), (second, 12)):
        page = (await http.get(f"/tasks/{task.id}")).text
        assert f"<span data-all-answers>{said} answers</span>" in page
        assert (
            f'data-answers="{said} answers"' in page
        )  # which the page takes up as it is refreshed
    for task in (second, panel):
        await form(f"/tasks/{task.id}/delete", name=task.name)
    assert "2 waves; state open" in (await http.get("/access")).text
    entries = (await http.get("/v1/audit", headers=http.admin)).json()
    deleted = [each["detail"]["reports"] for each in entries if each["action"] == "task deleted"]
    assert sorted(deleted) == [12, 30]


async def stated(http: Http, wave: Task) -> str:
    """The figure that a wave's own page states, with its interval."""
    page = unescape((await http.get(f"/tasks/{wave.id}")).text)
    (said,) = re.findall(r"[\d.]+\s% say 1 \([^)]+\)", re.findall(r'id="known">([^<]+)<', page)[0])
    return str(said)


async def test_a_panel_is_shown_over_time(http: Http, app: CuratorApp, clock: ManualClock) -> None:
    """A line for each class and for each cell that changed, with the sentences of insight."""
    panel = await created(http, waves(clock, -1, 1, 30, 40, 60, 70), epsilon=4)
    first, second, _ = panel.waves
    answer(app.state.curator, first, [YES] * 200 + [NO] * 200)
    clock.advance(35 * 86_400)
    answer(app.state.curator, second, [YES] * 400)
    await http.sign_in()
    page = unescape((await http.get(f"/tasks/{panel.id}")).text)
    told = (await http.get(f"/v1/tasks/{panel.id}/waves", headers=http.admin)).json()
    assert "rose from" in told["sentence"]
    assert told["sentence"] in page
    for change in told["changes"]:
        assert change["sentence"] in page
    charts = re.findall(r'role="img" aria-label="([^"]+)"', page)
    assert len(told["lines"]) == 2
    assert told["cells"]
    lines = [told["lines"][1], *told["cells"]]  # of two classes the first is 1 less the second
    assert len(charts) == len(lines)
    known = re.search(r'id="known">([^<]+)<', page)
    assert known
    of_waves = [(await stated(http, wave)).replace(" say 1 ", " ") for wave in (first, second)]
    assert known[1] == f"In wave 2 the share of 1 is {of_waves[1]}. {told['sentence']}"
    assert page.index('id="known"') < page.index('role="img"') < page.index('id="waves"')
    for chart, line in zip(charts, lines, strict=True):
        assert chart.startswith(f"Share of {line['name']}")
        for of in line["figures"]:
            texts = {percent(of["value"], whole=whole) for whole in (True, False)}
            assert any(f"wave {of['wave']} {text} (" in chart for text in texts)
    table = page[page.index('id="waves"') :]
    for of, said in zip(lines[0]["figures"], of_waves, strict=True):
        assert f">{percent(of['value'])}</text>" in page
        assert f"<td>1 {said}</td></tr>" in table, "one figure has one interval on all pages"
    assert "<td>–</td></tr>" in table, "the last wave has no answers"
    assert states(page) == ["over", "open", "not open yet"]
    assert '<b id="reports">800</b>' in page


async def test_one_button_fits_every_wave(
    http: Http, app: CuratorApp, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model of each that has answers, once, by a request for each, so that none lasts long;
    without any there is no button and nothing to fit, and whoever is no admin fits nothing."""
    panel = await created(http, waves(clock, -1, 1, 30, 40, 60, 70), epsilon=4)
    form, path = await http.sign_in(), f"/tasks/{panel.id}"
    button = f'action="{path}/fit-waves"'
    assert button not in (await http.get(path)).text
    refused = await form(f"{path}/fit-waves")
    assert refused.status_code == 422
    assert "No wave has reports yet" in refused.text
    for wave in panel.waves[:2]:
        answer(app.state.curator, wave, [YES] * 20 + [NO] * 20)
        clock.advance(35 * 86_400)
    form = await http.sign_in()  # the session is over
    await form(f"{path}/link", relay="https://relay.example")
    page = (await http.get(path)).text
    assert button in page
    assert "privet panel fit" not in page
    assert 'href="#models">Fit models: wave 1 has none yet.' in page

    async def models() -> list[int]:
        told = (await http.get(f"/v1/tasks/{panel.id}/waves", headers=http.admin)).json()
        return [wave["models"] for wave in told["waves"]]

    threads, read_snapshot = [], StatusStore.snapshot

    def read(*given: Any, **named: Any) -> KeptTasks:
        threads.append(threading.current_thread())
        return read_snapshot(*given, **named)

    with monkeypatch.context() as watched:
        watched.setattr(StatusStore, "snapshot", read)
        fitted = await form(f"{path}/fit-waves")
    assert threads
    assert threading.current_thread() not in threads, "the event loop waited for the database"
    assert "Wave 1 has model 1, which is kept. 1 wave is left." in fitted.text
    assert 'data-into="fitted" data-go-on' in fitted.text  # which page.js sends at once
    assert await models() == [1, 0, 0]
    (rest,) = re.findall(r'name="wave" value="(\d)"', fitted.text)
    fitted = await form(f"{path}/fit-waves", wave=rest)
    assert (fitted.status_code, fitted.headers["location"]) == (303, f"{path}#waves")
    assert await models() == [1, 1, 0]
    page = (await http.get(path)).text
    assert button not in page
    assert "Every wave has a model of all its answers" in page
    nothing = await form(f"{path}/fit-waves")  # of a page that was opened before
    assert (nothing.status_code, nothing.headers["location"]) == (303, f"{path}#waves")
    logged = [entry.action for entry in app.state.curator.store.audit.entries(1_000)]
    assert logged.count("model fitted") == 2
    http.cookies.clear()
    await http.sign_in(await http.token("reader"))
    assert button not in (await http.get(path)).text
    refused = await (await http.form())(f"{path}/fit-waves")
    assert refused.status_code == 403
    assert await models() == [1, 1, 0]


async def test_what_was_fitted_before_a_wave_failed_is_not_fitted_anew(
    http: Http, app: CuratorApp, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The button goes on at the wave that failed; new answers of a wave concern those after it."""
    panel = await created(http, waves(clock, -1, 1, 30, 40, 60, 70), epsilon=4)
    path = f"/tasks/{panel.id}"
    for wave in panel.waves:
        answer(app.state.curator, wave, [YES] * 20 + [NO] * 20)
        clock.advance(32 * 86_400)
    form = await http.sign_in()

    async def fitted(**sent: str) -> list[str]:
        """What each page says, which sends its form at once, to the last or to a problem."""
        page, said = await form(f"{path}/fit-waves", **sent), []
        while rest := re.findall(r'name="wave" value="(\d)"', page.text):
            said += re.findall(r"Wave \d has model \d", page.text)
            page = await form(f"{path}/fit-waves", wave=rest[0])
        return [*said, str(page.status_code)]

    fit = models.fit

    async def broken(curator: Any, actor: Any, task_id: str) -> Any:
        if task_id == panel.waves[1].id:
            raise InvalidRequest("The worker ended.")
        return await fit(curator, actor, task_id)

    with monkeypatch.context() as failing:
        failing.setattr(models, "fit", broken)
        assert await fitted() == ["Wave 1 has model 1", "422"]
        assert await fitted() == ["422"]
    clock.advance(60)
    assert await fitted() == ["Wave 2 has model 1", "303"]
    assert await fitted() == ["303"], "every wave has a model of all its answers"
    clock.advance(60)
    made = await http.post(
        f"/v1/tasks/{panel.waves[2].id}/models", headers=http.admin, json=samples.PUBLIC_ALONE
    )
    assert made.status_code == 201, made.text
    assert await fitted() == ["303"]
    clock.advance(-60 * 86_400)
    answer(app.state.curator, panel.waves[1], [YES])
    clock.advance(60 * 86_400)
    assert await fitted() == ["Wave 2 has model 2", "303"]
    told = (await http.get(f"/v1/tasks/{panel.id}/waves", headers=http.admin)).json()
    assert [wave["models"] for wave in told["waves"]] == [1, 2, 3]


class DatesOf(NamedTuple):
    """The dates of a wave."""

    opens: datetime
    closes: datetime


def test_a_chart_has_its_figures_where_they_are() -> None:
    """In time by the middle of each wave, on an axis of round numbers that holds every band."""
    label = Classes(name="ill", classes=("no", "yes"))
    figures = (WaveFigure(1, 9, 0.18, 0.16, 0.2), WaveFigure(3, 9, 0.24, 0.21, 0.27))
    lone = Line("no", figures[:1])
    days = (datetime(2026, 10, 1, tzinfo=UTC) + timedelta(days=d) for d in range(0, 30, 5))
    rows = [DatesOf(each, each + timedelta(days=5)) for each in days][::2]
    (chart,) = charts_of(label, [Line("yes", figures), lone], rows, {None: ()})
    assert [text for _, text in chart.ticks] == [percent(share) for share in (0.0, 0.1, 0.2, 0.3)]
    for point, of in zip(chart.points, figures, strict=True):
        assert (point.value, point.low, point.high) == (of.value, of.low, of.high)
        assert 0.0 <= chart.height(of.low) < chart.height(of.value) == pytest.approx(of.value / 0.3)
        assert chart.height(of.high) <= 1.0
    assert [point.at for point in chart.points] == pytest.approx([0.1, 0.9])
    assert chart.along == "wave, from 1 October 2026 to 25 October 2026"
    assert chart.described.startswith("Share of yes (wave, from 1 October 2026")
