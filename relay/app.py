"""The relay as an ASGI application: what holders ask of a curator, and the relay's own status.

It reads no address and no time, and logs neither. It answers 202 where a curator answers 201: the
report is durable here and will be delivered, but is not in any sum yet.
"""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any

from anyio import to_thread

from privet.protocol.errors import InvalidRequest, PrivetError, TooLarge, WrongPayload, problem_of
from privet.protocol.limits import MAX_REPORT_BYTES
from privet.protocol.signature import SIGNATURE_HEADER
from privet.protocol.task import TASK_MEDIA_TYPE
from privet.relay.batches import MAX_BATCH_BYTES
from privet.relay.forwarding import Forwarder
from privet.relay.intake import Intake
from privet.relay.spool import Spool
from privet.relay.status import RelayStatus

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Reply = tuple[int, str, bytes] | tuple[int, str, bytes, str | None]
"""Status, media type, body; with a task, the curator's signature, which a relay passes on."""

PATH = re.compile(r"^/v1/tasks/(?P<task>[0-9a-f]{64})(?P<rest>/reports|/reports/batch|/status)?$")
BODY_SECONDS = 30.0
IMPOSSIBLE = problem_of(WrongPayload("")).name


class RelayApp:
    """The application; it forwards every ``every`` seconds while its lifespan lasts."""

    def __init__(self, intake: Intake, forwarder: Forwarder, spool: Spool, every: float) -> None:
        self._intake = intake
        self._forwarder = forwarder
        self._spool = spool
        self._every = every

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One connection's lifespan or request, as ASGI 3 has it."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            await _respond(send, *await self._answer(scope, receive))

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        works = (self._intake.run(), self._forwarder.run(self._every))
        workers = [asyncio.create_task(work) for work in works]
        await send({"type": "lifespan.startup.complete"})
        await receive()
        for worker in workers:
            worker.cancel()
            with suppress(asyncio.CancelledError):
                await worker
        await send({"type": "lifespan.shutdown.complete"})

    async def _answer(self, scope: Scope, receive: Receive) -> Reply:
        if (scope["method"], scope["path"]) == ("GET", "/healthz"):
            return 200, "application/json", b'{"status":"ok"}'
        match = PATH.match(scope["path"])
        try:
            if match is None:
                raise InvalidRequest(
                    "The relay knows /v1/tasks/{id}, its /reports, /reports/batch and /status."
                )
            return await self._of_task(scope, receive, match["task"], match["rest"])
        except PrivetError as error:
            return _problem(error)

    async def _of_task(
        self, scope: Scope, receive: Receive, task_id: str, rest: str | None
    ) -> Reply:
        call = (scope["method"], rest)
        if call == ("GET", None):
            offer = await self._intake.offer(task_id)
            signed = None if offer.signature is None else offer.signature.header
            return 200, TASK_MEDIA_TYPE, offer.task.canonical, signed
        if call == ("GET", "/status"):
            return 200, "application/json", (await self._status(task_id)).model_dump_json().encode()
        if call == ("POST", "/reports"):
            invitation = dict(scope["headers"]).get(b"privet-invitation")
            receipt = await self._intake.accept(
                task_id, await _body(receive, MAX_REPORT_BYTES), invitation
            )
            return 202, "application/json", receipt.model_dump_json().encode()
        if call == ("POST", "/reports/batch"):
            body = await _body(receive, MAX_BATCH_BYTES)
            held, impossible = await self._intake.accept_batch(task_id, body)
            failed = {IMPOSSIBLE: impossible} if impossible else {}
            return 202, "application/json", json.dumps({"held": held, "failed": failed}).encode()
        raise InvalidRequest("GET a task and its /status; POST its /reports and /reports/batch.")

    async def _status(self, task_id: str) -> RelayStatus:
        task = await self._intake.task(task_id)
        tallies = await to_thread.run_sync(self._spool.tallies, task_id)
        return RelayStatus.of(task_id, task.epsilon, self._forwarder.least, tallies)


async def _body(receive: Receive, most: int) -> bytes:
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            more = True
            while more:
                message = await receive()
                body += message.get("body", b"")
                more = message.get("more_body", False)
                if len(body) > most:
                    raise TooLarge(f"This call takes at most {most} bytes: send less at a time.")
    except TimeoutError:
        raise InvalidRequest("The body came too slowly: send it again.") from None
    return bytes(body)


def _problem(error: PrivetError) -> Reply:
    kind = problem_of(error)
    document = {
        "type": kind.uri,
        "title": kind.title,
        "status": kind.status,
        "detail": error.detail,
    }
    return kind.status, "application/problem+json", json.dumps(document).encode()


async def _respond(
    send: Send, status: int, media_type: str, body: bytes, signature: str | None = None
) -> None:
    headers = [
        (b"content-type", media_type.encode()),
        (b"content-length", str(len(body)).encode()),
        (b"retry-after", b"1") if status in {429, 503} else (b"cache-control", b"no-store"),
    ]
    if signature is not None:
        headers.append((SIGNATURE_HEADER.lower().encode(), signature.encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
