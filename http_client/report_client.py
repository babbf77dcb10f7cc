"""The holder's and the relay's side of HTTP: fetch a task, send reports, ask for a status.

Whatever answers is taken to be hostile: answers are read up to a limit and within a deadline,
never decompressed, redirects are not followed, cookies are not kept. A problem document becomes
the exception its type names, never its text. What may pass (no connection, a busy or failing
server) is tried again with the same bytes. One object serves any number of holders and keeps its
connections.
"""

import asyncio
import json
import ssl
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC
from email.utils import parsedate_to_datetime
from functools import lru_cache
from http import HTTPStatus
from http.cookiejar import CookieJar
from secrets import SystemRandom
from typing import Self, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from privet.protocol.calls import (
    GET_RECEIPT,
    INVITATION_HEADER,
    PROBLEM_MEDIA_TYPE,
    READ_KEY,
    READ_REPORT,
    READ_STATUS,
    READ_TASK,
    RECEIPT_HEADER,
    RETRIED,
    SEND_ADMISSION,
    SEND_BATCH,
    SEND_REPORT,
    SIGNATURE_HEADER,
    TASK_MEDIA_TYPE,
    TELL_HOLDINGS,
    Call,
)
from privet.protocol.errors import (
    ERRORS_BY_URI,
    PrivetError,
    QuotaReached,
    TaskNotOpen,
)
from privet.protocol.lifecycle import Phase, ReportState
from privet.protocol.receipts import SignedReceipt
from privet.protocol.report import (
    Receipt,
    ReportStatus,
)
from privet.protocol.signature import Signature
from privet.protocol.status import CollectionStatus, Holdings
from privet.protocol.task import Task
from privet.protocol.wire import printable

from .address import DIRECT, MOVED, TaskAddress, moved
from .errors import CuratorUnreachable, UnexpectedResponse, WebPage

DEADLINE = 120.0
PAGE_TYPE = "text/html"
TASKS_KEPT = 16
CLOCK_SET = 3600.0
"""Seconds by which a clock is off from a steady one where it was set, or the device slept."""
FETCH_ATTEMPTS = 3
PHASE_KEPT = 5.0
"""Seconds for which the phase of a collection is not asked for again."""
CONNECTIONS = 16
"""Maximum concurrent requests; the rest wait on a semaphore, not in the connection pool."""
CHECK_ADDRESS = "check that the address is a Privet curator's"

Sleep = Callable[[float], Awaitable[None]]
Form = TypeVar("Form", bound=BaseModel)
T = TypeVar("T")


class _Key(BaseModel):
    """The answer to ``READ_KEY``."""

    key: str | None


@dataclass(frozen=True)
class Retry:
    """``attempts`` calls in all; pauses double from ``first`` to ``longest`` seconds.

    Each pause is drawn evenly between half of itself and the whole, so that holders who were
    turned away together do not come back together.
    """

    attempts: int = 6
    first: float = 0.5
    longest: float = 30.0

    def pauses(self) -> Iterator[float]:
        """The seconds to wait before each further attempt."""
        chance = SystemRandom()
        for attempt in range(self.attempts - 1):
            pause = min(self.first * 2**attempt, self.longest)
            yield pause * chance.uniform(0.5, 1.0)

    def asked_for(self, retry_after: str | None) -> float:
        """The pause a ``Retry-After`` header in seconds asks for, within reason; else 0."""
        if retry_after is None or not retry_after.isascii() or not retry_after.isdigit():
            return 0.0
        return min(float(retry_after[:9]), 2 * self.longest)


@dataclass(frozen=True)
class Offer:
    """A task whose hash has been checked, and the signature that came with it, if any."""

    task: Task
    signature: Signature | None = None
    clock_ahead: float | None = None
    """Seconds by which the server's clock was ahead of this device's; None if it did not say."""
    url: str = field(default="", compare=False)
    """The address that it was fetched from."""


@dataclass(frozen=True)
class Request:
    """One request of a call."""

    call: Call
    url: str
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Reply:
    """A response, of at most the allowed size."""

    url: str
    status: int
    media_type: str
    retry_after: str | None
    body: bytes
    location: str = ""
    """The address that a redirect names."""
    signature: str | None = None
    date: float | None = None
    """Unix time at which it was sent, by the server's clock."""

    @property
    def is_page(self) -> bool:
        """True for a web page that answers no call, such as a login page in the way."""
        is_said_as_good = self.status < HTTPStatus.BAD_REQUEST and self.status not in MOVED
        return self.media_type == PAGE_TYPE and is_said_as_good


