"""The proxy's configuration, as nginx runs it with other ports, a certificate, a server behind."""

import json
import re
import signal
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from getpass import getuser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from scripts.proxy import CONFIGURATION, Proxy, certify, running_proxy
from scripts.servers import free_port
from tests.served import serving

PER_ADDRESS = 256
TLS = ssl.create_default_context()
TLS.check_hostname, TLS.verify_mode = False, ssl.CERT_NONE

pytestmark = pytest.mark.needs("nginx")


class Echo(BaseHTTPRequestHandler):
    """Answers with the headers that it got."""

    def do_GET(self) -> None:
        body = json.dumps({name.lower(): value for name, value in self.headers.items()}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET  # noqa: N815 - the name is http.server's

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """In front of an echo."""
    behind = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    folder, port = tmp_path_factory.mktemp("p"), behind.server_port
    how = "master_process off;"
    with serving(behind), running_proxy(folder, [port], port, how) as (ports, _):
        yield ports


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    with httpx.Client(verify=TLS) as client:
        yield client


@pytest.mark.parametrize("server", ["curators", "relay"])
def test_each_request_gets_an_id_that_nobody_chose(
    proxy: Proxy, http: httpx.Client, server: str
) -> None:
    """The caller is told, and what the caller says is dropped; so is what it says of addresses."""
    url = f"https://127.0.0.1:{getattr(proxy, server)}/v1/tasks"
    chosen = {"X-Request-ID": "chosen-by-the-caller", "X-Forwarded-For": "192.0.2.1"}
    ids = set()
    for method in ("GET", "POST"):
        answer = http.request(method, f"{url}/{'0' * 64}/reports", headers=chosen)
        got = answer.json()
        assert re.fullmatch(r"[0-9a-f]{32}", got["x-request-id"])
        assert answer.headers["x-request-id"] == got["x-request-id"]
        assert got["x-forwarded-proto"] == "https"
        assert got.get("x-forwarded-for") == ("127.0.0.1" if server == "curators" else None)
        ids.add(got["x-request-id"])
    assert len(ids) == 2


@pytest.mark.parametrize("server", ["curators", "relay"])
def test_browsers_are_told_to_come_by_tls(proxy: Proxy, http: httpx.Client, server: str) -> None:
    """Also of what the proxy itself refuses; not those that try a stack of their own."""
    url = f"https://127.0.0.1:{getattr(proxy, server)}"
    for path in ("/", "/metrics", f"/v1/tasks/{'0' * 64}/reports"):
        answer = http.get(url + path, headers={"Host": "curator.example"})
        assert answer.headers["strict-transport-security"] == "max-age=31536000"
        assert (answer.status_code == 404) == (path == "/metrics")  # not for the outside
    own = http.get(url, headers={"Host": "localhost:8443"})
    assert "strict-transport-security" not in own.headers


@pytest.mark.parametrize("server", ["curators", "relay"])
def test_plain_http_is_sent_to_tls(proxy: Proxy, http: httpx.Client, server: str) -> None:
    """On the ports of TLS to the same address; on the plain one to that of the name."""
    port = getattr(proxy, server)
    answer = http.get(f"http://127.0.0.1:{port}/v1/tasks?x=1")
    assert answer.status_code == 308
    assert answer.headers["location"] == f"https://127.0.0.1:{port}/v1/tasks?x=1"
    plain = http.post(f"http://127.0.0.1:{proxy.plain}/x", headers={"Host": "curator.example"})
    assert plain.status_code == 308
    assert plain.headers["location"] == "https://curator.example/x"


def test_the_image_asks_whether_it_is_alive(proxy: Proxy) -> None:
    """By the command in the Dockerfile: well while nginx runs, and not where nothing listens."""
    stage = (CONFIGURATION.parents[1] / "Dockerfile").read_text().split(" AS proxy\n")[1]
    command = json.loads(stage.split("CMD ", 1)[1].splitlines()[0])
    for port, alive in ((proxy.plain, True), (free_port(), False)):
        asked = [word.replace("/8080", f"/{port}") for word in command]
        done = subprocess.run(asked, capture_output=True, timeout=10, check=False)
        assert (done.returncode == 0) is alive


@pytest.mark.parametrize("server", ["curators", "relay"])
def test_one_address_does_not_take_all_connections(
    proxy: Proxy, http: httpx.Client, server: str
) -> None:
    """Of those that say nothing some stay, and others are answered meanwhile.

    They are counted before the first has been silent for so long that it is closed for that.
    """
    with ExitStack() as opened:
        silent = []
        for _ in range(PER_ADDRESS + 44):
            connection = opened.enter_context(socket.socket())
            connection.bind(("127.0.0.2", 0))
            connection.connect(("127.0.0.1", getattr(proxy, server)))
            connection.setblocking(False)
            silent.append(connection)
        last, refused = time.monotonic() + 5.0, list[socket.socket]()
        while len(refused) < 44 and time.monotonic() < last:
            refused = [each for each in silent if has_ended(each)]
        assert len(refused) == 44
        (stays, *_) = (each for each in silent if each not in refused)
        stays.settimeout(60)
        opened.enter_context(TLS.wrap_socket(stays)).sendall(b"GET / HTTP/1.1\r\nHost:")
        http.get(f"https://127.0.0.1:{getattr(proxy, server)}")  # from another address


def has_ended(connection: socket.socket) -> bool:
    """Return True if the other side has closed it, from which nothing was expected."""
    try:
        return connection.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def test_it_takes_a_new_certificate(tmp_path: Path) -> None:
    """At SIGHUP, in the same process, on both ports of TLS; not before."""
    user = f"user {getuser()};"  # as root, workers would run as a user who cannot open the folder
    with running_proxy(tmp_path, [free_port()], free_port(), user) as (ports, server):
        first = [certificate(port) for port in ports[:2]]
        certify(tmp_path)
        assert [certificate(port) for port in ports[:2]] == first
        server.send_signal(signal.SIGHUP)
        last = time.monotonic() + 30
        while any(certificate(port) in first for port in ports[:2]):
            assert time.monotonic() < last
            time.sleep(0.05)
        assert server.poll() is None


def certificate(port: int) -> str:
    """The certificate that is served at a port."""
    return ssl.get_server_certificate(("127.0.0.1", port), timeout=30)
