"""A person runs a collection in a real browser, and nothing else."""

import os
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

from privet.admin.client import CuratorClient
from privet.admin.results import Scope
from privet.curator.datastore import open_store
from privet.learning.display.picture import lay_out, to_svg
from privet.protocol.features import Numeric, columns_of
from privet.protocol.partition import LEAF, Partition
from scripts.first_visits import Visit, answer, ask
from scripts.screenshots import sign_in
from scripts.servers import running_relay
from tests.browsing import violations
from tests.curator import samples
from tests.curator.use_cases import answer as collect
from tests.curator.use_cases import new_curator
from tests.end_to_end.population import answer_all, survey
from tests.end_to_end.running_curator import RunningCurator
from tests.manual_clock import ManualClock
from tests.served import serving

pytestmark = pytest.mark.needs("chromium")
MARKUP = "<img src=x onerror=document.title=1>"


@pytest.fixture(scope="module")
def curator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCurator]:
    with RunningCurator(tmp_path_factory.mktemp("curator")) as running:
        yield running


@pytest.fixture
def admin(curator: RunningCurator, tab: Any) -> Any:
    """A tab that is signed in; what it loads from elsewhere fails the test."""
    elsewhere: list[str] = []
    host = urlsplit(curator.url).netloc

    def see(request: Any) -> None:
        if urlsplit(request.url).netloc not in {host, ""} and request.resource_type != "document":
            elsewhere.append(request.url)

    tab.on("request", see)
    sign_in(tab, curator.url, curator.token)
    yield tab
    assert elsewhere == []


@pytest.fixture(scope="module")
def task(curator: RunningCurator) -> str:
    """A task with two models, whose names are markup wherever they can be."""
    public = samples.survey().replace(b"nurse", MARKUP.encode()).replace(b"hours", b"<b>hours</b>")
    made = curator.create(
        public,
        name=MARKUP,
        description=MARKUP,
        label="label",
        epsilon=2,
        depth=3,
        grower="cart",
        describe={"job": {"description": MARKUP}},
    )
    for _ in range(2):
        curator.post(f"/v1/tasks/{made}/models", samples.PUBLIC_ALONE)
    return made


def issue(curator: RunningCurator, name: str, scope: str) -> str:
    """A new token."""
    asked = {"headers": curator.admin, "json": {"scope": scope}}
    return str(curator.call("PUT", f"/v1/tokens/{name}", **asked).json()["token"])


def reports(tab: Any) -> int:
    """What the page of a task says."""
    return int(re.sub(r"\D", "", tab.inner_text("#reports")))


KEPT = "async () => (await indexedDB.databases()).map(({ name }) => name)"


def test_signing_out_on_any_page_leaves_no_draft(admin: Any, curator: RunningCurator) -> None:
    """It has the file, which whoever comes next to this browser is not to see."""
    admin.goto(f"{curator.url}/new")
    admin.wait_for_function("async () => (await indexedDB.databases()).length === 1")
    admin.goto(f"{curator.url}/access")
    admin.get_by_role("button", name="Sign out").click()
    admin.get_by_role("link", name="Sign in").wait_for()
    assert admin.evaluate(KEPT) == []


def test_from_a_file_to_the_first_answer(
    curator: RunningCurator, admin: Any, tmp_path: Path
) -> None:
    """Wizard, publication, link, answer page, and the count rises on the dashboard that is open."""
    file = tmp_path / "survey.csv"
    file.write_bytes(samples.survey())
    token = issue(curator, "relay", "relay")
    admin.get_by_role("navigation").get_by_role("link", name="New study").click()
    admin.wait_for_url("**/new")  # with its scripts
    admin.get_by_role("button", name="Who, and how many").click()
    admin.get_by_label("Records with known answers").set_input_files(file)
    admin.get_by_role("button", name="Read the file").click()
    predict_label(admin)
    age = admin.get_by_role("group", name="age")
    age.locator("summary").click()
    age.get_by_label("From").fill("16")
    age.get_by_label("Question").fill("How old are you?")
    admin.get_by_label("Ask for member").uncheck()
    go_on(admin, "The study")
    admin.get_by_label("Name of the study").fill("Who is a member")
    admin.get_by_label("Privacy of each person").fill("2")
    admin.locator("#help-epsilon", has_text="at most 89\u00a0% sure").wait_for()
    admin.get_by_label("People whom you expect").fill("1500")
    admin.get_by_text("Advanced", exact=True).click()
    admin.get_by_label("Fewest answers that a relay").fill("1")  # the relay sends the one answer on
    go_on(admin, "Who is asking")
    admin.get_by_label("Responsible").fill("Institute for Work")
    admin.get_by_label("Contact").fill("survey@institute.example")
    admin.get_by_label("Link").fill("https://institute.example/survey")
    admin.get_by_label("Purpose").fill("To learn who is a member.")
    language = admin.get_by_label("Language of all these texts")
    language.select_option("fr")
    admin.get_by_text("The answer page itself does not speak Français:").wait_for()
    language.select_option("en")
    assert admin.locator("#unspoken").is_hidden()
    admin.get_by_text("In other languages").click()
    admin.get_by_label("Translate into").select_option("de")
    translated = admin.get_by_label("Question: How old are you?", exact=True)
    assert admin.locator("[data-unstated]").is_hidden()
    assert translated.locator("..").inner_text().strip() == "Question"
    translated.fill("Wie alt sind Sie?")
    assert violations(translated) == []
    admin.reload()  # a draft has the file and what was typed
    assert violations(admin.get_by_text("This browser has a draft")) == []
    admin.get_by_role("button", name="Go on with the draft").click()
    translated.wait_for()  # at the step where it was left, and the translations are open again
    admin.wait_for_function("document.querySelector('[name=holders]').value === '1500'")
    assert not admin.locator("[aria-label='Ask for member']").is_checked()
    go_on(admin, "Where people answer")
    go_on(admin, "Check and publish")
    for line in (
        "How old are you? – 16 to ",
        "Hours – 0 to 60",
        "Job – farmer, nurse, smith",
        "People will read “Label”, “Hours”, “Job”",
        "1\u202f500",
        "Left out (1)\n",
    ):
        assert line in admin.inner_text("#summary")
    admin.get_by_role("button", name="Publish", exact=True).click()
    admin.get_by_text("Plan first, with the settings as they are now").wait_for()
    admin.route("**/new/plan", lambda _: None)  # which may be there before it is cancelled
    admin.get_by_role("button", name="Plan", exact=True).click()
    admin.get_by_role("button", name="Cancel").click()
    admin.locator("#plan:not([aria-busy])").wait_for(state="attached")
    assert admin.inner_text("#plan") == ""
    admin.unroute("**/new/plan")
    admin.get_by_role("button", name="Plan", exact=True).click()
    fair = admin.get_by_text("you may look as often as you like")
    fair.wait_for(timeout=120_000)
    assert "left out: member" in admin.inner_text("#plan")
    unplanned = admin.locator("[name=unplanned]")
    assert unplanned.is_hidden()
    people = {"name": "people.csv", "mimeType": "text/csv", "buffer": b"age\n30\n"}
    admin.locator("[name=register]").set_input_files(people)
    unplanned.wait_for()  # of other people the plan is another
    admin.locator("[name=register]").set_input_files([])
    assert "Institute for Work (survey@institute.example) asks" in admin.inner_text("#plan")
    assert violations(fair) == []
    more = admin.locator("[data-people]").first
    people = more.get_attribute("data-people")
    assert re.match(r"±\s5\.0\spoints", more.locator("xpath=ancestor::tr").inner_text())
    more.click()
    reached = r"^±\s(?:4\.\d|5\.0)\spoints with\s" + r"\s?".join(people) + r"\speople"
    admin.locator("#plan h3", has_text=re.compile(reached)).wait_for()
    assert admin.evaluate("document.querySelector('[name=holders]').value") == people
    admin.get_by_role("button", name="Publish", exact=True).click()
    admin.wait_for_url("**/tasks/*", timeout=60_000)
    admin.get_by_role("heading", name="Who is a member").wait_for()
    assert reports(admin) == 0
    (asked,) = curator.get("/v1/tasks")[-1:]
    published = curator.get(f"/v1/tasks/{asked['id']}")["task"]
    texts = [["How old are you?", "Wie alt sind Sie?"]]
    assert published["translations"] == [{"language": "de", "texts": texts}]
    features = published["features"]
    assert [feature["name"] for feature in features] == ["age", "hours", "job"]
    assert features[0]["low"] == 16
    assert features[0]["prompt"] == "How old are you?"
    with running_relay(tmp_path, curator.url, token, least=1, every=1.0) as relay:
        assert admin.locator("#link, img.code").count() == 0  # the API is no address for people
        admin.goto(f"{curator.url}/v1/tasks/{asked['id']}")
        asker = admin.get_by_text("Institute for Work (survey@institute.example)")
        assert violations(asker) == []
        admin.get_by_role("link", name="How the study is going").click()
        admin.get_by_label("Relay").fill(relay.url)
        admin.get_by_role("button", name="Create the link").click()
        admin.locator("#link[href*='/answer/']").wait_for()
        assert "QR code" in admin.get_attribute("img.code", "alt")
        admin.context.grant_permissions(["clipboard-read", "clipboard-write"])
        admin.get_by_role("button", name="Copy the link").click()
        admin.get_by_text("Copied.").wait_for()
        link = admin.get_attribute("#link", "href")
        assert admin.evaluate("navigator.clipboard.readText()") == link
        admin.get_by_role("link", name="Poster").click()
        assert violations(admin.locator(".poster", has_text=link)) == []
        admin.emulate_media(media="print")
        assert admin.get_by_role("link", name="Back to the study").is_hidden()
        assert admin.locator("header:visible, footer:visible").count() == 0
        admin.emulate_media(media="screen")
        admin.get_by_role("link", name="Back to the study").click()
        admin.get_by_text("In a page of your own").click()
        assert f'<script type="module" src="{relay.url}/' in admin.inner_text("#snippet")
        width = admin.evaluate("document.documentElement.clientWidth")
        assert admin.evaluate("document.documentElement.scrollWidth") <= width
        assert violations(admin.locator("#snippet")) == []
        holder = admin.context.new_page()
        for address in (curator.url, relay.url):
            holder.goto(f"{address}/v1/tasks/{asked['id']}")
            holder.get_by_role("link", name="Answer “").or_(holder.locator("#begin")).wait_for()
        assert holder.url == admin.get_attribute("#link", "href")
        assert "Institute for Work" in holder.inner_text("#asks")
        holder.set_default_timeout(60_000)
        answer(holder)
        admin.bring_to_front()
        admin.locator("#reports").get_by_text("1", exact=True).wait_for(timeout=60_000)
        assert admin.text_content("[data-all-answers]") == "1 answer"