class ReportClient:
    """The holder's side of the wire; an asynchronous context manager.

    ``http`` may be any ``httpx.AsyncClient``, for instance one that speaks to an application in
    this process; without one, a client with TLS checks, a pool and timeouts is made and closed.
    ``token`` is of scope relay, and is sent only with batches and admissions.
    """

    def __init__(
        self,
        http: httpx.AsyncClient | None = None,
        *,
        insecure_http: bool = False,
        retry: Retry | None = None,
        sleep: Sleep = asyncio.sleep,
        clock: Callable[[], float] = time.time,
        token: str | None = None,
    ) -> None:
        self._http = http
        self._made: list[httpx.AsyncClient] = []
        self._idle: list[httpx.AsyncClient] = []
        self._insecure_http = insecure_http
        self._retry = retry or Retry()
        self._sleep = sleep
        self._clock = clock
        self._token = token
        self._offers: OrderedDict[str, Offer] = OrderedDict()
        self._started = self._clock() - time.monotonic()
        self._fetches: dict[str, asyncio.Future[Offer]] = {}
        self._phases: OrderedDict[str, tuple[float, asyncio.Future[Phase | None]]] = OrderedDict()
        self._turns = asyncio.Semaphore(CONNECTIONS)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for http in self._made:
            await http.aclose()

    def address(self, task_url: str) -> TaskAddress:
        """The checked address; raises ``UnsafeAddress``."""
        return TaskAddress.parse(task_url, insecure_http=self._insecure_http)

    async def offer(self, address: TaskAddress) -> Offer:
        """The task at ``address``, its hash checked against the id there, with its signature.

        Raises ``TaskMismatch``, ``InvalidTask``, what the curator answered, or
        ``CuratorUnreachable``. A task that was fetched from there before is not fetched again, its
        id being its content, unless this device's clock was set since; and callers who ask at the
        same time share one fetch and its outcome.
        """
        started = self._clock() - time.monotonic()
        if abs(started - self._started) > CLOCK_SET:
            self._started = started
            self._offers.clear()
        if address.url in self._offers:
            return self._offers[address.url]
        fetch = self._fetches.get(address.url)
        if fetch is None:
            fetch = self._fetches[address.url] = asyncio.ensure_future(self._fetch(address))
            fetch.add_done_callback(lambda _: self._fetches.pop(address.url))
        return await asyncio.shield(fetch)

    async def send(
        self, address: TaskAddress, report: bytes, report_id: str, invitation: str | None = None
    ) -> ReportStatus:
        """Post ``report`` until it is durable; always the same bytes.

        It is then counted by a curator or held by a relay. ``invitation`` goes along where a task
        counts invited reports only.

        Raises what the curator answered, ``UnexpectedResponse`` for a receipt of something else,
        or ``CuratorUnreachable``.
        """
        headers = {} if invitation is None else {INVITATION_HEADER: invitation}
        request = Request(SEND_REPORT, SEND_REPORT.url(address.url), report, headers)
        try:
            reply = await self._persist(request, self._retry)
        except (QuotaReached, TaskNotOpen):
            self._phases.pop(address.url, None)
            raise
        receipt = _read_as(Receipt, reply, "no receipt")
        if receipt.report != report_id:
            raise _unexpected(reply, "a receipt for another report")
        held = reply.status == HTTPStatus.ACCEPTED
        return ReportStatus(
            report=report_id, state=ReportState.HELD if held else ReportState.COUNTED
        )

    async def report_status(self, address: TaskAddress, report_id: str) -> ReportStatus:
        """The status of a report that the relay at ``address`` took.

        Raises ``ReportNotFound`` if the relay does not know it, ``UnexpectedResponse``, what else
        the relay answered, or ``CuratorUnreachable``.
        """
        request = Request(READ_REPORT, READ_REPORT.url(address.url, report_id))
        reply = await self._persist(request, self._retry)
        status = _read_as(ReportStatus, reply, "no report's status")
        if status.report != report_id:
            raise _unexpected(reply, "another report's status")
        return status

    async def receipt(self, address: TaskAddress, report: bytes) -> SignedReceipt:
        """The curator's receipt for a report that counts, from it or from a relay.

        Raises ``ReportNotFound`` if there is none, ``UnexpectedResponse``, what else was answered,
        or ``CuratorUnreachable``.
        """
        request = Request(GET_RECEIPT, GET_RECEIPT.url(address.url), report)
        return _read_as(SignedReceipt, await self._persist(request, self._retry), "no receipt")

    async def send_batch(
        self, address: TaskAddress, batch: bytes, *, receipts: bool = False
    ) -> bytes:
        """POST a batch, as a relay does; return the body of the response.

        Asks for signed ``receipts`` if that is set. Raises the curator's error, or
        ``CuratorUnreachable``.
        """
        wanted = {RECEIPT_HEADER: "wanted"} if receipts else {}
        return await self._send_as_relay(SEND_BATCH, address, batch, wanted)

    async def send_admission(self, address: TaskAddress, admission: bytes) -> bytes:
        """POST an admission; return the body of the response. Raises as ``send_batch``."""
        return await self._send_as_relay(SEND_ADMISSION, address, admission, {})

    async def tell_holdings(self, address: TaskAddress, holdings: Holdings) -> None:
        """Tell the curator what a relay holds of a task and has lost. Raises as ``send_batch``."""
        body = holdings.model_dump_json().encode()
        await self._send_as_relay(TELL_HOLDINGS, address, body, {})

    async def _send_as_relay(
        self, call: Call, address: TaskAddress, body: bytes, headers: Mapping[str, str]
    ) -> bytes:
        if self._token is not None:
            headers = {**headers, "Authorization": f"Bearer {self._token}"}
        request = Request(call, call.url(address.url), body, headers)
        return (await self._persist(request, self._retry)).body

    async def status(self, address: TaskAddress) -> bytes:
        """The status document of a task, from a curator or a relay.

        Raises what was answered, or ``CuratorUnreachable``.
        """
        return (await self._status(address, self._retry)).body

    async def collection(self, address: TaskAddress) -> CollectionStatus:
        """The status of a task's collection, asked for once; raises as ``status`` does."""
        return (await self.dated_collection(address))[0]

    async def dated_collection(self, address: TaskAddress) -> tuple[CollectionStatus, float | None]:
        """The same, and the time by the server's clock, Unix time, where it says so."""
        reply = await self._status(address, replace(self._retry, attempts=1))
        return _read_as(CollectionStatus, reply, "no curator's status"), reply.date

    async def phase(self, address: TaskAddress) -> Phase | None:
        """The phase of a task's collection; None if the server does not say.

        One call serves all who ask within ``PHASE_KEPT`` seconds, unless a report is refused.
        """
        now = time.monotonic()
        until, asked = self._phases.get(address.url, (now, None))
        if asked is None or now >= until:
            asked = asyncio.ensure_future(self._phase(address))
            _keep(self._phases, address.url, (now + PHASE_KEPT, asked))
        return await asyncio.shield(asked)

    async def _phase(self, address: TaskAddress) -> Phase | None:
        try:
            return (await self.collection(address)).phase
        except PrivetError:
            return None

    async def curator_key(self, address: TaskAddress) -> str | None:
        """The key of the curator at which ``address`` is, in hexadecimal; asked for once.

        None if it signs nothing. Raises what was answered, or ``CuratorUnreachable``.
        """
        request = Request(READ_KEY, READ_KEY.url(address.url))
        reply = await self._persist(request, replace(self._retry, attempts=1))
        return _read_as(_Key, reply, "no curator's key").key

    async def _status(self, address: TaskAddress, retry: Retry) -> Reply:
        return await self._persist(Request(READ_STATUS, READ_STATUS.url(address.url)), retry)

    async def _fetch(self, address: TaskAddress) -> Offer:
        """Few attempts: nothing is lost if this fails, and somebody may be waiting for it."""
        retry = replace(self._retry, attempts=min(self._retry.attempts, FETCH_ATTEMPTS))
        reply = await self._persist(Request(READ_TASK, READ_TASK.url(address.url)), retry)
        if reply.media_type != TASK_MEDIA_TYPE:
            raise _unexpected(reply, f"{printable(reply.media_type, 100)!r} instead of a task")
        signature = None if reply.signature is None else Signature.parse(reply.signature)
        ahead = None if reply.date is None else reply.date - self._clock()
        offer = Offer(Task.parse(reply.body, address.id), signature, ahead, address.url)
        _keep(self._offers, address.url, offer)
        return offer

    async def _persist(self, request: Request, retry: Retry) -> Reply:
        """The first reply with a status of success; raises what another stands for.

        That of a reply which repeating would not change, or of the last one.
        """
        pauses = retry.pauses()
        while True:
            pause = next(pauses, None)
            try:
                reply = await self._once(request)
            except (httpx.TransportError, TimeoutError) as error:
                if pause is None:
                    raise CuratorUnreachable(
                        f"No answer from {httpx.URL(request.url).netloc.decode()} after "
                        f"{retry.attempts} attempts ({type(error).__name__}): "
                        "check the address and the network, then try again."
                    ) from error
            else:
                if reply.status in request.call.responses and not reply.is_page:
                    return reply
                if reply.is_page and pause is None:
                    raise WebPage(
                        f"A web page answers in place of {request.url}, perhaps the login page of "
                        "a network: sign in there, or check the address, then try again."
                    )
                if pause is None or not (reply.is_page or reply.status in RETRIED):
                    raise error_in(reply)
                pause = max(pause, retry.asked_for(reply.retry_after))
            await self._sleep(pause)

    async def _once(self, request: Request) -> Reply:
        call, headers = request.call, {"Accept": request.call.response_type}
        if call.body is not None:
            headers["Content-Type"] = call.body
        headers |= {**request.headers, "Accept-Encoding": "identity"}
        async with self._turns, self._lent() as http, asyncio.timeout(DEADLINE):
            built = http.build_request(
                call.method, _parsed(request.url), headers=headers, content=request.content
            )
            response = await http.send(built, stream=True, follow_redirects=False)
            try:
                return await _read(response, request.url, call.max_response)
            finally:
                await response.aclose()

    @asynccontextmanager
    async def _lent(self) -> AsyncIterator[httpx.AsyncClient]:
        """The client to send one request by, for nobody else meanwhile unless it was given.

        A pool looks at all of its connections three times a request: ten are half of the time.
        """
        if self._http is not None:
            yield self._http
            return
        if not self._idle:
            self._idle.append(new_http())
            self._made += self._idle
        http = self._idle.pop()
        try:
            yield http
        finally:
            self._idle.append(http)


