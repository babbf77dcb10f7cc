"""The report: how a record becomes one, its form on the wire, and what makes it valid.

``make_report`` is all that a holder does with its record; devices, simulations and test vectors
call this one function. A record that does not fit becomes a report like all others. The curator
answers a durable report with a ``Receipt``.
"""

from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import Annotated, Any

from pydantic import Field, ValidationError, field_validator

from . import wire
from .earlier import stated_version, stated_versions
from .errors import MalformedReport, TaskMismatch, WrongPayload, WrongQuestions
from .features import EncodedRecord, encode_record
from .label_scale import label_level
from .lifecycle import ReportState
from .limits import MAX_QUESTIONS, MAX_REPORT_BYTES
from .mechanisms.base import RandomBytes
from .task import Task

REPORT_ID_BYTES = 16
TASK_ID_BYTES = 32

REPORT_BOUNDS = wire.Bounds(
    total=MAX_REPORT_BYTES,
    longest=MAX_QUESTIONS,
    containers=MAX_QUESTIONS + 2,
    items=4 * MAX_QUESTIONS,
    text=TASK_ID_BYTES,
    binary=MAX_REPORT_BYTES,
)

AnsweredQuestion = Annotated[
    tuple[Annotated[int, Field(ge=0, lt=MAX_QUESTIONS)], bytes], Field(strict=False)
]


class Report(wire.Message):
    """A holder's report: task id, 16 random id bytes, one payload per answered question.

    ``version`` follows from that of the task.
    """

    task: bytes = Field(min_length=TASK_ID_BYTES, max_length=TASK_ID_BYTES)
    id: bytes = Field(min_length=REPORT_ID_BYTES, max_length=REPORT_ID_BYTES)
    answers: Annotated[
        tuple[AnsweredQuestion, ...],
        Field(strict=False, fail_fast=True, min_length=1, max_length=MAX_QUESTIONS),
    ]
    version: int = wire.VERSION

    @classmethod
    def to(cls, task: Task, report_id: bytes, answers: Iterable[tuple[int, bytes]]) -> "Report":
        """The report to a task under an id; nothing is checked against the task."""
        version = stated_version(task.version, "report")
        task_id = bytes.fromhex(task.id)
        return cls(task=task_id, id=report_id, answers=tuple(answers), version=version)

    @field_validator("answers")
    @classmethod
    def _ascending(cls, answers: tuple[tuple[int, bytes], ...]) -> tuple[tuple[int, bytes], ...]:
        questions = [question for question, _ in answers]
        if questions != sorted(set(questions)):
            msg = "answers must be in ascending order of question, one each"
            raise ValueError(msg)
        return answers

    def pack(self) -> bytes:
        """The canonical msgpack form: a map with sorted keys, of a length fixed by the task."""
        return wire.pack(self.model_dump())

    @classmethod
    def unpack(cls, data: bytes) -> "Report":
        """A report from its canonical msgpack; raises ``MalformedReport`` for anything else."""
        try:
            fields = wire.unpack(data, REPORT_BOUNDS)
        except ValueError as error:
            raise MalformedReport(
                f"The body is not a msgpack report: {error}; "
                "send the map {answers, id, task, version}."
            ) from None
        report = cls._from_fields(fields)
        if report.pack() != data:
            raise MalformedReport(
                "The report is not in canonical form: sort its keys, write numbers in their "
                "shortest form and each key once."
            )
        return report

    @classmethod
    def _from_fields(cls, fields: Mapping[str, Any]) -> "Report":
        version = fields.get("version")
        if type(version) is not int or version not in stated_versions("report"):
            raise MalformedReport(
                f"The report's version is {str(version)[:20]}: send that of the task."
            )
        try:
            return cls.model_validate(fields)
        except ValidationError as error:
            raise MalformedReport(wire.first_fault(error)) from None

    def check(self, task: Task) -> None:
        """Raise unless this is a possible report for ``task``.

        ``TaskMismatch`` for another task's report, ``MalformedReport`` for another version,
        ``WrongQuestions`` if the answers are not those that the allocation asks for,
        ``WrongPayload`` for an impossible payload.
        """
        if self.task.hex() != task.id:
            raise TaskMismatch("The report is for another task: send it to that task's address.")
        version = stated_version(task.version, "report")
        if self.version != version:
            raise MalformedReport(
                f"The report's version is {self.version}: this task's have version {version}."
            )
        check_questions(task, tuple(question for question, _ in self.answers))
        for question, payload in self.answers:
            fault = task.mechanisms[question].fault(payload)
            if fault is not None:
                raise WrongPayload(f"Answer to question {question}: {fault}")