@pytest.mark.slow
def test_one_question_takes_four_clicks(browser: Any, tmp_path: Path) -> None:
    """And three fields besides who asks, no file and 15 seconds, from the page that the pilot
    opens to a link at which somebody answers."""
    with RunningCurator(tmp_path) as curator, closing(browser.new_context()) as context:
        admin = CuratorClient(curator.url, curator.token)
        token = admin.issue_token("relay", Scope.RELAY).token
        with running_relay(tmp_path, curator.url, token, least=1, every=1.0) as relay:
            admin.name_relay(relay.url)
            context.set_default_timeout(120_000)
            visit = Visit.begin("one question", context)
            link = ask(visit.tab, curator.url, curator.token)
            seconds = time.monotonic() - visit.started
            busy = max(os.getloadavg()[0] / (os.cpu_count() or 1), 1.0)  # with other work
            assert (visit.clicks, visit.fields) == (4, 2 + 4)
            assert seconds <= 15.0 * busy
            assert link.startswith(relay.url)
            assert violations(visit.tab.get_by_role("heading", name="Have you ever").first) == []
            visit.tab.goto(link)
            answer(visit.tab)


def test_the_headlines_answer_is_chosen_among_the_answers(
    curator: RunningCurator, admin: Any, tmp_path: Path
) -> None:
    """Those of the one question, or of the file's column as they are called; a number has none."""
    headline = admin.get_by_label("The answer you want to count")
    options = "field => [...field.options].slice(1).map(each => each.value)"
    admin.goto(f"{curator.url}/new")
    admin.get_by_role("button", name="How many One question").click()
    admin.get_by_text("Name, dates, privacy, languages and more").click()
    assert headline.evaluate(options) == ["yes", "no"]
    headline.select_option("no")
    answers = admin.get_by_label("Answers, one per line")
    answers.fill("often\nnever\nno")
    answers.blur()
    assert headline.evaluate(options) == ["often", "never", "no"]
    assert headline.input_value() == "no"
    answers.fill("often\nnever")
    answers.blur()
    assert headline.input_value() == "", "which is no answer any more"
    admin.locator("[name='columns.0.kind']").select_option("a number")
    headline.wait_for(state="hidden")
    file = tmp_path / "survey.csv"
    file.write_bytes(samples.survey())
    admin.get_by_role("link", name="What you want to know").click()
    admin.get_by_role("button", name="Who, and how many").click()
    admin.get_by_label("Records with known answers").set_input_files(file)
    admin.get_by_role("button", name="Read the file").click()
    label = admin.get_by_label("Which answer do you want to know?")
    label.wait_for()
    for name, classes in (("job", ["farmer", "nurse", "smith"]), ("label", ["0", "1"])):
        label.select_option(name)
        headline.wait_for()
        assert sorted(headline.evaluate(options)) == sorted(classes)
    label.select_option("age")
    headline.wait_for(state="hidden")


def predict_label(tab: Any) -> None:
    """Choose the column of 0 and 1 that is to be predicted, and leave these as they are."""
    tab.get_by_label("Which answer do you want to know?").select_option("label")
    words = tab.get_by_role("group", name="label: what do 0 and 1 mean?")
    words.get_by_label("Leave them as they are").check()
    words.get_by_label("0 means").wait_for(state="hidden")


