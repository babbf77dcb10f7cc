"""A file of many records: read line by line, each answered for a subject of its own."""

import csv
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from privet.http_client.address import TaskAddress
from privet.http_client.report_client import ReportClient
from privet.protocol.errors import InvalidRecord, PrivetError
from privet.protocol.features import encode_record
from privet.protocol.lifecycle import ReportState
from privet.protocol.spellings import read_record
from privet.protocol.task import Task

from ..explanation import stratum
from ..holder import Holder, check_dates, check_group_sizes, check_promise
from ..ledger import StoredAnswer
from .asking import agreed, explained
from .exits import (
    ANSWERED_BEFORE,
    EXIT_FAULT,
    EXIT_HELD,
    EXIT_KEPT,
    EXIT_REFUSED,
    STATUSES,
    decline,
    faults,
    status_of,
)
from .options import Device
from .output import print_json, say, state_in_words

AT_A_TIME = 48
"""Lines of a file that are answered at a time."""
FAULTS_LISTED = 5
FEW_MISFITS, SMALL_SHARE = 3, 0.1
"""Misfits tolerated with --yes: this many lines, or this share of the file."""
COLUMNS = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())


def answer_file(
    device: Device,
    url: str,
    path: Path,
    columns: tuple[str, str | None],
    *,
    yes: bool,
    send_misfits: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Answer a task for every line of a file; ``columns`` have subjects and invitations."""
    with faults():
        # before the curator hears from this device
        task_id = TaskAddress.parse(url, insecure_http=device.insecure_http).id
        lines = list(_read_lines(path, *columns))
    with faults(), device.holder("") as holder:
        task, _ = explained(holder, url, device.curator_key, printed=not as_json)
        check_promise(task)
        check_group_sizes(task, device.smallest_group)
        check_dates(task, time.time())
        lines = [line.read_as(task) for line in lines]
        _check_lines(task, lines, any_misfits=send_misfits or dry_run or not yes)
        if dry_run:
            say("Dry run: nothing was drawn and nothing was sent.")
        elif yes or agreed(None, f"{len(lines)} perturbed answers and send them"):
            _answer_lines(Site(device, task_id, url), lines, as_json=as_json)
        else:
            decline()


@dataclass(frozen=True)
class Line:
    """One line of a file: its number, its subject, and the fields of the record."""

    number: int
    subject: str
    fields: dict[str, Any]
    invitation: str | None

    def read_as(self, task: Task) -> "Line":
        """The same with the task's values in place of other spellings of them."""
        return replace(self, fields=read_record((*task.features, task.label), self.fields))


def _read_lines(path: Path, subject: str, invitation: str | None) -> Iterator[Line]:
    """The records of a CSV file; an empty cell is a missing value. Raises ``InvalidRecord``."""
    seen: dict[str, int] = {}
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = csv.DictReader(file)
            for name in filter(None, (subject, invitation)):
                if name not in (rows.fieldnames or ()):
                    raise InvalidRecord(f"{path} has no column {name!r}: see its first line.")
            for fields in rows:
                number = rows.line_num
                who = fields.pop(subject)
                code = None if invitation is None else fields.pop(invitation) or None
                if None in fields or None in fields.values() or not who:
                    raise InvalidRecord(f"Line {number} has too few or too many cells: mend it.")
                if who in seen:
                    raise InvalidRecord(
                        f"Lines {seen[who]} and {number} are about the same subject: keep one, as "
                        "each subject answers once."
                    )
                seen[who] = number
                yield Line(number, who, dict(fields), code)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidRecord(f"{path} cannot be read as CSV in UTF-8 ({error}).") from None


def _check_lines(task: Task, lines: Sequence[Line], *, any_misfits: bool) -> None:
    """Say which records do not fit; raises ``InvalidRecord`` if many, unless ``any_misfits``."""
    encoded = [(line, encode_record(task.features, task.label, line.fields)) for line in lines]
    if task.group_sizes and encoded:
        fewest = min(task.group_sizes[stratum(task, record)] for _, record in encoded)
        say(
            "Each report discloses what a dry run of its record shows; the smallest group "
            f"among them has {fewest} people expected."
        )
    misfits = [(line.number, e.misfit) for line, e in encoded if e.misfit is not None]
    for number, misfit in misfits[:FAULTS_LISTED]:
        say(f"Line {number}: {misfit}")
    if not misfits:
        say(f"{len(lines)} records fit.")
        return
    count = f"{len(misfits)} of {len(lines)} records do not fit"
    if not any_misfits and len(misfits) > max(FEW_MISFITS, SMALL_SHARE * len(lines)):
        raise InvalidRecord(
            f"{count}: mend the file, or send reports that say so, perturbed, with "
            "--send-misfits. Nothing was drawn and nothing was sent."
        )
    say(f"{count}; their reports say so, perturbed.")


@dataclass(frozen=True)
class Site:
    """One device that answers a task for many subjects, over shared connections."""

    device: Device
    task: str
    url: str

    def counted(self) -> set[str]:
        """The subjects whose answer to the task is counted."""
        answers = self.device.ledger.answers()
        return {entry.subject for entry in answers if entry.task == self.task and entry.counted}

    async def answer(
        self, lines: Sequence[Line], answered: Callable[[], object]
    ) -> dict[int, StoredAnswer | PrivetError]:
        """The outcome of each line, by its number; an error in one does not stop the others.

        ``answered`` is called after each line.
        """
        outcomes: dict[int, StoredAnswer | PrivetError] = {}
        turns = anyio.CapacityLimiter(AT_A_TIME)

        async def answer_one(http: ReportClient, line: Line) -> None:
            holder = Holder(
                http,
                self.device.ledger,
                line.subject,
                curator_key=self.device.curator_key,
                smallest_group=self.device.smallest_group,
            )
            async with turns:
                try:
                    outcome = await holder.answer(self.url, line.fields, line.invitation)
                    outcomes[line.number] = outcome
                except PrivetError as error:
                    outcomes[line.number] = error
                answered()

        client = ReportClient(insecure_http=self.device.insecure_http)
        async with client as http, anyio.create_task_group() as group:
            for line in lines:
                group.start_soon(answer_one, http, line)
        return outcomes

    def outcome(self, line: Line, outcome: StoredAnswer | PrivetError) -> tuple[str, int]:
        """The outcome of a line, as text and as an exit status."""
        if isinstance(outcome, StoredAnswer):
            return state_in_words(outcome), STATUSES[outcome.state]
        kept = self.device.ledger.find(line.subject, self.task)
        status = status_of(outcome, kept)
        if kept is None or status == EXIT_REFUSED:
            return outcome.detail, status
        return state_in_words(replace(kept, reason=outcome.detail)), status


def _answer_lines(site: Site, lines: Sequence[Line], *, as_json: bool) -> None:
    console, counted = Console(stderr=True), site.counted()
    asked = [line for line in lines if line.subject not in counted]
    with Progress(
        *COLUMNS, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        doing = bar.add_task("Lines answered", total=len(asked))
        outcomes = anyio.run(site.answer, asked, partial(bar.advance, doing))
    stated = [
        (line.number, ANSWERED_BEFORE, STATUSES[ReportState.COUNTED])
        if line.subject in counted
        else (line.number, *site.outcome(line, outcomes[line.number]))
        for line in lines
    ]
    if as_json:
        print_json([{"line": number, "outcome": what} for number, what, _ in stated])
    else:
        for what, count in Counter(what for _, what, _ in stated).most_common():
            say(f"{count} {'line' if count == 1 else 'lines'}: {what}")
    worst = {status for _, _, status in stated}
    for status in (EXIT_FAULT, EXIT_REFUSED, EXIT_KEPT, EXIT_HELD):
        if status in worst:
            raise typer.Exit(status)
