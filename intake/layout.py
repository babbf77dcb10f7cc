"""The layouts of a task's reports.

Canonical msgpack leaves no choice: for a given task and given questions, two reports differ only in
the bytes of the id and of the payloads. So a body is a report if its length and its fixed bytes are
right, and no parsing is needed to find its fields.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privet.protocol.batch import ByteRows
from privet.protocol.errors import WrongPayload
from privet.protocol.report import REPORT_ID_BYTES, Report
from privet.protocol.task import Task


@dataclass(frozen=True)
class Field:
    """A question and the bytes of a body that hold its payload."""

    question: int
    start: int
    stop: int


@dataclass(frozen=True, eq=False)
class ReportLayout:
    """The byte offsets of the fields in reports that answer the same questions of a task."""

    questions: tuple[int, ...]
    length: int
    id_start: int
    fields: tuple[Field, ...]
    fixed: tuple[tuple[int, int, bytes], ...]
    """(start, stop, bytes) of every stretch that is the same in all reports."""

    @classmethod
    def of(cls, task: Task, questions: tuple[int, ...]) -> "ReportLayout":
        """The layout of the reports that answer ``questions``.

        Found by comparing two reports that differ in every byte of their ids and payloads.
        """
        zeros, ones = _filled_report(task, questions, 0), _filled_report(task, questions, 255)
        varies = np.frombuffer(zeros, np.uint8) != np.frombuffer(ones, np.uint8)
        edges = np.flatnonzero(np.diff(varies, prepend=False, append=False)).tolist()
        stretches = list(zip(edges[::2], edges[1::2], strict=True))
        fields = tuple(
            Field(question, start, stop)
            for question, (start, stop) in zip(questions, stretches[:-1], strict=True)
        )
        gaps = zip([0, *edges[1::2]], [*edges[::2], len(zeros)], strict=True)
        fixed = tuple((start, stop, zeros[start:stop]) for start, stop in gaps)
        return cls(questions, len(zeros), stretches[-1][0], fields, fixed)

    def report_id(self, body: bytes) -> bytes:
        return body[self.id_start : self.id_start + REPORT_ID_BYTES]

    def payload(self, body: bytes) -> bytes:
        """The payloads of a body's answers, one after the other."""
        if len(self.fields) == 1:
            return body[self.fields[0].start : self.fields[0].stop]
        return b"".join([body[field.start : field.stop] for field in self.fields])

    def columns(self, bodies: Sequence[bytes]) -> tuple[ByteRows, list[tuple[int, ByteRows]]]:
        """The ids of B bodies, shape ``(B, 16)``, and (question, payloads) of every field."""
        rows = np.frombuffer(b"".join(bodies), dtype=np.uint8).reshape(-1, self.length)
        ids = np.ascontiguousarray(rows[:, self.id_start : self.id_start + REPORT_ID_BYTES])
        return ids, [
            (field.question, np.ascontiguousarray(rows[:, field.start : field.stop]))
            for field in self.fields
        ]

    def fault(self, task: Task, body: bytes) -> WrongPayload:
        """The error for a report that no holder could have sent."""
        for field in self.fields:
            fault = task.mechanisms[field.question].fault(body[field.start : field.stop])
            if fault is not None:
                return WrongPayload(f"Answer to question {field.question}: {fault}")
        return WrongPayload("No holder could have sent these answers.")


def _filled_report(task: Task, questions: tuple[int, ...], byte: int) -> bytes:
    """A report with ``byte`` in every place that can vary; the id comes after the answers."""
    fill = bytes([byte])
    answers = [(q, fill * task.mechanisms[q].report_bytes) for q in questions]
    return Report.to(task, fill * REPORT_ID_BYTES, answers).pack()
