"""A person answers in a real browser, and the curator counts it."""

import base64
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from privet import CuratorClient
from privet import page as answer_page
from privet.client.answer_page import answer_page_server
from privet.learning.task_building.build import build_task
from privet.learning.task_building.settings import TaskSettings
from privet.learning.task_building.table import read_table
from privet.protocol.calls import TASK_MEDIA_TYPE
from privet.protocol.panel import Mode
from scripts.servers import running_relay
from tests.browsing import FORBIDDEN, violations
from tests.client.test_panels import panel
from tests.curator import samples
from tests.end_to_end.population import answer_all, survey
from tests.end_to_end.running_curator import RunningCurator
from tests.served import serving

pytestmark = pytest.mark.needs("chromium")
HOURS = "12.5"
BETWEEN = r"\((\d+(?:\.\d+)?)%? to (\d+(?:\.\d+)?)"
COUNTED = "Thank you. Your answer has been counted"
GROUPS: dict[str, Any] = {"disclosed": ["job", "age"], "depth": 3, "hidden_depth": 1}
"""Settings of a task whose reports disclose a group."""


class QuietFiles(SimpleHTTPRequestHandler):
    """A static host."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        pass


class Recorder:
    """Passes calls on to a curator and keeps a log of all that came, as an access log would."""

    def __init__(self, curator: str) -> None:
        self.log: list[str] = []
        self.bodies: list[bytes] = []
        self.failing = False
        recorder = self

        class Handler(BaseHTTPRequestHandler):
            def _pass_on(self) -> None:
                recorder.log.append(f"{self.command} {self.path}")
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if self.command == "POST":
                    recorder.bodies.append(body)
                if recorder.failing and self.command == "POST":
                    self.close_connection = True
                    return
                named = {"accept", "content-type", "origin", "privet-invitation"}
                named |= {"access-control-request-method", "access-control-request-headers"}
                headers = {k: v for k, v in self.headers.items() if k.lower() in named}
                answer = httpx.request(
                    self.command, curator + self.path, headers=headers, content=body, timeout=60
                )
                self.send_response(answer.status_code)
                for name, value in answer.headers.items():
                    if name not in {"date", "server", "content-length", "content-encoding"}:
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer.content)))
                self.end_headers()
                self.wfile.write(answer.content)

            do_GET = do_POST = do_OPTIONS = _pass_on  # noqa: N815 - the base's names

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)


@pytest.fixture(scope="module")
def curator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCurator]:
    with RunningCurator(tmp_path_factory.mktemp("curator")) as running:
        yield running


def make_task(curator: RunningCurator, **settings: Any) -> str:
    """A task over ``samples.survey``, whose label is 0 or 1."""
    chosen = {
        "label": "label",
        "epsilon": 2,
        "depth": 2,
        "grower": "cart",
        **settings,
    }
    return curator.create(samples.survey(), **chosen)


@contextmanager
def opened(curator: RunningCurator, tab: Any, **settings: Any) -> Iterator[tuple[str, str]]:
    """A new task whose page is in the tab: its id, and the page's address."""
    task = make_task(curator, **settings)
    with serving(answer_page_server(f"{curator.url}/v1/tasks/{task}", port=0)) as page:
        tab.goto(page)
        yield task, page


@contextmanager
def recorded(curator: RunningCurator, tab: Any, **settings: Any) -> Iterator[tuple[str, Recorder]]:
    """The same with a recorder on the way to the curator: the task's id, and the recorder."""
    task, recorder = make_task(curator, **settings), Recorder(curator.url)
    with (
        serving(recorder.server) as address,
        serving(answer_page_server(f"{address}/v1/tasks/{task}", port=0)) as page,
    ):
        tab.goto(page)
        yield task, recorder


def reports(curator: RunningCurator, task: str) -> int:
    """How many have been counted."""
    return int(curator.status(task)["reports"])


def relay_token(curator: RunningCurator) -> str:
    """A new one of scope relay."""
    with curator.http() as http:
        issued = http.put("/v1/tokens/relay", json={"scope": "relay"}, headers=curator.admin)
    return str(issued.json()["token"])


READY = "#start:not([hidden])"
"""The first screen, once the task can be answered."""
FITTING = (("Age", "30"), ("Hours", HOURS), ("Job", "nurse"), ("Member", "True"), ("Label", "0"))


def begin(tab: Any) -> None:
    """From the first screen to the first question."""
    tab.locator("#begin").click()


def move_on(tab: Any) -> None:
    """From a question to what comes next."""
    tab.locator("#next").click()


def put(tab: Any, name: str, value: str) -> None:
    """Answer the question that is shown, by the words that people read."""
    if name in {"Age", "Hours", "How old are you?"}:
        tab.get_by_label(name, exact=True).fill(value)
    else:
        tab.get_by_role("group", name=name).get_by_label(value, exact=True).check()


def fill_in(tab: Any, answers: tuple[tuple[str, str], ...] = FITTING) -> None:
    """A record that fits, up to the last question."""
    begin(tab)
    for at, (name, value) in enumerate(answers):
        if at > 0:
            move_on(tab)
        put(tab, name, value)


def fill_anything_in(tab: Any) -> None:
    """A record that fits, whatever is asked, from the first screen or question."""
    if tab.is_hidden("#form"):
        begin(tab)
    total = tab.locator("#fields > *").count()
    for number in range(1, total + 1):
        for field in tab.locator("#fields input[type=text]:visible").all():
            field.fill("9")
        for group in tab.locator("#fields fieldset:visible").all():
            group.get_by_role("radio").first.check()
        if number < total:
            move_on(tab)


def change(tab: Any, name: str) -> None:
    """From the check to a question."""
    tab.get_by_role("button", name=f"Change your answer to “{name}”").click()


def check(tab: Any) -> None:
    """From the last question to the answers in words and the message."""
    move_on(tab)
    tab.wait_for_selector("#preview:not([hidden])")


def send(tab: Any) -> None:
    """From a form that is filled in to the receipt."""
    check(tab)
    tab.locator("#send").click()


def outcome(tab: Any) -> str:
    """The title of the receipt, once it is there."""
    tab.wait_for_selector("#receipt:not([hidden])")
    return str(tab.inner_text("#receipt-title"))