def _keep(kept: OrderedDict[str, T], url: str, value: T) -> None:
    """Keep what is known of a task, for the ``TASKS_KEPT`` last ones."""
    kept[url] = value
    kept.move_to_end(url)
    if len(kept) > TASKS_KEPT:
        kept.popitem(last=False)


@lru_cache(maxsize=64)
def _parsed(url: str) -> httpx.URL:
    """An address taken apart, which takes as long as a tenth of a request."""
    return httpx.URL(url)


def new_http() -> httpx.AsyncClient:
    """A client that checks certificates, keeps connections and forgets cookies."""
    return httpx.AsyncClient(
        headers={"User-Agent": "privet-holder"},
        verify=_certificates(),
        timeout=httpx.Timeout(30.0, connect=10.0),
        mounts=DIRECT,
        cookies=NoCookies(),
    )


class NoCookies(CookieJar):
    """Takes no cookies, and no time to decide on them."""

    def extract_cookies(self, response: object, request: object) -> None:
        """Leave them."""


@lru_cache(maxsize=1)
def _certificates() -> ssl.SSLContext:
    """The certificates that are trusted; reading them takes as long as twenty requests."""
    return httpx.create_ssl_context()


def error_in(reply: Reply) -> PrivetError:
    """The exception that a reply stands for, by its problem type and never by its text."""
    if reply.status in MOVED:
        return moved(reply.url, reply.location)
    if 300 <= reply.status < 400:
        return _unexpected(reply, "a redirect, which is not followed; ask for the new address")
    if reply.media_type != PROBLEM_MEDIA_TYPE:
        return _unexpected(reply, f"{printable(reply.media_type, 100) or 'nothing'!r}")
    try:
        problem = json.loads(reply.body)
    except (ValueError, RecursionError):
        problem = None
    if not isinstance(problem, dict):
        return _unexpected(reply, "a damaged problem document")
    detail = problem.get("detail") or problem.get("title") or f"HTTP status {reply.status}"
    kind = problem.get("type")
    error = ERRORS_BY_URI.get(kind, PrivetError) if isinstance(kind, str) else PrivetError
    return error(printable(str(detail)))


