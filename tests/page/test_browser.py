"""A person answers in a real browser, and the curator counts it."""

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from privet import page as answer_page
from privet.client.answer_page import answer_page_server
from scripts.servers import running_relay
from tests.browsing import FORBIDDEN, violations
from tests.curator import samples
from tests.end_to_end.running_curator import RunningCurator

pytestmark = pytest.mark.needs("chromium")
HOURS = "12.5"
NUMBERS = itertools.count()


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
        "name": f"task {next(NUMBERS)}",
        "label": "label",
        "epsilon": 2,
        "depth": 2,
        "grower": "cart",
        **settings,
    }
    return curator.create(samples.survey(), **chosen)


def reports(curator: RunningCurator, task: str) -> int:
    """How many have been counted."""
    return int(curator.status(task)["reports"])


def fill_in(tab: Any) -> None:
    """A record that fits, by the labels that people read."""
    tab.get_by_label("Age", exact=True).fill("30")
    tab.get_by_label("Hours", exact=True).fill(HOURS)
    for group, choice in [("Job", "nurse"), ("Member", "True"), ("Label", "0")]:
        tab.get_by_role("group", name=group).get_by_label(choice, exact=True).check()


def outcome(tab: Any) -> str:
    """The title of the receipt, once it is there."""
    tab.wait_for_selector("#receipt:not([hidden])")
    return str(tab.inner_text("#receipt-title"))


def test_an_answer_counts_and_nothing_else_arrives(curator: RunningCurator, tab: Any) -> None:
    """The page comes from the holder's machine; the curator sees a GET and the previewed bytes."""
    task = make_task(curator)
    recorder = Recorder(curator.url)
    with (
        serving(recorder.server) as address,
        serving(answer_page_server(f"{address}/v1/tasks/{task}", port=0)) as page,
    ):
        tab.goto(page)
        fill_in(tab)
        assert tab.inner_text("#misfit") == ""
        shown = tab.inner_text("#bytes")
        assert recorder.log == [f"GET /v1/tasks/{task}"]
        tab.get_by_role("button", name=f"Send these {len(shown) // 2} bytes").click()
        assert outcome(tab) == "Your answer counts"
        assert reports(curator, task) == 1
        assert [body.hex() for body in recorder.bodies] == [shown]
        assert HOURS not in tab.content()
        tab.reload()
        assert outcome(tab) == "Your answer counts"
    assert recorder.log == [f"GET /v1/tasks/{task}", f"POST /v1/tasks/{task}/reports"]


def test_a_record_that_does_not_fit_is_told_before_and_counts(
    curator: RunningCurator, tab: Any
) -> None:
    """The message has the same length; the person may mend the record or send it as it is."""
    task = make_task(curator)
    with serving(answer_page_server(f"{curator.url}/v1/tasks/{task}", port=0)) as page:
        tab.goto(page)
        fill_in(tab)
        fitting = tab.inner_text("#bytes")
        tab.get_by_label("Age", exact=True).fill("thirty")
        assert "number" in tab.inner_text("#misfit")
        assert len(tab.inner_text("#bytes")) == len(fitting)
        tab.get_by_label("Age", exact=True).fill("30")
        assert tab.inner_text("#bytes") == fitting  # the same chance: nobody draws until it pleases
        tab.get_by_label("Age", exact=True).fill("")
        tab.get_by_role("button", name="Send that my answers do not fit").click()
        assert outcome(tab) == "Your answer counts"
    assert reports(curator, task) == 1


def test_what_was_stored_is_sent_again_byte_for_byte(curator: RunningCurator, tab: Any) -> None:
    """A curator that breaks off leaves a kept answer; the same page sends the same bytes later."""
    task = make_task(curator)
    recorder = Recorder(curator.url)
    with (
        serving(recorder.server) as address,
        serving(answer_page_server(f"{address}/v1/tasks/{task}", port=0)) as page,
    ):
        tab.clock.install()
        tab.goto(page)
        fill_in(tab)
        recorder.failing = True
        tab.locator("#send").click()
        for _ in range(40):
            tab.clock.run_for(5_000)
            if tab.is_visible("#receipt"):
                break
        assert outcome(tab) == "Your answer is kept, and nobody has confirmed it yet"
        recorder.failing = False
        tab.reload()
        tab.get_by_role("button", name="Send the same message again").click()
        tab.get_by_role("heading", name="Your answer counts").wait_for()
    assert reports(curator, task) == 1
    assert len(set(recorder.bodies)) == 1 < len(recorder.bodies)


