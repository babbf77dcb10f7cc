"""``privet-holder``: see what a task asks, answer it privately, keep track of epsilon.

Exit status: 0 done; 1 the record, the task or the curator is at fault, or an answer was refused; 2
wrong usage; 3 this holder refuses, to protect its record; 4 the answer is kept but nobody has taken
it, so resend it; 5 a relay holds the answer and has not delivered it yet, so ask again with resend.
"""

import csv
import json
import sys
import time
import webbrowser
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NoReturn

import anyio
import typer
from anyio import CapacityLimiter, create_task_group
from rich.console import Console, Group
from rich.panel import Panel
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from privet import page as answer_page
from privet.http_client.address import TaskAddress
from privet.http_client.errors import UnsafeAddress
from privet.http_client.report_client import ReportClient, Retry, printable
from privet.protocol.errors import InvalidRecord, PrivetError, TaskMismatch
from privet.protocol.features import EncodedRecord, encode_record
from privet.protocol.limits import SMALLEST_GROUP
from privet.protocol.signature import parse_key
from privet.protocol.spellings import read_record
from privet.protocol.task import Task

from .answer_page import PORT, answer_page_server
from .blocking import BlockingHolder
from .errors import BudgetSpent, HolderError, TaskRefused
from .explanation import Explanation, disclosure, odds, stratum, surest
from .holder import Holder, check_dates, check_group_sizes, check_promise
from .ledger import Caps, ReportState, SqliteLedger, StoredAnswer
from .pinning import signed_by

EXIT_FAULT, EXIT_REFUSED, EXIT_KEPT, EXIT_HELD = 1, 3, 4, 5
REFUSALS = (BudgetSpent, TaskRefused, UnsafeAddress)
STATUSES = {
    ReportState.REFUSED: EXIT_FAULT,
    ReportState.DRAWN: EXIT_KEPT,
    ReportState.HELD: EXIT_HELD,
    ReportState.COUNTED: 0,
}
"""What an answer's state means for the exit status, the worst first."""
LONGEST_LIST = 40
"""Lines of one section that are shown."""
AT_A_TIME = 48
"""Lines of a file that are answered at a time."""
FAULTS_LISTED = 5
FEW_MISFITS, SMALL_SHARE = 3, 0.1
"""As many lines, or such a share of a file, may not fit and be sent without asking."""
ANSWERED_BEFORE = "answered before and counted"
KEPT_HINT = "\nThe answer is kept: run `privet-holder resend` later."
UNVERIFIED = "said to be counted by the relay, not shown"
ASKING = "Waiting for the curator ..."
COLUMNS = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
MAX_RECORD_BYTES = 16 * 2**20

