"""The calls of relays: reports in columns, and the admission of their holders before them.

``privet.protocol.batch`` has the forms of both. Each report is counted or refused by itself; a
batch whose holders were not admitted counts for nothing. All work is done on whole columns, in
worker threads and before the transaction: what all reports add is worked out in advance, and the
transaction takes off what the few add that it refuses.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from privet.admin.results import Scope as TokenScope
from privet.http_server.acceptance import read_typed
from privet.http_server.addresses import client_address
from privet.http_server.bodies import Head, MemoryShare, Turns
from privet.http_server.headers import Headers
from privet.http_server.metrics import CountCalls
from privet.http_server.problems import problem_response
from privet.http_server.task_calls import Answer
from privet.protocol.batch import (
    Admission,
    Batch,
)
from privet.protocol.calls import (
    ADMISSION_MEDIA_TYPE,
    BATCH_MEDIA_TYPE,
    JSON_MEDIA_TYPE,
    RECEIPT_HEADER,
    SEND_ADMISSION,
    SEND_BATCH,
    TELL_HOLDINGS,
    Call,
)
from privet.protocol.errors import (
    PROBLEMS,
    InvalidRequest,
    NotAuthorized,
    PrivetError,
    TaskNotFound,
    TooManyRequests,
    WrongPayload,
)
from privet.protocol.receipts import hashes_of
from privet.protocol.status import Holdings
from privet.protocol.task import Task
from privet.protocol.wire import first_fault

from ..access.rate_limit import Rate
from ..access.signing import Signer
from ..access.tokens import Tokens
from ..datastore.report_ids import Ids, keys_of
from ..datastore.reports import Outcome, Outcomes, PerturbedAnswers, ReportGroup
from ..datastore.store import Store
from ..limits import LIMITS, Limits
from .intake import Intake
from .task_cache import CachedTask
from .writer import REASONS, refusal

Take = Callable[[str, Scope, Receive], Awaitable[Response]]
WRONG_PAYLOAD = PROBLEMS[WrongPayload].name
MAX_HOLDINGS_BYTES = 2**12
MAX_BATCHES, MAX_WAITING = 4, 64
"""Batches counted at a time, and complete ones that may wait; above it the answer is 503."""


@dataclass(frozen=True, eq=False)
class CheckedBatch:
    """A batch's valid reports with their total, and the ids of the others."""

    valid: ReportGroup
    invalid: Ids


