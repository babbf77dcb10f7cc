"""What goes over the wire in a load test: reports one by one or in batches, and some mischief."""

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgpack
import numpy as np
from numpy.typing import NDArray

from protocol.report import REPORT_MEDIA_TYPE, Report
from protocol.task import Task
from scripts.load.sender import Message
from scripts.load.spool import read_frames

BATCH_MEDIA_TYPE = "application/vnd.privet.reports+msgpack"
DAWDLE_SECONDS = 2.0


@dataclass(frozen=True)
class Mischief:
    """Shares of the holders, 0 to 1, that send again, send rubbish too, or send slowly."""

    duplicates: float = 0.0
    malformed: float = 0.0
    slow: float = 0.0


def singles(paths: Iterable[Path], mischief: Mischief, rng: random.Random) -> Iterator[Message]:
    """One message per report, some twice, some after a broken copy, some with a long pause."""
    for report in read_frames(paths):
        if rng.random() < mischief.malformed:
            yield Message("malformed", report[:-5], REPORT_MEDIA_TYPE)
        dawdle = DAWDLE_SECONDS if rng.random() < mischief.slow else 0.0
        yield Message("report", report, REPORT_MEDIA_TYPE, dawdle)
        if rng.random() < mischief.duplicates:
            yield Message("duplicate", report, REPORT_MEDIA_TYPE)


def batches(paths: Iterable[Path], task: Task, size: int) -> Iterator[Message]:
    """Reports in columns, ``size`` at a time; by question where each holder answers one."""
    layouts = [Layout.of(task, questions) for questions in _answered(task)]
    waiting: dict[Layout, list[bytes]] = {layout: [] for layout in layouts}
    for frame in read_frames(paths):
        layout = next(layout for layout in layouts if layout.fits(frame))
        frames = waiting[layout]
        frames.append(frame)
        if len(frames) == size:
            yield layout.batch(frames)
            frames.clear()
    for layout, frames in waiting.items():
        if frames:
            yield layout.batch(frames)


@dataclass(frozen=True, eq=False)
class Layout:
    """Where a packed report's id and payloads are: at the same bytes in all that answer alike."""

    question: int | None
    fixed: bytes
    id: NDArray[np.intp]
    payloads: NDArray[np.intp]

    @classmethod
    def of(cls, task: Task, questions: tuple[int, ...]) -> "Layout":
        """Found by packing probes that differ in their ids, or in their payloads, alone."""

        def probe(id_byte: bytes, payload_byte: bytes) -> NDArray[np.uint8]:
            answers = tuple((q, payload_byte * task.mechanisms[q].report_bytes) for q in questions)
            report = Report(task=bytes.fromhex(task.id), id=id_byte * 16, answers=answers)
            return np.frombuffer(report.pack(), dtype=np.uint8)

        plain = probe(b"\0", b"\0")
        ids = np.flatnonzero(plain != probe(b"\1", b"\0"))
        payloads = np.flatnonzero(plain != probe(b"\0", b"\1"))
        question = questions[0] if task.allocation == "one" else None
        return cls(question, plain[: min(payloads[0], ids[0])].tobytes(), ids, payloads)

    def fits(self, frame: bytes) -> bool:
        """Whether a packed report answers these questions."""
        return len(frame) > self.id[-1] and frame.startswith(self.fixed)

    def batch(self, frames: list[bytes]) -> Message:
        """The batch call's body for packed reports of this layout."""
        rows = np.frombuffer(b"".join(frames), dtype=np.uint8).reshape(len(frames), -1)
        fields = {
            "ids": rows[:, self.id].tobytes(),
            "payloads": rows[:, self.payloads].tobytes(),
            "version": 1,
        }
        if self.question is not None:
            fields["question"] = self.question
        return Message("batch", msgpack.packb(fields), BATCH_MEDIA_TYPE)


def _answered(task: Task) -> list[tuple[int, ...]]:
    """The sets of questions that one report may answer."""
    every = range(len(task.questions))
    return [tuple(every)] if task.allocation == "all" else [(question,) for question in every]