def test_an_answer_counts_and_nothing_else_arrives(curator: RunningCurator, tab: Any) -> None:
    """The page is the holder's machine's; the curator sees GETs that do not depend on the answer,
    and the previewed bytes."""
    with recorded(curator, tab) as (task, recorder):
        fill_in(tab)
        check(tab)
        shown = tab.text_content("#bytes")
        assert f"{len(shown) // 2} bytes" in tab.inner_text("#preview")
        assert sorted(recorder.log) == [f"GET /v1/tasks/{task}", f"GET /v1/tasks/{task}/status"]
        tab.locator("#send").click()
        assert outcome(tab) == COUNTED
        assert reports(curator, task) == 1
        assert [body.hex() for body in recorder.bodies] == [shown]
        assert tab.get_attribute("#answer #name", "class")  # which is read below
        assert HOURS not in tab.locator("#answer").evaluate("answer => answer.outerHTML")
        tab.reload()
        assert outcome(tab) == COUNTED
    status = f"GET /v1/tasks/{task}/status"  # whether it takes reports; whether there are results
    assert recorder.log[2:] == [status, f"POST /v1/tasks/{task}/reports", status]


def test_a_record_that_does_not_fit_is_told_at_its_field_and_counts(
    curator: RunningCurator, tab: Any
) -> None:
    """Questions start neutral; the person may mend the record, or send that it does not fit."""
    with opened(curator, tab) as (task, _):
        fill_in(tab)
        assert tab.locator("[aria-invalid], .fault:visible").count() == 0
        check(tab)
        fitting = tab.text_content("#bytes")
        change(tab, "Age")
        age = tab.get_by_label("Age", exact=True)
        assert age.evaluate("field => field === field.getRootNode().activeElement")
        age.fill("thirty")
        tab.keyboard.press("Tab")
        move_on(tab)
        assert age.evaluate("field => field === field.getRootNode().activeElement")
        assert age.get_attribute("aria-invalid") == "true"
        assert "in digits" in tab.inner_text(f"#{age.get_attribute('aria-describedby').split()[1]}")
        age.fill("30")
        assert tab.locator("[aria-invalid]").count() == 0
        check(tab)
        assert tab.text_content("#bytes") == fitting  # the same chance: nobody can draw again
        change(tab, "Age")
        age.fill("")
        move_on(tab)
        tab.get_by_text("None of the answers fits me").click()
        tab.get_by_role("button", name="Say that my answers do not fit").click()
        assert tab.locator("#answers *").count() == 0
        assert len(tab.text_content("#bytes")) == len(fitting)
        tab.locator("#send").click()
        assert outcome(tab) == COUNTED
    assert reports(curator, task) == 1


def test_one_question_at_a_time_and_back(curator: RunningCurator, tab: Any) -> None:
    """By the page's buttons and the browser's; nothing that was filled in is lost on the way, and
    nobody is called."""
    with recorded(curator, tab) as (_, recorder):
        tab.wait_for_selector(READY)
        before = list(recorder.log)
        fill_in(tab)
        numbers = []
        for _ in FITTING:
            numbers.append(tab.inner_text("#number"))
            assert tab.locator("#fields > :visible").count() == 1
            tab.locator("#previous").click()
        assert numbers == [f"Question {number} of 5" for number in (5, 4, 3, 2, 1)]
        assert tab.is_visible("#start")
        begin(tab)
        for number in (2, 3, 4, 5):
            move_on(tab)
            assert tab.inner_text("#number") == f"Question {number} of 5"
        check(tab)
        for number in (5, 4, 3, 2, 1):
            tab.go_back()
            assert tab.inner_text("#number") == f"Question {number} of 5"
        tab.go_back()
        assert tab.is_visible("#start")
        assert recorder.log == before


def test_a_disclosed_group_is_seen_before_it_is_sent(curator: RunningCurator, tab: Any) -> None:
    """In words, with its size, and marked in the message; other groups, other words and bytes."""
    with recorded(curator, tab, **GROUPS, smallest_group=20, holders=5000) as (_, recorder):
        fill_in(tab)
        intro = tab.text_content("#start")
        assert "It states openly which group you are in" in tab.text_content("[data-text=inShort]")
        assert "equally likely answers within your group, a guess" in tab.text_content("#hint")
        assert "openly which group of people you are in, based only on" in intro
        assert "within your group" in tab.text_content("#odds")
        assert "any two sets of answers by" not in tab.text_content("#odds")
        assert "stay on this device, except for what your group reveals" in intro
        assert tab.get_by_text("Your group may depend on this answer").count() == 2
        groups = {}
        check(tab)
        for age in ("18", "30", "64"):
            change(tab, "Age")
            tab.get_by_label("Age", exact=True).fill(age)
            check(tab)
            said = tab.inner_text("#group")
            assert re.fullmatch(
                r"Your group, which is not hidden: .*\. In this group \d+ people .* of \d+ .*", said
            )
            groups[said] = tab.text_content("#bytes .group")
        assert 2 <= len(set(groups.values())) == len(groups)
        assert violations(tab.locator("#group")) == []
        shown = tab.text_content("#bytes")
        tab.locator("#send").click()
        assert outcome(tab) == COUNTED
        assert [body.hex() for body in recorder.bodies] == [shown]
        assert tab.inner_text("#receipt-group") == said
        tab.reload()
        assert outcome(tab) == COUNTED
        assert tab.inner_text("#receipt-group") == said


def test_a_study_of_small_groups_is_refused(curator: RunningCurator, tab: Any) -> None:
    """Before the form, whatever one would have answered."""
    with opened(curator, tab, **GROUPS, smallest_group=1, holders=60):
        tab.get_by_text("groups so small that people in them could be recognised").wait_for()
        assert tab.is_hidden("#start")
        assert "0%" in kept(tab)


def test_enter_sends_nothing(curator: RunningCurator, tab: Any) -> None:
    """It leads from question to question, where that is answered, and to the check, where it does
    nothing."""
    with recorded(curator, tab) as (_, recorder):
        begin(tab)
        tab.get_by_label("Age", exact=True).press("Enter")
        assert tab.inner_text("#number") == "Question 1 of 5"
        for name, value in FITTING:
            put(tab, name, value)
            tab.keyboard.press("Enter")
        tab.wait_for_selector("#preview:not([hidden])")
        for _ in range(3):
            tab.keyboard.press("Enter")
        assert tab.is_visible("#preview")
        tab.reload()
        tab.wait_for_selector(READY)  # so nothing was kept
        assert not any(line.startswith("POST") for line in recorder.log)