def go_on(tab: Any, title: str) -> None:
    """Leave a step of the wizard for the next one, whose heading has the focus."""
    one = (
        "[...document.querySelectorAll('[data-next]')].filter(e => e.checkVisibility()).length == 1"
    )
    tab.wait_for_function(one)  # step at a time, once the script has made them of what came
    tab.get_by_role("button", name="Continue").click()
    tab.get_by_role("heading", name=title, exact=True).wait_for()
    assert tab.evaluate("document.activeElement.textContent") == title


WATCH_STEPS = """() => {
  window.mostSteps = 0;
  new MutationObserver(() => {
    const shown = document.querySelectorAll("[data-step]:not([hidden])").length;
    window.mostSteps = Math.max(window.mostSteps, shown);
  }).observe(document.getElementById("columns"), { childList: true });
}"""


def test_the_wizard_says_what_is_missing_where(
    curator: RunningCurator, admin: Any, tmp_path: Path
) -> None:
    """At its field, in the index and before publication, by keyboard too; every step of it is
    without faults, on a phone and a desk."""
    file = tmp_path / "survey.csv"
    file.write_bytes(samples.survey().replace(b"true", b"1").replace(b"false", b"0"))
    admin.goto(f"{curator.url}/new")
    admin.get_by_role("button", name="Who, and how many").click()
    admin.get_by_role("button", name="Read the file").click()
    alert = admin.get_by_role("alert").filter(has_text="There is a problem")
    assert violations(alert.get_by_text("Records with known answers: choose a file")) == []
    admin.get_by_label("Records with known answers").set_input_files(file)
    large = {"title": "The body is above the published limit", "detail": "Send less at a time."}
    admin.route("**/new/columns", lambda route: route.fulfill(status=413, json=large), times=1)
    admin.get_by_role("button", name="Read the file").click()
    admin.get_by_text("above the published limit. Send less at a time.").wait_for()
    admin.wait_for_function("document.activeElement.id === 'problem'")  # in the next frame
    admin.evaluate(WATCH_STEPS)
    admin.get_by_role("button", name="Read the file").focus()
    admin.keyboard.press("Enter")
    admin.locator("#questions").wait_for()
    assert admin.evaluate("window.mostSteps") == 1  # the steps are made of what came, at once
    admin.get_by_role("button", name="Continue").focus()
    admin.keyboard.press("Enter")
    label = admin.get_by_label("Which answer do you want to know?")
    link = alert.get_by_role("link", name="Which answer do you want to know: choose one")
    assert violations(link) == []
    assert alert.evaluate("summary => summary === document.activeElement")
    assert admin.title() == "Error: New study: Privet"
    link.press("Enter")
    assert label.evaluate("field => field === document.activeElement")
    assert label.get_attribute("aria-invalid") == "true"
    said = "member: what do 0 and 1 mean: say what they mean, or leave them as they are"
    assert alert.get_by_role("link", name=said).count() == 1
    admin.get_by_role("group", name="member: what").get_by_label("Leave them").check()
    predict_label(admin)
    alert.wait_for(state="hidden")
    assert (admin.locator(".fault").count(), admin.title()) == (0, "New study: Privet")
    words = admin.get_by_role("group", name="member: what do 0 and 1 mean?")
    words.get_by_label("Leave them").uncheck()
    words.get_by_label("0 means").fill("no")
    steps = admin.get_by_role("navigation", name="Steps")
    steps.get_by_role("listitem").filter(has_text="Questions").get_by_text(
        "1 to fill in"
    ).wait_for()
    words.get_by_label("1 means").fill("yes")
    steps.get_by_text("done").nth(1).wait_for()
    steps.get_by_role("link", name="Check and publish").click()
    admin.get_by_role("button", name="Publish", exact=True).click()
    alert.wait_for()
    cells = "[...document.querySelectorAll('#asker .two > *')]"
    assert admin.evaluate(f"{cells}.every(each => each.querySelector('input, select, textarea'))")
    assert alert.get_by_role("link").count() == 5  # the name, and who asks
    for width in (390, 768, 1280):
        admin.set_viewport_size({"width": width, "height": 844})
        for title in ("Questions", "The study", "Who is asking", "Where people answer"):
            if width < 900:
                admin.get_by_text(re.compile("^Step . of 6")).click()
            steps.get_by_role("link", name=title).click()
            assert violations(admin.get_by_role("heading", name=title, exact=True)) == [], title
            assert admin.evaluate("document.documentElement.scrollWidth") <= width, title
    steps.get_by_role("link", name="Check and publish").click()
    alert.get_by_role("link", name="Name of the study: fill this in").click()
    admin.get_by_label("Name of the study").wait_for()
    admin.keyboard.type("By keyboard")
    assert admin.get_by_label("Name of the study").input_value() == "By keyboard"


WRONG = {
    "The study": (
        {
            "People whom you expect": ("3000 people", "write a whole number, such as 3000"),
            "Privacy of each person (ε)": ("abc", "write a number, such as 0.5"),
            "First day": ("2100-02-02", ""),
            "Last day": ("2100-02-01", "before the first day"),
            "Smallest group with the same disclosed answers": ("0", "at least 1"),
        },
        {
            "People whom you expect": ("-5", "at least 1"),
            "Privacy of each person (ε)": ("3", "at most 2, which the answer page takes"),
            "Last day": ("2020-02-01", "before the first day"),
            "Fewest answers that a relay sends together": (
                "20000",
                "“Fewest answers that a relay sends together” is 20000",
            ),
        },
    ),
    "Who is asking": (
        {"Link": ("clinic.example", "give a web address that begins with https://")},
        {"Link": ("", "fill this in")},
    ),
}
"""By step, what is typed into fields, and what is then said of each."""


def test_each_step_says_what_is_wrong_with_it(
    curator: RunningCurator, admin: Any, tmp_path: Path
) -> None:
    """In the label's words, above the step and at the field; no such step is done. What people
    mean is read: 3.000 is three thousand."""
    file = tmp_path / "survey.csv"
    file.write_bytes(samples.survey())
    admin.goto(f"{curator.url}/new")
    admin.get_by_role("button", name="Who, and how many").click()
    admin.get_by_label("Records with known answers").set_input_files(file)
    admin.get_by_role("button", name="Read the file").click()
    predict_label(admin)
    age = admin.get_by_role("group", name="age")
    age.locator("summary").click()
    age.get_by_label("Disclose").check()
    age.get_by_label("From").fill("ninety")
    said_on_going_on(admin, "Questions", {"age, From": "write a number, such as 0.5"})
    age.get_by_label("From").fill("90")
    said_on_going_on(admin, "Questions", {"age, To": "at least 90, where the numbers begin"})
    age.get_by_label("From").fill("16")
    go_on(admin, "The study")
    admin.get_by_label("Name of the study").fill("A panel")
    admin.get_by_text("Advanced", exact=True).click()
    for step, rounds in WRONG.items():
        for typed in rounds:
            for label, (text, _) in typed.items():
                admin.get_by_label(label).and_(admin.locator(":visible")).fill(text)
            said_on_going_on(admin, step, {name: said for name, (_, said) in typed.items() if said})
            (small := admin.locator("#faults")).evaluate("each => each.scrollIntoView()")
            assert violations(small) == []
        if step == "The study":
            for label, text in (
                ("People whom you expect", "3.000"),
                ("Privacy of each person (ε)", "0,5"),
                ("Smallest group with the same disclosed answers", ""),
                ("Fewest answers that a relay sends together", ""),
                ("First day", ""),
                ("Last day", ""),
            ):
                admin.get_by_label(label).and_(admin.locator(":visible")).fill(text)
            admin.get_by_text("Ask several times: a panel").click()
            admin.locator("[name=wave_count]").select_option("2")
            days = {f"Wave {wave}": "choose its last day" for wave in (1, 2)}
            said_on_going_on(admin, step, days)
            admin.locator("[name=wave_count]").select_option("")
            go_on(admin, "Who is asking")
    for label in ("Responsible", "Contact", "Purpose"):
        admin.get_by_label(label).fill("us")
    admin.get_by_label("Link").fill("https://clinic.example")
    go_on(admin, "Where people answer")
    go_on(admin, "Check and publish")
    assert "3\u202f000" in admin.inner_text("#summary")


