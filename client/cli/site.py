"""A file of many records: read line by line, each answered for a subject of its own."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from privet.protocol.errors import InvalidRecord, PrivetError
from privet.protocol.task import Task
from privet.protocol.wire import printable
from privet.tables.cells import Decimal, cell_value
from privet.tables.csv_reader import TextTable, read_csv
from privet.tables.text_format import Stated, UnreadableTable

from ..blocking import BlockingHolder
from ..clocks import check_clocks, check_dates
from ..explanation import stratum
from ..holder import check_group_sizes, check_promise
from ..ledger import Ledger, StoredAnswer
from ..opening import check_columns, validate
from .asking import agreed, explained
from .exits import decline, faults, status_of
from .options import Device
from .output import print_json, say
from .states import (
    ANSWER_STATES,
    EXIT_FAULT,
    EXIT_HELD,
    EXIT_KEPT,
    EXIT_LATER,
    EXIT_REFUSED,
    answered_before,
    state_in_words,
)

FAULTS_LISTED = 5
"""Faults listed before a person is asked; a dry run lists all."""
COLUMNS = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())


def answer_file(
    device: Device,
    url: str,
    path: Path,
    columns: tuple[str, str | None],
    stated: Stated,
    *,
    yes: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Answer a task for every line of a file; ``columns`` have subjects and invitations."""
    with faults():
        table, lines = _read_file(path, *columns, stated)
    with faults(), device.holder("") as holder:
        offer, _ = explained(holder, url, device.curator_key, printed=not as_json)
        task, now = offer.task, time.time()
        check_promise(task)
        check_group_sizes(task, device.smallest_group)
        check_clocks(now, offer.clock_ahead)
        check_dates(task, now, offer.clock_ahead)
        check_columns(task, [name for name in table.names if name not in columns])
        if not yes or dry_run:
            _show(table)
            _say_findings(task, lines, None if dry_run else FAULTS_LISTED)
        if dry_run:
            say("Dry run: nothing was drawn and nothing was sent.")
        elif yes or agreed((), f"{len(lines)} perturbed answers and send them"):
            _answer_lines(holder, url, task, lines, as_json=as_json)
        else:
            decline()


@dataclass(frozen=True)
class Line:
    """One line of a file: its number, its subject, and the fields of the record."""

    number: int
    subject: str
    fields: dict[str, Any]
    invitation: str | None
    decimal: Decimal


class Spelled(Mapping[str, Any]):
    """The record that a line stands for; a cell is read when the record is opened, not before."""

    def __init__(self, task: Task, cells: Mapping[str, Any], decimal: Decimal) -> None:
        self._fields = {field.name: field for field in (*task.features, task.label)}
        self._cells, self._decimal = cells, decimal

    def __getitem__(self, name: str) -> Any:
        return cell_value(self._fields[name], self._cells[name], self._decimal)

    def __iter__(self) -> Iterator[str]:
        return iter(self._cells)

    def __len__(self) -> int:
        return len(self._cells)


def _read_file(
    path: Path, subject: str, invitation: str | None, stated: Stated
) -> tuple[TextTable, list[Line]]:
    """A CSV file and its records; an empty cell is a missing value. Raises ``InvalidRecord``."""
    try:
        table = read_csv(path.read_bytes(), stated, of_records=True)
        for name in filter(None, (subject, invitation)):
            if name not in table.names:
                raise InvalidRecord(
                    f"{path} has no column {name!r}. Its columns are {', '.join(table.names)}."
                )
        return table, [*_read_lines(table, subject, invitation)]
    except OSError as error:
        raise InvalidRecord(f"{path} cannot be read: {error.strerror}.") from None
    except UnreadableTable as error:
        raise InvalidRecord(f"{path} cannot be read. {error}") from None


def _read_lines(table: TextTable, subject: str, invitation: str | None) -> Iterator[Line]:
    seen: dict[str, int] = {}
    for number, cells in table.rows():
        fields: dict[str, Any] = dict(zip(table.names, cells, strict=True))
        who = fields.pop(subject)
        code = None if invitation is None else fields.pop(invitation) or None
        if not who:
            raise InvalidRecord(f"Line {number} has no subject: correct it.")
        if who in seen:
            raise InvalidRecord(
                f"Lines {seen[who]} and {number} are about the same subject: keep one, as "
                "each subject answers once."
            )
        seen[who] = number
        yield Line(number, who, fields, code, table.format.decimal)


