"""``privet pilot``: curator, relay and answer page on one machine, to try a collection.

It starts the installed commands as processes, as two operators would on two machines, and keeps
their state in a folder. Nothing of the relay is imported here.
"""

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import webbrowser
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer

from privet.admin.client import CuratorClient
from privet.admin.results import Scope
from privet.http_client.address import DIRECT
from privet.learning.task_building.publication import Publication
from privet.learning.task_building.renaming import prepared
from privet.learning.task_building.schema import infer_features, label_alone
from privet.protocol.errors import InvalidRequest, PrivetError

from .options import FILE, with_settings
from .output import say, show_link
from .task import show_review

START_SECONDS = 120.0
STOP_SECONDS = 60.0
LOOK_SECONDS = 0.1
EPSILON = 1.0
HERE = "127.0.0.1"
ELSEWHERE = "192.0.2.1"
"""An address to which nothing is sent: the way there names this machine's own address."""
LOOKS_WRONG = (
    "Nothing was started: a published task cannot be changed. Merge spellings with --rename, leave "
    "columns out with --ignore, or run 'privet pilot' without a file and choose it in the browser, "
    "which asks about each. --yes publishes it as it is."
)
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Secrets:
    """The tokens of a pilot, which its folder keeps."""

    admin: str
    relay: str

    @classmethod
    def of(cls, folder: Path) -> "Secrets":
        """The tokens in ``folder``, made at the first start."""
        path = folder / "tokens.json"
        if not path.exists():
            made = cls(secrets.token_urlsafe(24), "")
            made.keep(folder)
            return made
        return cls(**json.loads(path.read_text("utf-8")))

    def keep(self, folder: Path) -> None:
        """Write them, readable only by their owner."""
        new = folder / "tokens.new"
        with os.fdopen(os.open(new, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "w") as file:
            json.dump(asdict(self), file)
        new.replace(folder / "tokens.json")


class Stopped(Exception):
    """A signal asked for the end."""


@with_settings(Publication)
def pilot(
    public: Annotated[
        Path | None,
        typer.Argument(
            **FILE,
            help="CSV, Parquet or Excel file; without one, begin in the browser, or ask the "
            "--label alone with --classes or --label-range.",
        ),
    ] = None,
    *,
    settings: dict[str, Any],
    folder: Annotated[
        Path, typer.Option(help="Folder that keeps everything between two starts.")
    ] = Path("privet-pilot"),
    phone: Annotated[
        bool, typer.Option("--phone", help="Let phones in the same network answer, over https.")
    ] = False,
    host: Annotated[
        str | None,
        typer.Option(help="This machine's address in that network; by default found by itself."),
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port of the dashboard; 0 takes a free one.")
    ] = 8000,
    relay_port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port of the answer page; 0 takes a free one.")
    ] = 8100,
    browser: Annotated[bool, typer.Option(help="Open the dashboard in a browser.")] = True,
    yes: Annotated[
        bool, typer.Option("--yes", help="Publish although something in the file looks wrong.")
    ] = False,
) -> None:
    """Try a collection: start curator, relay and answer page here, until Ctrl-C.

    One operator runs both servers, so that this is for a trial, and every page says so. With a file
    and --label a task is published at once; epsilon is then 1 unless you say otherwise. The same
    command goes on where it stopped.
    """
    from privet.learning.task_building.table import read_table  # pyarrow is slow to import

    if public is not None and "label" not in settings:
        names = ", ".join(list(read_table(public.read_bytes(), undecided=True))[:20])
        raise InvalidRequest(f"Say which column to predict with --label: the file has {names}.")
    if public is None and settings:
        if not {"label", "classes"} <= {*settings} and not {"label", "label_range"} <= {*settings}:
            raise InvalidRequest(
                "Settings are those of a task: name its file first, or give --label and what may "
                "be answered by --classes or --label-range."
            )
        settings = {"name": settings["label"], "epsilon": EPSILON, "smallest_batch": 1, **settings}
        label_alone(Publication.parse(json.dumps(settings)))
    if public is not None:
        settings = {"name": public.stem, "epsilon": EPSILON, "smallest_batch": 1, **settings}
        declared = Publication.parse(json.dumps(settings))
        table = read_table(public.read_bytes(), declared.stated)
        remarks = show_review(table, declared)
        infer_features(prepared(table, declared), declared)  # raises for ids and free texts
        if remarks and not yes:
            raise InvalidRequest(LOOKS_WRONG)
    say("Starting curator, relay and answer page ...")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    away = _own_address() if phone and host is None else host
    for number in SIGNALS:
        signal.signal(number, _stop)
    with suppress(Stopped), ExitStack() as servers:
        ports = _free(HERE, port), _free(away or HERE, relay_port)
        _run(servers, folder, away, ports, public, settings, browser=browser)
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    say(f"Stopped. The same command goes on from {folder}.")