def said_on_going_on(tab: Any, step: str, faults: dict[str, str]) -> None:
    """Continue, and read what is said: in the summary and at each field, which is named by it."""
    tab.get_by_role("button", name="Continue").click()
    tab.locator("#faults:focus").wait_for()
    assert tab.title() == "Error: New study: Privet"
    at = tab.get_by_role("navigation", name="Steps").get_by_role("listitem").filter(has_text=step)
    assert "to fill in" in at.inner_text()
    for label, said in faults.items():
        link = tab.locator("#faults a").filter(has_text=f"{label}: ").filter(has_text=said)
        assert link.count() == 1, (label, said, tab.inner_text("#faults"))
        link.click()
        field = tab.locator(":focus")
        assert field.get_attribute("aria-invalid") == "true"
        (described, *_) = field.get_attribute("aria-describedby").split()
        assert said in tab.locator(f"[id='{described}']").inner_text()


def test_the_wizard_needs_its_script(curator: RunningCurator, browser: Any) -> None:
    """Without JavaScript a sentence names the command that does the same, and no form is shown."""
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    sign_in(tab, curator.url, curator.token)
    tab.goto(f"{curator.url}/new")
    said = tab.inner_text("main")  # nothing else
    assert re.fullmatch(r"New study\s+This form needs JavaScript; [^.]*\.", said)
    assert "privet task create does the same on the command line" in said
    assert tab.locator("main noscript a").get_attribute("href") == "/docs"
    context.close()


def test_a_panel_from_a_file_to_the_link(tab: Any, tmp_path: Path) -> None:
    """Its waves, who answers, what that costs, and when people are asked; then its own link."""
    file = tmp_path / "survey.csv"
    file.write_bytes(samples.survey())
    today = datetime.now(UTC).date()
    days = [(today + timedelta(days=day)).isoformat() for day in (0, 9, 60, 69)]
    with RunningCurator(tmp_path) as curator:
        sign_in(tab, curator.url, curator.token)
        tab.goto(f"{curator.url}/new")
        tab.get_by_role("button", name="Who, and how many").click()
        tab.get_by_label("Records with known answers").set_input_files(file)
        tab.get_by_role("button", name="Read the file").click()
        predict_label(tab)
        go_on(tab, "The study")
        tab.get_by_label("Name of the study").fill("Months")
        go_on(tab, "Who is asking")
        for name, text in (
            ("Responsible", "Institute"),
            ("Contact", "survey@institute.example"),
            ("Link", "https://institute.example"),
            ("Purpose", "To learn."),
        ):
            tab.get_by_label(name).fill(text)
        tab.go_back()  # each step is an entry of the browser's history
        tab.get_by_text("Ask several times: a panel").click()
        assert tab.get_by_role("group", name="Wave 1").is_hidden()
        tab.locator("[name=wave_count]").select_option("2")
        tab.get_by_label("Who answers").select_option("repeat")
        tab.get_by_text("All answers of one person together cost ε 2 at most").wait_for()
        tab.get_by_label("Privacy of each person").fill("1.5")
        tab.get_by_text("cost ε 3 at most (the lifetime ε), more than the 2").wait_for()
        tab.get_by_label("Who answers").select_option("rotate")
        lifetime = tab.get_by_text("cost ε 1.5 at most (the lifetime ε).")
        for wave, (first, last) in enumerate(zip(days[::2], days[1::2], strict=True), 1):
            row = tab.get_by_role("group", name=f"Wave {wave}")
            row.get_by_label("First day").fill(first)
            row.get_by_label("Last day").fill(last)
        assert tab.get_by_role("group", name="Wave 3").is_hidden()
        assert tab.locator("[name=opens]").or_(tab.locator("[name=closes]")).count() == 2
        assert tab.locator("[name=opens]:visible, [name=closes]:visible").count() == 0
        assert violations(lifetime) == []
        tab.set_viewport_size({"width": 390, "height": 740})
        assert tab.evaluate("document.documentElement.scrollWidth") <= 390
        tab.get_by_text("Step 3 of 6: The study").click()
        tab.get_by_role("link", name="Check and publish").click()
        said = tab.inner_text("#summary")
        for wave, (first, last) in enumerate(zip(days[::2], days[1::2], strict=True), 1):
            assert f"wave {wave}: {first} to {last}" in said
        tab.get_by_role("button", name="Plan", exact=True).click()
        asked = tab.locator("#asked-when", has_text="They are asked 2 times. Each person answers")
        asked.wait_for(timeout=120_000)
        assert violations(asked) == []
        tab.get_by_role("button", name="Publish", exact=True).click()
        tab.wait_for_url("**/tasks/*", timeout=60_000)
        waves = tab.locator("#waves", has_text="open")
        assert violations(waves) == []
        assert tab.locator("#waves tbody tr").count() == 2
        assert tab.evaluate("document.documentElement.scrollWidth") <= 390
        tab.get_by_label("Relay").fill("http://127.0.0.1:9")
        tab.get_by_role("button", name="Create the link").click()
        panel = tab.url.split("#")[0].rpartition("/")[2]
        tab.locator(f"#link[href$='/answer/{panel}']").wait_for()
        tab.get_by_role("link", name="2", exact=True).click()
        tab.get_by_text("Wave 2 of 2 of").wait_for()
        tab.locator(f"#link[href$='/answer/{panel}']").wait_for()