async def _read(response: httpx.Response, url: str, limit: int) -> Reply:
    """Uncompressed bytes only, so that what is counted is what is kept."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise UnexpectedResponse(
            f"{url} answers in compressed form: a curator would not; {CHECK_ADDRESS}."
        )
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > limit:
            raise UnexpectedResponse(f"{url} sends more than {limit} bytes; {CHECK_ADDRESS}.")
    return Reply(
        url=url,
        status=response.status_code,
        media_type=response.headers.get("content-type", "").split(";")[0].strip().lower(),
        retry_after=response.headers.get("retry-after"),
        location=response.headers.get("location", ""),
        signature=response.headers.get(SIGNATURE_HEADER),
        date=_moment(response.headers.get("date")),
        body=bytes(body),
    )


def _moment(date: str | None) -> float | None:
    """Unix time of a ``Date`` header; None if it is none."""
    try:
        moment = parsedate_to_datetime(date or "")
        return moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _read_as(form: type[Form], reply: Reply, otherwise: str) -> Form:
    """The document in a reply; raises ``UnexpectedResponse`` if it has another form."""
    try:
        return form.model_validate_json(reply.body)
    except ValidationError:
        raise _unexpected(reply, otherwise) from None


def _unexpected(reply: Reply, what: str) -> UnexpectedResponse:
    return UnexpectedResponse(f"{reply.url} answered {reply.status} with {what}; {CHECK_ADDRESS}.")