def test_a_task_that_takes_nothing_says_so_before_any_form(
    curator: RunningCurator, tab: Any
) -> None:
    """Closed by hand, over, or not begun: no form, and nothing is kept."""
    closed = make_task(curator)
    curator.post(f"/v1/tasks/{closed}/close", {})
    later = make_task(curator, opens="2099-01-31T12:00Z")
    for task, said in [(closed, "takes no answers at the moment"), (later, "begins on January 31")]:
        with serving(answer_page_server(f"{curator.url}/v1/tasks/{task}", port=0)) as page:
            tab.goto(page)
            assert violations(tab.get_by_text(said)) == []
            assert tab.is_hidden("#start")
            assert "0%" in kept(tab)


@pytest.mark.parametrize(("label", "people"), [("label", 600), ("hours", 600), ("label", 40)])
def test_what_came_out_is_shown_once_the_collection_has_ended(
    curator: RunningCurator, tab: Any, label: str, people: int
) -> None:
    """To whoever answered, beside the receipt, and to others; the interval has the value. Of 41
    people it is all that is possible, which says so."""
    with opened(curator, tab, label=label, name=f"ended {label} {people}") as (task, page):
        fill_anything_in(tab)
        send(tab)
        assert outcome(tab) == COUNTED
        tab.get_by_text("Once the study is closed, this page shows").wait_for()
        with ThreadPoolExecutor(1) as thread:  # since Playwright's loop runs in this one
            url = f"{curator.url}/v1/tasks/{task}"
            thread.submit(answer_all, url, survey(people, seed=3)).result()
        curator.post(
            f"/v1/tasks/{task}/models", {"estimator": "weighted", "parameters": {"weight": "inf"}}
        )
        tab.reload()
        assert outcome(tab) == COUNTED
        tab.wait_for_load_state("networkidle")  # with what the curator says after that
        assert tab.is_hidden("#results")  # since more reports may come
        curator.post(f"/v1/tasks/{task}/close", {})
        figures = curator.status(task)["results"]["figures"]
        tab.reload()
        tab.wait_for_selector("#results:not([hidden])")
        tab.get_by_text(
            "these figures can change for three days"
        ).wait_for()  # relays may hold some
        assert outcome(tab) == COUNTED
        rows = tab.locator(".figure-row").all_inner_texts()
        assert len(figures) == (2 if label == "label" else 1)
        if people == 40:
            assert rows == ["1: Too few people answered to tell."]
            return
        for row, figure in zip(rows, figures[-1:], strict=True):  # the first is what is left
            assert f" say {figure['name']} (" in row if label == "label" else "On average " in row
            low, high = (float(end) for end in re.search(BETWEEN, row).groups())  # type: ignore[union-attr]
            assert low < high
            scale = 100 if label == "label" else 1
            assert low - 1 <= scale * figure["value"] <= high + 1 or figure["value"] < 0
            beyond = figure["differs"] or not figure["low"] <= figure["public"] <= figure["high"]
            is_same = not beyond  # a sign beside the line is not too close, whatever a test shows
            assert ("%: too close to call." in row) == (is_same and label == "label")
            assert ("too close to call." in row) == is_same
        for circle in tab.locator(".figure-row circle").all():
            assert 8 <= float(circle.get_attribute("cx")) <= 292
        assert violations(tab.locator("#results")) == []
        other = tab.context.browser.new_page(viewport={"width": 390, "height": 740})
        other.goto(page)
        other.get_by_text("This study has ended").wait_for()
        assert other.locator(".figure-row").all_inner_texts() == rows
        assert other.is_hidden("#start")
        assert other.evaluate("document.documentElement.scrollWidth") <= 390
        other.close()


ALONE: dict[str, dict[str, Any]] = {
    "class": {"classes": ["no", "yes"], "headline": "no"},
    "number": {"label_range": [0, 10], "bins": 6, "describe": {"answer": {"unit": "cups"}}},
}
"""Settings of one question, by its kind."""
OF_FILES = ("cell", "tree", "public record", "model", "holder", "predict", "feature", "epsilon")
"""Words that people who answer one question need not know; epsilon stands in numbers alone."""


@pytest.mark.parametrize("kind", ALONE)
def test_one_question_ends_with_its_figure_and_the_distribution_of_a_number(
    curator: RunningCurator, tab: Any, kind: str
) -> None:
    """As the curator states them; every screen speaks of people and answers."""
    admin = CuratorClient(curator.url, curator.token)
    asked: dict[str, Any] = {"name": "Answer", "label": "answer", "epsilon": 2.0}
    task = admin.create(None, **asked, **ALONE[kind])["id"]
    with serving(answer_page_server(f"{curator.url}/v1/tasks/{task}", port=0)) as page:
        tab.goto(page)
        begin(tab)
        if kind == "class":
            put(tab, "Answer", "yes")
        else:
            tab.get_by_role("textbox", name="Answer").fill("9")
        said = [tab.inner_text("#answer")]
        if kind == "class":  # the heading is the question, which is not shown twice
            assert tab.locator(".question legend").bounding_box()["width"] == 1
        check(tab)
        said.append(tab.inner_text("#answer"))
        tab.locator("#send").click()
        assert outcome(tab) == COUNTED
        said.append(tab.inner_text("#answer"))
        others = [
            {"answer": ("yes", "no")[i % 4 == 0] if kind == "class" else 2} for i in range(600)
        ]
        with ThreadPoolExecutor(1) as thread:  # since Playwright's loop runs in this one
            thread.submit(answer_all, f"{curator.url}/v1/tasks/{task}", others).result()
        admin.close(task)
        results = admin.status(task)["results"]
        tab.reload()
        tab.wait_for_selector("#results:not([hidden])")
        (row,) = tab.locator(".figure-row").all_inner_texts()
        drawn = [each.inner_text().split("\t") for each in tab.locator(".spread tr").all()]
        if kind == "class":
            (no,) = (each for each in results["figures"] if each["name"] == "no")
            assert row.startswith(f"{100 * no['value']:.0f}% say no ("), row
            assert not drawn
        else:
            assert row.startswith("On average "), row
            assert " cups (" in row, row
            bins = results["distribution"]["bins"]
            shares = [int(re.search(r"(\d+)%", each[-1])[1]) for each in drawn]  # type: ignore[index]
            assert [float(each[0]) for each in drawn] == [each["level"] for each in bins]
            assert shares == [pytest.approx(100 * each["share"], abs=0.51) for each in bins]
            widths = [float(each.get_attribute("width")) for each in tab.locator(".bar").all()]
            assert widths.index(max(widths)) == shares.index(max(shares)) == 1
            assert "Half of the people have at most" in tab.inner_text("#results")
        assert violations(tab.locator("#results")) == []
        tab.set_viewport_size({"width": 360, "height": 740})
        assert tab.evaluate("document.documentElement.scrollWidth") <= 360
        said.append(tab.inner_text("#answer"))
    for text in said:
        assert not [word for word in OF_FILES if word in text.lower()], text


