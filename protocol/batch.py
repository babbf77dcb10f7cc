"""A relay's messages: batches of many reports, and admissions with their holders' invitations.

A *batch* is a msgpack map of binary columns with one row per report, in any order::

    version      the task's
    ids          16 random bytes per report
    payloads     per report the payloads of its answers, one after the other
    question     the one question that all of them answer; absent where they answer all
    admissions   16 bytes for each admission of its holders; absent where nobody is invited
    in_time      true: each report was taken while the task was open, as last published to the
                 relay, so it counts until the grace period ends; absent where that is not said

An *admission* asks for holders with invitations to be let in. It is sent first, and the reports of
its holders follow in a batch that names it, so that nothing says which report came with which
invitation (docs/adr/0402)::

    version      the task's
    id           16 random bytes
    invitations  32 bytes per holder, the SHA-256 of its invitation, ascending, each once
    in_time      as in a batch

The URL identifies the task. In a task with a single question, a batch with ``question`` 0 and one
without it mean the same. Neither message is ever hashed, so they need not be in canonical form, but
no key may occur twice.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt

from . import wire
from .earlier import stated_version, stated_versions
from .errors import MalformedReport, TooLarge
from .report import REPORT_ID_BYTES, check_questions
from .task import Task

ADMISSION_ID_BYTES = 16
INVITATION_DIGEST_BYTES = 32

COLUMNS = frozenset({"version", "ids", "payloads", "question", "admissions", "in_time"})
ADMISSION_FIELDS = frozenset({"version", "id", "invitations", "in_time"})

OUTCOME_ENDING = ".outcome.json"
"""End of the name of a file that says what became of the reports in another, a batch."""

ByteRows = NDArray[np.uint8]
ReportId = Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
SignatureText = Annotated[str, Field(pattern="^[0-9a-f]{128}$")]


@dataclass(frozen=True, eq=False)
class Batch:
    """B reports that all answer ``questions``, in ascending order.

    ``ids`` is (B, 16); ``payloads`` is (B, sum of the questions' payload lengths); ``admissions``
    are the ids of the admissions that let their holders in. ``in_time`` is the relay's word that
    each was taken while the task was open.
    """

    questions: tuple[int, ...]
    ids: ByteRows
    payloads: ByteRows
    admissions: tuple[bytes, ...] = ()
    in_time: bool = False

    def __len__(self) -> int:
        return len(self.ids)

    def payloads_by_question(self, task: Task) -> list[tuple[int, ByteRows]]:
        """The answered questions and their payloads, contiguous ``(B, report_bytes)`` arrays."""
        ends = np.cumsum([task.mechanisms[question].report_bytes for question in self.questions])
        columns = np.split(self.payloads, ends[:-1], axis=1)
        return list(zip(self.questions, map(np.ascontiguousarray, columns), strict=True))

    def valid(self, task: Task) -> NDArray[np.bool_]:
        """A mask of the reports that a holder of ``task`` could have sent, shape (B,)."""
        columns = self.payloads_by_question(task)
        return possible(task, len(self), ((*column, None) for column in columns))

    def group_sizes(self, stratum_bytes: int) -> NDArray[np.intp]:
        """For each report, the number of reports in the batch of its stratum, ``(B,)``.

        ``stratum_bytes`` is the task's; without strata all have one.
        """
        stratum = np.ascontiguousarray(self.payloads[:, :stratum_bytes])
        _, cell, size = np.unique(stratum, axis=0, return_inverse=True, return_counts=True)
        return np.asarray(size[cell.ravel()])

    def take(self, rows: NDArray[np.bool_] | NDArray[np.intp]) -> "Batch":
        """The reports that a mask selects, or those at these positions, in their order."""
        return replace(self, ids=self.ids[rows], payloads=self.payloads[rows])

    def pack(self, task_version: int = wire.VERSION) -> bytes:
        """The message about a task of this version, in canonical form."""
        fields: dict[str, Any] = {
            "version": stated_version(task_version, "batch"),
            "ids": self.ids.tobytes(),
            "payloads": self.payloads.tobytes(),
        }
        if len(self.questions) == 1:
            fields["question"] = self.questions[0]
        if self.admissions:
            fields["admissions"] = b"".join(self.admissions)
        if self.in_time:
            fields["in_time"] = True
        return wire.pack(fields)

    @classmethod
    def unpack(cls, data: bytes, task: Task, max_reports: int | None = None) -> "Batch":
        """A batch for ``task``, its columns read-only; payloads are not checked: see ``valid``.

        Raises ``MalformedReport`` for bytes that are no batch, ``WrongQuestions`` if holders of
        the task do not answer these questions, ``TooLarge`` above ``max_reports``.
        """
        fields = _unpacked(data, COLUMNS)
        if not {"version", "ids", "payloads"} <= set(fields) <= COLUMNS:
            raise MalformedReport(
                "The body is not a batch: send the map {version, ids, payloads}, with question "
                "where each holder answers one, admissions where holders are invited, and in_time "
                "where all were taken in time."
            )
        _check_version(fields, "batch", stated_version(task.version, "batch"))
        ids = _column(fields, "ids", REPORT_ID_BYTES)
        count = len(ids)
        if not count:
            raise MalformedReport("The batch is empty: send at least one report.")
        if max_reports is not None and count > max_reports:
            raise TooLarge(f"The batch has {count} reports: send at most {max_reports} at a time.")
        questions = tuple(range(len(task.questions)))
        if "question" in fields:
            questions = (fields["question"],)
            if type(questions[0]) is not int or questions[0] < 0:
                raise MalformedReport("question must be the number of a question, from 0.")
        check_questions(task, questions)
        width = sum(task.mechanisms[question].report_bytes for question in questions)
        payloads = _column(fields, "payloads", width, count)
        admissions: tuple[bytes, ...] = ()
        if "admissions" in fields:
            rows = _column(fields, "admissions", ADMISSION_ID_BYTES)
            admissions = tuple(row.tobytes() for row in rows[: count + 1])
            check_admissions(admissions, count)
        return cls(questions, ids, payloads, admissions, _in_time(fields))


@dataclass(frozen=True, eq=False)
class Admission:
    """The invitations of N holders, without what they report.

    ``id`` has 16 random bytes; ``invitations`` is (N, 32), the SHA-256 of each, ascending;
    ``in_time`` is as in a batch.
    """

    id: bytes
    invitations: ByteRows
    in_time: bool = False

    @classmethod
    def of(
        cls, admission_id: bytes, digests: Collection[bytes], *, in_time: bool = False
    ) -> "Admission":
        """The admission of N holders whose invitations have these distinct ``digests``."""
        rows = np.frombuffer(b"".join(sorted(digests)), dtype=np.uint8)
        return cls(admission_id, rows.reshape(-1, INVITATION_DIGEST_BYTES), in_time)

    def __len__(self) -> int:
        return len(self.invitations)

    @property
    def digests(self) -> list[bytes]:
        """The rows of ``invitations``."""
        return split(self.invitations.tobytes(), INVITATION_DIGEST_BYTES)

    def pack(self, task_version: int = wire.VERSION) -> bytes:
        """The message about a task of this version, in canonical form."""
        version, invitations = stated_version(task_version, "admission"), self.invitations.tobytes()
        fields = {"version": version, "id": self.id, "invitations": invitations}
        return wire.pack(fields | ({"in_time": True} if self.in_time else {}))

    @classmethod
    def unpack(cls, data: bytes, max_invitations: int | None = None) -> "Admission":
        """An admission, its column read-only.

        Raises ``MalformedReport`` for bytes that are none, ``TooLarge`` above ``max_invitations``.
        """
        fields = _unpacked(data, ADMISSION_FIELDS)
        if set(fields) | {"in_time"} != ADMISSION_FIELDS:
            raise MalformedReport(
                "The body is not an admission: send the map {version, id, invitations}, and "
                "in_time where all were taken in time."
            )
        _check_version(fields, "admission", *stated_versions("admission"))
        admission_id, rows = fields["id"], _column(fields, "invitations", INVITATION_DIGEST_BYTES)
        if not isinstance(admission_id, bytes) or len(admission_id) != ADMISSION_ID_BYTES:
            raise MalformedReport(f"id must be binary, {ADMISSION_ID_BYTES} bytes.")
        if max_invitations is not None and len(rows) > max_invitations:
            raise TooLarge(
                f"The admission has {len(rows)} invitations: send at most {max_invitations}."
            )
        admission = cls(admission_id, rows, _in_time(fields))
        if not len(rows) or any(second <= first for first, second in pairwise(admission.digests)):
            raise MalformedReport(
                "invitations must have at least one row, ascending and each once."
            )
        return admission


class BatchResponse(BaseModel):
    """The outcomes of a batch's reports."""

    model_config = ConfigDict(frozen=True)

    counted: NonNegativeInt = Field(description="Reports counted now.", examples=[998])
    replayed: NonNegativeInt = Field(description="Reports counted before.", examples=[1])
    failed: dict[str, list[ReportId]] = Field(
        description="Ids of the refused reports, by the name of the problem.",
        examples=[{"wrong-payload": ["0102030405060708090a0b0c0d0e0f10"]}],
    )
    receipts: list[SignatureText] = Field(
        default=[], description="Signatures of those that count, if asked for and if it signs."
    )


class AdmissionResponse(BaseModel):
    """The outcomes of an admission's invitations."""

    model_config = ConfigDict(frozen=True)

    held: NonNegativeInt = Field(description="Invitations that are held.", examples=[1000])
    refused: list[Annotated[str, Field(pattern="^[0-9a-f]{64}$")]] = Field(
        description="SHA-256 of the others, which are unknown, used or held elsewhere.",
        examples=[[]],
    )


def check_admissions(admissions: Collection[bytes], reports: int) -> None:
    """Raise ``MalformedReport`` unless these admissions are valid for a batch of ``reports``."""
    sizes = {len(admission) for admission in admissions}
    if sizes != {ADMISSION_ID_BYTES} or not len(set(admissions)) == len(admissions) <= reports:
        raise MalformedReport(
            "admissions must have one or more ids of 16 bytes, each once, and not more of "
            "them than there are reports."
        )


def possible(
    task: Task, count: int, answers: Iterable[tuple[int, ByteRows, NDArray[np.intp] | None]]
) -> NDArray[np.bool_]:
    """A mask of the reports that a holder of ``task`` could have sent, shape ``(count,)``.

    ``answers`` are questions, their payloads, and the places of their reports; None for all.
    """
    valid = np.ones(count, dtype=np.bool_)
    for question, payloads, rows in answers:
        valid[slice(None) if rows is None else rows] &= task.mechanisms[question].valid(payloads)
    return valid


def split(column: bytes, width: int) -> list[bytes]:
    """The rows of a column, ``width`` bytes each."""
    return [column[at : at + width] for at in range(0, len(column), width)]


def _unpacked(data: bytes, names: Iterable[str]) -> dict[str, Any]:
    """The map in ``data``, no larger than one with these keys and binary values."""
    lengths = [len(name) for name in names]
    bounds = wire.Bounds(
        total=len(data),
        longest=len(lengths),
        containers=1,
        items=len(lengths),
        text=max(lengths),
        binary=len(data),
    )
    try:
        return wire.unpack(data, bounds)
    except ValueError as error:
        raise MalformedReport(f"The body is not the msgpack map asked for: {error}.") from None


def _check_version(fields: dict[str, Any], what: str, *stated: int) -> None:
    version = fields["version"]
    if type(version) is not int or version not in stated:
        raise MalformedReport(
            f"The {what}'s version is {str(version)[:20]}: send version {stated[-1]}."
        )


def _in_time(fields: dict[str, Any]) -> bool:
    said = fields.get("in_time", False)
    if said is not ("in_time" in fields):
        raise MalformedReport("in_time must be true, or absent.")
    return said


def _column(fields: dict[str, Any], name: str, width: int, count: int | None = None) -> ByteRows:
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
