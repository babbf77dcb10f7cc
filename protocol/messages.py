"""What crosses the wire: the task that is published, the report that comes back, the receipt.

A task is a list of questions plus an allocation. Its canonical bytes are msgpack with sorted keys,
and their SHA-256 is its id; every report carries the id, so holder and curator cannot disagree
about what was asked.
"""

import base64
import hashlib
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, Self

import msgpack
from pydantic import Field, ValidationError, field_validator, model_validator

from protocol.domain import Classes, Feature, Label, Published, Range
from protocol.encoding import Column, columns_of
from protocol.errors import InvalidTask, MalformedReport, TaskMismatch, WrongPayload, WrongQuestions
from protocol.limits import MAX_QUESTIONS, MAX_REPORT_BYTES, MAX_TASK_BYTES
from protocol.mechanisms import MECHANISMS
from protocol.mechanisms.base import Mechanism
from protocol.partition import Partition

TASK_MEDIA_TYPE = "application/vnd.privet.task+msgpack"
REPORT_MEDIA_TYPE = "application/vnd.privet.report+msgpack"
REPORT_ID_BYTES = 16
TASK_ID_BYTES = 32

Parameter = int | float | str


class Tree(Published):
    """The published form of a ``Partition``: its arrays as lists."""

    columns: int
    feature: tuple[int, ...]
    threshold: tuple[float, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]

    @classmethod
    def of(cls, partition: Partition) -> "Tree":
        """The published form of ``partition``."""
        return cls(
            columns=partition.columns,
            feature=tuple(partition.feature.tolist()),
            threshold=tuple(partition.threshold.tolist()),
            left=tuple(partition.left.tolist()),
            right=tuple(partition.right.tolist()),
        )

    def partition(self) -> Partition:
        """The partition itself; raises ``InvalidTask`` if the arrays are not a tree."""
        return Partition.build(self.columns, self.feature, self.threshold, self.left, self.right)


class Question(Published):
    """One partition, one mechanism, and the epsilon spent on the answer."""

    partition: int = Field(ge=0, description="Index into the task's partitions.")
    mechanism: str = Field(description="Name of the local randomizer.")
    epsilon: float = Field(gt=0)
    parameters: dict[str, Parameter] = Field(default_factory=dict)
    asks: Literal["label", "cell"] = Field(
        default="label", description="Whether the answer is (cell, label) or the cell alone."
    )


class Task(Published):
    """One immutable question to a population: what is asked, how it is perturbed, for how long."""

    version: Literal[1] = 1
    name: Annotated[str, Field(min_length=1, max_length=200)]
    description: str = Field(default="", max_length=10_000)
    features: tuple[Feature, ...] = Field(min_length=1)
    label: Label
    partitions: tuple[Tree, ...] = Field(min_length=1, max_length=MAX_QUESTIONS)
    questions: tuple[Question, ...] = Field(min_length=1, max_length=MAX_QUESTIONS)
    allocation: Literal["all", "one"] = "all"
    opens: int | None = Field(default=None, description="First second of collection, Unix time.")
    closes: int | None = Field(default=None, description="End of collection, Unix time.")

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        names = [feature.name for feature in self.features] + [self.label.name]
        if len(set(names)) != len(names):
            msg = "features and label must all have different names"
            raise ValueError(msg)
        if any(question.partition >= len(self.partitions) for question in self.questions):
            msg = "a question names a partition that the task does not have"
            raise ValueError(msg)
        if self.opens is not None and self.closes is not None and self.opens >= self.closes:
            msg = "a task must open before it closes"
            raise ValueError(msg)
        return self

    @cached_property
    def canonical(self) -> bytes:
        """The bytes that are published and hashed: msgpack, map keys sorted."""
        packed: bytes = msgpack.packb(_sorted(self.model_dump(mode="python")))
        return packed

    @cached_property
    def id(self) -> str:
        """SHA-256 of the canonical bytes, as 64 hexadecimal digits."""
        return hashlib.sha256(self.canonical).hexdigest()

    @property
    def epsilon(self) -> float:
        """What one holder spends: the sum over questions, or the largest if each answers one."""
        spent = [question.epsilon for question in self.questions]
        return sum(spent) if self.allocation == "all" else max(spent)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The encoded columns of a record."""
        return columns_of(self.features)

    @cached_property
    def trees(self) -> tuple[Partition, ...]:
        """The partitions; raises ``InvalidTask`` if one is not a tree over the task's columns."""
        trees = tuple(tree.partition() for tree in self.partitions)
        if any(tree.columns != len(self.columns) for tree in trees):
            raise InvalidTask(
                f"Every partition must cover the task's {len(self.columns)} encoded columns."
            )
        return trees

    @cached_property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """The mechanism of each question; raises ``InvalidTask`` for one that cannot be built."""
        return tuple(self._mechanism(question) for question in self.questions)

    def tree_of(self, question: int) -> Partition:
        """The partition that a question asks about."""
        return self.trees[self.questions[question].partition]

    def _mechanism(self, question: Question) -> Mechanism:
        if question.mechanism not in MECHANISMS:
            raise InvalidTask(
                f"Unknown mechanism {question.mechanism!r}: "
                f"this version knows {', '.join(sorted(MECHANISMS))}."
            )
        return MECHANISMS[question.mechanism].create(
            question.epsilon,
            self.trees[question.partition].cells,
            self.label.slots if question.asks == "label" else 1,
            regression=isinstance(self.label, Range) and question.asks == "label",
            **question.parameters,
        )

    @classmethod
    def parse(cls, data: bytes, expected_id: str | None = None) -> "Task":
        """A checked task from its canonical bytes.

        Raises ``TaskMismatch`` if the bytes do not hash to ``expected_id``, and ``InvalidTask``
        if they are not the canonical form of a task this version can answer.
        """
        if len(data) > MAX_TASK_BYTES:
            raise InvalidTask(f"A task may have at most {MAX_TASK_BYTES} bytes.")
        if expected_id is not None and hashlib.sha256(data).hexdigest() != expected_id:
            raise TaskMismatch(
                "The task's bytes do not hash to the id they were asked for by: "
                "do not answer it, and tell its curator."
            )
        task = cls.checked(_unpack_map(data, InvalidTask("The bytes are not a task.")))
        if task.canonical != data:
            raise InvalidTask("The task is not in canonical form: fetch it from its curator again.")
        return task

    @classmethod
    def checked(cls, fields: Mapping[str, Any]) -> "Task":
        """A task from its fields, with its trees and mechanisms built; raises ``InvalidTask``."""
        try:
            task = cls.model_validate(fields)
        except ValidationError as error:
            raise InvalidTask(_first_fault(error)) from None
        _ = task.trees, task.mechanisms
        return task

    @property
    def is_regression(self) -> bool:
        """Whether the label is a number."""
        return not isinstance(self.label, Classes)