STORED = """async (more) => {
    const result = (request) => new Promise((done) => (request.onsuccess = () => done(request.result)));
    const store = (await result(indexedDB.open("privet", 1))).transaction("answers", "readwrite").objectStore("answers");
    for (const each of more) store.put({ ...each, drawn: Date.now() / 1000 });
    return (await result(store.getAll())).length;
}"""  # noqa: E501
"""How many answers this browser keeps for this address, once it keeps more."""


def kept(tab: Any) -> str:
    """What the store of this address holds, in percent of a year's cap."""
    return f"{25 * tab.evaluate(STORED, [])}%"


def focused(tab: Any) -> str:
    """The id of what has the focus."""
    return str(
        tab.locator("privet-answer").evaluate("host => host.shadowRoot.activeElement?.id ?? ''")
    )


def test_numbers_are_understood_as_people_write_them(curator: RunningCurator, tab: Any) -> None:
    """A decimal comma, spaces, wide digits; one outside the range is pointed out, twice, and one
    that may be two is asked about, unless only one is in the range."""
    with opened(curator, tab):
        begin(tab)
        assert "others count as the nearest" in tab.inner_text(".question:visible")
        tab.get_by_label("Age", exact=True).fill("3,000")
        move_on(tab)
        assert "3,000 may be 3000 or 3:" in tab.inner_text(".question .fault:visible")
        tab.get_by_label("Age", exact=True).fill("3 000")
        assert "3000, will be counted as" in tab.inner_text(".question .note:visible")
        move_on(tab)
        tab.get_by_label("Hours", exact=True).fill("１2,500")
        assert not tab.locator(".note:visible").filter(has_text="will be counted").count()
        for name, value in FITTING[2:]:
            move_on(tab)
            put(tab, name, value)
        check(tab)
        rows = tab.locator("#answers > div").all_inner_texts()
        assert "12.5" in next(row for row in rows if row.startswith("Hours"))
        assert "3000, will be counted as" in next(row for row in rows if row.startswith("Age"))


def test_what_stands_for_an_empty_cell_is_no_answer_to_choose(
    curator: RunningCurator, tab: Any
) -> None:
    """Whoever gives none counts as it."""
    public = b"pet,label\n" + b"no,0\nyes,1\n,1\n" * 20
    task = curator.create(public, label="label", epsilon=2, depth=2, grower="cart")
    with serving(answer_page_server(f"{curator.url}/v1/tasks/{task}", port=0)) as page:
        tab.goto(page)
        begin(tab)
        choices = tab.locator(".question:visible .choice").all_inner_texts()
        assert [each.strip() for each in choices] == ["no", "yes", "No answer"]
        put(tab, "Pet", "No answer")
        move_on(tab)
        put(tab, "Label", "1")
        send(tab)
        outcome(tab)
        assert reports(curator, task) == 1


