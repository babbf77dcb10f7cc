"""Many reports in one message, in columns, as a relay forwards them and a curator takes them.

On the wire a batch is a msgpack map of binary columns with one row per report, in any order::

    version      1
    ids          16 random bytes per report
    payloads     per report the payloads of its answers, one after the other
    question     the one question that all of them answer; absent where they answer all
    invitations  32 bytes per report, the SHA-256 of its invitation; absent where there are none

The task is named by the address it is posted to. In a task with a single question, a batch with
``question`` 0 and one without mean the same. A batch is never hashed and its reports are compared
one by one, so it need not be in canonical form, but no key may occur twice.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.protocol import wire
from privet.protocol.errors import MalformedReport, TooLarge
from privet.protocol.report import REPORT_ID_BYTES, check_questions
from privet.protocol.task import Task

BATCH_MEDIA_TYPE = "application/vnd.privet.reports+msgpack"
BATCH_VERSION = 1
INVITATION_DIGEST_BYTES = 32

COLUMNS = frozenset({"version", "ids", "payloads", "question", "invitations"})

Rows = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Batch:
    """B reports that all answer ``questions``, in ascending order.

    ``ids`` is (B, 16); ``payloads`` is (B, sum of the questions' payload lengths); ``invitations``
    is (B, 32), all zeros in the rows of reports that came without one, or None.
    """

    questions: tuple[int, ...]
    ids: Rows
    payloads: Rows
    invitations: Rows | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def answers(self, task: Task) -> list[tuple[int, Rows]]:
        """Each answered question with its payloads, a contiguous (B, report_bytes) array."""
        ends = np.cumsum([task.mechanisms[question].report_bytes for question in self.questions])
        columns = np.split(self.payloads, ends[:-1], axis=1)
        return list(zip(self.questions, map(np.ascontiguousarray, columns), strict=True))

    def valid(self, task: Task) -> NDArray[np.bool_]:
        """Which of the reports a holder of ``task`` could have sent, shape (B,)."""
        valid = np.ones(len(self), dtype=np.bool_)
        for question, payloads in self.answers(task):
            valid &= task.mechanisms[question].valid(payloads)
        return valid

    def take(self, rows: NDArray[np.bool_] | NDArray[np.intp]) -> "Batch":
        """The reports that a mask selects, or those at these positions, in their order."""
        invitations = None if self.invitations is None else self.invitations[rows]
        return replace(
            self, ids=self.ids[rows], payloads=self.payloads[rows], invitations=invitations
        )

    def pack(self) -> bytes:
        """The message, in canonical form."""
        fields: dict[str, Any] = {
            "version": BATCH_VERSION,
            "ids": self.ids.tobytes(),
            "payloads": self.payloads.tobytes(),
        }
        if len(self.questions) == 1:
            fields["question"] = self.questions[0]
        if self.invitations is not None:
            fields["invitations"] = self.invitations.tobytes()
        return wire.pack(fields)

    @classmethod
    def unpack(cls, data: bytes, task: Task, max_reports: int | None = None) -> "Batch":
        """A batch for ``task``, its columns read-only; payloads are not checked: see ``valid``.

        Raises ``MalformedReport`` for bytes that are no batch, ``WrongQuestions`` if holders of
        the task do not answer these questions, ``TooLarge`` above ``max_reports``.
        """
        fields = _unpacked(data)
        ids = _column(fields, "ids", REPORT_ID_BYTES)
        count = len(ids)
        if not count:
            raise MalformedReport("The batch is empty: send at least one report.")
        if max_reports is not None and count > max_reports:
            raise TooLarge(f"The batch has {count} reports: send at most {max_reports} at a time.")
        questions = tuple(range(len(task.questions)))
        if "question" in fields:
            questions = (_question(fields["question"]),)
        check_questions(task, questions)
        width = sum(task.mechanisms[question].report_bytes for question in questions)
        payloads = _column(fields, "payloads", width, count)
        invitations = None
        if "invitations" in fields:
            invitations = _column(fields, "invitations", INVITATION_DIGEST_BYTES, count)
        return cls(questions, ids, payloads, invitations)


def _unpacked(data: bytes) -> dict[str, Any]:
    bounds = wire.Bounds(
        total=len(data),
        longest=len(COLUMNS),
        containers=1,
        items=len(COLUMNS),
        text=max(map(len, COLUMNS)),
        binary=len(data),
    )
    try:
        fields = wire.unpack(data, bounds)
    except ValueError as error:
        raise MalformedReport(f"The body is not a msgpack batch: {error}.") from None
    if not {"version", "ids", "payloads"} <= set(fields) <= COLUMNS:
        raise MalformedReport(
            "The body is not a batch: send the map {version, ids, payloads}, with question where "
            "each holder answers one and invitations where they are asked for."
        )
    version = fields["version"]
    if type(version) is not int or version != BATCH_VERSION:
        raise MalformedReport(
            f"The batch's version is {str(version)[:20]}: send version {BATCH_VERSION}."
        )
    return fields


def _column(fields: dict[str, Any], name: str, width: int, count: int | None = None) -> Rows:
    """A column of ``count`` rows, or of any number, of ``width`` bytes each."""
    packed = fields[name]
    if not isinstance(packed, bytes) or len(packed) % width:
        raise MalformedReport(f"{name} must be binary, {width} bytes for each report.")
    rows = np.frombuffer(packed, dtype=np.uint8).reshape(-1, width)
    if count is not None and len(rows) != count:
        raise MalformedReport(
            f"{name} has {len(rows)} rows of {width} bytes for {count} ids: "
            "all columns need one row per report."
        )
    return rows


def _question(question: Any) -> int:
    if type(question) is not int or question < 0:
        raise MalformedReport("question must be the number of a question, from 0.")
    return question
