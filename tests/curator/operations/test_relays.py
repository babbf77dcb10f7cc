"""The relay that an admin named: asked what it is before people are sent there."""

import gzip
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from privet.admin.results import NamedRelay, Scope
from privet.curator.datastore.audit import NAMED, SIGNING_KEY
from privet.curator.operations import relays
from privet.curator.operations.curator import Curator
from privet.curator.operations.relays import RelayRequest
from privet.protocol.errors import InvalidRequest
from tests.curator.datastore.servers import new_store
from tests.curator.http.conftest import Http
from tests.curator.use_cases import new_curator
from tests.keeping import keeps
from tests.served import serving

from ..dashboard.conftest import app, http
from .test_table import ADMIN

__all__ = ["app", "http"]
KEY = "ab" * 32
SAID: dict[str, Any] = {
    "curator_key": KEY,
    "least": 1_000,
    "smallest_batch": 1,
    "as_files": False,
    "one_operator": False,
}


@contextmanager
def answering(body: bytes, status: int = 200, encoding: str = "identity") -> Iterator[str]:
    """The address of a server that answers everything so."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            kind = "application/problem+json" if status == 502 else "application/json"
            self.send_header("Content-Type", kind)
            self.send_header("Content-Encoding", encoding)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
            pass

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as address:
        yield address


def probed(address: str, key: str = KEY) -> NamedRelay:
    curator = new_curator(new_store())
    curator.store.facts.set(SIGNING_KEY, key)
    relays.name_relay(curator, ADMIN, RelayRequest(address=address))
    probe = relays.probe(curator)
    assert probe is not None
    return probe


@keeps(
    "threat-model: the curator asks whose it is",
    in_="curator/operations/relays.py",
    instead_of="if described.curator_key != key:",
    plant="if described.curator_key is None:",
)
@pytest.mark.parametrize(
    ("said", "status", "fault"),
    [
        (SAID, 200, ""),
        ({**SAID, "curator_key": "cd" * 32}, 200, "forwards to another curator"),
        ({**SAID, "curator_key": None}, 200, "forwards to another curator"),
        ({"type": "curator-down"}, 502, "gets no answer from its curator"),
        ({"detail": "Not Found"}, 404, "no relay of this version"),
        ("<html>", 200, "no relay of this version"),
        ("x" * 70_000, 200, "no relay of this version"),
    ],
)
def test_a_relay_is_asked_what_it_is(said: Any, status: int, fault: str) -> None:
    """Whether it is one, of this very curator, and reaches it."""
    with answering(json.dumps(said).encode(), status) as address:
        probe = probed(address)
    assert probe.works == (not fault)
    assert fault in probe.fault


def test_a_dead_address_has_a_sentence() -> None:
    """And without a relay there is nothing to ask."""
    assert "No relay answers at http://127.0.0.1:9" in probed("http://127.0.0.1:9").fault
    assert relays.probe(new_curator(new_store())) is None


def test_an_answer_is_kept_for_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """However often pages are read; naming a relay asks anew."""
    curator, asked = new_curator(new_store()), list[str]()
    monkeypatch.setattr(relays, "described_at", asked.append)
    for _ in range(2):
        relays.name_relay(curator, ADMIN, RelayRequest(address="http://127.0.0.1:9"))
        for _ in range(3):
            relays.probe(curator)
    assert len(asked) == 2


@pytest.mark.parametrize("sent", [b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\n\r\n"])
def test_a_relay_that_drips_keeps_no_thread(sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither in its headers nor after them; others look at what was known meanwhile."""
    monkeypatch.setattr(relays, "SECONDS", 0.4)
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip() -> None:
            connection, _ = server.accept()
            with connection, suppress(OSError):
                connection.sendall(sent)
                for _ in range(30):
                    if over.wait(0.1):
                        break
                    connection.sendall(b"X: x\r\n")

        thread = threading.Thread(target=drip)
        thread.start()
        started = time.monotonic()
        fault = probed(f"http://127.0.0.1:{server.getsockname()[1]}").fault
        took = time.monotonic() - started
        over.set()
        thread.join()
    assert "in time" in fault
    assert took < 2.0


