"""``python -m scripts.first_visits``: a first visit in each role, by the pages alone, counted.

Starts a curator and a relay on loopback and drives a real browser: somebody who asks makes a task
of a file, somebody who was asked answers it, and somebody who wonders what was learned reads the
model. Prints how many clicks, fields and seconds each takes; the seconds are the pages' own, since
nobody reads.
"""

import re
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from privet import CuratorClient
from scripts import fair_survey
from scripts.browser import chromium, missing
from scripts.screenshots import ASKER, fill_in, sign_in
from scripts.servers import RunningCurator, running_curator, running_relay

FORM = {
    "Name": "Affairs",
    "Holders expected": "4493",
    "Responsible": ASKER["name"],
    "Contact": ASKER["contact"],
    "Link": ASKER["link"],
    "Purpose": ASKER["purpose"],
}


@dataclass
class Visit:
    """A tab, and what was done in it."""

    tab: Any
    clicks: int = 0
    fields: int = 0
    started: float = 0.0

    def __post_init__(self) -> None:
        self.started = time.perf_counter()

    def click(self, target: Any) -> None:
        """Click what ``target`` finds."""
        target.click(timeout=60_000)
        self.clicks += 1

    def fill(self, label: str, value: str) -> None:
        """Type into the field with this label."""
        self.tab.get_by_label(re.compile(rf"^{label}\b")).first.fill(value)
        self.fields += 1

    def row(self, role: str, aim: str) -> tuple[str, ...]:
        """What the visit took."""
        seconds = f"{time.perf_counter() - self.started:.1f} s"
        return role, aim, str(self.clicks), str(self.fields), seconds


def main() -> None:
    """Visit as each role, and print what it took."""
    why = missing()
    if why is not None:
        raise typer.BadParameter(why)
    table = Table("role", "aim", "clicks", "fields", "time", title="First visits")
    with TemporaryDirectory() as data, running_curator(Path(data)) as curator:
        admin = CuratorClient(curator.url, curator.token)
        issued = admin.call("PUT", "/v1/tokens/relay", json={"scope": "relay"})
        relay_token = issued.json()["token"]
        with (
            running_relay(Path(data), curator.url, relay_token, least=1, every=1.0) as relay,
            chromium() as browser,
        ):
            table.add_row(*ask(browser, curator, relay.url))
            (task,) = admin.tasks()
            table.add_row(*answer(browser, f"{relay.url}/answer/{task['id']}"))
            while not admin.status(task["id"])["reports"]:
                time.sleep(0.1)
            table.add_row(*read(browser, curator, task["id"]))
    Console().print(table)


def ask(browser: Any, curator: RunningCurator, relay: str) -> tuple[str, ...]:
    """From signing in to the link that people get."""
    visit = Visit(browser.new_page())
    tab = visit.tab
    sign_in(tab, curator.url, curator.token)
    visit.click(tab.get_by_role("link", name="New task"))
    public = fair_survey.as_csv(fair_survey.load().public)
    file = {"name": "volunteers.csv", "mimeType": "text/csv", "buffer": public}
    tab.get_by_label("Public records").set_input_files(file)
    visit.fields += 1
    visit.click(tab.get_by_role("button", name="Look at the file"))
    tab.get_by_label("Label, which is to be predicted").select_option("affair", timeout=60_000)
    visit.fields += 1
    for label, value in FORM.items():
        visit.fill(label, value)
    visit.click(tab.get_by_role("button", name="Plan and check"))
    tab.get_by_text("People are asked").wait_for(timeout=60_000)
    visit.click(tab.get_by_role("button", name="Publish"))
    visit.fill("Relay", relay)
    visit.click(tab.get_by_role("button", name="Make the link"))
    tab.locator("#link[href*='/answer/']").wait_for()
    return visit.row("who asks", "a task of a file, with a link for people")


def answer(browser: Any, link: str) -> tuple[str, ...]:
    """From the link to the receipt."""
    visit = Visit(browser.new_page())
    tab = visit.tab
    tab.goto(link)
    record = fair_survey.load().holders[0]
    fill_in(tab, record)
    visit.fields += len(record)
    visit.click(tab.locator("#check"))
    visit.click(tab.locator("#send"))
    tab.locator("#receipt:not([hidden])").wait_for(timeout=60_000)
    return visit.row("who answers", "one message, and its receipt")


def read(browser: Any, curator: RunningCurator, task: str) -> tuple[str, ...]:
    """From signing in to a prediction and why."""
    visit = Visit(browser.new_page())
    tab = visit.tab
    sign_in(tab, curator.url, curator.token)
    tab.goto(f"{curator.url}/tasks/{task}")
    visit.click(tab.get_by_role("button", name="Fit a model"))
    tab.get_by_role("heading", name="Try a prediction").wait_for(timeout=120_000)
    for name, value in list(fair_survey.load().holders[0].items())[:-1]:
        field = tab.locator("form[data-into=prediction]").get_by_label(re.compile(rf"^{name}\b"))
        _ = field.select_option(value) if isinstance(value, str) else field.fill(f"{value:g}")
        visit.fields += 1
    visit.click(tab.get_by_role("button", name="Predict"))
    tab.locator("#prediction [data-path]").wait_for()
    return visit.row("who reads", "a model, a prediction and why")


if __name__ == "__main__":
    typer.run(main)
