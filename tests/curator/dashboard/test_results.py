"""The page of results for everybody, and what other pages show of it."""

import csv
import io
import re
from html import unescape
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest

from privet.curator.app import CuratorApp
from privet.learning.core.amounts import TOO_FEW_ANSWERS, figure, percent, tells_nothing
from privet.learning.display.figure_picture import DrawnFigure, figures_to_csv, figures_to_svg
from tests.curator.dashboard.test_overview import answer_all, text_of
from tests.curator.http.conftest import Http
from tests.curator.studies import ASKER
from tests.manual_clock import ManualClock

SVG = "{http://www.w3.org/2000/svg}"


async def closed(http: Http, app: CuratorApp, clock: ManualClock) -> str:
    """A study that has ended, with a model."""
    task = await http.task(holders=1_000, epsilon=8.0, asker=ASKER)
    answer_all(app, task, clock, 300)
    await http.fit(task, estimator="weighted")
    await http.post(f"/v1/tasks/{task}/close", headers=http.admin)
    return task


async def test_results_have_a_page_for_everybody_once_a_study_has_ended(
    http: Http, app: CuratorApp, clock: ManualClock
) -> None:
    """The figures of its status, in plain words, as a picture and as a table; the same whoever is
    signed in, and nothing before the end."""
    task = await http.task(holders=1_000, epsilon=8.0)
    assert "once the study has ended" in (await http.get(f"/tasks/{task}/results")).text
    assert (await http.get(f"/tasks/{task}/results.svg")).status_code == 404
    assert 'id="share"' not in (await http.get(f"/tasks/{task}")).text
    task = await closed(http, app, clock)
    assert f'id="share" href="/tasks/{task}/results"' in (await http.get(f"/tasks/{task}")).text
    answer = await http.get(f"/tasks/{task}/results")
    said = re.sub(r"https?://\S+", "", text_of(answer.text))
    assert not re.search("curator|relay|holder|epsilon|ε|cell|token", said, re.IGNORECASE)
    assert ASKER["name"] in said
    results = (await http.get(f"/v1/tasks/{task}/status")).json()["results"]
    figures, doubt = results["figures"], results["if_false"]
    assert doubt.startswith("If somebody had sent 1\u00a0% of the answers false on purpose, ")
    doubt = " ".join(doubt.split())
    assert doubt in said
    assert doubt in text_of((await http.get(f"/tasks/{task}")).text)
    picture = ElementTree.fromstring((await http.get(f"/tasks/{task}/results.svg")).text)
    described = picture.findtext(f"{SVG}desc") or ""
    (alt,) = re.findall(r'<img [^>]*alt="([^"]+)"', unescape(answer.text))
    assert unescape(alt) == f"{picture.findtext(f'{SVG}title')} {described}"
    assert text_of(picture.findtext(f"{SVG}text[2]") or "no sentence") in said
    assert "Fewer than 2 000 people answered" in said
    table = list(csv.DictReader(io.StringIO((await http.get(f"/tasks/{task}/results.csv")).text)))
    stated = {each["name"]: each for each in figures}
    for row in table:
        of = stated[row["figure"]]
        for name in ("value", "low", "high", "public"):
            assert float(row[name]) == pytest.approx(of[name])
    await http.sign_in()
    signed_in = (await http.get(f"/tasks/{task}/results")).text
    assert signed_in == answer.text


async def test_results_say_what_is_drawn_who_asked_and_that_they_may_change(
    http: Http, app: CuratorApp, clock: ManualClock
) -> None:
    """The signs of the picture, a page of the asker's, and until when answers on their way count;
    each file is named by what it has."""
    page = (await http.get(f"/tasks/{await closed(http, app, clock)}/results")).text
    said = text_of(page)
    for sign in ("● is the figure of those who answered", "◇ is that of the earlier file"):
        assert sign in said
    assert f'href="{ASKER["link"]}"' in page
    assert "Answers on their way may count until" in said
    for kind in ("SVG", "PNG", "CSV"):
        assert f'aria-label="{kind} of results"' in page