TaskUrl = Annotated[str, typer.Argument(metavar="TASK-URL", help="Where the task is published.")]
Subject = Annotated[
    str, typer.Option(help="Whom the record is about; epsilon adds up per subject.")
]
LedgerPath = Annotated[
    Path | None,
    typer.Option(
        envvar="PRIVET_HOLDER_LEDGER",
        help="The file that keeps answers and epsilon; by default in your data folder.",
    ),
]
CuratorKey = Annotated[
    str | None,
    typer.Option(
        envvar="PRIVET_HOLDER_CURATOR_KEY",
        help="Answer only tasks signed with this key of the curator's, 64 hexadecimal digits.",
    ),
]
SmallestGroup = Annotated[
    int,
    typer.Option(
        min=0,
        envvar="PRIVET_HOLDER_SMALLEST_GROUP",
        help="For tasks that disclose columns: the fewest people that may be expected in a "
        "stratum.",
    ),
]
Insecure = Annotated[
    bool, typer.Option("--insecure-http", help="Allow plain http to other machines.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]

app = typer.Typer(help=__doc__, no_args_is_help=True, pretty_exceptions_enable=False)


@app.command(epilog="Example: privet-holder show https://curator.example/v1/tasks/c463082017fb")
def show(
    url: TaskUrl,
    curator_key: CuratorKey = None,
    insecure_http: Insecure = False,
    as_json: Json = False,
) -> None:
    """Fetch a task, check it, and say in plain words what answering would mean."""
    made = _open_holder(None, "me", insecure_http, curator_key)
    with _faults(), made as holder:
        with Console(stderr=True).status(ASKING):
            offer = holder.offer(url)
        explanation = holder.explain(offer.task, signed_by(offer, curator_key))
    if as_json:
        _print_json(asdict(explanation))
    else:
        _print_explanation(explanation)


@app.command(
    epilog="Example: privet-holder answer https://curator.example/v1/tasks/c463082017fb "
    "--record docs/examples/patient.json"
)
def answer(
    url: TaskUrl,
    *,
    record: Annotated[
        Path | None,
        typer.Option(help="A JSON object by feature name, label included; - reads stdin."),
    ] = None,
    csv_file: Annotated[
        Path | None, typer.Option("--csv", help="CSV file with a record per line, for a site.")
    ] = None,
    subject_column: Annotated[
        str | None, typer.Option(help="With --csv: the column that says whom a line is about.")
    ] = None,
    invitation_column: Annotated[
        str | None, typer.Option(help="With --csv: the column of invitations.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Send without asking.")] = False,
    send_misfits: Annotated[
        bool,
        typer.Option("--send-misfits", help="With --csv --yes: even if many lines do not fit."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check everything; draw and send nothing.")
    ] = False,
    invitation: Annotated[
        str | None,
        typer.Option(envvar="PRIVET_INVITATION", help="For tasks that count invited reports only."),
    ] = None,
    smallest_group: SmallestGroup = SMALLEST_GROUP,
    subject: Subject = "me",
    ledger: LedgerPath = None,
    curator_key: CuratorKey = None,
    insecure_http: Insecure = False,
    as_json: Json = False,
) -> None:
    """Explain a task, ask, then perturb the record and send the one report.

    A record that does not fit the task is reported as that: before anything is sent you are told
    why, and may mend it instead. If the task discloses columns, you are told what your report would
    say openly. With --yes the report is sent at once, as for any record. With
    --csv each line of a file is a record of its own subject, and gets a report of its own; a file
    of which many lines do not fit is not sent with --yes alone.
    """
    if (record is None) == (csv_file is None) or (csv_file is None) != (subject_column is None):
        raise typer.BadParameter("give either --record, or --csv with --subject-column")
    columns = (str(subject_column), invitation_column)
    book = SqliteLedger(ledger)
    with _faults():
        # before the curator hears from this device
        task_id = TaskAddress.parse(url, insecure_http=insecure_http).id
        find = (lambda: None) if record is None else partial(book.find, subject, task_id)
        earlier = find()
        fields = _read(record) if record is not None and earlier is None else {}
        lines = [] if csv_file is None else list(_lines(csv_file, *columns))
    if earlier is not None and earlier.counted and not dry_run:
        _done(earlier, earlier, as_json)
    opened = _open_holder(
        ledger, subject, insecure_http, curator_key, smallest_group=smallest_group
    )
    with _faults(), opened as holder, _faults(find):
        with Console(stderr=True).status(ASKING):
            offer = holder.offer(url)
        task = offer.task
        explanation = holder.explain(task, signed_by(offer, curator_key))
        if not as_json:
            _print_explanation(explanation)
        if csv_file is not None:
            check_promise(task)
            check_group_sizes(task, smallest_group)
            check_dates(task, time.time())
            lines = [line.read_as(task) for line in lines]
            _check_lines(task, lines, any_misfits=send_misfits or dry_run or not yes)
            if dry_run:
                _say("Dry run: nothing was drawn and nothing was sent.")
            elif yes or _agreed(None, f"{len(lines)} perturbed answers and send them"):
                site = Site(book, task.id, url, insecure_http, curator_key, smallest_group)
                _answer_lines(site, lines, as_json=as_json)
            else:
                _decline()
        elif dry_run:
            encoded = _encoded(holder, task, fields) if earlier is None else None
            _dry_run(explanation, earlier, task, encoded, as_json)
        elif yes or earlier is not None or _agreed_to(task, _encoded(holder, task, fields)):
            with Console(stderr=True).status("Answering ..."):
                answered = holder.answer(url, fields, invitation)
            if (yes or earlier is not None) and answered.disclosed and not as_json:
                _say(answered.disclosed)
            _done(answered, earlier, as_json)
        else:
            _decline()


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


@dataclass(frozen=True)
class Site:
    """One device that answers a task for many subjects, over shared connections."""

    ledger: SqliteLedger
    task: str
    url: str
    insecure_http: bool
    curator_key: str | None
    smallest_group: int

    def counted(self) -> set[str]:
        """The subjects whose answer to the task is counted."""
        answers = self.ledger.answers()
        return {entry.subject for entry in answers if entry.task == self.task and entry.counted}

    async def answer(
        self, lines: Sequence[Line], answered: Callable[[], object]
    ) -> dict[int, StoredAnswer | PrivetError]:
        """What became of each line, by its number; a fault of one does not hold up the others.

        ``answered`` is called after each line.
        """
        outcomes: dict[int, StoredAnswer | PrivetError] = {}
        turns = CapacityLimiter(AT_A_TIME)

        async def answer_one(http: ReportClient, line: Line) -> None:
            holder = Holder(
                http,
                self.ledger,
                line.subject,
                curator_key=self.curator_key,
                smallest_group=self.smallest_group,
            )
            async with turns:
                try:
                    outcome = await holder.answer(self.url, line.fields, line.invitation)
                    outcomes[line.number] = outcome
                except PrivetError as error:
                    outcomes[line.number] = error
                answered()

        async with ReportClient(insecure_http=self.insecure_http) as http, create_task_group() as g:
            for line in lines:
                g.start_soon(answer_one, http, line)
        return outcomes

    def outcome(self, line: Line, outcome: StoredAnswer | PrivetError) -> tuple[str, int]:
        """What became of a line, in words and as an exit status."""
        if isinstance(outcome, StoredAnswer):
            return _state(outcome), STATUSES[outcome.state]
        kept = self.ledger.find(line.subject, self.task)
        status = _status(outcome, kept)
        if kept is None or status == EXIT_REFUSED:
            return outcome.detail, status
        return _state(replace(kept, reason=outcome.detail)), status


def _check_lines(task: Task, lines: Sequence[Line], *, any_misfits: bool) -> None:
    """Say which records do not fit; raises ``InvalidRecord`` if many, unless ``any_misfits``."""
    encoded = [(line, encode_record(task.features, task.label, line.fields)) for line in lines]
    if task.group_sizes and encoded:
        fewest = min(task.group_sizes[stratum(task, record)] for _, record in encoded)
        _say(
            "Each report says openly what a dry run of its record alone shows; the smallest group "
            f"among them has {fewest} people expected."
        )
    misfits = [(line.number, e.misfit) for line, e in encoded if e.misfit is not None]
    for number, misfit in misfits[:FAULTS_LISTED]:
        _say(f"Line {number}: {misfit}")
    if not misfits:
        _say(f"{len(lines)} records fit.")
        return
    count = f"{len(misfits)} of {len(lines)} records do not fit"
    if not any_misfits and len(misfits) > max(FEW_MISFITS, SMALL_SHARE * len(lines)):
        raise InvalidRecord(
            f"{count}: mend the file, or send reports that say so, perturbed, with "
            "--send-misfits. Nothing was drawn and nothing was sent."
        )
    _say(f"{count}; their reports say so, perturbed.")


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
        _print_json([{"line": number, "outcome": what} for number, what, _ in stated])
    else:
        for what, count in Counter(what for _, what, _ in stated).most_common():
            _say(f"{count} {'line' if count == 1 else 'lines'}: {what}")
    worst = {status for _, _, status in stated}
    for status in (EXIT_FAULT, EXIT_REFUSED, EXIT_KEPT, EXIT_HELD):
        if status in worst:
            raise typer.Exit(status)


def _lines(path: Path, subject: str, invitation: str | None) -> Iterator[Line]:
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


@app.command(epilog="Example: privet-holder budget")
def budget(
    subject: Subject = "me",
    ledger: LedgerPath = None,
    insecure_http: Insecure = False,
    as_json: Json = False,
) -> None:
    """List what a subject has answered and the epsilon that is left; relays are asked."""
    with _faults():
        book, now = SqliteLedger(ledger), time.time()
        if any(entry.state is ReportState.HELD for entry in book.answers(subject)):
            with _open_holder(ledger, subject, insecure_http, retry=Retry(attempts=1)) as asks:
                with Console(stderr=True).status("Asking relays ..."):
                    faults = asks.ask_relays()
                for fault in faults:
                    _say(fault)
        answers, caps = book.answers(subject), book.caps(subject)
        spent, in_year = book.spent(subject), book.spent(subject, now)
    if as_json:
        listed = [_answer_json(a) for a in answers]
        sums = {"spent": spent, "spent_in_year": in_year, "caps": asdict(caps)}
        _print_json({"subject": subject, **sums, "answers": listed})
    else:
        _print_answers(answers)
        left = max(caps.year - in_year, 0)
        print(f"Spent {in_year:g} of epsilon {caps.year:g} within a year; {left:g} left.")
        print(f"In all {spent:g}; one task may cost {caps.task:g}.")


@app.command(epilog="Example: privet-holder cap --task 1 --year 2")
def cap(
    subject: Subject = "me",
    task: Annotated[
        float | None, typer.Option(min=0.0, help="Most epsilon for one task, from now on.")
    ] = None,
    year: Annotated[
        float | None, typer.Option(min=0.0, help="Most epsilon within 365 days, from now on.")
    ] = None,
    ledger: LedgerPath = None,
    as_json: Json = False,
) -> None:
    """Show what a subject may spend, or change it; the ledger keeps it."""
    with _faults():
        book = SqliteLedger(ledger)
        caps = book.caps(subject)
        if task is not None or year is not None:
            caps = Caps(caps.task if task is None else task, caps.year if year is None else year)
            book.set_caps(subject, caps)
    if as_json:
        _print_json({"subject": subject, "caps": asdict(caps)})
        return
    table = Table("within", "epsilon", "change at most", "even odds become at most")
    table.title = "The odds of two records, after all answers"
    for name, most in (("one task", caps.task), ("a year", caps.year)):
        table.add_row(name, f"{most:g}", f"{odds(most)} times", f"{surest(most):.1%}")
    Console().print(table)


@app.command(epilog="Example: privet-holder resend")
def resend(
    subject: Subject = "me",
    ledger: LedgerPath = None,
    curator_key: CuratorKey = None,
    insecure_http: Insecure = False,
    as_json: Json = False,
) -> None:
    """Ask relays what became of answers, and send again what nobody has; spends nothing."""
    opened = _open_holder(ledger, subject, insecure_http, curator_key)
    with _faults(), opened as holder, Console(stderr=True).status("Asking and sending ..."):
        outcomes = holder.resend()
    if as_json:
        _print_json([_answer_json(outcome) for outcome in outcomes])
    for outcome in [] if as_json else outcomes:
        _say(f"{outcome.task[:16]}: {_state(outcome)}")
    if not (outcomes or as_json):
        _say("Every answer has been counted.")
    states = {outcome.state for outcome in outcomes}
    for state, status in STATUSES.items():
        if state in states:
            raise typer.Exit(status)


@app.command(
    epilog="Example: privet-holder check --curator-key "
    "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
)
def check(
    curator_key: CuratorKey = None,
    subject: Subject = "me",
    ledger: LedgerPath = None,
    insecure_http: Insecure = False,
    as_json: Json = False,
) -> None:
    """Ask for the curator's signed word that answers count, in place of a relay's word."""
    if curator_key is None:
        raise typer.BadParameter("give the curator's key with --curator-key")
    with _faults(), _open_holder(ledger, subject, insecure_http) as holder:
        with Console(stderr=True).status("Asking ..."):
            faults = holder.ask_relays()
            verified = holder.show_counted(curator_key)
        answers = [answer for answer in holder.ledger.answers(subject) if answer.report]
    if as_json:
        _print_json([{**_answer_json(a), "verified": verified.get(a.task, False)} for a in answers])
    else:
        for fault in faults:
            _say(fault)
        for answer in answers:
            said = UNVERIFIED if verified.get(answer.task) is False else _state(answer)
            _say(f"{answer.task[:16]}: {said}")
    if not all(verified.values()):
        raise typer.Exit(EXIT_FAULT)


@app.command(epilog="Example: privet-holder page https://curator.example/v1/tasks/c463082017fb")
def page(
    url: TaskUrl,
    curator_key: CuratorKey = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to serve it at; 0 takes a free one.")
    ] = PORT,
    export: Annotated[
        Path | None,
        typer.Option(
            file_okay=False, help="Write the page as static files into this folder instead."
        ),
    ] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Do not open a browser; only print the address.")
    ] = False,
) -> None:
    """Answer in a browser, on a page that this machine serves and not the curator.

    Ends with Ctrl-C. The page keeps a ledger of its own, in the browser.
    """
    with _faults():
        task_url = TaskAddress.parse(url).url
        key = "" if curator_key is None else parse_key(curator_key).hex()
        if export is not None:
            _export(export, task_url, key)
            return
        with answer_page_server(task_url, key, port) as server:
            address = "http://{}:{}/".format(*server.server_address)
            print(f"Answer at {address} and end this with Ctrl-C.", flush=True)
            if not no_browser:
                webbrowser.open(address)
            with suppress(KeyboardInterrupt):
                server.serve_forever()


def _export(folder: Path, task_url: str, curator_key: str) -> None:
    """Write the page's files, and print the hash by which they can be compared."""
    files, digest = answer_page.export(task_url, curator_key)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / name).write_bytes(content)
    except OSError as error:
        raise HolderError(f"{folder} cannot be written: {error.strerror}.") from None
    size = sum(map(len, files.values()))
    print(f"{len(files)} files, {size} bytes in all, for any static host with https: {folder}")
    print(f"SHA-256 of {answer_page.SUMS}: {digest}")


