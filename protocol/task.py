"""The task: what a population is asked, and everything needed to answer it.

A task is a list of questions and an allocation of holders to them, with the features, label and
partitions that the questions refer to. A curator publishes its canonical bytes; their SHA-256 is
its id. Every report carries the id, so holder and curator cannot disagree about what was asked.
"""

import hashlib
import math
import re
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, ValidationError, model_validator

from . import earlier, wire
from .errors import InvalidTask, TaskMismatch
from .features import (
    UNSHOWABLE,
    Category,
    Classes,
    Column,
    Feature,
    Label,
    Name,
    Range,
    columns_of,
    showable,
)
from .label_scale import Centring, LabelScale
from .limits import (
    MAX_CATEGORY_LENGTH,
    MAX_CELLS,
    MAX_COLUMNS,
    MAX_DESCRIPTION_LENGTH,
    MAX_LEVELS,
    MAX_NAME_LENGTH,
    MAX_NODES,
    MAX_PARAMETERS,
    MAX_PART,
    MAX_QUESTIONS,
    MAX_RANDOM_BYTES,
    MAX_REPORT_BYTES,
    MAX_TABLE_ENTRIES,
    MAX_TASK_BYTES,
    MAX_TRANSLATIONS,
    SMALLEST_GROUP,
)
from .mechanisms import create_mechanism
from .mechanisms.base import Mechanism
from .mechanisms.stratified import StratifiedMechanism
from .panel import REPEATED_DISCLOSURE, Panel
from .partition import Partition, Tree
from .strata import Strata, disclosed_columns
from .task_head import TASK_BOUNDS, TaskHead

ENVELOPE_BYTES = 79
"""A packed report without its answers: keys, both ids, version, and headers of up to 15 answers."""

DATELESS = {"asked_parts", "log_ratio", "columns", "trees", "mechanisms", "strata", "label_scales"}
"""Cached properties that do not depend on a task's dates."""

Whole = Annotated[int, Field(ge=-(2**63), lt=2**63)]
Text = Annotated[str, Field(max_length=MAX_NAME_LENGTH)]
Second = Annotated[int, Field(ge=0, lt=2**53)]
Part = Annotated[int, Field(ge=1, le=MAX_PART)]
GroupSize = Annotated[int, Field(ge=0, lt=2**53)]
BatchSize = Annotated[int, Field(ge=1, le=10**12)]

_LINK = re.compile(r"https://[!-~]+")
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}")


def _https(link: str) -> str:
    if not _LINK.fullmatch(link):
        msg = "give a web address that begins with https:// and has no spaces"
        raise ValueError(msg)
    return link


def _tag(language: str) -> str:
    if not _LANGUAGE.fullmatch(language):
        msg = "give a language as browsers name it, such as en or zh-Hans"
        raise ValueError(msg)
    return language


def _showable_lines(text: str) -> str:
    showable(text.replace("\n", ""))
    return text


Link = Annotated[str, Field(max_length=MAX_CATEGORY_LENGTH), AfterValidator(_https)]
Language = Annotated[str, AfterValidator(_tag)]
"""A tag of BCP 47: a language, with subtags for its script and region."""
Lines = Annotated[
    str,
    Field(min_length=1, max_length=MAX_DESCRIPTION_LENGTH),
    AfterValidator(_showable_lines),
]


class Asker(wire.Message):
    """The asker and the purpose, in their own words, for people before they answer."""

    name: Name = Field(description="The person or organization responsible.")
    contact: Category = Field(description="How to reach them.")
    purpose: Category = Field(description="What the answers are for.")
    link: Link = Field(description="A web page about it, https.")


class Translation(wire.Message):
    """The task's texts in another language."""

    language: Language
    texts: Annotated[
        tuple[Annotated[tuple[Lines, Lines], Field(strict=False)], ...],
        Field(strict=False, min_length=1, max_length=MAX_COLUMNS),
    ] = Field(description="Pairs of a text of the task and its translation.")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if len({original for original, _ in self.texts}) != len(self.texts):
            msg = f"a text is translated twice into {self.language}"
            raise ValueError(msg)
        return self