async def test_groups_of_people_have_their_figures(
    http: Http, app: CuratorApp, clock: ManualClock
) -> None:
    """Those of insight and of nodes' pages, on the study's page and on that for everybody, drawn
    and as files; strangers read them once the study has ended."""
    task = await http.task(holders=1_000, epsilon=8.0, asker=ASKER)
    answer_all(app, task, clock, 1_000)
    await http.fit(task, estimator="weighted")
    for path in (f"/tasks/{task}", f"/tasks/{task}/results"):
        assert "By group" not in (await http.get(path)).text
    groups = (await http.get(f"/v1/tasks/{task}/insight", headers=http.admin)).json()["groups"]
    assert len(groups) > 1
    assert sum(group["part"] for group in groups) == pytest.approx(1.0)
    await http.post(f"/v1/tasks/{task}/close", headers=http.admin)
    for_everybody = [
        (await http.get(path)).text for path in (f"/tasks/{task}/results", f"/tasks/{task}")
    ]
    await http.sign_in()
    for page in (*for_everybody, (await http.get(f"/tasks/{task}")).text):
        said = text_of(page)
        (table,) = re.findall(r'href="data:text/csv;charset=utf-8,([^"]+)" download="groups', page)
        rows = list(csv.DictReader(io.StringIO(unquote(unescape(table)))))
        assert len(rows) == len(groups)
        assert (
            "take two groups to differ only where their lines, the 95 % intervals, do not" in said
        )
        for row, group in zip(rows, groups, strict=True):
            (of,) = group["figures"]
            part = " ".join(percent(group["part"]).split())
            assert f"(about {part} of those who answered): " in said
            assert row["figure"].endswith(f": {of['name']}")
            assert row["figure"].removesuffix(f": {of['name']}") in said
            file = "the earlier file" if page in for_everybody else "your file"
            public = " ".join(percent(of["public"]).split())
            close = f"; {file} says {public}"
            beside = f" than the {public} in {file}." if of["differs"] else close
            assert beside in said
            for name in ("value", "low", "high", "public"):
                assert float(row[name]) == pytest.approx(of[name])
    for group in groups:
        node = await http.get(f"/tasks/{task}/models/1/nodes/{group['node']}")
        (of,) = group["figures"]
        stated = figure(of["value"], of["low"], of["high"], is_share=True)
        if tells_nothing(of["low"], of["high"], 0.0, 1.0):
            stated = TOO_FEW_ANSWERS
        assert " ".join(stated.split()) in text_of(node.text)


async def test_other_pages_may_show_results_and_nothing_else(
    http: Http, app: CuratorApp, clock: ManualClock
) -> None:
    """In a frame or as a picture; the page says with which lines."""
    task = await closed(http, app, clock)
    for path, framed in ((f"/tasks/{task}/results", True), (f"/tasks/{task}", False), ("/", False)):
        headers = (await http.get(path)).headers
        assert ("frame-ancestors *" in headers["Content-Security-Policy"]) is framed
        shared = headers["Cross-Origin-Resource-Policy"]
        assert shared == ("cross-origin" if framed else "same-origin")
    picture = await http.get(f"/tasks/{task}/results.svg")
    assert picture.headers["Cross-Origin-Resource-Policy"] == "cross-origin"
    lines = unescape((await http.get(f"/tasks/{task}/results")).text)
    assert re.search(rf'<iframe src="http\S+/tasks/{task}/results" title="', lines)
    assert re.search(
        rf'<img src="http\S+/tasks/{task}/results.svg" alt="[^"]{{20,}}" style="max-width', lines
    )


async def test_the_front_page_shows_what_comes_out(http: Http) -> None:
    """Drawn, once; not to whoever is signed in."""
    assert (await http.get("/")).text.count("/static/front.svg") == 1
    await http.sign_in()
    assert "/static/front.svg" not in (await http.get("/")).text


def test_figures_are_drawn_where_they_are() -> None:
    """On the axis, within the frame; long sentences are wrapped and texts are no markup."""
    figures = [
        DrawnFigure("25 % say <yes>. " * 12, 0.25, 0.0, 1.0, 0.75),
        DrawnFigure("Unknown.", 0.5, 0.1, 0.9, known=False),
    ]
    drawn = ElementTree.fromstring(figures_to_svg("A & B?", figures, (0.0, 1.0), "share", "Us"))
    width = float(drawn.get("width") or 0)
    (dot,) = drawn.findall(f"{SVG}circle")
    starts = [float((each.get("d") or "M0")[1:].split()[0]) for each in drawn.findall(f"{SVG}path")]
    left, right = min(starts), width - min(starts)
    assert left > 0
    assert float(dot.get("cx") or 0) == pytest.approx(left + 0.25 * (right - left), abs=0.1)
    lines = [each.text or "" for each in drawn.findall(f"{SVG}text")]
    assert max(len(line) for line in lines) < 90
    assert " ".join(lines).count("say <yes>") == 12
    assert {"0 %", "50 %", "100 %", "share"} <= {line.replace("\u00a0", " ") for line in lines}
    assert figures_to_csv([DrawnFigure("", 0.5, 0.4, 0.6, name="=1+1")]).splitlines() == [
        "figure,value,low,high,public",
        "'=1+1,0.5,0.4,0.6,",
    ]