ASKER = {
    "name": "Institute for Work",
    "contact": "survey@institute.example",
    "purpose": "To learn who is a member.",
    "link": "https://institute.example/survey",
}
GERMAN = [("age", "Alter"), ("nurse", "Pflegekraft"), ("To learn who is a member.", "Zweck.")]
LONG = "Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz" * 3
ANSWERED = {
    "en": ["Institute for Work", "survey@institute.example", "is voluntary", "stop at any time",
           "Your answers stay on this device", "at most 89", "cannot take it back", "come back"],
    "de": ["Institute for Work", "survey@institute.example", "ist freiwillig", "jederzeit aufhören",
           "Ihre Antworten bleiben auf diesem Gerät", "höchstens 89", "nicht zurücknehmen",
           "Um zurückzukommen"],
    "es": ["Institute for Work", "survey@institute.example", "es voluntario",
           "en cualquier momento", "Sus respuestas se quedan en este dispositivo",
           "como mucho 89", "no puede retirarlo", "Para volver"],
    "zh-CN": ["Institute for Work", "survey@institute.example", "自愿", "随时退出",
              "您的回答留在此设备上", "最多 89", "无法撤回", "如需返回"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("locale", "scheme", "width"),
    [("en", "light", 1280), ("de", "dark", 390), ("es", "light", 360), ("zh-CN", "dark", 1280)],
)
def test_a_lay_readers_questions_are_answered_in_their_language(
    curator: RunningCurator, browser: Any, locale: str, scheme: str, width: int
) -> None:
    """Those of docs/answer-page.md; nothing is wider than the screen, and axe is clean.

    Of form, faults, check and receipt.
    """
    translations = [{"language": "de", "texts": [*GERMAN, ("hours", LONG)]}]
    viewport = {"width": width, "height": 740}
    context = browser.new_context(locale=locale, color_scheme=scheme, viewport=viewport)
    tab, read = context.new_page(), []

    def look(shown: str) -> None:
        assert violations(tab.locator(shown)) == []
        read.append(tab.inner_text("#answer"))
        assert tab.evaluate("document.documentElement.scrollWidth") <= width

    with opened(curator, tab, asker=ASKER, language="en", translations=translations):
        look(READY)
        language = "zh-Hans" if locale == "zh-CN" else locale
        assert tab.get_attribute("html", "lang") == language
        shown = "de" if locale == "de" else "en"
        assert tab.locator(f"#fields [lang={shown}]").count() > 0
        if locale == "de":
            assert tab.get_by_label("Alter", exact=True).count() == 1
            assert tab.locator(".choice [lang=de]").all_inner_texts() == ["Pflegekraft"]
        assert tab.locator("#who [href='mailto:survey@institute.example']").count() == 1
        for summary in tab.locator("summary:visible").all():
            summary.click()
        look(READY)
        begin(tab)
        look("#form")
        move_on(tab)
        tab.locator("#unfit summary").click()
        look("#unfit-button")
        fill_anything_in(tab)
        check(tab)
        tab.locator("#preview summary").click()
        look("#bytes")
        tab.locator("#send").click()
        look("#receipt")
        contact = tab.locator("#receipt-asker [href='mailto:survey@institute.example']")
        assert contact.is_visible()
        tab.reload()
        contact.wait_for()
        assert "Institute for Work" in tab.inner_text("#receipt-asker")
    context.close()
    assert [words for words in ANSWERED[locale] if words not in "\n".join(read)] == []


ASKED = {"age": {"prompt": "How old are you?", "description": "At your last birthday."}}
INTO_GERMAN = [("How old are you?", "Wie alt sind Sie?"), ("At your last birthday.", "Zuletzt.")]


def with_one_operator(route: Any) -> None:
    """The status as a relay of a trial says it."""
    response = route.fetch()
    route.fulfill(response=response, json={**response.json(), "one_operator": True})


def test_a_reader_chooses_the_language(curator: RunningCurator, tab: Any) -> None:
    """Prompts and help are in it too; what was filled in stays, and so does the message."""
    texts = [
        {"language": "de", "texts": INTO_GERMAN},
        {"language": "fr", "texts": [("job", "métier")]},
    ]
    tab.route("**/status", with_one_operator)
    with opened(curator, tab, language="en", translations=texts, describe=ASKED) as (task, _):
        trial = tab.get_by_text("For a trial: whoever asks also runs the server")
        trial.wait_for()
        fill_in(tab, (("How old are you?", "30"), *FITTING[1:]))
        assert trial.is_hidden()  # it is said at the start and before anything is sent
        assert "At your last birthday." in tab.text_content("#fields")
        check(tab)
        assert trial.is_visible()
        shown = tab.text_content("#bytes")
        offered = tab.locator("#language option").all_inner_texts()
        assert offered == ["English", "Deutsch", "español", "简体中文", "français"]
        tab.locator("#language").select_option("de")
        age = tab.get_by_label("Wie alt sind Sie?", exact=True)
        assert age.input_value() == "30"
        assert tab.get_by_label("Hours", exact=True).input_value() == "12,5"
        assert "Zuletzt." in tab.text_content("#fields")
        assert tab.get_attribute("html", "lang") == "de"
        assert violations(tab.get_by_text("Frage 5 von 5")) == []
        check(tab)
        assert tab.text_content("#bytes") == shown  # nobody draws again
        tab.locator("#send").click()
        assert outcome(tab) == "Danke. Ihre Antwort wurde gezählt"
        assert reports(curator, task) == 1
        assert tab.url.endswith("?language=de")  # so that it is kept, and a link can have it
        tab.goto(tab.url)
        assert outcome(tab) == "Danke. Ihre Antwort wurde gezählt"
        tab.unroute_all(behavior="wait")


def test_a_study_in_another_language_that_the_page_speaks_is_offered_in_it(
    curator: RunningCurator, tab: Any
) -> None:
    """In that language; not where the study is translated for the reader or the page does not
    speak it."""
    offer = tab.locator("#in-studys-language button")
    english = {"language": "en", "texts": [("job", "occupation")]}
    for language, translations in (("de", [english]), ("fr", [])):
        with opened(curator, tab, language=language, translations=translations):
            tab.wait_for_selector(READY)
            assert offer.is_hidden()
    with opened(curator, tab, language="de"):
        tab.get_by_text("Diese Studie ist auf Deutsch.").wait_for()
        assert offer.get_attribute("lang") == "de"
        assert violations(offer) == []
        offer.click()
        tab.get_by_role("button", name="Beginnen").wait_for()
        assert offer.is_hidden()


def test_a_preview_is_the_page_and_sends_nothing(
    curator: RunningCurator, tab: Any, tmp_path: Path
) -> None:
    """Of a task that no server knows, at a relay; only the page's own files are fetched."""
    settings = {
        "name": "Not there yet",
        "label": "label",
        "epsilon": 2,
        "depth": 2,
        "grower": "cart",
    }
    columns = read_table(samples.survey())
    with_unit = {**ASKED, "hours": {"prompt": "Hours a week (h)", "unit": "h"}}
    task, _ = build_task(TaskSettings.model_validate({**settings, "describe": with_unit}), columns)
    behind = base64.urlsafe_b64encode(task.canonical).decode().rstrip("=")
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(urlsplit(request.url).path))
    with running_relay(tmp_path, curator.url, relay_token(curator), least=1, every=60) as relay:
        tab.goto(f"{relay.url}/answer/{answer_page.PREVIEW}#{behind}")
        tab.get_by_text("This is a preview").wait_for()
        assert tab.get_by_text("Hours a week (h)", exact=True).count() == 1  # and not "(h) (h)"
        fill_anything_in(tab)
        tab.locator("#language").select_option("es")
        tab.get_by_text("Esto es una vista previa").wait_for()
        tab.locator("#language").select_option("en")
        assert violations(tab.get_by_text("This is a preview")) == []
        check(tab)
        assert f"only to {urlsplit(relay.url).netloc}" in tab.text_content("#sent")
        tab.locator("#send").click()
        tab.get_by_text("This was a preview: nothing was sent.").wait_for()
        tab.reload()  # and nothing is remembered
        tab.wait_for_selector(READY)
        tab.goto(f"{relay.url}/answer/{answer_page.PREVIEW}?language=de#{behind}")
        tab.get_by_text("Das ist eine Vorschau").wait_for()  # whatever the browser prefers
        now = int(time.time())
        ends = [now + 86_400 * day for day in (-1, 9, 20, 30)]
        document = panel("rotate", 1.0, tuple(zip(ends[::2], ends[1::2], strict=True)))
        behind = base64.urlsafe_b64encode(document.canonical).decode().rstrip("=")
        tab.goto(f"{relay.url}/answer/{answer_page.PREVIEW}?language=en#{behind}")
        tab.get_by_text("When you press “Start”, this device draws when").first.wait_for()
        fill_anything_in(tab)
        check(tab)
        tab.locator("#send").click()
        tab.get_by_text("This was a preview: nothing was sent.").wait_for()
        assert set(asked) == {f"/answer/{answer_page.PREVIEW}", f"/answer/{answer_page.NAMED}"}


