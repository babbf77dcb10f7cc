"""The answer page of a panel, wave by wave."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from privet.client.answer_page import answer_page_server
from privet.client.codes import Part, write_code
from privet.protocol.calls import TASK_MEDIA_TYPE
from privet.protocol.panel import Mode
from tests.browsing import violations
from tests.client.test_panels import DAY, JANUARY, JULY, MARCH, panel
from tests.page.test_browser import COUNTED, DRAWING, READY, begin, check, fill_anything_in, outcome
from tests.served import serving

pytestmark = pytest.mark.needs("chromium")
ALLOWED = {"Access-Control-Allow-Origin": "*"}
FIGURES = [{"name": "yes", "value": 0.3, "low": 0.2, "high": 0.4, "differs": False}]
LANGUAGES = ("en", "de", "es", "zh-Hans")
BETWEEN = MARCH - 10 * DAY
AFTER = JULY + 40 * DAY


class Study:
    """A panel at a curator that counts whatever comes, and a tab whose clock stands still."""

    def __init__(self, tab: Any, mode: Mode, turn: int = 0) -> None:
        self.document = panel(mode, 0.5)
        self.tasks = {each.id: each for each in (self.document, *self.document.waves)}
        self.tab, self.now, self.sent = tab, 0, list[str]()
        tab.add_init_script(DRAWING % turn)
        tab.route("https://curator.example/**", self._answer)
        self.url = f"https://curator.example/v1/tasks/{self.document.id}"
        self.asked = list[str]()
        tab.on("request", lambda each: self.asked.append(f"{each.url} {each.post_data_buffer!r}"))

    def _answer(self, route: Any) -> None:
        path = urlsplit(route.request.url).path.split("/")
        task = self.tasks[path[3]]
        over = task.closes is not None and task.closes <= self.now
        if route.request.method == "POST":
            (report,) = re.findall(rb"\xa2id\xc4\x10(.{16})", route.request.post_data_buffer, re.S)
            self.sent.append(task.id)
            route.fulfill(
                status=201, json={"report": report.hex(), "counted": True}, headers=ALLOWED
            )
        elif path[-1] == "status":
            results = {"figures": FIGURES} if over else None
            phase = "over" if over else "open"
            route.fulfill(
                json={"phase": phase, "settled": True, "results": results}, headers=ALLOWED
            )
        else:
            kind = {"Content-Type": TASK_MEDIA_TYPE}
            route.fulfill(body=task.canonical, headers={**ALLOWED, **kind})

    def visit(self, page: str, now: float, shown: str) -> str:
        """All that the page says at a time, once it shows something."""
        self.now = int(now)
        self.tab.clock.set_fixed_time(datetime.fromtimestamp(now, UTC))
        self.tab.goto(page)
        self.tab.wait_for_selector(shown)
        return self.said()

    def said(self) -> str:
        """All that the page says, with what it keeps count of."""
        self.tab.locator("#counts").evaluate("each => { each.open = true; }")
        return str(self.tab.inner_text("#answer"))

    def answer(self) -> None:
        """Answer the wave that is open, to its receipt."""
        fill_anything_in(self.tab)
        check(self.tab)
        self.tab.locator("#send").click()
        assert outcome(self.tab) == COUNTED

    def code(self, *, delete: bool = False) -> str:
        """The code that the page shows, after which its storage is deleted."""
        self.tab.get_by_role("button", name="Show the code").click()
        code = str(self.tab.locator("#shown-code:not([hidden])").inner_text())
        if delete:
            self.tab.evaluate("indexedDB.deleteDatabase('privet')")
        return code

    def enter(self, code: str) -> None:
        """Enter a code where one is asked for or taken."""
        if not self.tab.is_visible("#code"):
            self.tab.get_by_text("Go on with a code").click()
        self.tab.get_by_label("Your code").fill(code)
        self.tab.get_by_role("button", name="Use this code").click()

    def in_each_language(self, shown: str) -> None:
        """What is shown is whole and accessible in every language."""
        for language in LANGUAGES:
            self.tab.locator("#language").select_option(language)
            assert violations(self.tab.locator(shown)) == []
            assert "{" not in self.tab.inner_text("#answer")
            assert "undefined" not in self.tab.inner_text("#answer")


@pytest.fixture
def in_utc(browser: Any) -> Any:
    """A tab in UTC."""
    context = browser.new_context(locale="en-GB", timezone_id="UTC")
    context.set_default_timeout(30_000)
    yield context.new_page()
    context.close()


def test_every_screen_of_a_panel_says_where_its_person_stands(in_utc: Any) -> None:
    """Which wave it is, what was answered, what is spent of what, and when to come back; between
    waves and at the end there are a receipt and results."""
    tab, study = in_utc, Study(in_utc, "repeat")
    with serving(answer_page_server(study.url, port=0)) as page:
        said = study.visit(page, JANUARY + DAY, READY)
        first = "Wave 1 of 3, from 15 January 2027 at 08:00 to 4 February 2027 at 08:00."
        assert first in said
        assert "This study asks 3 times, and you may answer each time" in said
        assert "Waves answered: none. " in said
        assert "0 so far, at most 1.5 in all waves together" in tab.inner_text("#counts")
        study.in_each_language(READY)
        said = study.visit(page, JANUARY + DAY, READY)
        fill_anything_in(tab)
        assert first in study.said()
        check(tab)
        said = study.said()
        assert first in said
        assert "You can answer each wave only once." in said
        assert "You can answer only once" not in said
        tab.locator("#send").click()
        assert outcome(tab) == COUNTED
        said = study.said()
        following = "Next is wave 2 of 3, from 16 March 2027 at 08:00 to 5 April 2027 at 08:00."
        assert "Waves answered: 1. " in said
        assert "0.5 so far, at most 1.5" in said
        assert "This wave ends on 4 February 2027" in said
        assert following in said
        assert tab.is_hidden("#results")
        with tab.expect_download() as saved:
            tab.get_by_role("button", name="Add it to your calendar").click()
        assert saved.value.suggested_filename == "wave-2.ics"
        file = Path(saved.value.path()).read_bytes().decode()
        assert "SUMMARY:example: wave 2 of 3\r\n" in file
        assert f"URL:{page}/\r\n" in file
        assert "DTSTART:20270316T080000Z\r\n" in file

        said = study.visit(page, BETWEEN, "#results:not([hidden])")
        assert first in said
        assert COUNTED in said
        assert following in said
        assert "Results of wave 1 of 3" in said
        assert "30% say yes (20% to 40%)." in said
        assert "Nothing was sent" not in said
        assert tab.is_hidden("#start")
        study.in_each_language("#results")

        said = study.visit(page, MARCH + DAY, READY)
        assert "Wave 2 of 3, from 16 March 2027" in said
        assert "Waves answered: 1. " in said
        assert tab.is_hidden("#calendar")
        assert tab.is_hidden("#results")  # which could sway an answer
        fill_anything_in(tab)
        check(tab)
        tab.locator("#send").click()
        assert outcome(tab) == COUNTED
        assert "Waves answered: 1 and 2. " in study.said()

        said = study.visit(page, AFTER, "#results:not([hidden])")
        assert "Wave 2 of 3, from 16 March 2027" in said
        assert COUNTED in said
        assert "1 so far, at most 1.5" in said
        assert "Results of wave 3 of 3" in said
        assert "There is no further wave." in said
        assert tab.is_hidden("#calendar")
        assert "Nothing was sent" not in said
        study.in_each_language("#results")
    assert study.sent == [wave.id for wave in study.document.waves[:2]]


def test_a_drawn_turn_is_told_with_its_wave(in_utc: Any) -> None:
    """Before, out of and after it; it is the only one, and results stay."""
    tab, study = in_utc, Study(in_utc, "rotate", turn=1)
    with serving(answer_page_server(study.url, port=0)) as page:
        said = study.visit(page, JANUARY + DAY, READY)
        assert "You answer one of 3 waves.\n" in said
        assert "Waves answered: none. " in said
        assert "0 so far, at most 0.5" in said
        study.in_each_language(READY)
        study.visit(page, JANUARY + DAY, READY)
        begin(tab)
        turn = "yours is wave 2 of 3, from 16 March 2027 at 08:00 to 5 April 2027 at 08:00."
        kind = tab.get_by_text(turn).inner_text()
        assert kind.startswith("Thank you for taking part.")
        assert "answers one wave, drawn by chance" in kind
        assert "Until then there is nothing to do" in kind
        assert tab.is_visible("#calendar")
        assert "Wave 2 of 3, from 16 March 2027" in tab.inner_text("#wave")
        study.in_each_language("#state")
        study.visit(page, MARCH + DAY, READY)
        fill_anything_in(tab)
        check(tab)
        tab.locator("#send").click()
        assert outcome(tab) == COUNTED
        assert "You answer one wave only, and have done so." in study.said()
        said = study.visit(page, AFTER, "#results:not([hidden])")
        assert COUNTED in said
        assert "0.5 so far, at most 0.5" in said
        assert "Results of wave 3 of 3" in said
        assert "Nothing was sent" not in said


@pytest.mark.parametrize("mode", ["rotate", "repeat"])
def test_who_comes_after_the_last_wave_sees_results(in_utc: Any, mode: Mode) -> None:
    """Although they took no part."""
    study = Study(in_utc, mode)
    with serving(answer_page_server(study.url, port=0)) as page:
        said = study.visit(page, AFTER, "#results:not([hidden])")
        assert "Results of wave 3 of 3" in said
        in_utc.get_by_text("This study ended on 3 August 2027").wait_for()
        assert in_utc.is_hidden("#start")


PERSISTED = """self.wished = 0;
StorageManager.prototype.persist = async () => { self.wished += 1; return true; };"""
"""Counts how often a browser is asked to keep what a page stores."""

UNKNOWN = "#before:not([hidden])"
"""The question whether something was answered."""


def test_a_code_restores_what_a_browser_has_deleted(in_utc: Any) -> None:
    """Three waves, after the first of which all is deleted: which waves were answered and
    what they cost; of what came after the code the page asks, and the code is in no address, call
    or storage. The browser is asked to keep it all."""
    tab, study = in_utc, Study(in_utc, "repeat")
    tab.add_init_script(PERSISTED)
    with serving(answer_page_server(study.url, port=0)) as page:
        said = study.visit(page, JANUARY + DAY, READY)
        assert "delete what a page keeps when you have not visited it for seven days" in said
        assert tab.evaluate("wished") == 0
        study.answer()
        assert tab.evaluate("wished") > 0
        with tab.expect_download() as saved:
            tab.get_by_role("button", name="Save the code as a file").click()
        study.visit(page, JANUARY + 2 * DAY, "#keep:not([hidden])")
        study.in_each_language("#keep")
        study.visit(page, JANUARY + 2 * DAY, "#keep:not([hidden])")
        code = study.code(delete=True)
        file = Path(saved.value.path()).read_text("utf-8")
        assert file.splitlines() == ["example", f"{page}/", code]

        said = study.visit(page, MARCH + DAY, UNKNOWN)
        assert "Did you answer wave 1 or 2 of this study?" in said
        assert tab.is_hidden("#start")
        study.in_each_language(UNKNOWN)
        study.visit(page, MARCH + DAY, UNKNOWN)
        tab.get_by_role("button", name="Yes").click()
        tab.get_by_text("Then you need your code to go on.").wait_for()
        assert tab.is_hidden("#start")
        assert violations(tab.locator(UNKNOWN)) == []
        damaged = code[:-1] + ("A" if code[-1] != "A" else "B")
        for wrong in ("", "wave 1", code[:-1], damaged, code.replace("privet1", "privet2")):
            study.enter(wrong)
            tab.get_by_text("This is not a whole code.").wait_for()
        tab.get_by_label("Or the file that you saved").set_input_files(saved.value.path())
        tab.get_by_text("Did you answer wave 2 after you saved this code?").wait_for()
        study.in_each_language(UNKNOWN)
        study.visit(page, MARCH + DAY, UNKNOWN)  # until it is answered
        tab.get_by_role("button", name="No").click()
        tab.wait_for_selector(READY)
        said = study.said()
        assert "Waves answered: 1. " in said
        assert "0.5 so far, at most 1.5" in said
        study.answer()
        assert "1 so far, at most 1.5" in study.said()
        study.visit(page, JULY + DAY, READY)  # and nothing is asked
        study.answer()
        said = study.said()
        assert "Waves answered: 1, 2, and 3. " in said
        assert "1.5 so far, at most 1.5" in said
        assert study.sent == [wave.id for wave in study.document.waves]
        assert not [each for each in study.asked if code[8:] in each]
        everywhere = "JSON.stringify([localStorage, sessionStorage, location.href, history.state])"
        assert code[8:] not in tab.evaluate(everywhere)


def test_who_answered_after_the_code_is_taken_at_their_word(in_utc: Any) -> None:
    """The wave counts as answered and spent, on later visits too, and nothing is sent; the page
    around is not told that it was counted."""
    tab, study = in_utc, Study(in_utc, "repeat")
    tab.add_init_script("addEventListener('privet-step', (step) => { told = step.detail.state; });")
    with serving(answer_page_server(study.url, port=0)) as page:
        study.visit(page, JANUARY + DAY, READY)
        study.answer()
        code = study.code(delete=True)
        study.visit(page, MARCH + DAY, UNKNOWN)
        study.enter(code)
        tab.get_by_text("Did you answer wave 2 after you saved this code?").wait_for()
        tab.get_by_role("button", name="Yes").click()
        assert outcome(tab) == "You have answered this wave"
        said = study.visit(page, MARCH + 2 * DAY, "#receipt:not([hidden])")
        assert "Waves answered: 1 and 2. " in said
        assert "1 so far, at most 1.5" in said
        assert "Next is wave 3 of 3" in said
        assert "It has 0 bytes" not in said
        assert tab.evaluate("told") == "restored"
        assert tab.is_hidden("#start")
        study.in_each_language("#receipt")
    assert len(study.sent) == 1


def test_a_turn_comes_back_with_its_code(in_utc: Any) -> None:
    """Another one would be drawn without it; once it is answered, no other wave is asked."""
    tab, study = in_utc, Study(in_utc, "rotate", turn=2)
    with serving(answer_page_server(study.url, port=0)) as page:
        study.visit(page, JANUARY + DAY, READY)
        begin(tab)
        tab.get_by_text("yours is wave 3 of 3").wait_for()
        code = study.code(delete=True)
        tab.add_init_script(DRAWING % 0)
        study.visit(page, MARCH + DAY, UNKNOWN)
        study.enter(code)
        tab.get_by_text("yours is wave 3 of 3").wait_for()
        study.visit(page, JULY + DAY, UNKNOWN)
        tab.get_by_role("button", name="No").click()
        tab.wait_for_selector(READY)
        study.answer()
    assert study.sent == [study.document.waves[2].id]


def test_another_panels_code_changes_nothing(in_utc: Any) -> None:
    """Which the page says, and who knows nothing goes on as before."""
    tab, study = in_utc, Study(in_utc, "repeat")
    with serving(answer_page_server(study.url, port=0)) as page:
        study.visit(page, MARCH + DAY, UNKNOWN)
        tab.get_by_role("button", name="Yes").click()
        study.enter(write_code("ab" * 32, Part(None, 0, (0,))))
        tab.get_by_text("This code is of another study. Nothing was changed.").wait_for()
        study.visit(page, MARCH + DAY, UNKNOWN)
        tab.get_by_role("button", name="No").click()
        tab.wait_for_selector(READY)
        assert "Waves answered: none. " in study.said()
