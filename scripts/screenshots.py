"""``python -m scripts.screenshots``: the answer page on the demo's task, in a real browser.

Starts a curator and the page on loopback, fills in one holder's record, and writes a PNG each for
light, dark and a phone.
"""

import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from privet import CuratorClient
from privet.client.answer_page import answer_page_server
from scripts import fair_survey
from scripts.browser import chromium, missing
from scripts.servers import running_curator

SHOTS = {
    "light": {"color_scheme": "light", "viewport": {"width": 800, "height": 900}},
    "dark": {"color_scheme": "dark", "viewport": {"width": 800, "height": 900}},
    "phone": {"color_scheme": "light", "viewport": {"width": 390, "height": 844}},
}


def main(
    folder: Annotated[Path, typer.Option(help="Where to write.")] = Path("docs/images"),
) -> None:
    """Write the screenshots."""
    why = missing()
    if why is not None:
        raise typer.BadParameter(why)
    folder.mkdir(exist_ok=True)
    population = fair_survey.load()
    with TemporaryDirectory() as data, running_curator(Path(data)) as curator:
        admin = CuratorClient(curator.url, curator.token)
        settings = fair_survey.settings(2.0, len(population.holders))
        task = admin.create(fair_survey.as_csv(population.public), **settings)
        server = answer_page_server(admin.task_url(task), port=0)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with chromium() as browser:
            for name, look in SHOTS.items():
                tab = browser.new_page(**look)
                tab.goto("http://{}:{}/".format(*server.server_address))
                fill_in(tab, population.holders[0])
                path = folder / f"answer-page-{name}.png"
                tab.screenshot(path=path, full_page=True)
                typer.echo(f"{path}: {path.stat().st_size} bytes")
        server.shutdown()
        server.server_close()


def fill_in(tab: Any, record: fair_survey.Record) -> None:
    """Type and choose what a record holds."""
    tab.wait_for_selector("#form:not([hidden])")
    questions = tab.locator(".question")
    for i, value in enumerate(record.values()):
        question = questions.nth(i)
        if isinstance(value, str):
            question.get_by_label(value, exact=True).check()
        else:
            question.locator("input").fill(f"{value:g}")


if __name__ == "__main__":
    typer.run(main)