def test_what_was_stored_is_sent_again_byte_for_byte(curator: RunningCurator, tab: Any) -> None:
    """A curator that breaks off leaves a kept answer; the same page sends the same bytes later."""
    tab.clock.install()
    with recorded(curator, tab) as (task, recorder):
        fill_in(tab)
        recorder.failing = True
        send(tab)
        for _ in range(40):
            tab.clock.run_for(5_000)
            if tab.is_visible("#receipt"):
                break
        assert outcome(tab) == "Your message has not arrived yet"
        recorder.failing = False
        tab.reload()
        tab.get_by_role("button", name="Send the same message again").click()
        tab.get_by_role("heading", name=COUNTED).wait_for()
    assert reports(curator, task) == 1
    assert len(set(recorder.bodies)) == 1 < len(recorder.bodies)


def test_it_goes_on_by_itself_when_the_device_is_online_again(
    curator: RunningCurator, tab: Any
) -> None:
    """Opened without a network, and sent without one: the same bytes, once."""
    tab.clock.install()
    with recorded(curator, tab) as (task, recorder):
        fill_in(tab)
        check(tab)
        shown = tab.text_content("#bytes")
        tab.context.set_offline(True)
        tab.locator("#send").click()
        for _ in range(40):
            tab.clock.run_for(5_000)
            if tab.is_visible("#receipt"):
                break
        assert outcome(tab) == "Your message has not arrived yet"
        assert recorder.bodies == []
        tab.context.set_offline(False)
        tab.get_by_role("heading", name=COUNTED).wait_for()
        assert [body.hex() for body in recorder.bodies] == [shown]
    assert reports(curator, task) == 1


@pytest.mark.parametrize("broken", ["get", "open"])
def test_storage_that_throws_is_named(curator: RunningCurator, tab: Any, broken: str) -> None:
    """As browsers do at once where site data is blocked; before any form."""
    throws = "() => { throw new DOMException('blocked', 'SecurityError'); }"
    ways = {
        "get": f"Object.defineProperty(window, 'indexedDB', {{ get: {throws} }});",
        "open": f"IDBFactory.prototype.open = {throws};",
    }
    tab.add_init_script(ways[broken])
    with opened(curator, tab):
        tab.get_by_text("This browser cannot store your message").wait_for()
        assert tab.is_hidden("#start")


def test_a_page_without_its_script_says_what_to_do(curator: RunningCurator, tab: Any) -> None:
    """At once that it is loading, and where nothing comes, to load it again."""
    tab.route("**/privet-answer.*.js", lambda route: route.abort())
    with opened(curator, tab):
        assert tab.get_by_text("Loading …").is_visible()
        assert tab.get_by_text("not getting through").is_hidden()
        tab.get_by_text("not getting through").wait_for()


def test_two_tabs_give_one_answer(curator: RunningCurator, tab: Any) -> None:
    """The lock and the ledger are shared: the second tab sends what the first has drawn."""
    with recorded(curator, tab) as (task, recorder):
        other = tab.context.new_page()
        other.goto(tab.url)
        for each in (tab, other):
            fill_in(each)
        for each in (tab, other):
            check(each)
        for each in (tab, other):
            each.locator("#send").click()
        assert [outcome(each) for each in (tab, other)] == [COUNTED] * 2
    assert reports(curator, task) == 1
    assert len(set(recorder.bodies)) == 1


def test_the_caps_hold_over_tasks(curator: RunningCurator, tab: Any) -> None:
    """Two tasks of epsilon 2 are answered, a third is not, and one of 3 never."""
    tasks = [make_task(curator, epsilon=epsilon) for epsilon in (2, 2, 1, 3)]
    servers = [answer_page_server(f"{curator.url}/v1/tasks/{task}", port=0) for task in tasks]
    port = servers[0].server_address[1]
    for server in servers:
        server.server_close()
    for task, wanted in zip(
        tasks,
        ["counted", "counted", "in a year than this page allows", "for one study"],
        strict=True,
    ):
        with serving(answer_page_server(f"{curator.url}/v1/tasks/{task}", port=port)) as page:
            tab.goto(page)
            if wanted == "counted":
                fill_in(tab)
                send(tab)
                assert wanted in outcome(tab)
            else:
                tab.get_by_text(wanted).wait_for()
                assert not tab.is_visible("#start")
    assert [reports(curator, task) for task in tasks] == [1, 1, 0, 0]


def test_the_page_says_what_it_counts(curator: RunningCurator, tab: Any) -> None:
    """This browser at this address, which another address knows nothing of; a task that discloses
    adds to a second account, and both are said before the answer."""
    with opened(curator, tab, epsilon=2) as (_, page):
        counted(tab, "This study would use 50% more")
        fill_in(tab)
        send(tab)
        assert outcome(tab) == COUNTED
        said = counted(tab, "Used here in the past year: 50%")
        here = page.removeprefix("http://")
        assert f"only what you answer in this browser on {here}: it knows nothing" in said
    with opened(curator, tab, **GROUPS, smallest_group=20, holders=5000) as (_, other):
        tab.wait_for_selector(READY)
        said = counted(tab, f"in this browser on {other.removeprefix('http://')}:")
        assert said.count("Used here in the past year: 0%") == 2  # whatever is spent above
        told = re.findall(r"This study would use ([\d.]+)% more", said)
        assert [float(share) > 0 for share in told] == [True, True]
        fill_in(tab)
        send(tab)
        assert outcome(tab) == COUNTED
        counted(tab, f"Used here in the past year: {told[1]}% of what this page allows")


def counted(tab: Any, words: str) -> str:
    """What the page says of its ledger, once that has these words."""
    ledger = tab.locator("#ledger", has_text=words)
    ledger.wait_for(state="attached")
    return str(ledger.text_content())


