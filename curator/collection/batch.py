"""POST /v1/tasks/{id}/reports/batch, a relay's reports in columns, and /admissions before it.

``privet.protocol.batch`` has the forms of both. Each report is counted or refused alone; a batch
whose holders were not admitted counts for nothing. All work is done on whole columns, in worker
threads and before the transaction: what all reports add is worked out in advance, and the
transaction takes off what the few add that it refuses.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

import numpy as np
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from privet.http_server.bodies import BodyBudget, Head, Share, Turns, read_body
from privet.http_server.metrics import ROUTE
from privet.http_server.problems import problem_response
from privet.protocol.batch import Admission, Batch
from privet.protocol.errors import (
    NotAuthorized,
    PrivetError,
    TooManyRequests,
    WrongPayload,
    problem_of,
)
from privet.protocol.task import Task

from ..access.rate_limit import Rate
from ..access.tokens import Scope as TokenScope
from ..access.tokens import Tokens
from ..datastore.base import Answers, Ids, Mask, Outcome, Outcomes, ReportGroup, Store
from ..datastore.report_ids import keys_of
from ..metrics import Metrics
from ..settings import Settings
from .rejects import Rejects
from .task_cache import CachedTask, TaskCache
from .upload import task_of_call
from .writer import Writer, refusal

REFUSALS = (
    Outcome.CONFLICT,
    Outcome.NOT_OPEN,
    Outcome.NOT_INVITED,
    Outcome.NO_TASK,
    Outcome.OVER_QUOTA,
)
Take = Callable[[str, Scope, Receive], Awaitable[Response]]
WRONG_PAYLOAD = problem_of(WrongPayload("")).name
MAX_WAITING = 64
"""Complete batches that may wait to be counted; above it the answer is 503."""


@dataclass(frozen=True, eq=False)
class CheckedBatch:
    """A batch's valid reports with their total, and the ids of the others."""

    valid: ReportGroup
    invalid: Ids