def test_a_compressed_answer_is_no_relays() -> None:
    """A few bytes could become gigabytes."""
    with answering(gzip.compress(json.dumps(SAID).encode()), encoding="gzip") as address:
        assert "no relay of this version" in probed(address).fault


def test_one_thread_asks_and_the_others_see_what_was_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So that a slow relay keeps one thread of the pages, not all."""
    curator, asked, going = new_curator(new_store()), threading.Event(), threading.Event()

    def slow(_: str) -> None:
        asked.set()
        going.wait(10.0)

    monkeypatch.setattr(relays, "described_at", lambda _: None)
    relays.name_relay(curator, ADMIN, RelayRequest(address="http://127.0.0.1:9"))
    relays.probe(curator)
    monkeypatch.setattr(relays, "KEPT_SECONDS", 0.0)
    monkeypatch.setattr(relays, "described_at", slow)
    thread = threading.Thread(target=relays.probe, args=(curator,))
    thread.start()
    assert asked.wait(10.0)
    asked.clear()
    assert relays.probe(curator) is not None
    assert not asked.is_set()
    going.set()
    thread.join()


@pytest.mark.parametrize("address", ["https://relay.example:abc", "https://[::1"])
def test_what_is_no_address_is_refused(address: str) -> None:
    """Before it is kept, since every page of a task would fail at it."""
    curator = new_curator(new_store())
    with pytest.raises(InvalidRequest):
        relays.name_relay(curator, ADMIN, RelayRequest(address=address))
    curator.store.facts.set(NAMED, address)  # by an earlier version
    probe = relays.probe(curator)
    assert probe is not None
    assert not probe.works


def test_a_start_has_a_token_of_its_own() -> None:
    """Of scope relay; an earlier relay's goes on."""
    curator: Curator = new_curator(new_store())
    for name in ("relay", "relay-2"):
        start = relays.start_relay(curator, ADMIN, "https://curator.example/")
        assert start.name == name
        variable, command = start.command.split(" ", 1)
        assert command == ("privet-relay serve --curator https://curator.example --spool relay.db")
        token = variable.removeprefix("PRIVET_RELAY_TOKEN=")
        assert curator.tokens.known(token).scope == Scope.RELAY
    assert [token.name for token in curator.tokens.listed()] == ["relay", "relay-2"]


async def test_only_a_relay_that_answers_gets_a_qr_code(http: Http) -> None:
    """A dead one gets a sentence and the next step; one of a trial says so."""
    task, form = await http.task(), await http.sign_in()
    text = (await http.get(f"/tasks/{task}")).text
    assert "Show how to start a relay" in text
    await form(f"/tasks/{task}/link", relay="http://127.0.0.1:9")
    text = (await http.get(f"/tasks/{task}")).text
    assert "No relay answers at http://127.0.0.1:9" in text
    assert "Show how to start a relay" in text
    assert "<img" not in text
    trial = {**SAID, "curator_key": None, "least": 1, "one_operator": True}
    with answering(json.dumps(trial).encode()) as address:
        await form(f"/tasks/{task}/link", relay=address)
        text = (await http.get(f"/tasks/{task}")).text
        told = (await http.get("/v1/relay", headers=http.admin)).json()
        draft = await http.task(name="draft", draft=True)
        assert f"{address}/answer/preview#" in (await http.get(f"/tasks/{draft}")).text
        assert f"{address}/answer/preview#" not in text  # it is published
    assert '<img class="code"' in text
    assert "Show how to start a relay" not in text
    assert "One operator, for a trial" in text
    assert "neither sees who answers" not in text
    assert (told["address"], told["fault"]) == (address, "")
    assert told["described"]["one_operator"]
    shown = await form(f"/tasks/{task}/start")
    assert "PRIVET_RELAY_TOKEN=" in shown.text