def test_too_many_disclosures_are_refused_before_the_form(
    curator: RunningCurator, tab: Any
) -> None:
    """Once tasks at this address have disclosed what the page allows within a year."""
    with opened(curator, tab, **GROUPS, smallest_group=20, holders=5000):
        tab.wait_for_selector(READY)
        cuts = {f"c{number}": ["1"] for number in range(32)}
        for tree in ("a", "b"):
            splits = {"tree": tree, "strata": 65536, "cuts": cuts}
            tab.evaluate(STORED, [{"task": tree, "epsilon": 0.001, "splits": splits}])
        tab.reload()
        tab.get_by_text("more would be revealed about you openly in a year").wait_for()
        assert tab.is_hidden("#start")


DRAWING = """{
    const real = crypto.getRandomValues.bind(crypto);
    crypto.getRandomValues = (bytes) => (bytes.byteLength === 4 && bytes.length === 4 ? (bytes.set([0, 0, 0, %d]), bytes) : real(bytes));
}"""  # noqa: E501
"""Has a turn drawn that is this one."""


def two_waves(curator: RunningCurator, mode: str) -> tuple[str, list[str]]:
    """The id of a panel that is open now and in a month, and those of its waves."""
    now = datetime.now(UTC)
    ends = [(now + timedelta(days=days)).isoformat() for days in (-1, 1, 30, 60)]
    waves = [f"{a}/{b}" for a, b in (ends[:2], ends[2:])]
    panel = make_task(curator, waves=waves, mode=mode, epsilon=1)
    return panel, [wave["id"] for wave in curator.get(f"/v1/tasks/{panel}")["waves"]]


@pytest.mark.parametrize("turn", [0, 1])
def test_a_turn_is_drawn_once_a_person_agrees(curator: RunningCurator, tab: Any, turn: int) -> None:
    """Who looks at a panel and leaves keeps nothing; who starts is asked, if it is its turn, and
    else told when it is, each time; and nothing else arrives at the curator."""
    panel, waves = two_waves(curator, "rotate")
    tab.add_init_script(DRAWING % turn)
    recorder = Recorder(curator.url)
    with (
        serving(recorder.server) as address,
        serving(answer_page_server(f"{address}/v1/tasks/{panel}", port=0)) as page,
    ):
        for _ in range(2):
            tab.goto(page)
            tab.wait_for_selector(READY)
            assert "When you press “Start”, this device draws when" in tab.inner_text("#start")
            counted(tab, "This study would use 25% more")
            assert kept(tab) == "0%"
        assert {line.rpartition("/")[2] for line in recorder.log} == {panel, "status"}
        if turn == 0:
            fill_in(tab)
            assert kept(tab) == "25%"  # with the turn
            send(tab)
            assert outcome(tab) == COUNTED
            tab.reload()
            assert outcome(tab) == COUNTED
            counted(tab, "Used here in the past year: 25%")
        else:
            begin(tab)
            for _ in range(2):
                tab.get_by_text(
                    re.compile("yours is wave 2 of 2, from .* come back then")
                ).wait_for()
                assert kept(tab) == "25%"
                assert tab.is_hidden("#start")
                tab.reload()
            for language, said in (("de", "an der Reihe"), ("es", "Su turno"), ("zh-Hans", "轮到")):
                tab.locator("#language").select_option(language)
                assert violations(tab.get_by_text(said)) == []
    assert [reports(curator, wave) for wave in waves] == [int(turn == 0), 0]
    posts = [line for line in recorder.log if line.startswith("POST")]
    assert posts == [f"POST /v1/tasks/{waves[0]}/reports"] * (turn == 0)


def test_a_study_that_has_all_its_answers_says_so(curator: RunningCurator, tab: Any) -> None:
    """In place of the form, and without technical words."""
    tab.route("**/status", lambda route: route.fulfill(json={"phase": "full"}))
    with opened(curator, tab):
        tab.get_by_text("This study has all the answers that it needs.").wait_for()
        assert tab.locator("#technical").is_hidden()


SAID = {
    "missed": ("your turn was wave 1", "Sie waren in Welle 1", "su turno era la", "截至"),
    "between": ("Next is wave 2", "Welle 2 von 2, von", "oleada 2 de 2, del", "第 2 轮"),
    "over": ("This study ended on", "endete am", "terminó el", "结束"),
}
"""What a panel's page says to who comes out of turn, in the languages in their order."""


@pytest.mark.parametrize(
    ("mode", "said", "wave", "days"),
    [
        ("rotate", "missed", 0, (-20, -10, 20, 30)),
        ("rotate", "over", None, (-20, -10, -9, -5)),
        ("repeat", "between", None, (-20, -10, 20, 30)),
        ("repeat", "over", None, (-20, -10, -9, -5)),
    ],
)
def test_who_comes_out_of_turn_is_told_in_their_language(
    tab: Any, mode: Mode, said: str, wave: int | None, days: tuple[int, ...]
) -> None:
    """That the turn is over or to come, or the whole panel is; without a form."""
    now = int(time.time())
    ends = [now + 86_400 * day for day in days]
    document = panel(mode, 0.5, tuple(zip(ends[::2], ends[1::2], strict=True)))
    tasks = {each.id: each.canonical for each in (document, *document.waves)}
    headers = {"Access-Control-Allow-Origin": "*"}

    def answer(route: Any) -> None:
        asked = urlsplit(route.request.url).path.split("/")[3]
        if route.request.url.endswith(asked):
            route.fulfill(body=tasks[asked], headers={**headers, "Content-Type": TASK_MEDIA_TYPE})
        else:
            route.fulfill(json={"phase": "closed", "settled": False}, headers=headers)

    tab.route("https://curator.example/**", answer)
    url = f"https://curator.example/v1/tasks/{document.id}"
    with serving(answer_page_server(url, port=0)) as page:
        tab.goto(page)
        tab.wait_for_selector(f"#before:not([hidden]), #state:has-text('{SAID[said][0]}')")
        if wave is None and said == "between":
            tab.get_by_role("button", name="No").click()
        if wave is not None:
            row = {"task": document.id, "wave": wave, "lifetime": 0.5, "closes": ends[1]}
            tab.evaluate(STORED, [row])
            tab.reload()
        for language, words in zip(("en", "de", "es", "zh-Hans"), SAID[said], strict=True):
            tab.locator("#language").select_option(language)
            state = tab.locator("#state", has_text=words)
            assert violations(state) == []
            assert "{" not in state.inner_text()
            assert tab.is_hidden("#start")