class BatchUpload:
    """Answers the call for many reports, in front of ``app``, which gets all other calls."""

    def __init__(
        self,
        app: ASGIApp,
        tasks: TaskCache,
        writer: Writer,
        rejects: Rejects,
        metrics: Metrics,
        settings: Settings,
        budget: BodyBudget,
        tokens: Tokens,
        store: Store,
        clock: Callable[[], float],
    ) -> None:
        self._app = app
        self._tasks = tasks
        self._writer = writer
        self._rejects = rejects
        self._metrics = metrics
        self._settings = settings
        self._turns = Turns(settings.max_batches, MAX_WAITING)
        self._budget = budget
        self._tokens = tokens
        self._store = store
        self._clock = clock
        self._rate = Rate(settings.relay_rate_limit)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a POST of a batch or an admission; pass all other calls on."""
        for call, take in (("/reports/batch", self._take), ("/admissions", self._admit)):
            task_id = task_of_call(scope, call)
            if task_id is not None:
                scope[ROUTE] = f"/v1/tasks/{{task_id}}{call}"
                await (await self._answer(take, task_id, scope, receive))(scope, receive, send)
                return
        await self._app(scope, receive, send)

    async def _answer(self, take: Take, task_id: str, scope: Scope, receive: Receive) -> Response:
        try:
            return await take(task_id, scope, receive)
        except PrivetError as error:
            known = task_id if self._tasks.get(task_id) else ""
            self._metrics.reported(problem_of(error).name, known)
            return problem_response(error, scope["path"])

    async def _take(self, task_id: str, scope: Scope, receive: Receive) -> JSONResponse:
        """Count a batch."""
        head = Head.of(scope)
        relay = await self._authorized(head)
        task = self._tasks.get(task_id) or await self._tasks.load(task_id)
        with self._budget.share() as share:
            body = await self._body(receive, head, share)
            async with self._turns:
                batch = await run_in_threadpool(
                    check_batch, task, body, self._settings.max_batch_reports, relay
                )
                self._check_rate(relay)  # others may have been counted meanwhile
                self._rate.count(relay, len(batch.valid) + len(batch.invalid))
                return await self._count(task_id, task.task, batch)

    async def _body(self, receive: Receive, head: Head, share: Share) -> bytes:
        limit, seconds = self._settings.max_batch_bytes, self._settings.body_seconds
        return await read_body(receive, head, limit=limit, seconds=seconds, share=share)

    async def _admit(self, task_id: str, scope: Scope, receive: Receive) -> JSONResponse:
        """Hold invitations for a batch to come."""
        head = Head.of(scope)
        await self._authorized(head)
        with self._budget.share() as share:
            body = await self._body(receive, head, share)
            async with self._turns:
                return await run_in_threadpool(self._hold, task_id, body)

    def _hold(self, task_id: str, body: bytes) -> JSONResponse:
        asked = Admission.unpack(body, self._settings.max_batch_reports)
        now = self._clock()
        refused = self._store.admit(task_id, asked.id, asked.digests, now)
        listed = [digest.hex() for digest in refused]
        return JSONResponse({"held": len(asked) - len(refused), "refused": listed})

    async def _count(self, task_id: str, task: Task, batch: CheckedBatch) -> JSONResponse:
        """Count the valid reports; the answer, once they are durable."""
        outcomes = await self._writer.put_batch(batch.valid)
        if (outcomes == Outcome.NOT_ADMITTED).any():
            raise refusal(Outcome.NOT_ADMITTED, task)
        failed = failed_of(task, batch, outcomes)
        for reason, ids in failed.items():
            self._rejects.add(task_id, reason, len(ids))
            self._metrics.reported(reason, task_id, len(ids))
        answer: dict[str, object] = {}
        for outcome in (Outcome.COUNTED, Outcome.REPLAYED):
            name, count = outcome.name.lower(), int(np.count_nonzero(outcomes == outcome))
            self._metrics.reported(name, task_id, count)
            answer[name] = count
        answer["failed"] = await run_in_threadpool(_listed, failed)
        return JSONResponse(answer)

    async def _authorized(self, head: Head) -> str:
        """The name of the relay's token, which may send reports now."""
        if head.token is None:
            raise NotAuthorized(
                "Batches need a token of scope relay: ask the curator's admin for one (privet "
                "token issue NAME --scope relay), and send it as 'Authorization: Bearer <token>' "
                "(privet-relay serve reads it from PRIVET_RELAY_TOKEN)."
            )
        relay = await run_in_threadpool(self._tokens.check, head.token, TokenScope.RELAY)
        self._check_rate(relay)
        return relay

    def _check_rate(self, relay: str) -> None:
        seconds = self._rate.wait(relay)
        if seconds:
            raise TooManyRequests(
                f"More than {self._rate.per_minute} reports a minute came with this token: "
                f"send the same batch again in {seconds} seconds."
            )


def failed_of(task: Task, batch: CheckedBatch, outcomes: Outcomes) -> dict[str, Ids]:
    """The ids of a batch's refused reports by reason."""
    failed = {
        problem_of(refusal(outcome, task)).name: batch.valid.ids[outcomes == outcome]
        for outcome in REFUSALS
    }
    failed[WRONG_PAYLOAD] = batch.invalid
    return {reason: ids for reason, ids in failed.items() if len(ids)}


def _listed(failed: dict[str, Ids]) -> dict[str, list[str]]:
    return {reason: [key.hex() for key in keys_of(ids)] for reason, ids in failed.items()}


def check_batch(task: CachedTask, body: bytes, max_reports: int, relay: str) -> CheckedBatch:
    """The reports of a batch that came with a token of this name; raises as ``Batch.unpack``."""
    return checked(task, Batch.unpack(body, task.task, max_reports), relay)


def checked(task: CachedTask, batch: Batch, relay: str) -> CheckedBatch:
    """The valid reports of a batch with their total, and the ids of the others."""
    answers = [Answers(question, payloads) for question, payloads in batch.answers(task.task)]
    group = task.group(batch.ids, answers)
    group = replace(group, admissions=batch.admissions, relay=relay)
    valid: Mask = task.valid(group)
    if not valid.all():
        group = group.only(valid)
    return CheckedBatch(replace(group, total=group.add_up()), batch.ids[~valid])
