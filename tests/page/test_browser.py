"""A person answers in a real browser, and the curator counts it."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from privet import page as answer_page
from privet.client.answer_page import answer_page_server
from scripts.browser import chromium, missing
from scripts.servers import running_relay
from tests.curator import samples
from tests.end_to_end.running_curator import RunningCurator

WHY = missing()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(WHY is not None, reason=WHY or ""),
    pytest.mark.xdist_group("browser"),
]
RECORD = {"age": "30", "work": "shop"}


@contextmanager
def serving(server: ThreadingHTTPServer) -> Iterator[str]:
    """Its address, while it serves."""
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield "http://{}:{}".format(*server.server_address)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


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

            do_GET = do_POST = do_OPTIONS = _pass_on

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)


@pytest.fixture(scope="module")
def curator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCurator]:
    with RunningCurator(tmp_path_factory.mktemp("curator")) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
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
        lambda line: faults.append(line.text) if "Content Security Policy" in line.text else None,
    )
    yield context.new_page()
    context.close()
    assert faults == []


def fill_in(tab: Any, label: str) -> None:
    """The form of ``samples.classes``."""
    tab.wait_for_selector("#form:not([hidden])")
    for name, value in RECORD.items():
        field = tab.get_by_label(name.capitalize(), exact=False).first
        if name == "age":
            field.fill(value)
    tab.get_by_label("shop").check()
    tab.get_by_role("group", name="Level").get_by_label(label).check()


def make_task(curator: RunningCurator, **settings: Any) -> str:
    chosen = {"label": "level", "epsilon": 2, "depth": 2, "grower": "cart", **settings}
    return curator.create(samples.classes(), **chosen)
