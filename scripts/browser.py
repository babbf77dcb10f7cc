"""A Chromium without a window, driven by Playwright, for the tests and the screenshots."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PATH = shutil.which("chromium") or shutil.which("chromium-browser")


def missing() -> str | None:
    """The reason why no browser can be driven here; None if one can."""
    if PATH is None:
        return "Chromium is not installed (on Debian: apt-get install chromium)"
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "Playwright is not installed (pip install playwright)"
    return None


@contextmanager
def chromium() -> Iterator[Any]:
    """A running browser, as Playwright's ``Browser``."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=PATH, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()
