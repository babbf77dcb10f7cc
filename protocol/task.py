"""The task: one immutable question to a population, and everything needed to answer it.

A task is a list of questions plus an allocation. Its canonical bytes are what a curator publishes
and their SHA-256 is its id; every report carries the id, so holder and curator cannot disagree
about what was asked.
"""

import hashlib
import math
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, ValidationError, model_validator

from privet.protocol import wire
from privet.protocol.encoding import Column, columns_of
from privet.protocol.errors import InvalidTask, TaskMismatch
from privet.protocol.features import Feature, Label, Name, Numeric, Published, Range
from privet.protocol.label_scale import Centring, Scale
from privet.protocol.limits import (
    MAX_CATEGORIES,
    MAX_COLUMNS,
    MAX_NODES,
    MAX_PARAMETERS,
    MAX_QUESTIONS,
    MAX_REPORT_BYTES,
    MAX_TASK_BYTES,
    MAX_TEXT_BYTES,
)
from privet.protocol.mechanisms import create_mechanism
from privet.protocol.mechanisms.base import Mechanism
from privet.protocol.partition import LEAF, Partition

TASK_MEDIA_TYPE = "application/vnd.privet.task+msgpack"
TASK_VERSION: Final = 1

TASK_BOUNDS = wire.Bounds(
    total=MAX_TASK_BYTES,
    longest=MAX_NODES,
    containers=3 * MAX_COLUMNS,
    text=MAX_TEXT_BYTES,
    binary=0,
)
ENVELOPE_BYTES = 79
"""A packed report without its answers: keys, both ids, version, and headers of up to 15 answers."""
RESERVED = frozenset({"cls", "epsilon", "cells", "slots", "regression"})

Whole = Annotated[int, Field(ge=-(2**63), lt=2**63)]
Text = Annotated[str, Field(max_length=200)]
Node = Annotated[int, Field(ge=-1, lt=MAX_NODES)]
Nodes = Annotated[
    tuple[Node, ...], Field(strict=False, fail_fast=True, min_length=1, max_length=MAX_NODES)
]
Thresholds = Annotated[
    tuple[float, ...], Field(strict=False, fail_fast=True, min_length=1, max_length=MAX_NODES)
]
Second = Annotated[int, Field(ge=0, lt=2**53)]


class Tree(Published):
    """The published form of a ``Partition``: its arrays as lists."""

    columns: int = Field(ge=1, le=MAX_COLUMNS)
    feature: Nodes
    threshold: Thresholds
    left: Nodes
    right: Nodes

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

    @property
    def cells(self) -> int:
        """Number of leaves."""
        return self.left.count(LEAF)


class Question(Published):
    """One partition, one mechanism, and the epsilon spent on the answer."""

    partition: int = Field(ge=0, lt=MAX_QUESTIONS, description="Index into the task's partitions.")
    mechanism: Text = Field(description="Name of the local randomizer.")
    epsilon: float = Field(gt=0)
    parameters: dict[Text, Whole | float | Text] = Field(
        default_factory=dict, max_length=MAX_PARAMETERS
    )
    asks: Literal["label", "cell"] = Field(
        default="label", description="Whether the answer is (cell, label) or the cell alone."
    )
    centring: Centring | None = Field(
        default=None,
        exclude_if=lambda centring: centring is None,
        description="Ranges around expected values on which a numeric label is told.",
    )

    @model_validator(mode="after")
    def _check_parameters(self) -> Self:
        reserved = sorted(RESERVED & set(self.parameters))
        if reserved:
            msg = f"a mechanism has no parameters named {', '.join(reserved)}"
            raise ValueError(msg)
        return self


