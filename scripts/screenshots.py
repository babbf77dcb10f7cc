"""``python -m scripts.screenshots``: the answer page and the dashboard on the demo's task.

Starts a curator and the answer page on loopback, drives a real browser, and writes a PNG for each
of several looks: of the answer page with one holder's record, and of a task, the wizard and a model
on the dashboard once all holders have answered. Fails where a page links one that it did not write.
"""

import asyncio
import re
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from privet import CuratorClient
from privet.client.answer_page import answer_page_server
from scripts import fair_survey
from scripts.browser import chromium, missing
from scripts.holder_pool import answer_all
from scripts.servers import RunningCurator, running_curator

LOOKS = {
    "light": {"color_scheme": "light", "viewport": {"width": 1000, "height": 900}},
    "dark": {"color_scheme": "dark", "viewport": {"width": 1000, "height": 900}},
    "tablet": {"color_scheme": "dark", "viewport": {"width": 720, "height": 900}},
    "phone": {"color_scheme": "light", "viewport": {"width": 390, "height": 844}},
}
STAND_STILL = "node => { node.style.position = 'static'; node.style.maxHeight = 'none'; }"
"""A group's numbers where they belong: in a picture of the whole page nothing scrolls."""
DOCS = Path(__file__).resolve().parent.parent / "docs"
EPSILON = 2.0
ASKER = {
    "name": "Institute for Family Research",
    "contact": "survey@institute.example",
    "purpose": "To learn how common affairs are.",
    "link": "https://institute.example/survey",
}


def main(
    folder: Annotated[Path, typer.Option(help="Where to write.")] = Path("docs/images"),
) -> None:
    """Write the screenshots."""
    why = missing()
    if why is not None:
        raise typer.BadParameter(why)
    folder.mkdir(exist_ok=True)
    started = time.time()
    population = fair_survey.load()
    with TemporaryDirectory() as data, running_curator(Path(data)) as curator:
        admin = CuratorClient(curator.url, curator.token)
        settings = fair_survey.settings(EPSILON, len(population.holders))
        settings |= {"asker": ASKER, "language": "en"}
        public = fair_survey.as_csv(population.public)
        task = admin.create(public, **settings)
        with chromium() as browser:
            for name, tab in answer_page(browser, admin.task_url(task), population.holders[0]):
                shoot(tab, folder / f"{name}.png")
        asyncio.run(answer_all(admin.task_url(task), population.holders, insecure_http=False))
        admin.fit(task)
        admin.fit(task, "weighted", weight=1.0)
        with chromium() as browser:
            for name, tab in dashboard(browser, curator, admin.task_id(task), public):
                shoot(tab, folder / f"dashboard-{name}.png")
    check_linked(path.name for path in folder.iterdir() if path.stat().st_mtime >= started)


def check_linked(written: Iterable[str]) -> None:
    """Raise ``ValueError`` for a screenshot that a page links and that was not written."""
    text = "".join(page.read_text(encoding="utf-8") for page in DOCS.glob("*.md"))
    left = set(re.findall(r"images/([\w-]+\.png)", text)).difference(written)
    if left:
        raise ValueError(f"Pages link what was not written: {', '.join(sorted(left))}.")


def answer_page(
    browser: Any, task_url: str, record: fair_survey.Record
) -> Iterator[tuple[str, Any]]:
    """The introduction and the check before sending, in each look."""
    server = answer_page_server(task_url, port=0)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for name, look in LOOKS.items():
        width = {"viewport": {"width": 800, "height": 900}} if name in ("light", "dark") else {}
        tab = browser.new_page(**{**look, **width})
        tab.goto("http://{}:{}/".format(*server.server_address))
        tab.wait_for_selector("#begin:visible")
        yield f"answer-page-{name}", tab
        fill_in(tab, record)
        tab.locator("#preview summary").click()
        yield f"answer-check-{name}", tab
    server.shutdown()
    server.server_close()


def dashboard(
    browser: Any, curator: RunningCurator, task: str, file: bytes
) -> Iterator[tuple[str, Any]]:
    """A collection, the wizard with a file, and the tree of a model in each look."""
    for name, look in LOOKS.items():
        tab = browser.new_context(**look).new_page()
        sign_in(tab, curator.url, curator.token)
        tab.goto(f"{curator.url}/tasks/{task}")
        yield f"task-{name}", tab
        tab.goto(f"{curator.url}/new")
        public = {"name": "volunteers.csv", "mimeType": "text/csv", "buffer": file}
        tab.get_by_role("button", name="Who, and how many").click()
        tab.get_by_label("Records with known answers").set_input_files(public)
        tab.get_by_role("button", name="Read the file").click()
        tab.get_by_label("Which answer do you want to know?").select_option("affair")
        yield f"wizard-{name}", tab
        tab.goto(f"{curator.url}/tasks/{task}/models/1")
        tab.locator(".tree .node[data-cell] a:visible, .cells a:visible").first.click()
        tab.wait_for_selector("#node table")
        tab.locator(".tree").evaluate("tree => { tree.scrollLeft = 0; }")
        tab.locator("#node").evaluate(STAND_STILL)
        yield f"model-{name}", tab


def sign_in(tab: Any, url: str, token: str) -> None:
    tab.goto(f"{url}/sign-in")
    tab.get_by_label("API token").fill(token)
    tab.get_by_role("button", name="Sign in").click()
    tab.get_by_role("button", name="Sign out").wait_for()


def shoot(tab: Any, path: Path) -> None:
    tab.screenshot(path=path, full_page=True)
    typer.echo(f"{path}: {path.stat().st_size} bytes")


def fill_in(tab: Any, record: fair_survey.Record) -> None:
    tab.locator("#begin").click()
    questions = tab.locator(".question")
    for i, value in enumerate(record.values()):
        question = questions.nth(i)
        if isinstance(value, str):
            question.get_by_label(value, exact=True).check()
        else:
            question.locator("input").fill(f"{value:g}")
        tab.locator("#next").click()


if __name__ == "__main__":
    typer.run(main)
