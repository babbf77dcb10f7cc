"""The relay on whose page people answer: an admin names it, and the curator asks what it is."""

import re
import shlex
import time
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import httpx
from pydantic import ValidationError

from privet.http_client.address import DIRECT
from privet.protocol.calls import PROBLEM_MEDIA_TYPE, RELAY
from privet.protocol.errors import InvalidRequest
from privet.protocol.status import RelayDescription

from ..access.actors import Actor
from ..access.tokens import Scope
from ..datastore.audit import SIGNING_KEY
from .access import issue_token
from .curator import Curator

NAMED = "relay"
"""Name of the fact that says where people answer."""
ADDRESS = re.compile(
    r"(https://[^/?#@\s]+|http://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?)(/[^?#\s]*)?"
)
ON_THIS_MACHINE = re.compile(r"https?://(localhost|127\.0\.0\.1|\[::1\])[:/]?.*")
TOKEN_NAME = "relay"  # noqa: S105 - a name
SECONDS = 3.0
"""Time for a relay to answer."""
KEPT_SECONDS = 15.0
MOST_BYTES = 65_536


@dataclass(frozen=True)
class Probe:
    """The answer at a relay's address; ``fault`` says why nobody can answer there, if so."""

    address: str
    described: RelayDescription | None = None
    fault: str = ""

    @property
    def works(self) -> bool:
        return not self.fault

    @property
    def is_local(self) -> bool:
        """True if only this machine can open the address."""
        return ON_THIS_MACHINE.fullmatch(self.address) is not None


@dataclass(frozen=True)
class Start:
    """The command that starts a relay of this curator, with a token that is shown only once."""

    name: str
    command: str


_probes: WeakKeyDictionary[Curator, tuple[float, Probe]] = WeakKeyDictionary()
"""The last answer of each curator's relay, with its time."""


def relay_of(curator: Curator) -> str | None:
    """The relay whose page people answer on, as an admin last named it."""
    return curator.store.facts.read(NAMED) or None


def name_relay(curator: Curator, actor: Actor, address: str) -> None:
    """Remember the relay, or forget it for an empty ``address``.

    Raises ``InvalidRequest`` where a browser would not run the relay's page.
    """
    actor.need(Scope.ADMIN)
    if address and not ADDRESS.fullmatch(address):
        raise InvalidRequest(
            "Give the relay's full address, such as https://relay.example. It needs https, so that "
            "browsers can trust the page that reads the answers."
        )
    curator.store.facts.set(NAMED, address.rstrip("/"))
    _probes.pop(curator, None)
    curator.audit.add_entry(actor.id, "relay named", address=address)


def probe(curator: Curator) -> Probe | None:
    """The named relay, asked what it is within the last seconds; None if none is named."""
    address = relay_of(curator)
    if address is None:
        return None
    at, known = _probes.get(curator, (0.0, Probe("")))
    if known.address != address or time.monotonic() - at >= KEPT_SECONDS:
        known = _asked(address, curator.store.facts.read(SIGNING_KEY) or None)
        _probes[curator] = (time.monotonic(), known)
    return known


def start_relay(curator: Curator, actor: Actor, address: str) -> Start:
    """The command that starts a relay for this curator, which is at ``address``, with a new token.

    Earlier tokens stay as they are.
    """
    actor.need(Scope.ADMIN)
    taken = {token.name for token in curator.tokens.listed()}
    number = next(n for n in range(1, len(taken) + 2) if _numbered(n) not in taken)
    token = issue_token(curator, actor, _numbered(number), Scope.RELAY)
    words = ["privet-relay", "serve", "--curator", address.rstrip("/"), "--spool", "relay.db"]
    return Start(_numbered(number), f"PRIVET_RELAY_TOKEN={token} {shlex.join(words)}")


def _numbered(number: int) -> str:
    return TOKEN_NAME if number == 1 else f"{TOKEN_NAME}-{number}"


def _asked(address: str, key: str | None) -> Probe:
    """The answer at ``address``; ``key`` is this curator's own, in hexadecimal."""
    try:
        described = described_at(address)
    except httpx.HTTPError as error:
        why = "in time" if isinstance(error, httpx.TimeoutException) else f"({error})"
        return Probe(address, fault=f"No relay answers at {address} {why}.")
    except (ValidationError, ValueError):
        return Probe(address, fault=f"What answers at {address} is no relay of this version.")
    if described is None:
        fault = f"The relay at {address} gets no answer from its curator."
        return Probe(address, fault=fault)
    if described.curator_key != key:
        fault = f"The relay at {address} forwards to another curator than this one."
        return Probe(address, described, fault)
    return Probe(address, described)


def described_at(address: str) -> RelayDescription | None:
    """A relay's description of itself; None if its curator does not answer it.

    Raises ``httpx.HTTPError`` without an answer, and ``ValueError`` for one that is no relay's.
    """
    with (
        httpx.Client(timeout=SECONDS, mounts=DIRECT) as http,
        http.stream("GET", f"{address}{RELAY}") as response,
    ):
        said = response.headers.get("content-type", "")
        if response.is_server_error and said.startswith(PROBLEM_MEDIA_TYPE):
            return None
        body = b""
        for part in response.iter_bytes():
            body += part
            if len(body) > MOST_BYTES:
                break
        return RelayDescription.model_validate_json(body)
