"""The relay on whose page people answer: an admin names it, and the curator asks what it is."""

import asyncio
import re
import shlex
import threading
import time
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import httpx
from pydantic import BaseModel, ConfigDict, Field

from privet.admin.calls import ApiCall
from privet.admin.results import NamedRelay, Scope
from privet.http_client.address import DIRECT
from privet.protocol.calls import PROBLEM_MEDIA_TYPE, RELAY
from privet.protocol.errors import InvalidRequest
from privet.protocol.status import RelayDescription

from ..datastore.audit import NAMED, SIGNING_KEY
from ..datastore.tokens import ISSUED
from .access import TokenRequest, issue_token
from .curator import Curator
from .table import Acting, operation

ADDRESS = re.compile(
    r"(https://[^/?#@\s]+|http://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?)(/[^?#\s]*)?"
)
TOKEN_NAME = "relay"  # noqa: S105 - a name
SECONDS = 3.0
"""Time for a relay to answer."""
KEPT_SECONDS = 15.0
MOST_BYTES = 65_536


@dataclass(frozen=True)
class Start:
    """The command that starts a relay of this curator, with a token that is shown only once."""

    name: str
    command: str


_probes: WeakKeyDictionary[Curator, tuple[float, NamedRelay]] = WeakKeyDictionary()
"""The last answer of each curator's relay, with its time."""
_asking = threading.Lock()
"""Held by the one thread that asks, since anybody's look at a page may ask."""


def relay_of(curator: Curator) -> str | None:
    """The relay whose page people answer on, as an admin last named it."""
    return curator.store.facts.read(NAMED) or None


class RelayRequest(BaseModel):
    """The relay's address."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"address": "https://relay.example"}]}
    )

    address: str = Field(max_length=1_000, description="As people open it; empty for none.")


@operation(ApiCall.READ_RELAY, Scope.ADMIN)
def read_relay(curator: Curator, actor: Acting) -> NamedRelay:
    """The relay that was named, and why nobody can answer there, if so."""
    return probe(curator) or NamedRelay(address=None, fault="No relay is named.")


@operation(ApiCall.NAME_RELAY, Scope.ADMIN, audit="relay named", refuses=(InvalidRequest,))
def name_relay(curator: Curator, actor: Acting, body: RelayRequest) -> NamedRelay:
    """Say at which relay people answer all tasks of this curator."""
    address = body.address.strip()
    if address and not (ADDRESS.fullmatch(address) and _is_url(address)):
        raise InvalidRequest(
            "Give the relay's full address, such as https://relay.example. It needs https, so that "
            "browsers can trust the page that reads the answers."
        )
    curator.store.facts.set(NAMED, address.rstrip("/"))
    _probes.pop(curator, None)
    actor.note(address=address)
    return read_relay(curator, actor)


def probe(curator: Curator) -> NamedRelay | None:
    """The named relay, asked what it is within the last seconds; None if none is named."""
    address = relay_of(curator)
    if address is None:
        return None
    at, known = _probes.get(curator, (0.0, NamedRelay(address=None)))
    is_known = known.address == address
    if is_known and time.monotonic() - at < KEPT_SECONDS:
        return known
    if not _asking.acquire(blocking=not is_known):
        return known  # while another thread asks
    try:
        asked_at, asked = _probes.get(curator, (0.0, NamedRelay(address=None)))
        if asked_at == at or asked.address != address:  # not by another thread meanwhile
            asked = _asked(address, curator.store.facts.read(SIGNING_KEY) or None)
            _probes[curator] = (time.monotonic(), asked)
        return asked
    finally:
        _asking.release()


@operation(None, Scope.ADMIN, audit=ISSUED)
def start_relay(curator: Curator, actor: Acting, address: str) -> Start:
    """The command that starts a relay for this curator, which is at ``address``, with a new token.

    Earlier tokens stay as they are.
    """
    actor.leaves_entry = False  # issuing the token does
    taken = {token.name for token in curator.tokens.listed()}
    number = next(n for n in range(1, len(taken) + 2) if _numbered(n) not in taken)
    issued = issue_token(curator, actor, _numbered(number), TokenRequest(scope=Scope.RELAY))
    words = ["privet-relay", "serve", "--curator", address.rstrip("/"), "--spool", "relay.db"]
    return Start(issued.name, f"PRIVET_RELAY_TOKEN={issued.token} {shlex.join(words)}")


def _numbered(number: int) -> str:
    return TOKEN_NAME if number == 1 else f"{TOKEN_NAME}-{number}"


def _is_url(address: str) -> bool:
    try:
        httpx.URL(address)
    except httpx.InvalidURL:
        return False
    return True


def _asked(address: str, key: str | None) -> NamedRelay:
    """The answer at ``address``; ``key`` is this curator's own, in hexadecimal."""
    described, fault = None, ""
    try:
        described = described_at(address)
        if described is None:
            fault = f"The relay at {address} gets no answer from its curator."
        elif described.curator_key != key:
            fault = f"The relay at {address} forwards to another curator than this one."
    except (httpx.TimeoutException, TimeoutError):
        fault = f"No relay answers at {address} in time."
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        fault = f"No relay answers at {address} ({error})."
    except ValueError:
        fault = f"What answers at {address} is no relay of this version."
    return NamedRelay(address=address, described=described, fault=fault)


def described_at(address: str) -> RelayDescription | None:
    """A relay's description of itself; None if its curator does not answer it.

    Raises ``httpx.HTTPError`` without an answer, ``TimeoutError`` for one that takes longer than
    ``SECONDS``, however it is dripped, and ``ValueError`` for one that is no relay's.
    """
    return asyncio.run(_described_at(address))


async def _described_at(address: str) -> RelayDescription | None:
    plain = {"Accept-Encoding": "identity"}
    async with (
        asyncio.timeout(SECONDS),
        httpx.AsyncClient(timeout=SECONDS, mounts=DIRECT, headers=plain) as http,
        http.stream("GET", f"{address}{RELAY}") as response,
    ):
        said = response.headers.get("content-type", "")
        if response.is_server_error and said.startswith(PROBLEM_MEDIA_TYPE):
            return None
        body = b""
        async for part in response.aiter_raw():  # never decompressed
            body += part
            if len(body) > MOST_BYTES:
                break
        return RelayDescription.model_validate_json(body)