def test_two_tabs_give_one_answer(curator: RunningCurator, tab: Any) -> None:
    """The lock and the ledger are shared: the second tab sends what the first has drawn."""
    task = make_task(curator)
    recorder = Recorder(curator.url)
    with (
        serving(recorder.server) as address,
        serving(answer_page_server(f"{address}/v1/tasks/{task}", port=0)) as page,
    ):
        other = tab.context.new_page()
        for each in (tab, other):
            each.goto(page)
            fill_in(each)
        for each in (tab, other):
            each.locator("#send").click()
        assert [outcome(each) for each in (tab, other)] == ["Your answer counts"] * 2
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
        tasks, ["counts", "counts", "you have spent 4 of 4", "at most 2 on one"], strict=True
    ):
        with serving(answer_page_server(f"{curator.url}/v1/tasks/{task}", port=port)) as page:
            tab.goto(page)
            if wanted == "counts":
                fill_in(tab)
                tab.locator("#send").click()
                assert wanted in outcome(tab)
            else:
                tab.get_by_text(wanted).wait_for()
                assert not tab.is_visible("#form")
    assert [reports(curator, task) for task in tasks] == [1, 1, 0, 0]


def test_an_invitation_comes_behind_the_hash(curator: RunningCurator, tab: Any) -> None:
    """It is in no request for a page, and the browser's preflight is answered."""
    task = make_task(curator, invited=True)
    (invitation,) = curator.post(f"/v1/tasks/{task}/invitations", {"count": 1})["invitations"]
    with serving(answer_page_server(f"{curator.url}/v1/tasks/{task}", port=0)) as page:
        tab.goto(page)
        tab.get_by_text("needs an invitation").wait_for()
        tab.goto("about:blank")
        tab.goto(f"{page}#{invitation}")
        fill_in(tab)
        tab.locator("#send").click()
        assert outcome(tab) == "Your answer counts"


def test_a_relay_serves_it_and_says_what_became_of_the_answer(
    curator: RunningCurator, tab: Any, tmp_path: Path
) -> None:
    """Held first; after the relay has forwarded its batch, the same page says that it counts."""
    task = make_task(curator)
    with curator.http() as http:
        issued = http.put("/v1/tokens/relay", json={"scope": "relay"}, headers=curator.admin)
    token = issued.json()["token"]
    with running_relay(tmp_path, curator.url, token, least=1, every=1.0) as relay:
        tab.goto(f"{relay.url}/answer/{task}")
        fill_in(tab)
        tab.locator("#send").click()
        assert outcome(tab) == "A relay has your answer"
        for _ in range(60):
            if reports(curator, task):
                break
            tab.wait_for_timeout(200)
        tab.reload()
        assert outcome(tab) == "Your answer counts"
    assert reports(curator, task) == 1


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
        tab.locator("#send").click()
        assert outcome(tab) == "Your answer counts"
    assert reports(curator, task) == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_axe_finds_nothing(curator: RunningCurator, tab: Any, scheme: str, width: int) -> None:
    """Form, warning and receipt, on a phone and a desk; and nothing is wider than the screen."""
    task = make_task(curator)
    tab.emulate_media(color_scheme=scheme)
    tab.set_viewport_size({"width": width, "height": 740})
    with serving(answer_page_server(f"{curator.url}/v1/tasks/{task}", port=0)) as page:
        tab.goto(page)
        tab.wait_for_selector("#form:not([hidden])")
        assert violations(tab) == []
        fill_in(tab)
        assert violations(tab) == []
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        tab.locator("#send").click()
        outcome(tab)
        assert violations(tab) == []


def test_the_keyboard_suffices(curator: RunningCurator, tab: Any) -> None:
    """Every field and the button are reached by Tab in the order of the page."""
    task = make_task(curator)
    with serving(answer_page_server(f"{curator.url}/v1/tasks/{task}", port=0)) as page:
        tab.goto(page)
        tab.wait_for_selector("#form:not([hidden])")
        for keys in (["3", "0"], ["9"], ["Space"], ["Space"], ["Space"]):
            tab.keyboard.press("Tab")
            for key in keys:
                tab.keyboard.press(key)
        assert tab.inner_text("#misfit") == ""
        tab.keyboard.press("Tab")
        assert tab.evaluate("document.activeElement.id") == "bytes"
        tab.keyboard.press("Tab")
        tab.keyboard.press("Enter")
        assert outcome(tab) == "Your answer counts"
        assert tab.evaluate("document.activeElement.id") == "receipt-title"
    assert reports(curator, task) == 1