def test_one_press_fits_every_wave_or_goes_on_where_one_failed(tab: Any, tmp_path: Path) -> None:
    """The page of each wave sends the form of the next by itself; a second press fits none anew."""
    now, day = datetime.now(UTC), timedelta(days=1)
    waves = [
        f"{(now + n * day).isoformat()}/{(now + (n + 20) * day).isoformat()}" for n in (-1, 30, 60)
    ]
    with RunningCurator(tmp_path) as curator, closing(open_store(curator.database)) as store:
        made: dict[str, Any] = {"label": "label", "epsilon": 4, "depth": 1, "waves": waves}
        panel = curator.create(samples.survey(), name="Months", **made)
        task = store.tasks.read(panel).task
        for n, wave in zip((0, 31, 61), task.waves, strict=True):
            clock = ManualClock((now + n * day).timestamp())
            collect(new_curator(store, clock), wave, survey(40, n))
        sign_in(tab, curator.url, curator.token)
        tab.goto(f"{curator.url}/tasks/{panel}")
        earlier = tab.context.new_page()
        earlier.goto(tab.url)
        name = "Fit a model to each wave"
        fit = tab.get_by_role("button", name=name)

        def fail(route: Any) -> None:
            """The answer of a curator that is busy, to the form of the second wave alone."""
            if "wave=2" in (route.request.post_data or ""):
                problem = {"title": "Busy", "detail": "Try again."}
                route.fulfill(status=503, json=problem, content_type="application/problem+json")
            else:
                route.continue_()

        def models() -> list[int]:
            return [len(store.models.listed(wave.id)) for wave in task.waves]

        tab.route("**/fit-waves", fail)
        fit.click()
        failed = tab.locator("#fitted #problem", has_text="Busy. Try again.")
        assert violations(failed) == []
        assert models() == [1, 0, 0]
        tab.unroute("**/fit-waves")
        fit.focus()
        tab.keyboard.press("Enter")
        all_fitted = "Every wave has a model of all its answers"
        tab.get_by_text(all_fitted).wait_for()  # on the page anew
        assert models() == [1, 1, 1]
        assert failed.count() == fit.count() == 0
        earlier.get_by_role("button", name=name).click()
        earlier.get_by_text(all_fitted).wait_for()
        assert models() == [1, 1, 1]


def test_a_model_is_read_tried_and_promoted(curator: RunningCurator, admin: Any, task: str) -> None:
    """A node's numbers, a prediction with its path, other settings at once, and promotion."""
    admin.goto(f"{curator.url}/tasks/{task}/models/1")
    cell = admin.locator(".tree .node[data-cell]").first
    cell.locator("a").click()
    is_seen_beside(admin, cell)
    assert "comes from your file" in admin.inner_text("#node")
    admin.get_by_label("age", exact=True).fill("30")
    admin.get_by_label("<b>hours</b>", exact=True).fill("nine")
    admin.get_by_label(re.compile("^job")).select_option(MARKUP)
    admin.get_by_label(re.compile("^member")).select_option("False")
    admin.get_by_role("button", name="Predict", exact=True).click()
    admin.locator("#prediction #problem:focus").wait_for()
    wrong = "[...document.querySelectorAll('[aria-invalid=true]')].map((each) => each.name).join()"
    assert admin.evaluate(wrong) == "field.1"
    admin.get_by_label("<b>hours</b>", exact=True).fill("9")
    admin.get_by_role("button", name="Predict", exact=True).click()
    admin.locator("#prediction [data-path]").wait_for()
    assert admin.evaluate(wrong) == ""
    path = admin.get_attribute("#prediction [data-path]", "data-path").split()
    marked = admin.locator(".tree .on-path").all()
    assert [node.get_attribute("data-node") for node in marked] == path
    assert admin.locator(".tree .on-path[data-cell]").count() == 1
    admin.get_by_text("Its group: ").wait_for()
    folded = "document.querySelectorAll('main .card details:not([open], .untold)').length"
    assert admin.evaluate(folded) > 0
    admin.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert admin.evaluate(folded) == 0  # on paper all is there
    admin.evaluate("dispatchEvent(new Event('afterprint'))")
    assert admin.evaluate(folded) > 0
    admin.emulate_media(media="print")
    assert admin.locator("form:visible, button:visible, header:visible").count() == 0
    assert admin.locator("#says-title:visible, .cells.narrow:visible").count() == 2
    assert admin.locator(".tree svg:visible, footer:visible").count() == 0
    assert admin.locator(".help", has_text="● a group's").is_visible()
    assert admin.locator("#predict-title:visible").count() == 1  # with its prediction
    assert admin.locator("#trial-title").is_hidden()  # nothing was tried
    assert admin.evaluate("document.documentElement.scrollWidth <= innerWidth")
    admin.emulate_media(media="screen")
    assert violations(admin.locator("#prediction [data-path]")) == []
    assert admin.get_by_label("Way to fit").input_value() == "weighted"  # the model's own
    assert admin.get_by_label("row of the file counts for").input_value() == "inf"
    admin.get_by_label("below zero").select_option("unbiased")
    admin.get_by_text("below zero: unbiased, not kept").wait_for(timeout=60_000)
    assert "Both predict the same for the 200 people in your file." in admin.inner_text("#trial")
    assert len(curator.get(f"/v1/tasks/{task}/models")) == 2
    admin.get_by_role("button", name="Keep this model").click()
    admin.get_by_role("heading", name="Model 3").wait_for()
    models = curator.get(f"/v1/tasks/{task}/models")
    assert [model["aliases"] for model in models] == [["serving"], [], []]
    admin.get_by_role("button", name="Put in use").click()
    admin.wait_for_url("**#models")
    models = curator.get(f"/v1/tasks/{task}/models")
    assert [model["aliases"] for model in models] == [[], [], ["serving"]]
    audit = curator.call("GET", "/v1/audit", headers=curator.admin).json()
    assert [entry["action"] for entry in audit[:2]] == ["model promoted", "model fitted"]


def test_reports_are_read_and_other_weights_tried_at_once(
    curator: RunningCurator, admin: Any
) -> None:
    """The holders' figures beside the public data; and λ on a slider refits without a click."""
    task = curator.create(
        samples.survey(), name="weights", label="label", epsilon=2, depth=2, grower="cart"
    )
    with ThreadPoolExecutor(1) as thread:  # since Playwright's loop runs in this one
        thread.submit(answer_all, f"{curator.url}/v1/tasks/{task}", survey(30, seed=1)).result()
    curator.post(f"/v1/tasks/{task}/models", {"estimator": "drift"})
    admin.goto(f"{curator.url}/tasks/{task}")
    assert reports(admin) == 30
    assert "30 answers tell nothing yet: about" in admin.inner_text("#known")
    admin.set_viewport_size({"width": 390, "height": 740})
    assert admin.evaluate("document.documentElement.scrollWidth") <= 390
    assert violations(admin.locator("#known")) == []
    admin.set_viewport_size({"width": 1280, "height": 740})
    admin.get_by_role("link", name="Model 1").click()
    admin.locator(".untold > summary").first.click()  # of none of its cells anything is known
    admin.locator(".tree .node a").last.click()  # the first has all
    admin.locator("#node", has_text="of the people who answered are here").wait_for()
    admin.route("**/trial?*", lambda _: None, times=1)
    admin.get_by_label("Way to fit").select_option("weighted")
    admin.get_by_role("button", name="Cancel").click()  # its own settings are there all the same
    admin.get_by_label("row of the file counts for").fill("2")
    admin.get_by_label("row of the file counts for").press("Tab")
    admin.locator("#trial h3", has_text="added with a weight").wait_for(timeout=60_000)
    admin.get_by_label("row of the file counts for").fill("1")
    admin.get_by_role("slider").focus()
    admin.keyboard.press("ArrowRight")
    admin.locator("#trial h3", has_text="counts for (λ): 1.78").wait_for(timeout=60_000)
    assert "Compared with model 1" in admin.inner_text("#trial")
    assert len(curator.get(f"/v1/tasks/{task}/models")) == 1
    admin.goto(f"{curator.url}/tasks/{task}")
    admin.get_by_text("Close the study", exact=True).click()
    admin.get_by_role("button", name="Close it now").click()
    admin.get_by_role("button", name="Open the study").wait_for()
    assert curator.get(f"/v1/tasks/{task}")["state"] == "closed"
    admin.get_by_text("Delete the study").click()
    admin.get_by_label("Its name, to confirm").fill("another")
    admin.get_by_role("button", name="Delete permanently").click()
    assert violations(admin.get_by_role("alert").get_by_text("nothing was deleted")) == []
    admin.get_by_label("Its name, to confirm").fill("weights")
    admin.get_by_role("button", name="Delete permanently").click()
    admin.get_by_role("status").get_by_text("The study was deleted").wait_for()


