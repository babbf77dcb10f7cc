"""``privet status --relay`` states a relay's guarantee on a line of its own, or why not."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.curator.cli.conftest import Cli
from tests.curator.cli.test_commands import created

CENTRAL = {
    "epsilon": 0.23456,
    "delta": 1e-6,
    "reports": 1000,
    "condition": "where others sent them",
}


class Relay:
    """Answers every GET with one document."""

    def __init__(self) -> None:
        self.document: dict[str, Any] = {}
        self.url = ""


@pytest.fixture
def relay() -> Iterator[Relay]:
    relay = Relay()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(relay.document).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Stay silent."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        relay.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield relay
        server.shutdown()
        thread.join()


def test_central_and_local_are_two_lines(cli: Cli, survey: str, relay: Relay) -> None:
    """Where reports came in batches that are large enough."""
    task_id = created(cli, survey)
    relay.document = {"counted": 0, "local_epsilon": 1.0, "central": CENTRAL}
    printed = " ".join(cli("status", task_id, "--relay", relay.url).out.split())
    assert "local epsilon" in printed
    assert "central (epsilon, delta)" in printed
    assert "(0.235, 1e-06) against" in printed
    assert "1000 or more, where others sent them" in printed
    assert json.loads(cli("status", task_id, "--relay", relay.url, "--json").out)["relay"] == (
        relay.document
    )
    assert "central" not in cli("status", task_id).out


def test_a_stranger_sees_a_relay_beside_rough_counts(
    cli: Cli, survey: str, relay: Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relay may state as many reports as the curator's rough count leaves room for, not more."""
    task_id = created(cli, survey)
    monkeypatch.delenv("PRIVET_TOKEN")
    assert "or up to 2000 more" in cli("status", task_id).out
    relay.document = {"counted": 1998, "local_epsilon": 1.0, "central": None}
    assert "1998 reports or more" in " ".join(
        cli("status", task_id, "--relay", relay.url).out.split()
    )
    relay.document["counted"] += 1
    assert "relay of another curator" in cli("status", task_id, "--relay", relay.url).err


def test_no_central_guarantee_is_made_up(cli: Cli, survey: str, relay: Relay) -> None:
    """Too few together; a relay of another curator; something that is no relay."""
    task_id = created(cli, survey)
    relay.document = {"counted": 0, "local_epsilon": 1.0, "central": None}
    printed = " ".join(cli("status", task_id, "--relay", relay.url).out.split())
    assert "no more than the local one" in printed
    relay.document = {"counted": 1, "local_epsilon": 1.0, "central": CENTRAL}
    assert "relay of another curator" in cli("status", task_id, "--relay", relay.url).err
    relay.document = {"reports": 1}
    refused = cli("status", task_id, "--relay", relay.url)
    assert refused.code == 1
    assert "is not a relay" in refused.err