class Question(wire.Message):
    """One partition, one mechanism, and the epsilon spent on the answer."""

    partition: int = Field(ge=0, lt=MAX_QUESTIONS, description="Index into the task's partitions.")
    mechanism: Text = Field(description="Name of the local randomizer.")
    epsilon: float = Field(gt=0)
    parameters: dict[Text, Whole | float | Text] = Field(
        default_factory=dict, max_length=MAX_PARAMETERS
    )
    asks: Literal["label", "cell"] = Field(
        default="label", description="Whether the answer is (cell, label) or only the cell."
    )
    centring: Centring | None = wire.left_out(
        None, "Per-cell centres and a radius, relative to which a numeric label is reported."
    )
    levels: int = wire.left_out(
        2,
        "Evenly spaced points of a numeric label's range, to which it is rounded at random.",
        ge=2,
        le=MAX_LEVELS,
    )


class Task(wire.Message):
    """One immutable question to a population: what is asked, how answers are perturbed, how long.

    Whoever holds a task holds a valid one: building it checks the features, the trees, the
    questions and the mechanisms, in that order, and raises ``InvalidTask`` (or, from the
    constructor, pydantic's ``ValidationError`` for a single field).
    """

    version: Literal[2, 3, 4] = wire.VERSION
    name: Name
    description: str = Field(default="", max_length=MAX_DESCRIPTION_LENGTH)
    features: Annotated[
        tuple[Feature, ...], Field(strict=False, fail_fast=True, max_length=MAX_COLUMNS)
    ] = Field(description="Without any, every partition has one cell.")
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
    parts: Annotated[tuple[Part, ...], Field(strict=False, max_length=MAX_QUESTIONS)] = (
        wire.left_out((), "Parts of the holders, of their sum, that answer each question.")
    )
    opens: Second | None = Field(default=None, description="First second of collection, Unix time.")
    closes: Second | None = Field(default=None, description="End of collection, Unix time.")
    invited: bool = wire.left_out(False, "Whether only reports with an invitation count.")
    smallest_batch: BatchSize | Literal["all"] | None = wire.left_out(
        None,
        "Fewest reports that a relay forwards together, at the end of the collection as well; with "
        "`all` it forwards all together, when the collection has ended, if they are 20 or more.",
    )
    edition: int = wire.left_out(
        1, "Distinguishes it from deleted tasks with the same content.", ge=1, lt=2**31
    )
    asker: Asker | None = wire.left_out(None, "Who asks, and what for.")
    language: Language | None = wire.left_out(
        None, "The language of the task's texts, as a BCP 47 tag."
    )
    translations: Annotated[
        tuple[Translation, ...], Field(strict=False, max_length=MAX_TRANSLATIONS)
    ] = wire.left_out((), "The task's texts in other languages.")
    disclosed: Annotated[tuple[Name, ...], Field(strict=False, max_length=MAX_COLUMNS)] = (
        wire.left_out((), "Features disclosed in the clear, at the resolution of the cells.")
    )
    group_sizes: Annotated[
        tuple[GroupSize, ...], Field(strict=False, fail_fast=True, max_length=MAX_CELLS)
    ] = wire.left_out((), "Holders that the curator expects in each stratum.")
    panel: Panel | None = wire.left_out(None, "The waves in which it is asked, if several.")

    @model_validator(mode="after")
    def _check(self) -> Self:
        """All that concerns more than one field; each step relies on those before it."""
        self._check_version()
        self._check_features_and_dates()
        if self.panel is not None:
            self._check_panel(self.panel)
        self._check_trees()
        self._check_disclosed()
        self._check_questions()
        self._check_group_sizes()
        self._check_mechanisms()
        return self

    def _check_version(self) -> None:
        unread = earlier.unread(self.version, [each.mechanism for each in self.questions])
        if unread is not None:
            raise InvalidTask(unread)
        later = {
            "no features": not self.features,
            "levels": any(question.levels != 2 for question in self.questions),
            "smallest_batch 'all'": self.smallest_batch == "all",
            "a headline": isinstance(self.label, Classes) and self.label.headline is not None,
            "two questions and disclosed columns": bool(self.disclosed) and len(self.questions) > 1,
        }
        if self.version < 4 and any(later.values()):
            what = next(name for name, stands in later.items() if stands)
            raise InvalidTask(f"A task of version {self.version} cannot have {what}: 4 can.")

    def _check_features_and_dates(self) -> None:
        names = [feature.name for feature in self.features] + [self.label.name]
        if len(set(names)) != len(names):
            raise InvalidTask("Features and label must all have different names.")
        control = UNSHOWABLE.search(self.description.replace("\n", " "))
        if control is not None:
            raise InvalidTask(
                f"Remove character {control.start() + 1} of the description, the control character "
                f"U+{ord(control[0]):04X}: only line breaks may stand in it."
            )
        columns = len(columns_of(self.features))
        if columns > MAX_COLUMNS:
            raise InvalidTask(
                f"The features have {columns} columns, above {MAX_COLUMNS}: "
                "leave features out, or merge categories."
            )
        if self.opens is not None and self.closes is not None and self.opens >= self.closes:
            raise InvalidTask("A task must open before it closes.")
        languages = [translation.language for translation in self.translations]
        if len({self.language, *languages}) != 1 + len(languages):
            raise InvalidTask("Each language may have one translation, and not the task's own.")

    def _check_panel(self, panel: Panel) -> None:
        if (self.opens, self.closes) not in (panel.span, *panel.waves):
            raise InvalidTask("The dates are neither those of the panel nor those of a wave.")
        if self.invited:
            raise InvalidTask("A panel is for everybody: invitations are for tasks without waves.")
        if panel.mode == "repeat" and self.disclosed:
            raise InvalidTask(REPEATED_DISCLOSURE)

    def _check_trees(self) -> None:
        if any(tree.columns != len(self.columns) for tree in self.trees):
            raise InvalidTask(
                f"Every partition must cover the task's {len(self.columns)} encoded columns."
            )
        nodes = sum(tree.nodes for tree in self.trees)
        if nodes > MAX_NODES:
            raise InvalidTask(
                f"The partitions have {nodes} nodes in all, above {MAX_NODES}: "
                "use fewer cells (less depth), or fewer partitions."
            )

    def _check_disclosed(self) -> None:
        names = {feature.name for feature in self.features}
        if self.label.name in self.disclosed:
            raise InvalidTask(
                f"The label {self.label.name!r} cannot be disclosed: it is what reports protect."
            )
        if unknown := sorted(set(self.disclosed) - names):
            raise InvalidTask(
                f"Disclosed columns must be features: {unknown[0]!r} is not; the features are "
                f"{', '.join(sorted(names)[:20])}."
            )
        if len(set(self.disclosed)) != len(self.disclosed):
            raise InvalidTask("A column is named twice as disclosed.")
        if not self.disclosed:
            return
        first, *others = self.questions
        if first.asks != "label" or len(others) > 1 or (others and self.allocation != "one"):
            raise InvalidTask(
                "A task with disclosed columns asks each holder one question, about the label: "
                "reports to several would disclose several cells. Ask one question, or two of "
                "which each holder answers one, or disclose nothing."
            )
        for other in others:
            self._check_about_strata(first, other)

    def _check_about_strata(self, first: Question, other: Question) -> None:
        """Check that ``other`` asks for the label alone, and discloses what the ``first`` does."""
        if max(first.partition, other.partition) >= len(self.trees) or self.strata is None:
            raise InvalidTask("A question names no partition of the task.")
        upper = Tree.of(self.strata.tree(self.tree_of(0)))
        if other.asks != "label" or self.partitions[other.partition] != upper:
            raise InvalidTask(
                "Where columns are disclosed, a second question asks for the label alone, and its "
                "cells are the strata of the first."
            )

    def _check_questions(self) -> None:
        if self.parts and (self.allocation != "one" or len(self.parts) != len(self.questions)):
            raise InvalidTask(
                "Parts are for questions of which each holder answers one, one part for each: the "
                f"task has {len(self.parts)} for {len(self.questions)} questions with allocation "
                f"{self.allocation!r}."
            )
        centres = sum(len(q.centring.centres) for q in self.questions if q.centring is not None)
        if centres > MAX_CELLS:
            raise InvalidTask(
                f"The questions have {centres} centres in all, above {MAX_CELLS}: "
                "use fewer cells (less depth), or fewer questions with a centring."
            )
        for index, question in enumerate(self.questions):
            if question.partition >= len(self.trees):
                raise InvalidTask(f"Question {index} names no partition of the task.")
            if question.levels != 2 and (
                not isinstance(self.label, Range)
                or question.asks != "label"
                or question.centring is not None
            ):
                raise InvalidTask(
                    f"Question {index}: levels are for a numeric label on its whole range: leave "
                    "them out of a question about classes or cells, and of one with a centring."
                )
            if question.centring is None:
                continue
            if not isinstance(self.label, Range) or question.asks != "label":
                raise InvalidTask(
                    f"Question {index}: only a question about a numeric label may have a centring."
                )
            fault = question.centring.fault(self.label, self.tree_of(index).cells)
            if fault is not None:
                raise InvalidTask(f"Question {index}: {fault}.")

    def _check_group_sizes(self) -> None:
        cells = 0 if self.strata is None else len(self.strata)
        if len(self.group_sizes) != cells:
            raise InvalidTask(
                f"A task with {cells} strata needs as many group sizes, and has "
                f"{len(self.group_sizes)}."
            )

    def _check_mechanisms(self) -> None:
        longest = self.longest_report
        if longest > MAX_REPORT_BYTES:
            raise InvalidTask(
                f"A report would have {longest} bytes, above {MAX_REPORT_BYTES}: "
                "use fewer cells or another mechanism."
            )
        if self.random_bytes > MAX_RANDOM_BYTES:
            raise InvalidTask(
                f"A report would draw {self.random_bytes} random bytes, above {MAX_RANDOM_BYTES}: "
                "use fewer cells or questions, or another mechanism."
            )
        if self.table_entries > MAX_TABLE_ENTRIES:
            raise InvalidTask(
                f"The noise of the questions needs tables of {self.table_entries} entries, above "
                f"{MAX_TABLE_ENTRIES}: give questions the same epsilon and resolution, so that "
                "they share one, or use fewer questions, a smaller resolution or a larger epsilon."
            )

    @cached_property
    def canonical(self) -> bytes:
        """The bytes that are published and hashed: msgpack, map keys sorted."""
        return wire.pack_message(self, earlier.NAMES.get(self.version))

    @cached_property
    def id(self) -> str:
        """SHA-256 of the canonical bytes, as 64 hexadecimal digits."""
        return hashlib.sha256(self.canonical).hexdigest()

    @cached_property
    def head(self) -> TaskHead:
        """The task in short, as ``TaskHead.read`` has it."""
        return TaskHead(
            id=self.id,
            version=self.version,
            name=self.name,
            label=self.label.name,
            prompt=self.label.prompt,
            questions=len(self.questions),
            epsilon=self.epsilon,
            opens=self.opens,
            closes=self.closes,
            panel=self.panel_id,
            wave=self.wave,
            waves=tuple(wave.id for wave in self.waves) if self.is_panel else (),
            invited=self.invited,
            at_the_end=self.smallest_batch == "all",
        )

    @property
    def wave(self) -> int | None:
        """The number of the wave that it is, from 0; None for a panel and for a task without
        waves."""
        if self.panel is None or self.is_panel:
            return None
        return self.panel.waves.index((self.opens, self.closes))

    @property
    def is_panel(self) -> bool:
        """True for a panel's own document, which takes no reports: its waves do."""
        return self.panel is not None and (self.opens, self.closes) == self.panel.span

    @cached_property
    def whole_panel(self) -> "Task":
        """The document of the panel that the task is of; itself without one."""
        if self.panel is None or self.is_panel:
            return self
        return self._with_dates(self.panel.span)

    @property
    def panel_id(self) -> str | None:
        """The id of the panel that it is or is a wave of; None without one."""
        return None if self.panel is None else self.whole_panel.id

    def wave_task(self, number: int) -> "Task":
        """The task of one wave of its panel, by number from 0; ``ValueError`` without a panel."""
        if self.panel is None:
            msg = "the task has no waves"
            raise ValueError(msg)
        return self._with_dates(self.panel.waves[number])

    @property
    def waves(self) -> tuple["Task", ...]:
        """The tasks of all waves of its panel; empty without one."""
        return () if self.panel is None else tuple(map(self._with_dates, self.panel.waves))

    def _with_dates(self, dates: tuple[int, int]) -> "Task":
        """The same task with other dates of its panel, which need no check."""
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        task = type(self).model_construct(**{**fields, "opens": dates[0], "closes": dates[1]})
        for name in DATELESS & self.__dict__.keys():
            task.__dict__[name] = self.__dict__[name]
        return task

    @property
    def lifetime(self) -> float:
        """The most that one holder spends on the task, or on all waves of its panel."""
        return self.epsilon * (1 if self.panel is None else self.panel.answers)

    @cached_property
    def asked_parts(self) -> tuple[int, ...]:
        """The parts of the holders, of their sum, that are asked each question; all are asked all
        where they are not drawn."""
        return self.parts or (1,) * len(self.questions)

    @property
    def fewest_together(self) -> int:
        """Fewest reports that a relay forwards together; 1 where the task says nothing."""
        if self.smallest_batch == "all":
            return SMALLEST_GROUP
        return self.smallest_batch or 1

    def asks_label_alone(self, question: int) -> bool:
        """True of a question about the label that hides no cell."""
        mechanism = self.mechanisms[question]
        one_cell_each = mechanism.cells == mechanism.stratum_count
        return one_cell_each and self.questions[question].asks == "label"

    def asked_share(self, question: int) -> float:
        """The share of the holders who answer a question."""
        if self.allocation == "all":
            return 1.0
        return self.asked_parts[question] / sum(self.asked_parts)

    @property
    def epsilon(self) -> float:
        """The budget of one holder: the sum over questions, or the largest if each answers one."""
        return self._spent([question.epsilon for question in self.questions])

    @cached_property
    def log_ratio(self) -> float:
        """The exact worst-case log likelihood ratio of a whole report; at most ``epsilon``.

        Between any two records; in a task with disclosed columns, of one stratum.

        Recomputed from the mechanisms' own integers, not taken from the stated epsilons.
        """
        return self._spent([mechanism.log_ratio() for mechanism in self.mechanisms])

    @property
    def longest_report(self) -> int:
        """Bytes of a packed report; of the longest one where each holder answers one question."""
        answers = [_answer_bytes(mechanism.report_bytes) for mechanism in self.mechanisms]
        if self.allocation == "one":
            return ENVELOPE_BYTES + max(answers)
        return ENVELOPE_BYTES + sum(answers) + (2 if len(answers) > 15 else 0)

    @property
    def random_bytes(self) -> int:
        """Bytes of randomness that the mechanisms draw for a report, at most."""
        drawn = [mechanism.random_bytes for mechanism in self.mechanisms]
        return sum(drawn) if self.allocation == "all" else max(drawn)

    @property
    def table_entries(self) -> int:
        """Entries of all tables of noise; questions with equal noise share one."""
        lattices = {mechanism.lattice for mechanism in self.mechanisms}
        return sum(lattice.entries for lattice in lattices if lattice is not None)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The encoded columns of a record."""
        return columns_of(self.features)

    @cached_property
    def trees(self) -> tuple[Partition, ...]:
        """The partitions, each built from its message."""
        return tuple(tree.partition() for tree in self.partitions)

    @cached_property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """The mechanism of each question."""
        return tuple(
            create_mechanism(
                question.mechanism,
                question.epsilon,
                self.tree_of(index).cells,
                self.slots_of(index),
                question.parameters,
                regression=isinstance(self.label, Range) and question.asks == "label",
                strata=self._strata_of_cells(index),
            )
            for index, question in enumerate(self.questions)
        )

    @cached_property
    def strata(self) -> Strata | None:
        """The strata of the first question's partition; None if no column is disclosed."""
        if not self.disclosed:
            return None
        return Strata.of(self.tree_of(0), disclosed_columns(self.features, self.disclosed))

    def _strata_of_cells(self, question: int) -> list[int]:
        """The stratum of each cell of a question; those of a second question are the strata."""
        if self.strata is None:
            return []
        return self.strata.of_cell.tolist() if question == 0 else list(range(len(self.strata)))

    @property
    def stratum_bytes(self) -> int:
        """Length in bytes of a payload's stratum prefix; 0 if nothing is disclosed."""
        mechanism = self.mechanisms[0]
        return mechanism.width if isinstance(mechanism, StratifiedMechanism) else 0

    @cached_property
    def label_scales(self) -> tuple[LabelScale | None, ...]:
        """The scale of each question's numeric label; None for a class, or if only the cell is
        asked."""
        return tuple(
            LabelScale.of(self.label, self.tree_of(index).cells, question.centring)
            if isinstance(self.label, Range) and question.asks == "label"
            else None
            for index, question in enumerate(self.questions)
        )

    def slots_of(self, question: int) -> int:
        """The number of label values that a question distinguishes: 1 where it asks for the cell,
        and the levels of a numeric label."""
        asked = self.questions[question]
        if asked.asks == "cell":
            return 1
        return self.label.slots if isinstance(self.label, Classes) else asked.levels

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
                "do not answer it, and inform its curator."
            )
        try:
            fields = wire.unpack(data, TASK_BOUNDS)
        except ValueError as error:
            raise InvalidTask(f"The bytes are not a task: {error}.") from None
        task = cls.checked(fields)
        del fields  # the largest task fits into memory once, not twice
        if task.canonical != data:
            raise InvalidTask("The task is not in canonical form: fetch it from its curator again.")
        return task

    @classmethod
    def checked(cls, fields: Mapping[str, Any]) -> "Task":
        """A task from its fields; raises ``InvalidTask`` that says what is wrong with them."""
        unread = earlier.unread(fields.get("version", wire.VERSION), ())
        if unread is not None:
            raise InvalidTask(unread)
        try:
            return cls.model_validate(earlier.in_todays_names(fields))
        except ValidationError as error:
            raise InvalidTask(wire.first_fault(error)) from None

    @classmethod
    def published(cls, fields: Mapping[str, Any]) -> "Task":
        """A task from its fields, with all parameters of its mechanisms: holders need no defaults.

        Raises ``InvalidTask`` as ``checked`` does, and for a task that would be too long.
        """
        task = cls.checked(fields)
        given = [question.model_dump() for question in task.questions]
        questions = [
            {**question, "parameters": mechanism.parameters()}
            for question, mechanism in zip(given, task.mechanisms, strict=True)
        ]
        if repr(given) != repr(questions):  # 2.0 is not 2 in the bytes
            task = task.model_copy(update={"questions": questions})
        if len(task.canonical) > MAX_TASK_BYTES:
            raise InvalidTask(
                f"The task takes {len(task.canonical)} bytes and the limit is {MAX_TASK_BYTES}: "
                "use fewer cells (less depth), fewer questions, or fewer categories."
            )
        return task

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> "Task":
        """A task with some fields replaced, checked, and with an id of its own.

        Pydantic's own copy would keep the id and whatever else was computed from the old fields.
        """
        del deep
        return type(self).checked({**self.model_dump(), **(update or {})})

    def _spent(self, values: list[float]) -> float:
        return math.fsum(values) if self.allocation == "all" else max(values)


def _answer_bytes(payload: int) -> int:
    """Bytes of a packed [question, payload]: two for the list, then msgpack's header and bytes."""
    header = 2 if payload < 2**8 else 3 if payload < 2**16 else 5
    return 2 + header + payload
