"""What all tests with a real browser share."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FORBIDDEN = "/healthz"
"""What a test tries to call in breach of a policy."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One Chromium for a module: its event loop must have ended before other tests run theirs."""
    from scripts.browser import chromium

    with chromium() as running:
        yield running


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    """A tab of a profile of its own; errors of scripts and breaches of the policy fail the test."""
    context = browser.new_context()
    faults: list[str] = []
    context.on("weberror", lambda error: faults.append(str(error.error)))
    context.on(
        "console",
        lambda line: (
            faults.append(line.text)
            if "Content Security Policy" in line.text and FORBIDDEN not in line.text
            else None
        ),
    )
    context.set_default_timeout(30_000)
    yield context.new_page()
    context.close()
    assert faults == []


def axe() -> str:
    """The source of axe-core."""
    from axe_playwright_python import __file__ as package

    return (Path(package).parent / "axe.min.js").read_text(encoding="utf-8")


STILL = """Promise.allSettled(document.getAnimations()
    .filter(each => each.effect.getComputedTiming().endTime !== Infinity)
    .map(each => each.finished)).then(() => null)"""


def violations(shown: Any) -> list[str]:
    """What axe-core finds, by its own names, on the page that shows this.

    A page that a click is about to replace has not what the next one has: name that. Colours on
    their way to others are waited for.
    """
    shown.first.wait_for()
    tab = shown.page
    tab.evaluate(STILL)
    tab.evaluate(axe())
    found = tab.evaluate("axe.run()")
    return [f"{each['id']}: {each['nodes'][0]['html']}" for each in found["violations"]]