def test_a_panel_that_repeats_keeps_its_lifetime_with_the_first_answer(
    curator: RunningCurator, tab: Any
) -> None:
    """Whoever starts and leaves keeps nothing; the first answer has all waves counted."""
    panel, waves = two_waves(curator, "repeat")
    with serving(answer_page_server(f"{curator.url}/v1/tasks/{panel}", port=0)) as page:
        tab.goto(page)
        counted(tab, "This study would use 50% more")
        fill_in(tab)
        assert "also when your answers have changed since" in tab.text_content("#sent")
        assert kept(tab) == "0%"
        send(tab)
        assert outcome(tab) == COUNTED
        counted(tab, "Used here in the past year: 50%")
    assert [reports(curator, wave) for wave in waves] == [1, 0]


def test_a_wrong_clock_is_named(curator: RunningCurator, tab: Any) -> None:
    """Of a device that is years slow: both clocks, no form, and nothing is kept."""
    tab.clock.set_fixed_time("2020-02-03T12:00:00Z")
    with opened(curator, tab):
        tab.get_by_text("This device's clock says February 3, 2020").wait_for()
        assert f"the clock of 127.0.0.1:{curator.url.rpartition(':')[2]} says" in tab.inner_text(
            "#answer"
        )
        assert tab.is_hidden("#start")


def test_an_invitation_comes_behind_the_hash(curator: RunningCurator, tab: Any) -> None:
    """It is in no request for a page, and the browser's preflight is answered."""
    with opened(curator, tab, invited=True) as (task, page):
        tab.get_by_text("need an invitation").wait_for()
        (invitation,) = curator.post(f"/v1/tasks/{task}/invitations", {"count": 1})["invitations"]
        tab.goto("about:blank")
        tab.goto(f"{page}#{invitation}")
        fill_in(tab)
        send(tab)
        assert outcome(tab) == COUNTED


def test_a_relay_serves_it_and_says_what_became_of_the_answer(
    curator: RunningCurator, tab: Any, tmp_path: Path
) -> None:
    """Held first; after the relay has forwarded its batch, the same page says that it counts."""
    task = make_task(curator, smallest_batch=1)
    token = relay_token(curator)
    with running_relay(tmp_path, curator.url, token, least=1, every=1.0) as relay:
        tab.goto(f"{relay.url}/answer/{task}")
        fill_in(tab)
        send(tab)
        assert outcome(tab) == "Thank you. Your message is on its way"
        assert "others" not in tab.inner_text("#outcome")  # which a batch of one has not
        tab.locator("#receipt-title", has_text=COUNTED).wait_for()  # it asks again by itself
        tab.reload()
        assert outcome(tab) == COUNTED
        tab.goto("about:blank")
        tab.goto(f"{relay.url}/answer/{task}")
        assert outcome(tab) == COUNTED
        sent = "performance.getEntriesByType('navigation')[0].transferSize"
        assert tab.evaluate(sent) == 0, "Who comes back within a day waits for no page."
    assert reports(curator, task) == 1


@pytest.mark.parametrize("one_operator", [False, True])
def test_only_a_relay_of_somebody_else_is_said_to_hide_an_answer_among_others(
    curator: RunningCurator, tab: Any, tmp_path: Path, one_operator: bool
) -> None:
    """Not one whose operator has both servers."""
    task = make_task(curator, smallest_batch=3)
    token = relay_token(curator)
    if one_operator:
        tab.route("**/status", with_one_operator)
    with running_relay(tmp_path, curator.url, token, least=3, every=60.0) as relay:
        tab.goto(f"{relay.url}/answer/{task}")
        fill_in(tab)
        send(tab)
        assert outcome(tab) == "Thank you. Your message is on its way"
        said = "together with others, so that whoever asks cannot see which one is yours"
        assert (said in tab.inner_text("#outcome")) is not one_operator
        tab.unroute_all(behavior="wait")


def test_who_comes_back_reads_that_a_message_waits_for_the_end(
    curator: RunningCurator, tab: Any, tmp_path: Path
) -> None:
    """As at first, also where the page has to ask again what the task says."""
    task = make_task(curator, smallest_batch="all")
    with running_relay(tmp_path, curator.url, relay_token(curator), least=3, every=60.0) as relay:
        tab.goto(f"{relay.url}/answer/{task}")
        fill_in(tab)
        send(tab)
        for _ in range(2):
            assert outcome(tab) == "Thank you. Your message is on its way"
            assert "when no more answers are taken" in tab.inner_text("#outcome")
            tab.reload()


def test_any_static_host_can_serve_it(curator: RunningCurator, tab: Any, tmp_path: Path) -> None:
    """Exported files work without headers: the policy is in the page, and forbids other calls."""
    task = make_task(curator)
    exported, _ = answer_page.export(f"{curator.url}/v1/tasks/{task}")
    for name, content in exported.items():
        (tmp_path / name).write_bytes(content)
    handler = partial(QuietFiles, directory=str(tmp_path))
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), handler)) as host:
        tab.goto(f"{host}/index.html")
        fill_in(tab)
        tried = tab.evaluate(
            "url => fetch(url).then(() => 'fetched', () => 'refused')", f"{curator.url}{FORBIDDEN}"
        )
        assert tried == "refused"
        send(tab)
        assert outcome(tab) == COUNTED
    assert reports(curator, task) == 1


def test_the_keyboard_suffices(curator: RunningCurator, tab: Any) -> None:
    """Every field and button is reached by Tab in the order of the page."""
    with opened(curator, tab) as (task, _):
        tab.wait_for_selector(READY)
        while focused(tab) != "begin":
            tab.keyboard.press("Tab")
        tab.keyboard.press("Enter")
        for keys in (["3", "0"], ["9"], ["Space"], ["Space"], ["Space"]):
            assert focused(tab) == "number"
            tab.keyboard.press("Tab")
            for key in keys:
                tab.keyboard.press(key)
            tab.keyboard.press("Tab")
            assert focused(tab) == "next"
            tab.keyboard.press("Enter")
        assert focused(tab) == "preview-title"
        while focused(tab) != "send":
            tab.keyboard.press("Tab")
        tab.keyboard.press("Enter")
        assert outcome(tab) == COUNTED
        assert focused(tab) == "receipt-title"
    assert reports(curator, task) == 1