def main() -> None:
    app()


def _open_holder(
    ledger: Path | None,
    subject: str,
    insecure_http: bool,
    curator_key: str | None = None,
    retry: Retry | None = None,
    smallest_group: int = SMALLEST_GROUP,
) -> BlockingHolder:
    return BlockingHolder(
        SqliteLedger(ledger),
        subject,
        connect=lambda: ReportClient(insecure_http=insecure_http, retry=retry),
        curator_key=curator_key,
        smallest_group=smallest_group,
    )


def _encoded(holder: BlockingHolder, task: Task, fields: dict[str, Any]) -> EncodedRecord:
    """The record, looked at only after the task was checked."""
    holder.check(task)
    return encode_record(task.features, task.label, fields)


def _read(path: Path) -> dict[str, Any]:
    """The record's fields; raises ``InvalidRecord`` without repeating what was read."""
    try:
        with sys.stdin.buffer if str(path) == "-" else path.open("rb") as file:
            text = file.read(MAX_RECORD_BYTES + 1)
    except OSError as error:
        raise InvalidRecord(f"{path} cannot be read: {error.strerror}.") from None
    try:
        fields = json.loads(text) if len(text) <= MAX_RECORD_BYTES else None
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise InvalidRecord(f"{path} must hold one JSON object: a value for every feature's name.")
    return fields


