"""A curator's signed receipts: they show a holder that its report counts, whoever passes them on.

In its answer to a batch the curator signs which of the reports count: the hashes of the reports,
sorted, ``GROUP`` under each signature. So a relay can show a holder its receipt without asking
the curator, and what it shows of others are hashes that nobody can guess.
"""

from collections.abc import Collection, Iterable
from hashlib import sha256
from typing import Annotated

from pydantic import Field

from .batch import Batch, split
from .report import REPORT_ID_BYTES, Report
from .wire import Message

PREFIX = b"privet receipt v1\x00"
GROUP = 64
SIGNATURE = "^[0-9a-f]{128}$"

Hash = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class SignedReceipt(Message):
    """A curator's signature, and the hashes of the reports that it has signed, in hexadecimal."""

    signature: str = Field(pattern=SIGNATURE, examples=["0" * 128])
    reports: Annotated[tuple[Hash, ...], Field(strict=False, max_length=GROUP)] = Field(
        examples=[["0" * 64]]
    )


def receipt_message(task_id: str, hashes: Iterable[bytes]) -> bytes:
    """The bytes that a curator signs for reports that count."""
    return PREFIX + bytes.fromhex(task_id) + b"".join(hashes)


def report_hash(questions: Iterable[int], report_id: bytes, payload: bytes) -> bytes:
    """The hash of a report: of its questions' numbers, its id and its payloads."""
    return sha256(bytes(questions) + report_id + payload).digest()


def hash_of(report: Report) -> bytes:
    """``report_hash`` of a report."""
    questions, payloads = zip(*report.answers, strict=True)
    return report_hash(questions, report.id, b"".join(payloads))


def hashes_of(batch: Batch) -> list[bytes]:
    """``report_hash`` of each report of a batch, in its order."""
    ids = split(batch.ids.tobytes(), REPORT_ID_BYTES)
    payloads = split(batch.payloads.tobytes(), batch.payloads.shape[1])
    return [report_hash(batch.questions, *row) for row in zip(ids, payloads, strict=True)]


def groups_of(hashes: Collection[bytes]) -> list[list[bytes]]:
    """The groups in which the hashes of a batch's reports are signed."""
    ordered = sorted(hashes)
    return [ordered[at : at + GROUP] for at in range(0, len(ordered), GROUP)]
