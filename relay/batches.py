"""A batch that another relay sends: read within limits, and checked against its task."""

from typing import Any

import numpy as np

from privet.protocol import wire
from privet.protocol.errors import MalformedReport
from privet.protocol.report import REPORT_ID_BYTES, check_questions
from privet.protocol.task import Task
from privet.relay.bundle import ALL_QUESTIONS, DIGEST_BYTES, Bundle

MAX_BATCH_BYTES = 16 * 2**20
COLUMNS = frozenset({"version", "ids", "payloads", "question", "invitations"})
BOUNDS = wire.Bounds(
    total=MAX_BATCH_BYTES,
    longest=len(COLUMNS),
    containers=1,
    text=max(map(len, COLUMNS)),
    binary=MAX_BATCH_BYTES,
)


def read_batch(task: Task, body: bytes) -> tuple[Bundle, list[str]]:
    """The possible reports of a batch, and the ids of the impossible ones, in hexadecimal.

    Raises ``MalformedReport`` and ``WrongQuestions``.
    """
    fields = _fields(body)
    question = fields.get("question", ALL_QUESTIONS)
    every = range(len(task.questions))
    answered = tuple(every) if question == ALL_QUESTIONS else (question,)
    check_questions(task, answered)
    widths = [task.mechanisms[each].report_bytes for each in answered]
    given = Bundle(
        task.id,
        question if task.allocation == "one" else ALL_QUESTIONS,
        _column(fields, "ids"),
        _column(fields, "payloads"),
        _column(fields, "invitations") if "invitations" in fields else None,
    )
    count = len(given)
    if not count:
        raise MalformedReport("The batch is empty: send at least one report.")
    lengths = {"ids": REPORT_ID_BYTES, "payloads": sum(widths), "invitations": DIGEST_BYTES}
    for name, width in lengths.items():
        if name in fields and len(fields[name]) != count * width:
            raise MalformedReport(f"{name} must have {width} bytes for each of the {count} ids.")
    payloads = np.frombuffer(given.payloads, dtype=np.uint8).reshape(count, -1)
    possible = np.ones(count, dtype=np.bool_)
    for each, part in zip(
        answered, np.split(payloads, np.cumsum(widths)[:-1], axis=1), strict=True
    ):
        possible &= task.mechanisms[each].valid(np.ascontiguousarray(part))
    if possible.all():
        return given, []
    ids = [given.ids[at * 16 : at * 16 + 16].hex() for at in np.flatnonzero(~possible).tolist()]
    return given.only(np.flatnonzero(possible)), ids


def _fields(body: bytes) -> dict[str, Any]:
    try:
        fields = wire.unpack(body, BOUNDS)
    except ValueError as error:
        raise MalformedReport(f"The body is not a batch: {error}.") from None
    if not set(fields) <= COLUMNS or fields.get("version") != 1:
        raise MalformedReport(
            "The body is not a batch of version 1: send the map {version, ids, payloads}, with "
            "question where each holder answers one and invitations where they are asked for."
        )
    question = fields.get("question", 0)
    if type(question) is not int or question < 0:
        raise MalformedReport("question must be the number of a question, from 0.")
    return fields


def _column(fields: dict[str, Any], name: str) -> bytes:
    column = fields.get(name)
    if not isinstance(column, bytes):
        raise MalformedReport(f"{name} must be bytes.")
    return column
