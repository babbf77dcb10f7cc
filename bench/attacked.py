"""Honest calls to a curator while others send what they may.

Attackers come from one loopback address and the honest caller from another, whose calls to
``/readyz``, each on a connection of its own, are timed from the first packet of the attack on.
"""

import http.client
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Event, Thread
from urllib.parse import urlsplit

from bench.figures import Effort, Figure
from privet.http_server.connections import allow_connections
from scripts.servers import running_curator

CONNECTIONS = {Effort.QUICK: 20, Effort.FULL: 1_000}
WATCHED = {Effort.QUICK: 0.5, Effort.FULL: 10.0}
"""Seconds for which honest calls are timed."""
HONEST = "127.0.0.1"
PAUSE = 0.05
PIPELINED = 8
HEAD = b"GET %b HTTP/1.1\r\nHost: attacked\r\n"
POST = b"POST /v1/tasks HTTP/1.1\r\nHost: attacked\r\nContent-Length: 50000\r\n\r\n"

ATTACKS: dict[str, tuple[tuple[str, ...], bytes]] = {
    **{
        f"pipelined {path}": (("127.0.0.2",), PIPELINED * (HEAD % path.encode() + b"\r\n"))
        for path in ("/openapi.json", "/", "/v1/tasks")
    },
    "HEAD": (("127.0.0.2",), PIPELINED * (HEAD.replace(b"GET", b"HEAD") % b"/" + b"\r\n")),
    **{
        name: (("127.0.0.2",), PIPELINED * (HEAD % b"/openapi.json" + lines + b"\r\n\r\n"))
        for name, lines in (
            ("tags", b"If-None-Match: " + 6_000 * b'"a",'),
            ("languages", b"Accept-Language: " + 12_000 * b"a,"),
            ("cookies", b"Cookie: " + 6_000 * b"a=b;"),
        )
    },
    "long queries": (
        ("127.0.0.2",),
        PIPELINED * (HEAD % (b"/v1/tasks?" + 12_000 * b"a&") + b"\r\n"),
    ),
    "more than may be pipelined": (("127.0.0.2",), 20 * (HEAD % b"/" + b"\r\n")),
    "heads without end": (("127.0.0.2",), HEAD % b"/"),
    "bodies without end": (("127.0.0.2",), POST),
    "pipelined / by three addresses": (
        ("127.0.0.2", "127.0.0.3", "127.0.0.4"),
        PIPELINED * (HEAD % b"/" + b"\r\n"),
    ),
}
"""Attackers by the attack's name: addresses, and the bytes that each connection sends at once."""


def attacked(effort: Effort) -> Iterator[Figure]:
    """The longest that an honest call took under each attack, in seconds."""
    allow_connections(2 * CONNECTIONS[effort])
    for name, (addresses, packet) in ATTACKS.items():
        with tempfile.TemporaryDirectory(prefix="privet-bench-") as folder:
            longest = _longest(Path(folder), addresses, packet, effort)
        yield Figure("attacked", name, "longest", longest, "s")


def _longest(folder: Path, addresses: tuple[str, ...], packet: bytes, effort: Effort) -> float:
    with running_curator(folder) as curator, ExitStack() as opened:
        port = urlsplit(curator.url).port
        assert port is not None
        times: list[float] = []
        over = Event()
        asking = Thread(target=_ask, args=(port, times, over))
        asking.start()
        try:
            for number in range(CONNECTIONS[effort]):
                source = (addresses[number % len(addresses)], 0)
                stranger = socket.create_connection((HONEST, port), source_address=source)
                opened.enter_context(stranger)
                stranger.sendall(packet)
            over.wait(WATCHED[effort])
        finally:
            over.set()
            asking.join()
    return max(times)


def _ask(port: int, times: list[float], over: Event) -> None:
    while not (over.is_set() and times):
        begun = time.perf_counter()
        connection = http.client.HTTPConnection(HONEST, port, timeout=300)
        connection.request("GET", "/readyz")
        assert connection.getresponse().status == http.client.OK
        connection.close()
        times.append(time.perf_counter() - begun)
        time.sleep(PAUSE)
