"""``python -m scripts.first_visits``: first visits of a study's people, in clicks and seconds.

Starts a curator and a relay on loopback and drives a real browser as each of them would: from a
file to a link, from the link to a receipt, and back again on a slow line. Fills the table in
``docs/dashboard.md``.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import httpx
import typer

from scripts.browser import chromium, missing
from scripts.pages import fill, markdown, measured_on
from scripts.screenshots import sign_in
from scripts.servers import RunningCurator, running_curator, running_relay

PAGE = Path("docs/dashboard.md")
CLINIC = Path("docs/examples/clinic.csv")
HEAD = ("who, from where to where", "clicks", "fields", "seconds", "bytes")
SLOW = {"offline": False, "latency": 400, "downloadThroughput": 50_000, "uploadThroughput": 50_000}
"""A line of 400 ms and 50 kB/s, as the browser's protocol names it."""
PHONE = {"viewport": {"width": 390, "height": 844}}
COUNT = """addEventListener("click", (event) => { if (event.detail) counted("clicks"); }, true);
addEventListener("input", (event) => {
  const field = event.composedPath()[0]; // also of the answer page's component
  if (!["radio", "checkbox"].includes(field.type)) counted("fields");
}, true);"""


@dataclass
class Visit:
    """A tab with its counts: clicks, fields that were filled in, and bytes."""

    name: str
    tab: Any
    clicks: int = 0
    fields: int = 0
    received: int = 0
    started: float = field(default_factory=time.monotonic)

    @classmethod
    def begin(cls, name: str, context: Any, *, slow: bool = False) -> "Visit":
        """Open a tab that counts; its line is slow where it is to be."""
        visit = cls(name, context.new_page())
        visit.tab.expose_function("counted", visit.count)
        visit.tab.add_init_script(COUNT)
        line = context.new_cdp_session(visit.tab)
        line.send("Network.enable")
        line.on("Network.loadingFinished", visit.receive)
        if slow:
            line.send("Network.emulateNetworkConditions", SLOW)
        visit.started = time.monotonic()
        return visit

    def count(self, what: str) -> None:
        setattr(self, what, getattr(self, what) + 1)

    def receive(self, event: dict[str, Any]) -> None:
        self.received += int(event["encodedDataLength"])

    def row(self) -> list[str]:
        """Its line in the table, once it is over."""
        seconds = time.monotonic() - self.started
        size = f"{self.received:,}".replace(",", " ")
        return [self.name, str(self.clicks), str(self.fields), f"{seconds:.1f}", size]


def main(page: Annotated[Path, typer.Option(help="Page with the table.")] = PAGE) -> None:
    """Measure all visits, and fill the table in."""
    why = missing()
    if why is not None:
        raise typer.BadParameter(why)
    with TemporaryDirectory() as folder:
        rows = []
        for visit in visits(Path(folder)):
            rows.append(visit.row())
            typer.echo(" | ".join(rows[-1]))
    table = markdown(HEAD, rows, "---:")
    table += f"\n{measured_on()}, by `python -m scripts.first_visits`.\n"
    typer.echo(table)
    fill(page, {"first-visits": table})


