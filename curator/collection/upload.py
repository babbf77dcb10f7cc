"""POST /v1/tasks/{id}/reports as a plain ASGI callable, in front of the web framework.

No model validation, no routing and no copies on the way: a canonical report is recognized by its
layout, queued, and answered after the commit. Whatever else comes is read the slow way, by
``privet.protocol.report.Report``, which knows how to say what is wrong with it.
"""

import hashlib
import json

from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Scope, Send

from privet.curator.collection.answers import conflict, not_invited, send_problem, send_receipt
from privet.curator.collection.columns import Gate
from privet.curator.collection.layouts import Layout
from privet.curator.collection.rejects import Rejects
from privet.curator.collection.task_cache import Gates
from privet.curator.collection.writer import Answer, Committer
from privet.curator.datastore.base import Outcome
from privet.curator.metrics import Metrics
from privet.protocol.errors import MalformedReport, PrivetError, StorageFailed, problem_of
from privet.protocol.report import Report
from privet.transport.bodies import Head, read_body

JSON_FACTOR = 2
"""Base64 and hexadecimal at most double a report."""


class SingleIntake:
    """The call for one report."""

    def __init__(
        self,
        gates: Gates,
        committer: Committer,
        rejects: Rejects,
        metrics: Metrics,
        *,
        body_seconds: float,
    ) -> None:
        self._gates = gates
        self._committer = committer
        self._rejects = rejects
        self._metrics = metrics
        self._body_seconds = body_seconds

    async def answer(self, task_id: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one POST of a report for the task."""
        try:
            gate = self._gates.known(task_id) or await self._gates.load(task_id)
            body, layout, invitation = await self._report(gate, Head.of(scope), receive)
            answer = await self._committer.put(gate, layout, body, invitation)
            counted = answer is Outcome.COUNTED
            if not counted and answer is not Outcome.REPLAYED:
                raise await self._refusal(task_id, answer)
        except PrivetError as error:
            self._refused(task_id, error)
            await send_problem(send, error, scope["path"])
            return
        self._metrics.reported("counted" if counted else "replayed")
        await send_receipt(send, layout.report_id(body), counted=counted)

    async def _report(
        self, gate: Gate, head: Head, receive: Receive
    ) -> tuple[bytes, Layout, bytes | None]:
        """The canonical bytes of the report, its layout, and its invitation's SHA-256."""
        is_json = head.media_type == b"application/json"
        limit = gate.most_bytes * (JSON_FACTOR if is_json else 1)
        body = await read_body(receive, head, limit=limit, seconds=self._body_seconds)
        if is_json:
            body = await run_in_threadpool(_from_json, body)
        layout = gate.layouts.find(body)
        if layout is None:
            raise await run_in_threadpool(_fault, gate, body)
        invitation = None if head.invitation is None else hashlib.sha256(head.invitation).digest()
        return body, layout, invitation

    async def _refusal(self, task_id: str, answer: Answer) -> PrivetError:
        """What the sender of a report that is not durable should hear."""
        if isinstance(answer, PrivetError):
            return answer
        if answer is Outcome.CONFLICT:
            return conflict()
        if answer is Outcome.NOT_INVITED:
            return not_invited()
        return await self._gates.closed(task_id)

    def _refused(self, task_id: str, error: PrivetError) -> None:
        reason = problem_of(error).name
        self._metrics.reported(reason)
        if task_id in self._gates and not isinstance(error, StorageFailed):
            self._rejects.add(task_id, reason)


def _from_json(body: bytes) -> bytes:
    """A JSON report in its canonical form."""
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        raise MalformedReport(
            "The body is not JSON: send {version, task, id, answers} as /docs shows."
        ) from None
    return Report.from_json(fields).pack()


def _fault(gate: Gate, body: bytes) -> PrivetError:
    """What is wrong with a body that has none of the task's layouts."""
    try:
        Report.unpack(body).check(gate.task)
    except PrivetError as error:
        return error
    return MalformedReport("The body is not a canonical report for this task.")