def test_markup_in_a_task_is_text(curator: RunningCurator, admin: Any, task: str) -> None:
    """Names, descriptions and categories with markup are shown as they are, on every page."""
    for path in pages(task):
        admin.goto(curator.url + path)
        assert admin.title() != "1"
        assert admin.locator("main img[src=x], main b:text-is('hours')").count() == 0, path
    admin.goto(f"{curator.url}/tasks/{task}")
    assert admin.inner_text("h1") == MARKUP


def test_words_of_a_tree_end_before_its_bars(tab: Any) -> None:
    """In the fonts that this machine has, with wide letters and figures."""
    names = ("commute_km", "wwwww", "iiiii", "WFH days, mean", "月収")
    features = tuple(Numeric(name=name, low=0.0, high=26.55) for name in names)
    at = np.arange(len(names))
    tree = Partition.build(
        len(names),
        feature=[*at, *[LEAF] * 6],
        threshold=[0.5] * len(names) + [0.0] * 6,
        left=[*(5 + at), *[LEAF] * 6],
        right=[1, 2, 3, 4, 10, *[LEAF] * 6],
    )
    tab.set_content(to_svg(lay_out(tree, columns_of(features))))
    beyond = """groups => groups.map(each =>
        each.querySelector("text").getBoundingClientRect().right
        - each.querySelectorAll("rect")[1].getBoundingClientRect().left)"""
    gaps = tab.locator("g.node").evaluate_all(beyond)
    assert len(gaps) == 11
    assert max(gaps) < 0.0


def test_a_chart_is_saved_as_it_is_drawn(curator: RunningCurator, admin: Any) -> None:
    """As SVG, PNG and CSV, from what the page carries, by the example of a new study."""
    task = curator.create(samples.survey(), name="charts", label="label", epsilon=4, depth=1)
    admin.goto(f"{curator.url}/tasks/{task}")
    admin.get_by_text("an example with sample data").click()
    figure = admin.locator("#sample figure")
    saved = {}
    for kind in ("SVG", "PNG", "CSV"):
        with admin.expect_download() as download:
            figure.get_by_text(kind, exact=True).click()
        assert download.value.suggested_filename == f"example.{kind.lower()}"
        saved[kind] = Path(download.value.path()).read_bytes()
    assert saved["SVG"].startswith(b"<svg")
    assert saved["PNG"].startswith(b"\x89PNG")
    bars = figure.locator("rect").all()
    rows = saved["CSV"].decode().splitlines()[1:]
    titles = [bar.locator("title").text_content() for bar in bars]
    assert [
        f"{name}: {float(value):g}" for name, value, *_ in (row.split(",") for row in rows)
    ] == ["".join(title.split("\u202f")) for title in titles]
    for width in (320, 1280):
        admin.set_viewport_size({"width": width, "height": 740})
        assert admin.evaluate("document.documentElement.scrollWidth") <= width
        assert violations(figure) == []


@pytest.mark.parametrize("width", [360, 1280])
def test_results_are_read_saved_and_shown_in_another_page(
    curator: RunningCurator, tab: Any, tmp_path: Path, width: int
) -> None:
    """By a stranger: the picture as a PNG file, and in a frame and as an image elsewhere, with its
    words."""
    task = curator.create(
        samples.survey(), name=f"ended {width}", label="label", epsilon=4, depth=1
    )
    with ThreadPoolExecutor(1) as thread:  # since Playwright's loop runs in this one
        url = f"{curator.url}/v1/tasks/{task}"
        thread.submit(answer_all, url, survey(300, seed=3)).result()
    curator.post(f"/v1/tasks/{task}/models", {"estimator": "weighted"})
    curator.post(f"/v1/tasks/{task}/close", {})
    tab.set_viewport_size({"width": width, "height": 740})
    tab.goto(f"{curator.url}/tasks/{task}")
    tab.locator("#share").click()
    tab.wait_for_url("**/results")
    for scheme in ("light", "dark"):
        tab.emulate_media(color_scheme=scheme)
        assert violations(tab.locator(".findings")) == []
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    with tab.expect_download() as saved:
        tab.get_by_role("button", name="PNG of results").click()
    png = Path(saved.value.path()).read_bytes()
    assert png.startswith(b"\x89PNG")
    assert int.from_bytes(png[16:20]) == 1280
    said = tab.locator(".known").inner_text()
    tab.get_by_text("Show it in a page of your own").click()
    lines = "".join(tab.locator("pre").all_inner_texts())
    elsewhere = f"<!doctype html><meta charset=utf-8><title>Ours</title><h1>Ours</h1>{lines}"
    (tmp_path / "index.html").write_text(elsewhere, encoding="utf-8")
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), handler)) as address:
        tab.goto(address)
        tab.frame_locator("iframe").locator(".known", has_text=said).wait_for()
        image = tab.get_by_alt_text(said)
        image.evaluate("each => each.decode()")
        assert image.evaluate("each => each.naturalWidth") == 640
        assert tab.evaluate("document.querySelector('iframe').title") == f"ended {width}: results"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_axe_finds_nothing(
    curator: RunningCurator, admin: Any, task: str, scheme: str, width: int, tmp_path: Path
) -> None:
    """Every page, on a phone and a desk; and nothing is wider than the screen."""
    admin.emulate_media(color_scheme=scheme)
    admin.set_viewport_size({"width": width, "height": 740})
    for path in pages(task):
        admin.goto(curator.url + path)
        shown = admin.locator("h1")
        if path.endswith("/models/1"):
            where = ".tree .node[data-cell] a" if width > 640 else ".cells [data-node] a"
            admin.locator(where).first.click()
            shown = admin.locator("#node table")
        assert violations(shown) == [], path
        assert admin.evaluate("document.documentElement.scrollWidth") <= width, path
    file = tmp_path / "survey.csv"
    file.write_bytes(samples.survey())
    admin.goto(f"{curator.url}/new")
    admin.get_by_role("button", name="Who, and how many").click()
    admin.get_by_label("Records with known answers").set_input_files(file)
    admin.get_by_role("button", name="Read the file").click()
    assert violations(admin.get_by_label("Which answer do you want to know?")) == []
    assert admin.evaluate("document.documentElement.scrollWidth") <= width