@dataclass(eq=False)
class BatchUpload:
    """Answers the calls of relays, with ``headers`` on every answer."""

    intake: Intake
    rate_limit: int
    """Reports per minute and token; 0 for no limit."""
    tokens: Tokens
    store: Store
    clock: Callable[[], float]
    limits: Limits = LIMITS
    headers: Headers = ()

    def __post_init__(self) -> None:
        self._turns = Turns(MAX_BATCHES, MAX_WAITING)
        self._rate = Rate(self.rate_limit)

    def answers(self) -> Mapping[Call, Answer]:
        """The calls that it answers."""
        takes = {SEND_BATCH: self._take, SEND_ADMISSION: self._admit, TELL_HOLDINGS: self._hear}
        return {call: partial(self._counted, take) for call, take in takes.items()}

    async def _counted(
        self, take: Take, task_id: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        counted = CountCalls(partial(self._answer, take, task_id), self.intake.metrics)
        await counted(scope, receive, send)

    async def _answer(
        self, take: Take, task_id: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        answer: Response
        try:
            answer = await take(task_id, scope, receive)
        except PrivetError as error:
            self.intake.refused_call(task_id, error)
            answer = problem_response(error, scope["path"])
        answer.raw_headers.extend(self.headers)
        await answer(scope, receive, send)

    async def _take(self, task_id: str, scope: Scope, receive: Receive) -> JSONResponse:
        head = Head.of(scope)
        relay = await self._authorized(scope, head)
        tasks = self.intake.tasks
        task = tasks.get(task_id) or await tasks.load(task_id)
        with MemoryShare(self.intake.budget) as share:
            body = await self._body(receive, head, BATCH_MEDIA_TYPE, share)
            async with self._turns:
                batch = await run_in_threadpool(
                    check_batch, task, body, self.limits.batch_reports, relay
                )
                self._check_rate(relay)  # others may have been counted meanwhile
                self._rate.count(relay, len(batch.valid) + len(batch.invalid))
                signs = RECEIPT_HEADER.lower().encode() in dict(scope["headers"])
                return await self._count(task_id, task.task, batch, signs=signs)

    async def _body(
        self, receive: Receive, head: Head, media_type: str, share: MemoryShare
    ) -> bytes:
        limit = self.limits.batch_bytes
        return await read_typed(receive, head, media_type, limit=limit, share=share)

    async def _admit(self, task_id: str, scope: Scope, receive: Receive) -> JSONResponse:
        head = Head.of(scope)
        await self._authorized(scope, head)
        with MemoryShare(self.intake.budget) as share:
            body = await self._body(receive, head, ADMISSION_MEDIA_TYPE, share)
            async with self._turns:
                return await run_in_threadpool(self._hold, task_id, body)

    async def _hear(self, task_id: str, scope: Scope, receive: Receive) -> JSONResponse:
        head = Head.of(scope)
        relay = await self._authorized(scope, head)
        with MemoryShare(self.intake.budget) as share:
            body = await read_typed(
                receive, head, JSON_MEDIA_TYPE, limit=MAX_HOLDINGS_BYTES, share=share
            )
        try:
            holdings = Holdings.model_validate_json(body)
        except ValidationError as error:
            raise InvalidRequest(first_fault(error)) from None
        standing = self.store.standing
        now = self.clock()
        try:
            kept = await run_in_threadpool(standing.tell, task_id, relay, holdings, now)
        except TaskNotFound:
            await run_in_threadpool(standing.replace_spool, relay, holdings.spool, now)
            raise
        counted = (await run_in_threadpool(standing.read, task_id)).reports
        self.intake.metrics.held(relay, task_id, kept.figures(counted))
        return JSONResponse(holdings.model_dump())

    def _hold(self, task_id: str, body: bytes) -> JSONResponse:
        asked = Admission.unpack(body, self.limits.batch_reports)
        now = self.clock()
        refused = self.store.invitations.admit(
            task_id, asked.id, asked.digests, now, in_time=asked.in_time
        )
        listed = [digest.hex() for digest in refused]
        return JSONResponse({"held": len(asked) - len(refused), "refused": listed})

    async def _count(
        self, task_id: str, task: Task, batch: CheckedBatch, *, signs: bool
    ) -> JSONResponse:
        """Count the valid reports; the answer, once they are durable."""
        outcomes = await self.intake.writer.put_batch(batch.valid)
        if (outcomes == Outcome.NOT_ADMITTED).any():
            raise refusal(Outcome.NOT_ADMITTED, task)
        failed = failed_of(batch, outcomes)
        for reason, ids in failed.items():
            self.intake.rejects.add(task_id, reason, len(ids))
            self.intake.metrics.reported(reason, task_id, len(ids))
        answer: dict[str, object] = {}
        for outcome in (Outcome.COUNTED, Outcome.REPLAYED):
            name, count = outcome.name.lower(), int(np.count_nonzero(outcomes == outcome))
            self.intake.metrics.reported(name, task_id, count)
            answer[name] = count
        answer["failed"] = await run_in_threadpool(_listed, failed)
        if signs and self.intake.signer is not None:
            counting = batch.valid.only(outcomes <= Outcome.REPLAYED)
            answer["receipts"] = await run_in_threadpool(_signed, self.intake.signer, counting)
        return JSONResponse(answer)

    async def _authorized(self, scope: Scope, head: Head) -> str:
        """The name of the relay's token, which may send reports now."""
        if head.token is None:
            raise NotAuthorized(
                "Batches need a token of scope relay: ask the curator's admin for one (privet "
                "token issue NAME --scope relay), and send it as 'Authorization: Bearer <token>' "
                "(privet-relay serve reads it from PRIVET_RELAY_TOKEN)."
            )
        relay = await run_in_threadpool(
            self.tokens.check, head.token, TokenScope.RELAY, client_address(scope)
        )
        self._check_rate(relay)
        return relay

    def _check_rate(self, relay: str) -> None:
        seconds = self._rate.wait(relay)
        if seconds:
            raise TooManyRequests(
                f"More than {self._rate.per_minute} reports a minute came with this token: "
                f"send the same batch again in {seconds} seconds.",
                seconds,
            )


def failed_of(batch: CheckedBatch, outcomes: Outcomes) -> dict[str, Ids]:
    failed = {reason: batch.valid.ids[outcomes == outcome] for outcome, reason in REASONS.items()}
    failed[WRONG_PAYLOAD] = batch.invalid
    return {reason: ids for reason, ids in failed.items() if len(ids)}


def _listed(failed: dict[str, Ids]) -> dict[str, list[str]]:
    return {reason: [key.hex() for key in keys_of(ids)] for reason, ids in failed.items()}


def _signed(signer: Signer, group: ReportGroup) -> list[str]:
    payloads = np.hstack([answers.payloads for answers in group.answers])
    questions = tuple(answers.question for answers in group.answers)
    return signer.receipts(group.task.id, hashes_of(Batch(questions, group.ids, payloads)))


def check_batch(task: CachedTask, body: bytes, max_reports: int, relay: str) -> CheckedBatch:
    """The reports of a batch that came with a token of this name; raises as ``Batch.unpack``."""
    return checked(task, Batch.unpack(body, task.task, max_reports), relay)


def checked(task: CachedTask, batch: Batch, relay: str) -> CheckedBatch:
    """The valid reports of a batch with their total, and the ids of the others."""
    answers = [PerturbedAnswers(*column) for column in batch.payloads_by_question(task.task)]
    group = replace(
        task.group(batch.ids, answers),
        admissions=batch.admissions,
        relay=relay,
        in_time=batch.in_time,
    )
    kept, valid = task.checked(group)
    return CheckedBatch(kept, batch.ids[~valid])