def _agreed(misfit: str | None, what: str = "a perturbed answer and send it") -> bool:
    if misfit is not None:
        _say(
            f"The record does not fit. {misfit}\nMend it and run this again; or send a report, "
            "which then says, perturbed like every other, that the record does not fit. If no "
            "report follows at all, the curator may notice."
        )
    try:
        return typer.confirm(f"Draw {what}?", err=True)
    except typer.Abort:
        return False


def _agreed_to(task: Task, encoded: EncodedRecord) -> bool:
    if openly := disclosure(task, encoded):
        _say(openly)
    return _agreed(encoded.misfit)


def _dry_run(
    explanation: Explanation,
    earlier: StoredAnswer | None,
    task: Task,
    encoded: EncodedRecord | None,
    as_json: bool,
) -> None:
    misfit = None if encoded is None else encoded.misfit
    openly = "" if encoded is None else disclosure(task, encoded)
    if openly and not as_json:
        _say(openly)
    if as_json:
        told = {"answered": earlier is not None, "dry_run": True, "misfit": misfit}
        _print_json({**asdict(explanation), **told, "disclosed": openly})
    elif earlier is not None:
        _say(f"Answered before ({_state(earlier)}). Dry run: nothing was sent.")
    else:
        verdict = "fits." if misfit is None else f"does not fit. {misfit}"
        _say(f"The record {verdict} Dry run: nothing was drawn and nothing was sent.")
    if misfit is not None:
        raise typer.Exit(EXIT_FAULT)


