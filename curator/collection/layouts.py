"""Where the fields of a canonical report stand.

Canonical msgpack leaves no choice: for a given task and given questions, two reports differ only
in the bytes of the id and of the payloads. So a body is a report if its length and its fixed bytes
are right, and no parsing is needed to find its fields.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privet.protocol.report import REPORT_ID_BYTES, Report
from privet.protocol.task import Task

Bodies = NDArray[np.uint8]


@dataclass(frozen=True)
class Field:
    """A question and the bytes of a body that hold its payload."""

    question: int
    start: int
    stop: int


@dataclass(frozen=True, eq=False)
class Layout:
    """The form of every report that answers the same questions of one task."""

    length: int
    id_start: int
    fields: tuple[Field, ...]
    fixed: tuple[tuple[int, int, bytes], ...]
    """(start, stop, bytes) of every stretch that is the same in all reports."""

    def matches(self, body: bytes) -> bool:
        """Whether ``body``, which has the right length, has the fixed bytes."""
        return all(body[start:stop] == expected for start, stop, expected in self.fixed)

    def report_id(self, body: bytes) -> bytes:
        """The report's id."""
        return body[self.id_start : self.id_start + REPORT_ID_BYTES]

    def stacked(self, bodies: Sequence[bytes]) -> Bodies:
        """Bodies of this layout as the rows of one array."""
        return np.frombuffer(b"".join(bodies), dtype=np.uint8).reshape(-1, self.length)

    def ids(self, bodies: Bodies) -> NDArray[np.uint8]:
        """The ids of a ``(B, length)`` array of bodies, shape ``(B, 16)``."""
        stop = self.id_start + REPORT_ID_BYTES
        return np.ascontiguousarray(bodies[:, self.id_start : stop])

    def payloads(self, bodies: Bodies) -> list[tuple[int, NDArray[np.uint8]]]:
        """(question, payloads) cut out of a ``(B, length)`` array of bodies."""
        return [
            (field.question, np.ascontiguousarray(bodies[:, field.start : field.stop]))
            for field in self.fields
        ]


class Layouts:
    """Every layout that a report for one task may have."""

    def __init__(self, task: Task) -> None:
        count = len(task.questions)
        asked = [tuple(range(count))] if task.allocation == "all" else [(q,) for q in range(count)]
        self._by_length: dict[int, list[Layout]] = {}
        for questions in asked:
            layout = layout_of(task, questions)
            self._by_length.setdefault(layout.length, []).append(layout)

    def find(self, body: bytes) -> Layout | None:
        """The layout of ``body``; None if it is not a canonical report for this task."""
        for layout in self._by_length.get(len(body), ()):
            if layout.matches(body):
                return layout
        return None


def layout_of(task: Task, questions: tuple[int, ...]) -> Layout:
    """The layout of the reports that answer ``questions``.

    Found by comparing two reports that differ in every byte of their ids and payloads.
    """
    zeros, ones = _filled(task, questions, 0), _filled(task, questions, 255)
    varies = np.frombuffer(zeros, np.uint8) != np.frombuffer(ones, np.uint8)
    edges = np.flatnonzero(np.diff(varies, prepend=False, append=False)).tolist()
    stretches = list(zip(edges[::2], edges[1::2], strict=True))
    fields = tuple(
        Field(question, start, stop)
        for question, (start, stop) in zip(questions, stretches[:-1], strict=True)
    )
    gaps = zip([0, *edges[1::2]], [*edges[::2], len(zeros)], strict=True)
    fixed = tuple((start, stop, zeros[start:stop]) for start, stop in gaps)
    return Layout(len(zeros), stretches[-1][0], fields, fixed)


def _filled(task: Task, questions: tuple[int, ...], byte: int) -> bytes:
    """A report with ``byte`` in every place that can vary; the id comes after the answers."""
    fill = bytes([byte])
    answers = tuple((q, fill * task.mechanisms[q].report_bytes) for q in questions)
    return Report(task=bytes.fromhex(task.id), id=fill * REPORT_ID_BYTES, answers=answers).pack()