def test_a_tree_is_a_list_on_a_phone(curator: RunningCurator, admin: Any, task: str) -> None:
    """Each cell with its path, interval and figure, whose numbers open; no drawing scrolls."""
    for width in (768, 390):
        admin.set_viewport_size({"width": width, "height": 844})
        admin.goto(f"{curator.url}/tasks/{task}/models/1")
        admin.locator(".cells.narrow").wait_for()
        assert admin.locator(".tree svg:visible").count() == 0
    cells = admin.locator(".cells [data-node]")
    assert cells.count() == curator.get(f"/v1/tasks/{task}/models/1")["cells"]
    cells.first.locator("a").click()
    is_seen_beside(admin, cells.first)
    assert admin.locator(".cells .on-path").count() == 1
    assert admin.locator("#node .scroll").evaluate("each => each.scrollWidth <= each.clientWidth")
    assert admin.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert violations(admin.locator("#node table")) == []
    admin.get_by_role("button", name="Close", exact=True).click()
    assert admin.locator(".on-path, #node table").count() == 0
    assert admin.evaluate("document.activeElement.closest('.cells') !== null")


def is_seen_beside(admin: Any, row: Any) -> None:
    """A node's numbers are on the screen, and do not cover the row that was chosen."""
    admin.locator("#node table").wait_for()
    admin.wait_for_timeout(300)  # until it has scrolled
    panel, chosen = admin.locator("#node").bounding_box(), row.bounding_box()
    assert chosen["y"] + chosen["height"] <= panel["y"] + 1
    assert chosen["y"] >= 0
    assert panel["y"] + min(panel["height"], 100) <= admin.viewport_size["height"]


def test_models_side_by_side_are_whole(curator: RunningCurator, admin: Any, task: str) -> None:
    """On one scale at every width, and nothing is cut off."""
    for width in (1280, 390):
        admin.set_viewport_size({"width": width, "height": 900})
        admin.goto(f"{curator.url}/tasks/{task}/compare?one=1&other=2")
        admin.get_by_role("heading", name="Their groups of people").wait_for()
        inside = "all => all.every(each => each.scrollWidth <= each.clientWidth)"
        assert admin.locator(".cells li, .cells li > *:not(svg)").evaluate_all(inside)
        assert admin.evaluate("document.documentElement.scrollWidth <= innerWidth")
        rows = admin.locator(".cells .interval").evaluate_all(
            "all => all.map(each => [each.getBoundingClientRect().x, each.clientWidth].join())"
        )
        assert len(set(rows)) == 1
        card = admin.locator(".card:has(.pairs)").evaluate("each => each.clientWidth")
        assert float(rows[0].split(",")[1]) > 0.3 * card, "the plot uses the width"
        titles = admin.locator(".pairs .title").all_inner_texts()
        assert set(titles) == {"predicted share of 1"}
        said = "Fit the settings of model 1 to all 12 345 answers, more than it was fitted to"
        admin.locator("main button").evaluate_all(
            f"all => all.forEach(each => {{ each.textContent = '{said}'; }})"
        )
        assert admin.evaluate("document.documentElement.scrollWidth <= innerWidth"), "wide buttons"


def test_classes_with_long_names_fit_a_phone(curator: RunningCurator, admin: Any) -> None:
    """Cells whose figure names a class, and two models' beside each other."""
    public = samples.classes().replace(b"middle", b"neither high nor low as far as anybody knows")
    made = curator.create(public, name="long", label="level", epsilon=2, depth=2)
    for _ in range(2):
        curator.post(f"/v1/tasks/{made}/models", samples.PUBLIC_ALONE)
    admin.set_viewport_size({"width": 390, "height": 844})
    for path in ("models/1", "compare?one=1&other=2"):
        admin.goto(f"{curator.url}/tasks/{made}/{path}")
        admin.locator("main").evaluate(
            "main => main.querySelectorAll('details').forEach(each => { each.open = true; })"
        )
        admin.locator(".cells li:visible").get_by_text("neither high nor low").first.wait_for()
        assert admin.evaluate("document.documentElement.scrollWidth") <= 390, path


def test_a_stranger_sees_no_action(curator: RunningCurator, tab: Any, task: str) -> None:
    """The pages are there without a token, and have no button that changes anything."""
    for path in (f"/tasks/{task}", f"/tasks/{task}/models/1"):
        tab.goto(curator.url + path)
        names = [each.inner_text() for each in tab.get_by_role("button").all()]
        assert set(names) <= NOTHING_CHANGES, path
        assert violations(tab.locator("h1")) == []
    tab.goto(f"{curator.url}/new")
    tab.get_by_role("alert").wait_for()


def test_a_page_that_is_open_says_that_its_session_ended(
    curator: RunningCurator, tab: Any, task: str
) -> None:
    """All of it turns into the stranger's, not only the count that refreshes."""
    sign_in(tab, curator.url, issue(curator, "visitor", "reader"))
    tab.goto(f"{curator.url}/tasks/{task}")
    tab.get_by_text("visitor (reader)").wait_for()
    curator.call("DELETE", "/v1/tokens/visitor", headers=curator.admin)
    stranger = tab.get_by_text("You are not signed in")
    stranger.wait_for(timeout=20_000)
    assert tab.get_by_text("visitor (reader)").count() == 0
    assert tab.inner_text("#reports").startswith("fewer than 2")
    assert violations(stranger) == []


def test_a_page_says_when_its_curator_is_gone(
    curator: RunningCurator, admin: Any, task: str
) -> None:
    """And since when; the line goes when it is back."""
    admin.goto(f"{curator.url}/tasks/{task}")
    assert admin.locator("#connection").is_hidden()
    admin.context.set_offline(True)
    gone = admin.get_by_text("The curator does not answer. The page shows its answer of")
    assert violations(gone) == []
    admin.context.set_offline(False)
    admin.locator("#connection").wait_for(state="hidden")


def test_the_apis_page_follows_the_scheme_and_leads_back(curator: RunningCurator, tab: Any) -> None:
    """Dark where the browser is, at once and when that changes."""
    tab.emulate_media(color_scheme="dark")
    tab.goto(f"{curator.url}/docs")
    tab.locator("html.dark-mode .swagger-ui .title").wait_for()
    tab.locator(".opblock-summary-control").first.click()  # a call with its examples
    tab.locator(".opblock .microlight").first.wait_for()
    assert [each for each in violations(tab.locator("h1")) if "contrast" in each] == []
    tab.emulate_media(color_scheme="light")
    tab.locator("html:not(.dark-mode)").wait_for(state="attached")
    assert [each for each in violations(tab.locator("h1")) if "contrast" in each] == []
    tab.get_by_role("link", name="Back to the dashboard").click()
    tab.get_by_role("heading", name="Studies").wait_for()


def test_the_keyboard_suffices(curator: RunningCurator, admin: Any, task: str) -> None:
    """A branch of the tree is a link that Tab reaches and Enter opens."""
    admin.goto(f"{curator.url}/tasks/{task}/models/1")
    admin.locator(".tree").focus()
    admin.keyboard.press("Tab")
    admin.keyboard.press("Enter")
    admin.locator("#node h3", has_text="everybody").wait_for()


