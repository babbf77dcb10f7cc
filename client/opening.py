"""Records opened against a task, and what whoever gave them may read.

A ``CheckedTask`` says that its subject may answer, and when the report will leave; only then is a
record opened. An ``OpenedRecord`` always leads to a report, whatever its values: ``findings`` and
``disclosed`` are for a person, and nothing that is sent, logged or returned to a script depends on
them. Only a name that the task does not ask for is refused, since names are the program's.
"""

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, final

from privet.protocol.errors import InvalidRecord, InvalidRequest
from privet.protocol.features import EncodedRecord, encode_record
from privet.protocol.mechanisms.base import RandomBytes
from privet.protocol.report import Report, draw_report
from privet.protocol.task import Task
from privet.protocol.wire import printable

from .departure import Departure
from .disclosures import DisclosedSplits
from .explanation import disclosure


@final
@dataclass(frozen=True)
class OpenedRecord:
    """A record in the numbers of a task, and the moments at which its report may leave."""

    task: Task
    encoded: EncodedRecord
    departure: Departure

    @property
    def findings(self) -> tuple[str, ...]:
        """Faults of the record in words; empty if it fits."""
        return self.encoded.faults

    @property
    def disclosed(self) -> str:
        """A sentence on what its report discloses; empty if the task discloses nothing."""
        return disclosure(self.task, self.encoded)

    def draw(self, randomness: RandomBytes) -> Report:
        """A report, whether the record fits or not."""
        return draw_report(self.task, self.encoded, randomness)


@dataclass(frozen=True)
class CheckedTask:
    """A task that a subject may answer now, and the moments at which the report may leave."""

    task: Task
    departure: Departure
    splits: DisclosedSplits | None

    def open(self, record: Mapping[str, Any] | OpenedRecord) -> OpenedRecord:
        """``record`` in the task's numbers; raises ``InvalidRecord`` for a name, never for a
        value."""
        if type(record) is OpenedRecord:
            return record
        return _opened(self.task, record, self.departure)


def validate(task: Task, record: Mapping[str, Any]) -> OpenedRecord:
    """``record`` opened against ``task``, to be read and then answered with, whatever it says.

    Raises ``InvalidRecord`` for a name that the task does not ask for.
    """
    return _opened(task, record, Departure.of(task))  # fixed before the record is read


def _opened(task: Task, record: Mapping[str, Any], departure: Departure) -> OpenedRecord:
    if isinstance(record, Mapping):
        check_record_names(task, record)
    return OpenedRecord(task, encode_record(task.features, task.label, record), departure)


def check_record_names(task: Task, names: Iterable[Any]) -> None:
    """Raise ``InvalidRecord`` for a name that the task does not ask for."""
    asked = [field.name for field in (*task.features, task.label)]
    if unknown := sorted(repr(name) for name in set(names) - set(asked)):
        raise InvalidRecord(
            f"Unknown fields {_some(unknown)}: the task asks for {_some(map(repr, asked))}. "
            "Nothing was drawn and nothing was sent."
        )


def check_columns(task: Task, names: Iterable[str]) -> None:
    """Raise ``InvalidRecord`` unless a file's columns are those of the task, which may lack what
    the task replaces."""
    check_record_names(task, names)
    needed = [feature.name for feature in task.features if feature.missing is None]
    if absent := [repr(name) for name in (*needed, task.label.name) if name not in names]:
        raise InvalidRecord(
            f"Missing fields {_some(absent)}: the file has no such columns. "
            "Nothing was drawn and nothing was sent."
        )


def check_opened_for(opened: OpenedRecord, task_id: str) -> None:
    """Raise ``InvalidRequest`` if a record was validated against another task or panel."""
    task = opened.task
    alike = {task.id} if task.panel is None else {each.id for each in task.waves}
    if task_id not in {task.whole_panel.id, *alike}:
        raise InvalidRequest(
            f"The record was validated against the task {opened.task.id[:16]}, and this is "
            f"{task_id[:16]}: validate it against the task that it answers. Nothing was sent."
        )


_said_in_development = False


def say_in_development(opened: OpenedRecord) -> None:
    """Print why a record does not fit, once a process, under Python's development mode
    (``python -X dev``)."""
    global _said_in_development  # noqa: PLW0603 - once a process
    if sys.flags.dev_mode and opened.findings and not _said_in_development:
        _said_in_development = True
        print(
            "\nPRIVET: THIS RECORD DOES NOT FIT THE TASK, and its report says so, perturbed:\n  "
            + "\n  ".join(printable(finding) for finding in opened.findings)
            + "\nCall validate(task, record) to see this before an answer spends epsilon.\n",
            file=sys.stderr,
        )


def _some(names: Iterable[str]) -> str:
    listed = [printable(name, 200) for name in names]
    return ", ".join(listed[:20]) + (" ..." if len(listed) > 20 else "")