def _run(
    servers: ExitStack,
    folder: Path,
    away: str | None,
    ports: tuple[int, int],
    public: Path | None,
    settings: Mapping[str, Any],
    *,
    browser: bool,
) -> None:
    """Start both servers, name the relay, publish a task, and wait until something ends."""
    tokens = Secrets.of(folder)
    relay_url, files = f"http://{HERE}:{ports[1]}", []
    trusted: dict[str, str] = {}
    if away is not None:
        from ..access.self_signed import certificate_for  # slow to import

        certificate, key = certificate_for(away, folder)
        relay_url = f"https://{away}:{ports[1]}"
        files = [f"--certificate={certificate}", f"--certificate-key={key}"]
        trusted = {"SSL_CERT_FILE": str(certificate)}
    curator_url = f"http://{HERE}:{ports[0]}"
    curator = servers.enter_context(
        _process(
            ["privet.curator", "serve"],
            folder / "curator.log",
            curator_url,
            {
                "PRIVET_DATABASE": f"sqlite:///{(folder / 'privet.db').absolute()}",
                "PRIVET_HOST": HERE,
                "PRIVET_PORT": str(ports[0]),
                "PRIVET_ADMIN_TOKEN": tokens.admin,
                **trusted,
            },
        )
    )
    admin = CuratorClient(curator_url, tokens.admin)
    if not tokens.relay:
        tokens = Secrets(tokens.admin, admin.issue_token("relay", Scope.RELAY).token)
        tokens.keep(folder)
    options = {"curator": curator_url, "spool": folder / "relay.db", "port": ports[1]}
    options |= {"host": away or HERE, "least": 1, "every": 1}
    words = [*(f"--{name}={value}" for name, value in options.items()), "--one-operator", *files]
    relay = servers.enter_context(
        _process(
            ["privet.relay", "serve", *words],
            folder / "relay.log",
            relay_url,
            {"PRIVET_RELAY_TOKEN": tokens.relay, **trusted},
        )
    )
    if fault := admin.name_relay(relay_url).fault:
        raise PrivetError(fault)
    page, link = f"{curator_url}/new", None
    if settings:
        task = admin.create(public, **settings)
        page, link = f"{curator_url}/tasks/{task['id']}", f"{relay_url}/answer/{task['id']}"
    _introduce(page, link, tokens.admin, folder, away)
    if browser:
        webbrowser.open(_signed_in(page, tokens.admin))
    while True:
        for process, log in ((curator, "curator.log"), (relay, "relay.log")):
            if process.poll() is not None:
                raise PrivetError(f"A server has ended: {_tail(folder / log)}")
        time.sleep(LOOK_SECONDS)


def _introduce(page: str, link: str | None, token: str, folder: Path, away: str | None) -> None:
    """Print the addresses for the asker and for people, and where everything is kept."""
    say("One operator runs curator and relay here: for a trial.")
    say(f"You: {_signed_in(page, token)}")
    if link is not None:
        say("People:")
        show_link(link, code=sys.stdout.isatty())
    if away is None:
        say(
            "Only this machine can open these. Stop it and add --phone to let phones in the same "
            "network answer."
        )
    else:
        say(
            f"Phones in the same network reach {away}. Each browser warns once: the certificate is "
            "this machine's own, and no authority has signed it."
        )
    say(f"Everything is kept in {folder}. Ctrl-C ends it.")


def _signed_in(page: str, token: str) -> str:
    """The sign-in page, filled in, and then ``page``; browsers send no server what is behind #."""
    import httpx  # slow to import

    url = httpx.URL(page)
    return f"{url.copy_with(path='/sign-in', query=f'then={url.path}'.encode())}#{token}"


@contextmanager
def _process(
    words: Sequence[str], log: Path, url: str, variables: Mapping[str, str]
) -> Iterator["subprocess.Popen[bytes]"]:
    """A module of Privet as a process that answers at ``url``; it is stopped at the end."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PRIVET_")}
    with log.open("ab") as output:
        process = subprocess.Popen(  # noqa: S603 - this very program
            [sys.executable, "-m", *words],
            env=environment | dict(variables),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,  # Ctrl-C is for this program, which stops them in order
        )
    try:
        _wait(process, log, url)
        yield process
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        finally:
            process.kill()


def _wait(process: "subprocess.Popen[bytes]", log: Path, url: str) -> None:
    """Wait until a server is ready; raises ``PrivetError`` if it does not get there."""
    import httpx

    deadline = time.monotonic() + START_SECONDS
    with httpx.Client(verify=False, timeout=5.0, mounts=DIRECT) as http:  # noqa: S501 - our own
        while time.monotonic() < deadline and process.poll() is None:
            with suppress(httpx.TransportError):
                if http.get(f"{url}/readyz").is_success:
                    return
            time.sleep(LOOK_SECONDS)
    raise PrivetError(f"A server did not start: {_tail(log)}")


def _tail(log: Path) -> str:
    """The last lines of a log, and the log's path."""
    lines = log.read_text("utf-8", errors="replace").split("\n")
    return f"{' '.join(lines[-4:]).strip()} (its log is {log})"


def _free(host: str, port: int) -> int:
    """``port``, or a free one for 0; raises ``CannotListen`` if another program listens there."""
    from privet.http_server.connections import listen  # slow to import

    with listen(host, port) as listener:
        return int(listener.getsockname()[1])


def _own_address() -> str:
    """This machine's address in its network; raises ``InvalidRequest`` without one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way, suppress(OSError):
        way.connect((ELSEWHERE, 9))
        if not (address := str(way.getsockname()[0])).startswith("127."):
            return address
    raise InvalidRequest(
        "This machine is in no network that a phone could be in: join one, or name its address "
        "with --host."
    )


def _stop(_number: int, _frame: FrameType | None) -> None:
    """Raise ``Stopped`` at the first signal only: a second Ctrl-C does not interrupt the stop."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    raise Stopped
