"""POST /v1/tasks/{id}/reports/batch: a relay's reports in columns, each counted or refused alone.

The body is a msgpack map of columns: ``ids`` (16 bytes per report), ``payloads`` (per report the
payloads of all questions it answers, one after the other), ``question`` where each holder answers
one question, ``invitations`` (32 bytes per report, SHA-256 of each) where the task asks for them,
and ``version``, which is 1. All work on it is done on whole columns, in worker threads.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgpack
import numpy as np
from numpy.typing import NDArray
from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Scope, Send

from privet.curator.collection.answers import IMPOSSIBLE, REASONS, send_answer, send_problem
from privet.curator.collection.columns import Columns, Gate, Part
from privet.curator.collection.rejects import Rejects
from privet.curator.collection.task_cache import Gates
from privet.curator.collection.writer import Committer
from privet.curator.datastore.base import Ids, Outcome, Outcomes
from privet.curator.datastore.known import keys_of
from privet.curator.metrics import Metrics
from privet.protocol.errors import MalformedReport, Overloaded, PrivetError, TooLarge, problem_of
from privet.protocol.report import REPORT_ID_BYTES, check_questions
from privet.transport.bodies import Head, read_body

COLUMNS = frozenset({"version", "ids", "payloads", "question", "invitations"})
DIGEST_BYTES = 32
VERSION = 1


@dataclass(frozen=True)
class BatchLimits:
    """How much one batch, and all batches that are under way, may take."""

    bytes: int
    reports: int
    at_a_time: int
    body_seconds: float


class BatchIntake:
    """The call for many reports."""

    def __init__(
        self,
        gates: Gates,
        committer: Committer,
        rejects: Rejects,
        metrics: Metrics,
        limits: BatchLimits,
    ) -> None:
        self._gates = gates
        self._committer = committer
        self._rejects = rejects
        self._metrics = metrics
        self._limits = limits
        self._under_way = 0

    async def answer(self, task_id: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one POST of a batch for the task."""
        try:
            body = await self._settle(task_id, Head.of(scope), receive)
        except PrivetError as error:
            self._metrics.reported(problem_of(error).name)
            await send_problem(send, error, scope["path"])
            return
        await send_answer(send, 200, body)

    async def _settle(self, task_id: str, head: Head, receive: Receive) -> bytes:
        if self._under_way >= self._limits.at_a_time:
            raise Overloaded(
                f"{self._under_way} batches are under way already: send this one again in a second."
            )
        self._under_way += 1
        try:
            gate = self._gates.known(task_id) or await self._gates.load(task_id)
            body = await read_body(
                receive, head, limit=self._limits.bytes, seconds=self._limits.body_seconds
            )
            given = await run_in_threadpool(read_batch, gate, body, self._limits.reports)
            possible, columns = await run_in_threadpool(_prepared, given)
            outcomes = await self._committer.commit_batch(columns)
            if isinstance(outcomes, PrivetError):
                raise outcomes
            failed = _failed(given, possible, outcomes)
            for reason, ids in failed.items():
                self._rejects.add(task_id, reason, len(ids))
                self._metrics.reported(reason, len(ids))
            return await run_in_threadpool(self._told, outcomes, failed)
        finally:
            self._under_way -= 1

    def _told(self, outcomes: Outcomes, failed: Mapping[str, Ids]) -> bytes:
        """The answer: how many are durable, and the ids of those that were refused, by reason."""
        done = {
            outcome.name.lower(): int(np.count_nonzero(outcomes == outcome))
            for outcome in (Outcome.COUNTED, Outcome.REPLAYED)
        }
        for name, count in done.items():
            self._metrics.reported(name, count)
        listed = {reason: [key.hex() for key in keys_of(ids)] for reason, ids in failed.items()}
        return json.dumps({**done, "failed": listed}).encode()


def _failed(given: Columns, possible: NDArray[np.bool_], outcomes: Outcomes) -> dict[str, Ids]:
    """The refused ids by reason."""
    ids = given.ids[possible]
    failed = {reason: ids[outcomes == outcome] for outcome, reason in REASONS.items()}
    failed[IMPOSSIBLE] = given.ids[~possible]
    return {reason: refused for reason, refused in failed.items() if len(refused)}


def read_batch(gate: Gate, body: bytes, most: int) -> Columns:
    """The columns of a batch; raises ``MalformedReport``, ``WrongQuestions`` or ``TooLarge``."""
    fields = _unpacked(body)
    ids = _column(fields, "ids", REPORT_ID_BYTES)
    if len(ids) > most:
        raise TooLarge(f"The batch has {len(ids)} reports: send at most {most} at a time.")
    questions = _questions(gate, fields.get("question"))
    widths = [gate.task.mechanisms[question].report_bytes for question in questions]
    payloads = _column(fields, "payloads", sum(widths))
    invitations = None
    if "invitations" in fields:
        invitations = _column(fields, "invitations", DIGEST_BYTES)
    if len(payloads) != len(ids) or (invitations is not None and len(invitations) != len(ids)):
        raise MalformedReport(
            f"The columns have different lengths: {len(ids)} ids need {len(ids)} rows of "
            f"{sum(widths)} payload bytes, and as many invitations if there are any."
        )
    pieces = np.split(payloads, np.cumsum(widths)[:-1], axis=1)
    answers = list(zip(questions, map(np.ascontiguousarray, pieces), strict=True))
    return Columns(gate, ids, [Part(np.arange(len(ids)), answers)], invitations)


def _prepared(given: Columns) -> tuple[NDArray[np.bool_], Columns]:
    """Which reports are possible, and those with all their sums made in advance."""
    possible = given.possible()
    columns = given if possible.all() else given.only(possible)
    columns.sum_up()
    return possible, columns


def _unpacked(body: bytes) -> dict[str, Any]:
    try:
        fields = msgpack.unpackb(
            body, max_map_len=len(COLUMNS), max_array_len=0, max_ext_len=0, strict_map_key=True
        )
    except (ValueError, TypeError, msgpack.UnpackException, RecursionError):
        fields = None
    if not isinstance(fields, dict) or not set(fields) <= COLUMNS:
        raise MalformedReport(
            "The body is not a msgpack batch: send the map {version, ids, payloads}, with "
            "question where each holder answers one and invitations where they are asked for."
        )
    version = fields.get("version", VERSION)
    if type(version) is not int or version != VERSION:
        raise MalformedReport(f"The batch's version is not one this curator reads: {VERSION}.")
    return fields


def _column(fields: dict[str, Any], name: str, width: int) -> NDArray[np.uint8]:
    """A column of rows of ``width`` bytes."""
    packed = fields.get(name)
    if not isinstance(packed, bytes) or len(packed) % width:
        raise MalformedReport(f"{name} must be bytes, {width} per report.")
    return np.frombuffer(packed, dtype=np.uint8).reshape(-1, width)


def _questions(gate: Gate, question: Any) -> tuple[int, ...]:
    if question is None:
        answered = tuple(range(len(gate.task.questions)))
    elif type(question) is int and question >= 0:
        answered = (question,)
    else:
        raise MalformedReport("question must be the number of a question, from 0.")
    check_questions(gate.task, answered)
    return answered