def _done(answered: StoredAnswer, earlier: StoredAnswer | None, as_json: bool) -> NoReturn:
    if answered.misfit is not None:
        _say(f"The record does not fit, and the report says so, perturbed. {answered.misfit}")
    if as_json:
        _print_json({**_answer_json(answered), "misfit": answered.misfit})
    elif earlier is not None and earlier.counted:
        before = f"{ANSWERED_BEFORE.capitalize()}: nothing was sent, and no epsilon was spent."
        _say(f"{before} {earlier.disclosed}".rstrip())
    else:
        left = f"{len(answered.report)} bytes left this device; epsilon {answered.epsilon:g}."
        state = _state(answered)
        _say(f"{state[0].upper()}{state[1:]}. {left}")
    raise typer.Exit(STATUSES[answered.state])


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=2))


def _print_explanation(explanation: Explanation) -> None:
    """The explanation as a panel; text from the task is never read as markup."""
    parts = [Text(explanation.description.strip())] if explanation.description.strip() else []
    parts += (
        _section("Who asks, as they say", list(explanation.asked_by))
        if explanation.asked_by
        else []
    )
    sent = "sent only as said below" if explanation.discloses else "never sent"
    parts += _section(f"Read on this device, and {sent}", [*explanation.reads, explanation.label])
    parts += _section("Computed on this device", list(explanation.computes))
    parts += _section("Said openly", list(explanation.discloses)) if explanation.discloses else []
    parts += _section("Sent", [explanation.sends])
    parts += _section("What that tells about you", [explanation.means])
    parts += (
        _section("Who signed this task", [explanation.signed_by]) if explanation.signed_by else []
    )
    Console().print(
        Panel(Group(*parts), title=Text(explanation.name), subtitle=Text(explanation.task[:16]))
    )


