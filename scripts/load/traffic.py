"""What goes over the wire in a load test: reports one by one or in batches, and some mischief."""

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgpack

from protocol.report import REPORT_MEDIA_TYPE, Report
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


def batches(paths: Iterable[Path], size: int, *, one_question: bool) -> Iterator[Message]:
    """Reports in columns, ``size`` at a time; by question where each holder answers one."""
    columns: dict[int | None, list[Report]] = {}
    for frame in read_frames(paths):
        report = Report.unpack(frame)
        question = report.answers[0][0] if one_question else None
        waiting = columns.setdefault(question, [])
        waiting.append(report)
        if len(waiting) == size:
            yield _batch(question, waiting)
            waiting.clear()
    for question, waiting in columns.items():
        if waiting:
            yield _batch(question, waiting)


def _batch(question: int | None, reports: list[Report]) -> Message:
    fields = {
        "ids": b"".join(report.id for report in reports),
        "payloads": b"".join(payload for report in reports for _, payload in report.answers),
        "version": 1,
    }
    if question is not None:
        fields["question"] = question
    body: bytes = msgpack.packb(fields)
    return Message("batch", body, BATCH_MEDIA_TYPE)
