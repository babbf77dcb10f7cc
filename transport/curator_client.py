"""All that a holder says over HTTP: fetch a task, send a report.

Whatever answers is taken to be hostile: answers are read up to a limit and within a deadline,
never decompressed, redirects are not followed, cookies are not kept. A problem document becomes
the exception its type names. One object serves any number of holders and keeps its connections.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from http.cookiejar import CookieJar, DefaultCookiePolicy
from types import TracebackType
from typing import Self

import anyio
import httpx
from pydantic import ValidationError

from privet.protocol.limits import MAX_TASK_BYTES
from privet.protocol.report import REPORT_MEDIA_TYPE, Receipt
from privet.protocol.signature import Signature
from privet.protocol.task import TASK_MEDIA_TYPE, Task
from privet.transport.address import TaskAddress
from privet.transport.errors import CuratorUnreachable
from privet.transport.offer import Offer
from privet.transport.replies import Reply, error_in, read, unexpected
from privet.transport.retry import RETRIED, Retry
from privet.transport.text import plain

MAX_ANSWER_BYTES = 64 * 1024
MAX_BATCH_ANSWER_BYTES = 8 * 2**20
DEADLINE = 120.0
TASKS_KEPT = 16
FETCH_ATTEMPTS = 3
CONNECTIONS = 16
"""Calls at a time; the others wait here, where waiting costs nothing, not in the pool."""
DELIVERED = frozenset({200, 201, 202})
"""Durable: counted before, counted now, or held by a relay that will deliver it."""

Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True)
class Call:
    """One request, and the most bytes that its answer may have."""

    method: str
    url: str
    headers: dict[str, str]
    content: bytes | None
    limit: int


class ReportClient:
    """The holder's side of the wire; an asynchronous context manager.

    ``http`` may be any ``httpx.AsyncClient``, for instance one that speaks to an application in
    this process; without one, a client with TLS checks, a pool and timeouts is made and closed.
    """

    def __init__(
        self,
        http: httpx.AsyncClient | None = None,
        *,
        insecure_http: bool = False,
        retry: Retry | None = None,
        sleep: Sleep = anyio.sleep,
    ) -> None:
        self._http = http if http is not None else new_http()
        self._closes = http is None
        self._insecure_http = insecure_http
        self._retry = retry or Retry()
        self._sleep = sleep
        self._offers: OrderedDict[str, Offer] = OrderedDict()
        self._fetches: dict[str, asyncio.Future[Offer]] = {}
        self._turns = anyio.Semaphore(CONNECTIONS)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        if self._closes:
            await self._http.aclose()

    def address(self, task_url: str) -> TaskAddress:
        """The checked address; raises ``UnsafeAddress``."""
        return TaskAddress.parse(task_url, insecure_http=self._insecure_http)

    async def task(self, address: TaskAddress) -> Task:
        """The task of ``offer``."""
        return (await self.offer(address)).task

    async def offer(self, address: TaskAddress) -> Offer:
        """The task at ``address``, its hash checked against the id there, with its signature.

        Raises ``TaskMismatch``, ``InvalidTask``, what the curator answered, or
        ``CuratorUnreachable``. A task that was fetched before is not fetched again, its id being
        its content, and callers who ask at the same time share one fetch and its outcome.
        """
        if address.id in self._offers:
            return self._offers[address.id]
        fetch = self._fetches.get(address.id)
        if fetch is None:
            fetch = self._fetches[address.id] = asyncio.ensure_future(self._fetch(address))
            fetch.add_done_callback(lambda _: self._fetches.pop(address.id))
        return await asyncio.shield(fetch)

    async def send(
        self, address: TaskAddress, report: bytes, report_id: str, invitation: str | None = None
    ) -> Receipt:
        """Post ``report`` until the curator says that it is durable; always the same bytes.

        ``invitation`` goes along where a task counts invited reports only.

        Raises what the curator answered, ``UnexpectedAnswer`` for a receipt of something else,
        or ``CuratorUnreachable``.
        """
        headers = {"Content-Type": REPORT_MEDIA_TYPE, "Accept": "application/json"}
        if invitation is not None:
            headers["Privet-Invitation"] = invitation
        call = Call("POST", address.reports, headers, report, MAX_ANSWER_BYTES)
        reply = await self._persist(call, self._retry)
        if reply.status not in DELIVERED:
            raise error_in(reply)
        try:
            receipt = Receipt.model_validate_json(reply.body)
        except ValidationError:
            raise unexpected(reply, "no receipt") from None
        if receipt.report != report_id:
            raise unexpected(reply, "a receipt for another report")
        return receipt

    async def send_batch(self, address: TaskAddress, media_type: str, batch: bytes) -> bytes:
        """Post many reports at once, as a relay does; the account of them that comes back.

        Raises what the curator answered, or ``CuratorUnreachable``.
        """
        headers = {"Content-Type": media_type, "Accept": "application/json"}
        url = f"{address.reports}/batch"
        call = Call("POST", url, headers, batch, MAX_BATCH_ANSWER_BYTES)
        reply = await self._persist(call, self._retry)
        if reply.status not in DELIVERED:
            raise error_in(reply)
        return reply.body

    async def status(self, address: TaskAddress) -> bytes:
        """The status document of a task, from a curator or a relay.

        Raises what was answered, or ``CuratorUnreachable``.
        """
        headers = {"Accept": "application/json"}
        call = Call("GET", f"{address.url}/status", headers, None, MAX_ANSWER_BYTES)
        reply = await self._persist(call, self._retry)
        if reply.status != 200:
            raise error_in(reply)
        return reply.body

    async def _fetch(self, address: TaskAddress) -> Offer:
        """Few attempts: nothing is lost if this fails, and somebody may be waiting for it."""
        retry = replace(self._retry, attempts=min(self._retry.attempts, FETCH_ATTEMPTS))
        headers = {"Accept": TASK_MEDIA_TYPE}
        call = Call("GET", address.url, headers, None, MAX_TASK_BYTES)
        reply = await self._persist(call, retry)
        if reply.status != 200:
            raise error_in(reply)
        if reply.media_type != TASK_MEDIA_TYPE:
            raise unexpected(reply, f"{plain(reply.media_type, 100)!r} instead of a task")
        signature = None if reply.signature is None else Signature.parse(reply.signature)
        offer = Offer(Task.parse(reply.body, address.id), signature)
        self._offers[address.id] = offer
        while len(self._offers) > TASKS_KEPT:
            self._offers.popitem(last=False)
        return offer

    async def _persist(self, call: Call, retry: Retry) -> Reply:
        """The first reply that repeating would not change, or the last one."""
        pauses = retry.pauses()
        while True:
            pause = next(pauses, None)
            try:
                reply = await self._once(call)
            except (httpx.TransportError, TimeoutError) as error:
                if pause is None:
                    raise CuratorUnreachable(
                        f"No answer from {httpx.URL(call.url).netloc.decode()} after "
                        f"{retry.attempts} attempts ({type(error).__name__}): "
                        "check the address and the network, then try again."
                    ) from error
            else:
                if pause is None or reply.status not in RETRIED:
                    return reply
                pause = max(pause, retry.asked_for(reply.retry_after))
            await self._sleep(pause)

    async def _once(self, call: Call) -> Reply:
        headers = {**call.headers, "Accept-Encoding": "identity"}
        request = self._http.build_request(
            call.method, call.url, headers=headers, content=call.content
        )
        async with self._turns:
            with anyio.fail_after(DEADLINE):
                response = await self._http.send(request, stream=True, follow_redirects=False)
                try:
                    return await read(response, call.url, call.limit)
                finally:
                    await response.aclose()


def new_http() -> httpx.AsyncClient:
    """A client that checks certificates, keeps connections and forgets cookies."""
    return httpx.AsyncClient(
        headers={"User-Agent": "privet-holder"},
        timeout=httpx.Timeout(30.0, connect=10.0),
        limits=httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS),
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
    )