class Receipt(wire.Message):
    """A curator's response to a report that is durable."""

    report: str = Field(
        pattern=r"^[0-9a-f]{32}$",
        description="The report's id, in hexadecimal.",
        examples=["0102030405060708090a0b0c0d0e0f10"],
    )
    counted: bool = Field(
        description="False if the same report had been counted before.", examples=[True]
    )


class ReportStatus(wire.Message):
    """A relay's response to a query about a report it took.

    ``held``: durable at the relay, and may still count; ``counted`` by the curator;
    ``refused`` by the curator, and ``reason`` names the problem; ``lost`` by the relay, for a
    reason in ``LOSSES``.
    """

    report: str = Field(pattern=r"^[0-9a-f]{32}$", description="The report's id, in hexadecimal.")
    state: ReportState
    reason: str | None = Field(default=None, pattern=r"^[a-z][a-z-]{0,63}$")


def make_report(task: Task, record: Mapping[str, Any], randomness: RandomBytes) -> Report:
    """Privatize one record, label included, into the one report that its holder sends.

    ``randomness`` is ``os.urandom`` on a device. Draws what ``draw_report`` draws.
    """
    return draw_report(task, encode_record(task.features, task.label, record), randomness)


def draw_report(task: Task, record: EncodedRecord, randomness: RandomBytes) -> Report:
    """Privatize one encoded record into a report.

    Draws the report's id, then the question if each holder answers one, then for each answered
    question what label and mechanism need; how many bytes are drawn does not depend on the record.
    A misfit answers every question with the category of misfits; in a task with disclosed columns,
    in the stratum of its values that fit and of stand-ins for those that do not.
    """
    report_id = randomness(REPORT_ID_BYTES)
    answers = tuple(
        (question, task.mechanisms[question].privatize(category, randomness))
        for question in _asked(task, randomness)
        for category in [_choose(task, question, record, randomness)]
    )
    return Report.to(task, report_id, answers)


def _choose(task: Task, question: int, record: EncodedRecord, randomness: RandomBytes) -> int:
    """The category of a record: its cell and level, or the misfit; same work for both."""
    mechanism = task.mechanisms[question]
    category = cell = task.tree_of(question).locate_one(record.x)
    if task.questions[question].asks == "label":
        scale = task.label_scales[question]
        span = None if scale is None else scale.span(cell)
        level = label_level(task.label, record.y, mechanism.levels, randomness, span)
        category = cell * mechanism.levels + level
    fits, misfit = not record.faults, mechanism.misfit_at(cell)
    return (misfit, category)[fits]


def _asked(task: Task, randomness: RandomBytes) -> list[int]:
    """All questions, or one drawn at random by 64 bits, in proportion to the task's parts.

    They differ from these proportions by less than 2^-42, since parts add up to at most 2^22.
    """
    if task.allocation == "all":
        return list(range(len(task.questions)))
    place = int.from_bytes(randomness(8), "big") * sum(task.asked_parts) >> 64
    return [sum(place >= up_to for up_to in accumulate(task.asked_parts))]


def check_questions(task: Task, answered: tuple[int, ...]) -> None:
    """Raise ``WrongQuestions`` unless a holder of ``task`` may answer exactly these questions."""
    count = len(task.questions)
    if task.allocation == "all" and answered != tuple(range(count)):
        raise WrongQuestions(
            f"The task asks every holder all of its {count} questions, in order: "
            f"this report answers {list(answered)}."
        )
    if task.allocation == "one" and (len(answered) != 1 or not 0 <= answered[0] < count):
        raise WrongQuestions(
            f"The task asks every holder one of its questions 0 to {count - 1}: "
            f"this report answers {list(answered)}."
        )