def _section(title: str, lines: list[str]) -> list[Text]:
    listed = [f"  {printable(line)}" for line in lines[:LONGEST_LIST]]
    if len(lines) > LONGEST_LIST:
        listed.append(f"  and {len(lines) - LONGEST_LIST} more, which --json lists")
    return [Text(f"\n{title}", style="bold"), *map(Text, listed)]


def _answer_json(answer: StoredAnswer) -> dict[str, Any]:
    """An answer without its bytes."""
    return {
        "subject": answer.subject,
        "task": answer.task,
        "url": answer.url,
        "epsilon": answer.epsilon,
        "report": answer.report_id,
        "bytes": len(answer.report),
        "drawn": answer.drawn,
        "state": answer.state,
        "reason": answer.reason,
        "disclosed": answer.disclosed,
    }


def _print_answers(answers: list[StoredAnswer]) -> None:
    console = Console()
    table = Table("drawn", "task", "epsilon", "state")
    for answer in answers:
        drawn = datetime.fromtimestamp(answer.drawn, tz=UTC).strftime("%Y-%m-%d %H:%M UTC")
        table.add_row(drawn, answer.task[:16], f"{answer.epsilon:g}", Text(_state(answer)))
    if answers:
        console.print(table)
    for answer in answers:
        if answer.disclosed:
            console.print(Text(f"{answer.task[:16]}: {answer.disclosed}"))


def _state(answer: StoredAnswer) -> str:
    if answer.counted:
        return "counted"
    if answer.state is ReportState.HELD:
        return "held by a relay, not counted yet: privet-holder resend asks what became of it"
    if answer.state is ReportState.REFUSED:
        return f"refused: {printable(answer.reason or 'without a reason', 200)}"
    return f"kept, not counted: {printable(answer.reason or 'never sent', 200)}"


def _say(sentence: str) -> None:
    Console(stderr=True, soft_wrap=True).print(Text(printable(sentence)))


def _decline() -> NoReturn:
    _say("Nothing was drawn and nothing was sent.")
    raise typer.Exit(EXIT_FAULT)


@contextmanager
def _faults(find: Callable[[], StoredAnswer | None] = lambda: None) -> Iterator[None]:
    """Turn a ``PrivetError`` into one sentence and an exit status; ``find`` asks the ledger."""
    try:
        yield
    except PrivetError as error:
        status = _status(error, find())
        _say(error.detail + (KEPT_HINT if status == EXIT_KEPT else ""))
        raise typer.Exit(status) from None


def _status(error: PrivetError, kept: StoredAnswer | None) -> int:
    """The exit status after an error: a kept answer's, unless it is this holder that refuses."""
    if isinstance(error, REFUSALS) or (kept is None and isinstance(error, TaskMismatch)):
        return EXIT_REFUSED
    return EXIT_FAULT if kept is None else STATUSES[kept.state]