class Task(Published):
    """One immutable question to a population: what is asked, how it is perturbed, for how long."""

    version: Literal[1] = TASK_VERSION
    name: Name
    description: str = Field(default="", max_length=10_000)
    features: Annotated[
        tuple[Feature, ...],
        Field(strict=False, fail_fast=True, min_length=1, max_length=MAX_COLUMNS),
    ]
    label: Label
    partitions: Annotated[
        tuple[Tree, ...],
        Field(strict=False, fail_fast=True, min_length=1, max_length=MAX_QUESTIONS),
    ]
    questions: Annotated[
        tuple[Question, ...],
        Field(strict=False, fail_fast=True, min_length=1, max_length=MAX_QUESTIONS),
    ]
    allocation: Literal["all", "one"] = "all"
    opens: Second | None = Field(default=None, description="First second of collection, Unix time.")
    closes: Second | None = Field(default=None, description="End of collection, Unix time.")

    @model_validator(mode="after")
    def _check_whole(self) -> Self:
        for fault, found in self._faults():
            if found:
                raise ValueError(fault)
        for index, question in enumerate(self.questions):
            centring_fault = self._centring_fault(question)
            if centring_fault:
                msg = f"question {index}: {centring_fault}"
                raise ValueError(msg)
        return self

    def _centring_fault(self, question: Question) -> str | None:
        if question.centring is None:
            return None
        if not isinstance(self.label, Range) or question.asks != "label":
            return "only a question about a numeric label may have a centring"
        return question.centring.fault(self.label, self.partitions[question.partition].cells)

    def _faults(self) -> list[tuple[str, bool]]:
        names = [feature.name for feature in self.features] + [self.label.name]
        columns = sum(1 if isinstance(f, Numeric) else len(f.categories) for f in self.features)
        return [
            ("features and label must all have different names", len(set(names)) != len(names)),
            (f"the features have {columns} columns, above {MAX_COLUMNS}", columns > MAX_COLUMNS),
            (
                "a question names a partition that the task does not have",
                any(question.partition >= len(self.partitions) for question in self.questions),
            ),
            (
                "a task must open before it closes",
                self.opens is not None and self.closes is not None and self.opens >= self.closes,
            ),
        ]

    @cached_property
    def canonical(self) -> bytes:
        """The bytes that are published and hashed: msgpack, map keys sorted."""
        return wire.pack(self.model_dump(mode="python"))

    @cached_property
    def id(self) -> str:
        """SHA-256 of the canonical bytes, as 64 hexadecimal digits."""
        return hashlib.sha256(self.canonical).hexdigest()

    @property
    def epsilon(self) -> float:
        """What one holder spends: the sum over questions, or the largest if each answers one."""
        return self._spent([question.epsilon for question in self.questions])

    @cached_property
    def log_ratio(self) -> float:
        """What one holder really gives away, recomputed from the mechanisms' own integers.

        The exact worst-case ln of the likelihood ratio of a whole report; at most ``epsilon``.
        """
        return self._spent([mechanism.log_ratio() for mechanism in self.mechanisms])

    @property
    def longest_report(self) -> int:
        """Bytes of a packed report; of the longest one, where a holder answers one question."""
        answers = [_answer_bytes(mechanism.report_bytes) for mechanism in self.mechanisms]
        if self.allocation == "one":
            return ENVELOPE_BYTES + max(answers)
        return ENVELOPE_BYTES + sum(answers) + (2 if len(answers) > 15 else 0)

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

    @cached_property
    def scales(self) -> tuple[Scale | None, ...]:
        """How each question has a number told; None for a class, or the cell alone."""
        return tuple(
            Scale.of(self.label, self.tree_of(index).cells, question.centring)
            if isinstance(self.label, Range) and question.asks == "label"
            else None
            for index, question in enumerate(self.questions)
        )

    def tree_of(self, question: int) -> Partition:
        """The partition that a question asks about."""
        return self.trees[self.questions[question].partition]

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
        try:
            fields = wire.unpack(data, TASK_BOUNDS)
        except ValueError as error:
            raise InvalidTask(f"The bytes are not a task: {error}.") from None
        task = cls.checked(fields)
        if task.canonical != data:
            raise InvalidTask("The task is not in canonical form: fetch it from its curator again.")
        return task

    @classmethod
    def checked(cls, fields: Mapping[str, Any]) -> "Task":
        """A task from its fields, with its trees and mechanisms built; raises ``InvalidTask``."""
        version = fields.get("version", TASK_VERSION)
        if version != TASK_VERSION:
            raise InvalidTask(
                f"The task's version is {str(version)[:20]} and this program reads "
                f"{TASK_VERSION}: update it."
            )
        try:
            task = cls.model_validate(fields)
        except ValidationError as error:
            raise InvalidTask(wire.first_fault(error)) from None
        if task.longest_report > MAX_REPORT_BYTES:
            raise InvalidTask(
                f"A report would have {task.longest_report} bytes, above {MAX_REPORT_BYTES}: "
                "use fewer cells or another mechanism."
            )
        return task

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> "Task":
        """A checked task with some fields replaced, and an id of its own."""
        del deep
        return type(self).checked({**self.model_dump(), **(update or {})})

    def _spent(self, values: list[float]) -> float:
        return math.fsum(values) if self.allocation == "all" else max(values)

    def _mechanism(self, question: Question) -> Mechanism:
        cells = self.trees[question.partition].cells
        slots = self.label.slots if question.asks == "label" else 1
        if cells * slots > MAX_CATEGORIES:
            raise InvalidTask(
                f"A question has {cells} cells times {slots} label values, above "
                f"{MAX_CATEGORIES} answers: grow the partition less deep."
            )
        return create_mechanism(
            question.mechanism,
            question.epsilon,
            cells,
            slots,
            question.parameters,
            regression=isinstance(self.label, Range) and question.asks == "label",
        )


def _answer_bytes(payload: int) -> int:
    """Bytes of a packed [question, payload]: two for the list, then msgpack's header and bytes."""
    header = 2 if payload < 2**8 else 3 if payload < 2**16 else 5
    return 2 + header + payload