def _show(table: TextTable) -> None:
    """Print how a file was read, with its first records, for a person to confirm."""
    listing = Table(*map(escape, table.names), title=table.format.in_words(), title_justify="left")
    for cells in table.first_rows():
        listing.add_row(*map(escape, map(printable, cells)))
    Console(stderr=True).print(listing)


def _say_findings(task: Task, lines: Sequence[Line], listed: int | None) -> None:
    """Print which records do not fit, for a person who then decides; at most ``listed`` one by
    one."""
    opened = [
        (line.number, validate(task, Spelled(task, line.fields, line.decimal))) for line in lines
    ]
    if task.group_sizes and opened:
        fewest = min(task.group_sizes[stratum(task, record.encoded)] for _, record in opened)
        say(
            "Each report discloses what a dry run of its record shows; the smallest group "
            f"among them has {fewest} people expected."
        )
    misfits = [(number, record.findings) for number, record in opened if record.findings]
    for number, findings in misfits[:listed]:
        say(f"Line {number}: {' '.join(findings)}")
    if misfits:
        say(f"{_unfit(len(misfits), len(lines))}: their reports say so, perturbed.")
    else:
        say(f"{len(lines)} records fit.")


def _unfit(misfits: int, lines: int) -> str:
    return f"{misfits} of {lines} records do{'es' * (misfits == 1)} not fit"


def _answer_lines(
    holder: BlockingHolder, url: str, task: Task, lines: Sequence[Line], *, as_json: bool
) -> None:
    console, ledger = Console(stderr=True), holder.ledger
    ids = _answered_ids(task, time.time())
    earlier = {each.subject: each for each in ledger.answers() if each.task in ids and each.counted}
    records = {line.subject: Spelled(task, line.fields, line.decimal) for line in lines}
    invitations = {line.subject: line.invitation for line in lines if line.invitation is not None}
    with Progress(
        *COLUMNS, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        doing = bar.add_task("Lines answered", total=len(lines))
        advance = partial(bar.advance, doing)
        outcomes = holder.answer_all(url, records, invitations, answered=advance)
    stated = [
        (line.number, answered_before(before), ANSWER_STATES[before.state].status)
        if (before := earlier.get(line.subject)) is not None
        else (line.number, *_outcome(ledger, ids, line, outcomes[line.subject]))
        for line in lines
    ]
    misfits = sum(isinstance(o, StoredAnswer) and o.misfit is not None for o in outcomes.values())
    if misfits:
        say(
            f"{_unfit(misfits, len(lines))}, and their reports say so, perturbed: "
            "--dry-run shows why."
        )
    if as_json:
        print_json([{"line": number, "outcome": what} for number, what, _ in stated])
    else:
        for what, count in Counter(what for _, what, _ in stated).most_common():
            say(f"{count} {'line' if count == 1 else 'lines'}: {what}")
    worst = {status for _, _, status in stated}
    for status in (EXIT_FAULT, EXIT_REFUSED, EXIT_KEPT, EXIT_HELD, EXIT_LATER):
        if status in worst:
            raise typer.Exit(status)


def _answered_ids(task: Task, now: float) -> set[str]:
    """The ids of tasks of which an answer is one to ``task``: of a panel the waves, if a subject
    answers one of them, else the one that is open."""
    if task.panel is None:
        return {task.id}
    if task.panel.mode == "rotate":
        return {wave.id for wave in task.waves}
    number = task.panel.at(now)
    return set() if number is None else {task.wave_task(number).id}


def _outcome(
    ledger: Ledger, ids: set[str], line: Line, outcome: StoredAnswer | PrivetError
) -> tuple[str, int]:
    """The outcome of a line, as text and as an exit status."""
    if isinstance(outcome, StoredAnswer):
        return state_in_words(outcome), ANSWER_STATES[outcome.state].status
    kept = next((each for each in ledger.answers(line.subject) if each.task in ids), None)
    status = status_of(outcome, kept)
    if kept is None or status == EXIT_REFUSED:
        return outcome.detail, status
    return state_in_words(replace(kept, reason=outcome.detail)), status
