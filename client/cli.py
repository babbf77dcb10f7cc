"""``privet-holder``: see what a task asks, answer it privately, keep track of epsilon.

Exit status: 0 done; 1 the record, the task or the curator is at fault; 2 wrong usage; 3 this
holder refuses, to protect its record; 4 the answer is kept but not counted yet, so resend it.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from privet.client.blocking import BlockingHolder
from privet.client.explanation import Explanation
from privet.client.ledger import DEFAULT_CAP, Answer
from privet.client.options import Cap, CuratorKey, Insecure, Json, LedgerPath, Subject, TaskUrl
from privet.client.show import answer_json, show_answers, show_explanation, show_json, state
from privet.client.sqlite_ledger import SqliteLedger
from privet.protocol.errors import (
    InvalidRecord,
    Overloaded,
    PrivetError,
    StorageFailed,
    TaskMismatch,
)
from privet.protocol.report import encode_labelled
from privet.protocol.task import Task
from privet.transport.curator_client import ReportClient
from privet.transport.errors import BudgetSpent, CuratorUnreachable, TaskRefused, UnsafeAddress
from privet.transport.text import plain

FAULT, REFUSED, KEPT = 1, 3, 4
REFUSALS = (BudgetSpent, TaskRefused, TaskMismatch, UnsafeAddress)
POSTPONED = (CuratorUnreachable, Overloaded, StorageFailed)
MAX_RECORD_BYTES = 16 * 2**20

app = typer.Typer(
    help=__doc__, no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False
)


@app.command()
def show(
    url: TaskUrl,
    curator_key: CuratorKey = None,
    insecure_http: Insecure = False,
    as_json: Json = False,
) -> None:
    """Fetch a task, check it, and say in plain words what answering would mean."""
    made = _holder(None, "me", DEFAULT_CAP, insecure_http, curator_key)
    with _faults(drawn=False), made as holder:
        offer = holder.offer(url)
        told = holder.explain(offer.task, offer.words(curator_key))
    _tell(told, as_json)


@app.command()
def answer(
    url: TaskUrl,
    *,
    record: Annotated[
        Path, typer.Option(help="A JSON object by feature name, label included; - reads stdin.")
    ],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Send without asking.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check everything; draw and send nothing.")
    ] = False,
    invitation: Annotated[
        str | None,
        typer.Option(envvar="PRIVET_INVITATION", help="For tasks that count invited reports only."),
    ] = None,
    subject: Subject = "me",
    cap: Cap = DEFAULT_CAP,
    ledger: LedgerPath = None,
    curator_key: CuratorKey = None,
    insecure_http: Insecure = False,
    as_json: Json = False,
) -> None:
    """Explain a task, ask, then perturb the record and send the one report."""
    with _faults(), _holder(ledger, subject, cap, insecure_http, curator_key) as holder:
        with _faults(drawn=False):
            offer = holder.offer(url)
        task = offer.task
        earlier = holder.ledger.find(subject, task.id)
        told = holder.explain(task, offer.words(curator_key))
        if not as_json:
            _tell(told, as_json)
        fields = _fitting(holder, task, record) if earlier is None else {}
        if dry_run:
            _dry(told, earlier, as_json)
        elif yes or earlier is not None or _agreed():
            _done(holder.answer(url, fields, invitation), earlier, as_json)
        else:
            _say("Nothing was drawn and nothing was sent.")
            raise typer.Exit(FAULT)


@app.command()
def budget(
    subject: Subject = "me",
    cap: Cap = DEFAULT_CAP,
    ledger: LedgerPath = None,
    as_json: Json = False,
) -> None:
    """List what a subject has answered and the epsilon that is left."""
    with _faults():
        kept = SqliteLedger(ledger, cap)
        answers, spent = kept.answers(subject), kept.spent(subject)
    if as_json:
        listed = [answer_json(a) for a in answers]
        show_json({"subject": subject, "spent": spent, "cap": cap, "answers": listed})
    else:
        show_answers(Console(), answers, spent, cap)


@app.command()
def resend(
    subject: Subject = "me",
    ledger: LedgerPath = None,
    insecure_http: Insecure = False,
    as_json: Json = False,
) -> None:
    """Send again, byte for byte, every answer that was never counted; spends nothing."""
    with _faults(), _holder(ledger, subject, DEFAULT_CAP, insecure_http) as holder:
        outcomes = holder.resend()
    if as_json:
        show_json([answer_json(outcome) for outcome in outcomes])
    for outcome in [] if as_json else outcomes:
        _say(f"{outcome.task[:16]}: {state(outcome)}")
    if not (outcomes or as_json):
        _say("Every answer has been counted.")
    if any(not outcome.counted for outcome in outcomes):
        raise typer.Exit(KEPT)


def main() -> None:
    """The console script."""
    app()


def _holder(
    ledger: Path | None,
    subject: str,
    cap: float,
    insecure_http: bool,
    curator_key: str | None = None,
) -> BlockingHolder:
    return BlockingHolder(
        SqliteLedger(ledger, cap),
        subject,
        connect=lambda: ReportClient(insecure_http=insecure_http),
        curator_key=curator_key,
    )


def _fitting(holder: BlockingHolder, task: Task, path: Path) -> dict[str, Any]:
    """The record, looked at only after the task was checked, and known to fit it."""
    holder.check(task)
    fields = _read(path)
    encode_labelled(task, fields)
    return fields


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


def _agreed() -> bool:
    try:
        return typer.confirm("Draw a perturbed answer and send it?", err=True)
    except typer.Abort:
        return False


def _tell(told: Explanation, as_json: bool) -> None:
    if as_json:
        show_json(told.to_json())
    else:
        show_explanation(Console(), told)


def _dry(told: Explanation, earlier: Answer | None, as_json: bool) -> None:
    if as_json:
        show_json({**told.to_json(), "answered": earlier is not None, "dry_run": True})
    elif earlier is not None:
        _say(f"Answered before ({state(earlier)}). Dry run: nothing was sent.")
    else:
        _say("The record fits. Dry run: nothing was drawn and nothing was sent.")


def _done(answered: Answer, earlier: Answer | None, as_json: bool) -> None:
    if as_json:
        show_json(answer_json(answered))
    elif earlier is not None and earlier.counted:
        _say("Answered before and counted: nothing was sent, and no epsilon was spent.")
    else:
        _say(
            f"Counted. {len(answered.report)} bytes left this device; epsilon {answered.epsilon:g}."
        )


def _say(sentence: str) -> None:
    Console(stderr=True, soft_wrap=True).print(Text(plain(sentence)))


@contextmanager
def _faults(*, drawn: bool = True) -> Iterator[None]:
    """Turn a foreseeable fault into one sentence and an exit status.

    Where an answer may have been ``drawn``, a fault that will pass means that it is kept.
    """
    try:
        yield
    except PrivetError as error:
        kept = drawn and isinstance(error, POSTPONED)
        _say(f"{error.detail}" + (_KEPT_HINT if kept else ""))
        raise typer.Exit(
            KEPT if kept else REFUSED if isinstance(error, REFUSALS) else FAULT
        ) from None


_KEPT_HINT = "\nIf the answer was drawn already, it is kept: run `privet-holder resend` later."