NOTHING_CHANGES = {"Show side by side", "Predict", "Download with predictions", ""}
"""Buttons of strangers; the one without text chooses a file."""
NOTHING_CHANGES |= {"Copy the link", "Print or save as PDF"}


def pages(task: str) -> list[str]:
    """Every page that a GET shows."""
    return [
        "/",
        "/sign-in",
        "/new",
        "/access",
        f"/tasks/{task}",
        f"/v1/tasks/{task}",
        f"/tasks/{task}/models/1",
        f"/tasks/{task}/models/1/nodes/0",
        f"/tasks/{task}/trial?estimator=weighted&weight=inf",
        f"/tasks/{task}/compare?one=1&other=2",
        "/tasks/none",
    ]


def test_decisions_on_a_file_are_shown_at_once(
    curator: RunningCurator, admin: Any, tmp_path: Path
) -> None:
    """A file as people have it goes from its empty labels to a plan: the rows, the check page and
    the published study say the same of each column, and no exact end of the file is published."""
    rows = [
        f"{('n/a', '40h')[i // 150] if i % 150 == 20 else 2 + (i * 7) % 76},"
        f"{'' if i % 75 == 1 else ('never', 'often', 'sometimes')[i % 3]}"
        for i in range(300)
    ]
    file = tmp_path / "lonely.csv"
    file.write_text("\n".join(["hours,lonely", *rows]))
    admin.goto(f"{curator.url}/new")
    admin.get_by_role("button", name="Who, and how many").click()
    assert admin.get_by_label("List of the people you ask").is_hidden()
    admin.get_by_text("You have a list of the people you ask").click()
    admin.locator("#help-register").wait_for()
    admin.get_by_label("Records with known answers").set_input_files(file)
    admin.get_by_role("button", name="Read the file").click()
    label = admin.get_by_label("Which answer do you want to know?")
    empty = admin.get_by_role("group", name="lonely: 4 rows are empty")
    label.select_option("hours")
    empty.wait_for(state="hidden")
    label.select_option("lonely")
    row = admin.get_by_role("group", name="lonely", exact=True)
    assert row.locator("[data-answers]").inner_text() == "never, often, sometimes"
    headline = admin.get_by_label("The answer you want to count")
    options = "field => [...field.options].map(each => each.textContent)"
    assert headline.evaluate(options) == ["choose one", "never", "often", "sometimes"]
    said_on_going_on(admin, "Questions", {"The answer you want to count": "choose one"})
    for asked in (
        "lonely: 4 rows are empty",
        "hours: “n/a” (1 row) and “40h” (1 row) among numbers",
    ):
        assert admin.locator("#faults a").filter(has_text=asked).count() == 1
    headline.select_option("often")
    empty.get_by_label("An answer of their own").check()
    assert row.locator("[data-answers]").inner_text() == "never, often, sometimes, no answer"
    empty.get_by_label("Leave these rows out").check()
    assert row.locator("[data-answers]").inner_text() == "never, often, sometimes"
    hours = admin.get_by_role("group", name="hours", exact=True)
    hours.locator("summary").click()
    assert hours.get_by_label("From").is_hidden()
    admin.get_by_role("group", name="hours: “n/a”").get_by_label("No, the value").check()
    assert hours.locator("[data-answers]").inner_text() == "0 to 80"
    kind = hours.get_by_label("Kind")
    assert (kind.input_value(), kind.is_disabled()) == ("numeric", True)
    hours.get_by_label("To").fill("90")
    hours.get_by_label("To").blur()
    assert violations(hours) == []
    go_on(admin, "The study")
    admin.get_by_label("Name of the study").fill("Lonely")
    people = admin.get_by_label("People whom you expect")
    known = admin.locator("#study [data-known]")
    for typed in ("abc", "0"):
        people.fill(typed)
        known.filter(has_text="Type a number of people.").wait_for()
        people.fill("3000")
        known.filter(has_text="points whenever you look").wait_for()
    known.get_by_role("link", name="Advanced: Looks at the figures").click()
    assert admin.evaluate("document.activeElement.name") == "looks"
    go_on(admin, "Who is asking")
    for field in ("Responsible", "Contact", "Purpose"):
        admin.get_by_label(field).fill("us")
    admin.get_by_label("Link").fill("https://clinic.example")
    admin.get_by_role("navigation", name="Steps").get_by_role("link", name="Check").click()
    admin.locator("#summary").filter(has_text="Hours – 0 to 90").wait_for()
    summary = admin.inner_text("#summary")
    assert "Hours – 0 to 90; may be left empty" in summary
    assert (
        "ε = 1: somebody who thinks two answers equally likely is at most 74\u00a0% sure of either"
        in summary
    )
    assert admin.inner_text("#opening") == "The study opens at once."
    assert "Lonely – never, often, sometimes\n" in summary
    admin.get_by_role("button", name="Plan", exact=True).click()
    admin.locator("#plan table").first.wait_for()
    admin.get_by_role("button", name="Publish", exact=True).click()
    admin.wait_for_url("**/tasks/*")
    made = re.findall("[0-9a-f]{64}", admin.url)[0]
    task = curator.get(f"/v1/tasks/{made}")["task"]
    assert task["label"]["classes"] == ["never", "often", "sometimes"]
    assert task["label"]["headline"] == "often"
    (feature,) = task["features"]
    assert (feature["low"], feature["high"]) == (0.0, 90.0)


def test_a_refusal_stands_once(curator: RunningCurator, admin: Any) -> None:
    """Below the button that was pressed last."""
    admin.goto(f"{curator.url}/new")
    admin.get_by_role("button", name="How many One question").click()
    admin.get_by_label("Question", exact=True).fill("Have you ever?")
    for field in ("Responsible", "Contact", "Purpose"):
        admin.get_by_label(field).fill("us")
    admin.get_by_label("Link").fill("https://clinic.example")
    admin.get_by_role("navigation", name="Steps").get_by_role("link", name="Check").click()
    refusal = {"title": "Refused", "detail": "For a reason."}
    for path in ("preview", "plan"):
        admin.route(f"**/new/{path}", lambda route: route.fulfill(status=422, json=refusal))
    for button in ("Preview", "Plan", "Preview"):
        admin.get_by_role("button", name=button, exact=True).click()
        admin.locator(f"#{button.lower()} .problem").wait_for()
        assert admin.get_by_text("For a reason.").count() == 1


def test_a_draft_has_its_date_as_other_pages_write_it(
    curator: RunningCurator, browser: Any
) -> None:
    """In any browser's language."""
    context = browser.new_context(locale="en-US")
    tab = context.new_page()
    sign_in(tab, curator.url, curator.token)
    tab.goto(f"{curator.url}/new")
    tab.get_by_role("button", name="How many One question").click()
    tab.get_by_label("Question", exact=True).fill("Have you ever?")
    tab.locator("#question").wait_for()
    tab.wait_for_timeout(500)
    tab.goto(f"{curator.url}/new")
    said = tab.locator("#draft p")
    said.wait_for()
    assert re.search(r"a draft of \d{1,2} [A-Z][a-z]+ \d{4}, \d\d:\d\d, of", said.inner_text())
    context.close()