def visits(folder: Path) -> Iterator[Visit]:
    """Each visit, over; the next begins after its row was taken."""
    with running_curator(folder) as curator, chromium() as browser:
        admin = {"Authorization": f"Bearer {curator.token}"}
        issued = httpx.put(
            f"{curator.url}/v1/tokens/relay", headers=admin, json={"scope": "relay"}
        ).json()
        token = str(issued["token"])
        with running_relay(folder, curator.url, token, least=1, every=1.0) as relay:
            desk = browser.new_context()
            desk.set_default_timeout(60_000)
            visit = Visit.begin("Researcher, from a file to the link for people", desk)
            link = publish(visit.tab, curator, relay.url)
            study = visit.tab.url
            yield visit
            one = browser.new_context()
            one.set_default_timeout(60_000)
            visit = Visit.begin("Researcher, from `make pilot` to the link for one question", one)
            ask(visit.tab, curator.url, curator.token)
            yield visit
            app = Visit.begin("App's owner, from the task's page to lines for a page", desk)
            app.tab.goto(study)
            app.tab.get_by_text("In a page of your own").click()
            app.tab.locator("#snippet").wait_for()
            yield app
            phone = browser.new_context(**PHONE)
            person = Visit.begin("Person asked, on a phone, from the link to the receipt", phone)
            person.tab.goto(link)
            answer(person.tab)
            yield person
            slow = browser.new_context(**PHONE)
            for name in ("first", "second"):
                visit = Visit.begin(f"The same page on a slow line, {name} visit", slow, slow=True)
                visit.tab.goto(link)
                visit.tab.locator("#begin:visible").wait_for()
                yield visit
                visit.tab.close()


def publish(tab: Any, curator: RunningCurator, relay: str) -> str:
    """Sign in, go through the wizard, and read the link on the task's page."""
    sign_in(tab, curator.url, curator.token)
    tab.get_by_role("link", name="New study").first.click()
    tab.wait_for_url("**/new")
    tab.get_by_role("button", name="Who, and how many").click()
    tab.get_by_label("Records with known answers").set_input_files(CLINIC)
    tab.get_by_role("button", name="Read the file").click()
    tab.get_by_label("Which answer do you want to know?").select_option("readmitted")
    tab.get_by_role("button", name="Continue").click()
    tab.get_by_label("Name of the study").fill("Readmission")
    tab.get_by_role("button", name="Continue").click()
    say_who_asks(tab)
    tab.get_by_role("button", name="Continue").click()
    tab.get_by_label("Relay for all studies").fill(relay)
    tab.get_by_role("button", name="Ask this relay").click()
    tab.locator("[data-works]").wait_for()
    tab.get_by_role("button", name="Continue").click()
    tab.get_by_role("button", name="Plan", exact=True).click()
    tab.locator("#plan h3").first.wait_for()
    tab.get_by_role("button", name="Publish", exact=True).click()
    tab.wait_for_url("**/tasks/*")
    return str(tab.locator("#link[href*='/answer/']").get_attribute("href"))


def say_who_asks(tab: Any) -> None:
    """Fill in what people read of the asker."""
    for name, text in (
        ("Responsible", "Clinic"),
        ("Contact", "survey@clinic.example"),
        ("Link", "https://clinic.example"),
        ("Purpose", "To learn who comes back."),
    ):
        tab.get_by_label(name).fill(text)


def ask(tab: Any, url: str, token: str) -> str:
    """Publish one question from the page that ``privet pilot`` opens, where a relay is named; the
    link for people."""
    tab.goto(f"{url}/sign-in?then=/new#{token}")
    tab.get_by_role("button", name="Sign in").click()
    tab.get_by_role("button", name="How many One question").click()
    tab.get_by_label("Question", exact=True).fill("Have you ever been in hospital?")
    tab.get_by_label("People whom you expect").fill("5000")
    say_who_asks(tab)
    tab.get_by_role("button", name="Continue").click()
    tab.get_by_role("button", name="Publish", exact=True).click()
    tab.wait_for_url("**/tasks/*")
    return str(tab.locator("#link[href*='/answer/']").get_attribute("href"))


def answer(tab: Any) -> None:
    """Answer each question as somebody without much to say, and wait for the receipt."""
    tab.locator("#begin").click()
    for question in tab.locator(".question").all():
        if question.get_by_role("radio").count():
            question.get_by_role("radio").first.check()
        else:
            question.get_by_role("textbox").fill("30")
        tab.locator("#next").click()
    tab.locator("#send").click()
    tab.locator("#receipt:not([hidden])").wait_for()


if __name__ == "__main__":
    typer.run(main)