class Report(Published):
    """What one holder sends: task id, 16 random id bytes, one payload per answered question."""

    task: Annotated[bytes, Field(min_length=TASK_ID_BYTES, max_length=TASK_ID_BYTES)]
    id: Annotated[bytes, Field(min_length=REPORT_ID_BYTES, max_length=REPORT_ID_BYTES)]
    answers: tuple[tuple[Annotated[int, Field(ge=0)], bytes], ...] = Field(min_length=1)

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
        packed: bytes = msgpack.packb(
            {
                "answers": [[question, payload] for question, payload in self.answers],
                "id": self.id,
                "task": self.task,
                "version": 1,
            }
        )
        return packed

    @classmethod
    def unpack(cls, data: bytes) -> "Report":
        """A report from msgpack; raises ``MalformedReport`` for anything else."""
        if len(data) > MAX_REPORT_BYTES:
            raise MalformedReport(f"A report may have at most {MAX_REPORT_BYTES} bytes.")
        fault = MalformedReport(
            "The body is not a msgpack report: send the map {answers, id, task, version}."
        )
        return cls._from_fields(_unpack_map(data, fault))

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> "Report":
        """A report from its JSON form, with ids in hexadecimal and payloads in base64."""
        try:
            binary = {
                **fields,
                "task": bytes.fromhex(fields["task"]),
                "id": bytes.fromhex(fields["id"]),
                "answers": [
                    (question, base64.b64decode(payload, validate=True))
                    for question, payload in fields["answers"]
                ],
            }
        except (KeyError, TypeError, ValueError):
            raise MalformedReport(
                "The body is not a JSON report: task and id are hexadecimal, "
                "answers is a list of [question, base64 payload]."
            ) from None
        return cls._from_fields(binary)

    def to_json(self) -> dict[str, Any]:
        """The JSON form, for hand use."""
        return {
            "version": 1,
            "task": self.task.hex(),
            "id": self.id.hex(),
            "answers": [[q, base64.b64encode(payload).decode()] for q, payload in self.answers],
        }

    @classmethod
    def _from_fields(cls, fields: dict[str, Any]) -> "Report":
        version = fields.pop("version", None)
        if version != 1 or isinstance(version, bool):
            raise MalformedReport(f"The report's version is {version!r}: this curator reads 1.")
        try:
            return cls.model_validate(fields, strict=False)
        except ValidationError as error:
            raise MalformedReport(_first_fault(error)) from None

    def check(self, task: Task) -> None:
        """Raise unless this is a possible report for ``task``.

        ``TaskMismatch`` for another task's report, ``WrongQuestions`` if the answers are not those
        that the allocation asks for, ``WrongPayload`` for an impossible payload.
        """
        if self.task.hex() != task.id:
            raise TaskMismatch("The report is for another task: send it to that task's address.")
        check_questions(task, tuple(question for question, _ in self.answers))
        for question, payload in self.answers:
            fault = task.mechanisms[question].fault(payload)
            if fault is not None:
                raise WrongPayload(f"Answer to question {question}: {fault}")


class Receipt(Published):
    """What a curator answers to a report that is durable."""

    report: str = Field(description="The report's id, in hexadecimal.")
    counted: bool = Field(description="False if the same report had been counted before.")


def check_questions(task: Task, answered: tuple[int, ...]) -> None:
    """Raise ``WrongQuestions`` unless a holder of ``task`` may answer exactly these questions."""
    count = len(task.questions)
    if task.allocation == "all" and answered != tuple(range(count)):
        raise WrongQuestions(
            f"The task asks every holder all of its {count} questions, in order: "
            f"this report answers {list(answered)}."
        )
    if task.allocation == "one" and (len(answered) != 1 or answered[0] >= count):
        raise WrongQuestions(
            f"The task asks every holder one of its questions 0 to {count - 1}: "
            f"this report answers {list(answered)}."
        )


def _sorted(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list | tuple):
        return [_sorted(item) for item in value]
    return value


def _unpack_map(data: bytes, fault: Exception) -> dict[str, Any]:
    try:
        fields = msgpack.unpackb(data, strict_map_key=True)
    except (ValueError, TypeError, msgpack.UnpackException, RecursionError):
        raise fault from None
    if not isinstance(fields, dict) or not all(isinstance(key, str) for key in fields):
        raise fault
    return fields


def _first_fault(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}." if where else f"{first['msg']}."
