"""All that a holder says over HTTP: fetch a task, send a report.

Whatever answers is taken to be hostile: answers are read up to a limit and within a deadline,
never decompressed, redirects are not followed, cookies are not kept. A problem document becomes
the exception its type names. One object serves any number of holders and keeps its connections.
"""

import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from types import TracebackType
from typing import Any, Self

import anyio
import httpx
from pydantic import ValidationError

from client.address import TaskAddress
from client.errors import CuratorUnreachable, UnexpectedAnswer
from client.retry import RETRIED, Retry
from client.text import plain
from protocol import ERRORS_BY_URI, REPORT_MEDIA_TYPE, TASK_MEDIA_TYPE, PrivetError, Receipt, Task
from protocol.limits import MAX_TASK_BYTES

MAX_ANSWER_BYTES = 64 * 1024
MAX_BATCH_ANSWER_BYTES = 8 * 2**20
DEADLINE = 120.0
TASKS_KEPT = 16
CONNECTIONS = 16
"""Calls at a time; the others wait here, where waiting costs nothing, not in the pool."""
DELIVERED = frozenset({200, 201, 202})
"""Durable: counted before, counted now, or held by a relay that will deliver it."""
PROBLEM_MEDIA_TYPE = "application/problem+json"

Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True)
class Reply:
    """What came back: never more than was asked for."""

    url: str
    status: int
    media_type: str
    retry_after: str | None
    body: bytes


class CuratorClient:
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
        self._tasks: OrderedDict[str, Task] = OrderedDict()
        self._fetching = anyio.Lock()
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
        """The task at ``address``, its hash checked against the id in the address.

        Raises ``TaskMismatch``, ``InvalidTask``, what the curator answered, or
        ``CuratorUnreachable``. A task that was fetched before is not fetched again: its id is its
        content.
        """
        if address.id in self._tasks:
            return self._tasks[address.id]
        async with self._fetching:
            if address.id not in self._tasks:
                self._tasks[address.id] = await self._fetch(address)
                while len(self._tasks) > TASKS_KEPT:
                    self._tasks.popitem(last=False)
        return self._tasks[address.id]

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
        reply = await self._persist("POST", address.reports, headers, report, MAX_ANSWER_BYTES)
        if reply.status not in DELIVERED:
            raise error_in(reply)
        try:
            receipt = Receipt.model_validate_json(reply.body)
        except ValidationError:
            raise _unexpected(reply, "no receipt") from None
        if receipt.report != report_id:
            raise _unexpected(reply, "a receipt for another report")
        return receipt

    async def send_batch(self, address: TaskAddress, media_type: str, batch: bytes) -> bytes:
        """Post many reports at once, as a relay does; the curator's account of them.

        Raises what the curator answered, or ``CuratorUnreachable``.
        """
        headers = {"Content-Type": media_type, "Accept": "application/json"}
        url = f"{address.reports}/batch"
        reply = await self._persist("POST", url, headers, batch, MAX_BATCH_ANSWER_BYTES)
        if reply.status != 200:
            raise error_in(reply)
        return reply.body

    async def _fetch(self, address: TaskAddress) -> Task:
        headers = {"Accept": TASK_MEDIA_TYPE}
        reply = await self._persist("GET", address.url, headers, None, MAX_TASK_BYTES)
        if reply.status != 200:
            raise error_in(reply)
        if reply.media_type != TASK_MEDIA_TYPE:
            raise _unexpected(reply, f"{plain(reply.media_type, 100)!r} instead of a task")
        return Task.parse(reply.body, address.id)

    async def _persist(
        self, method: str, url: str, headers: dict[str, str], content: bytes | None, limit: int
    ) -> Reply:
        """The first reply that repeating would not change, or the last one."""
        pauses = self._retry.pauses()
        while True:
            pause = next(pauses, None)
            try:
                reply = await self._once(method, url, headers, content, limit)
            except (httpx.TransportError, TimeoutError) as error:
                if pause is None:
                    raise CuratorUnreachable(
                        f"No answer from {httpx.URL(url).netloc.decode()} after "
                        f"{self._retry.attempts} attempts ({type(error).__name__}): "
                        "check the address and the network, then try again."
                    ) from error
            else:
                if pause is None or reply.status not in RETRIED:
                    return reply
                pause = max(pause, self._retry.asked_for(reply.retry_after))
            await self._sleep(pause)

    async def _once(
        self, method: str, url: str, headers: dict[str, str], content: bytes | None, limit: int
    ) -> Reply:
        headers = {**headers, "Accept-Encoding": "identity"}
        request = self._http.build_request(method, url, headers=headers, content=content)
        async with self._turns:
            with anyio.fail_after(DEADLINE):
                response = await self._http.send(request, stream=True, follow_redirects=False)
                try:
                    return await _read(response, url, limit)
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


def error_in(reply: Reply) -> PrivetError:
    """The exception that a reply stands for, by its problem type and never by its text."""
    if 300 <= reply.status < 400:
        return _unexpected(reply, "a redirect, which is not followed; ask for the new address")
    if reply.media_type != PROBLEM_MEDIA_TYPE:
        return _unexpected(reply, f"{plain(reply.media_type, 100) or 'nothing'!r}")
    try:
        problem = json.loads(reply.body)
    except (ValueError, RecursionError):
        return _unexpected(reply, "a damaged problem document")
    if not isinstance(problem, dict):
        return _unexpected(reply, "a damaged problem document")
    detail = problem.get("detail") or problem.get("title") or f"HTTP status {reply.status}"
    kind = problem.get("type")
    error = ERRORS_BY_URI.get(kind, PrivetError) if isinstance(kind, str) else PrivetError
    return error(plain(str(detail)))


async def _read(response: httpx.Response, url: str, limit: int) -> Reply:
    """Uncompressed bytes only, so that what is counted is what is kept."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise UnexpectedAnswer(f"{url} answers in compressed form: a curator would not; {_CHECK}.")
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > limit:
            raise UnexpectedAnswer(f"{url} sends more than {limit} bytes; {_CHECK}.")
    return Reply(
        url=url,
        status=response.status_code,
        media_type=response.headers.get("content-type", "").split(";")[0].strip().lower(),
        retry_after=response.headers.get("retry-after"),
        body=bytes(body),
    )


def _unexpected(reply: Reply, what: Any) -> UnexpectedAnswer:
    return UnexpectedAnswer(f"{reply.url} answered {reply.status} with {what}; {_CHECK}.")


_CHECK = "check that the address is a Privet curator's"
