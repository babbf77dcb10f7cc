"""The commands of ``privet-holder``."""

import sys
import time
import webbrowser
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from privet import page as answer_page
from privet.http_client.address import TaskAddress
from privet.http_client.report_client import Retry
from privet.protocol.lifecycle import ReportState
from privet.protocol.limits import SMALLEST_GROUP
from privet.protocol.signature import parse_key
from privet.tables.text_format import Stated

from ..answer_page import PORT, answer_page_server
from ..clocks import MOST_APART
from ..errors import HolderError
from ..explanation import odds, surest
from ..ledger import EARLIEST, SqliteLedger
from .asking import explained
from .exits import faults
from .options import (
    CuratorKey,
    Device,
    Insecure,
    Json,
    LedgerPath,
    OfDecimal,
    OfEncoding,
    OfSeparator,
    SmallestGroup,
    Subject,
    TaskUrl,
)
from .output import answer_json, print_answers, print_json, say
from .record import answer_record
from .site import answer_file
from .states import ANSWER_STATES, EXIT_FAULT, state_in_words

UNVERIFIED = "counted according to the relay; no curator signature"


def show(
    url: TaskUrl,
    curator_key: CuratorKey = None,
    insecure_http: Insecure = False,
    as_json: Json = False,
) -> None:
    """Fetch a task, check it, and explain in plain words what answering it means."""
    device = Device(SqliteLedger(), insecure_http, curator_key)
    with faults(), device.holder("me") as holder:
        _, explanation = explained(holder, url, curator_key, printed=not as_json)
    if as_json:
        print_json(asdict(explanation))


def answer(
    url: TaskUrl,
    *,
    record: Annotated[
        Path | None,
        typer.Option(help="A JSON object by feature name, label included; - reads stdin."),
    ] = None,
    csv_file: Annotated[
        Path | None, typer.Option("--csv", help="CSV file with one record per line.")
    ] = None,
    subject_column: Annotated[
        str | None,
        typer.Option(help="Required with --csv: the column with the subject of each line."),
    ] = None,
    invitation_column: Annotated[
        str | None, typer.Option(help="With --csv: the column of invitations.")
    ] = None,
    encoding: OfEncoding = None,
    separator: OfSeparator = None,
    decimal: OfDecimal = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Send without asking.")] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Say what fits and what does not; draw and send nothing."),
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

    If the record does not fit the task, you see why before anything is sent and may correct it;
    otherwise the report states, perturbed, that it does not fit. If the task discloses columns,
    you see what your report would disclose. With --csv each line of a file is the record of one
    subject and gets a report of its own. With --yes everything is sent without asking, whatever
    the records say: do a --dry-run first.
    """
    whole, of_file = record is not None, csv_file is not None
    if whole == of_file or (whole and subject_column):
        raise typer.BadParameter("give either --record, or --csv with --subject-column")
    if of_file and subject_column is None:
        raise typer.BadParameter(
            "--csv needs --subject-column: the column that says whose line it is"
        )
    device = Device(SqliteLedger(ledger), insecure_http, curator_key, smallest_group)
    with faults():
        address = TaskAddress.parse(url, insecure_http=insecure_http)
    url, code = address.url, invitation or address.invitation
    if record is not None:
        answer_record(device, url, subject, record, code, yes=yes, dry_run=dry_run, as_json=as_json)
    elif csv_file is not None and subject_column is not None:
        columns, stated = (subject_column, invitation_column), Stated(encoding, separator, decimal)
        answer_file(
            device, url, csv_file, columns, stated, yes=yes, dry_run=dry_run, as_json=as_json
        )


def budget(
    subject: Subject = "me",
    ledger: LedgerPath = None,
    insecure_http: Insecure = False,
    as_json: Json = False,
) -> None:
    """List what a subject has answered and the epsilon that is left; relays are asked."""
    with faults():
        book, now = SqliteLedger(ledger), time.time()
        if any(entry.state is ReportState.HELD for entry in book.answers(subject)):
            with Device(book, insecure_http).holder(subject, Retry(attempts=1)) as asks:
                with Console(stderr=True).status("Asking relays ..."):
                    silent = asks.ask_relays()
                for fault in silent:
                    say(fault)
        answers, caps = book.answers(subject), book.caps(subject)
        spent, in_year = book.spent(subject), book.spent(subject, now)
        disclosed, kept = book.disclosed(subject, now), book.reserved(subject, now)
    if as_json:
        listed = [answer_json(a) for a in answers]
        sums = {"spent": spent, "spent_in_year": in_year, "reserved": kept}
        sums["disclosed_in_year"] = disclosed
        print_json({"subject": subject, **sums, "caps": asdict(caps), "answers": listed})
    else:
        print_answers(answers)
        left = max(caps.year - in_year - kept, 0)
        print(f"Spent {in_year:g} of epsilon {caps.year:g} within a year; {left:g} left.")
        if kept:
            print(f"{kept:g} more is kept for later waves of panels.")
        print(f"In all {spent:g}; one task may cost at most {caps.task:g}.")
        impossible = sum(not EARLIEST <= entry.drawn <= now + MOST_APART for entry in answers)
        if impossible:
            many = f"{impossible} answers have impossible dates, from a wrong clock, and count."
            one = "1 answer has an impossible date, from a wrong clock, and counts."
            print(one if impossible == 1 else many)
        print(f"Disclosed {disclosed:.3g} of {caps.disclosed:g} bits within a year.")


def cap(
    subject: Subject = "me",
    task: Annotated[
        float | None, typer.Option(min=0.0, help="New cap on epsilon for one task.")
    ] = None,
    year: Annotated[
        float | None, typer.Option(min=0.0, help="New cap on epsilon within 365 days.")
    ] = None,
    disclosed: Annotated[
        float | None, typer.Option(min=0.0, help="New cap on bits disclosed within 365 days.")
    ] = None,
    ledger: LedgerPath = None,
    as_json: Json = False,
) -> None:
    """Show what a subject may spend and disclose, or change it; the ledger keeps it."""
    with faults():
        book = SqliteLedger(ledger)
        caps = book.caps(subject)
        given = {"task": task, "year": year, "disclosed": disclosed}
        if changed := {name: value for name, value in given.items() if value is not None}:
            caps = replace(caps, **changed)
            book.set_caps(subject, caps)
    if as_json:
        print_json({"subject": subject, "caps": asdict(caps)})
        return
    table = Table("within", "epsilon", "change at most", "even odds become at most")
    table.title = "Limits on the odds of two records, after all answers"
    for name, most in (("one task", caps.task), ("a year", caps.year)):
        table.add_row(name, f"{most:g}", f"{odds(most)} times", surest(most))
    Console().print(table)
    print(f"Tasks may disclose {caps.disclosed:g} bits within a year.")


def resend(
    subject: Subject = "me",
    ledger: LedgerPath = None,
    curator_key: CuratorKey = None,
    insecure_http: Insecure = False,
    as_json: Json = False,
) -> None:
    """Ask relays for the state of answers and resend what nobody has; spends no epsilon."""
    device = Device(SqliteLedger(ledger), insecure_http, curator_key)
    doing = Console(stderr=True).status("Asking and sending ...")
    with faults(), device.holder(subject) as holder, doing:
        outcomes = holder.resend()
    if as_json:
        print_json([answer_json(outcome) for outcome in outcomes])
    for outcome in [] if as_json else outcomes:
        say(f"{outcome.task[:16]}: {state_in_words(outcome)}")
    if not (outcomes or as_json):
        say("Every answer that was sent from here has been counted.")
    states = {outcome.state for outcome in outcomes}
    for state, own in ANSWER_STATES.items():
        if state in states:
            raise typer.Exit(own.status)


def check(
    curator_key: CuratorKey = None,
    subject: Subject = "me",
    ledger: LedgerPath = None,
    insecure_http: Insecure = False,
    as_json: Json = False,
) -> None:
    """Verify with the curator's signature that reports were counted."""
    if curator_key is None:
        raise typer.BadParameter("give the curator's key with --curator-key")
    device = Device(SqliteLedger(ledger), insecure_http)
    with faults(), device.holder(subject) as holder:
        with Console(stderr=True).status("Asking ..."):
            silent = holder.ask_relays()
            verified = holder.show_counted(curator_key)
        answers = [answer for answer in holder.ledger.answers(subject) if not answer.restored]
    if as_json:
        print_json([{**answer_json(a), "verified": verified.get(a.task, False)} for a in answers])
    else:
        for fault in silent:
            say(fault)
        for answer in answers:
            said = UNVERIFIED if verified.get(answer.task) is False else state_in_words(answer)
            say(f"{answer.task[:16]}: {said}")
    if not all(verified.values()):
        raise typer.Exit(EXIT_FAULT)


def code(
    url: TaskUrl,
    restore: Annotated[
        Path | None,
        typer.Option(
            help="Take up the part in the panel that the code in this file is of; - reads stdin."
        ),
    ] = None,
    subject: Subject = "me",
    ledger: LedgerPath = None,
    curator_key: CuratorKey = None,
    insecure_http: Insecure = False,
) -> None:
    """Print the code to keep of a part in a panel, or take up the part that such a code is of.

    The code restores, on another device or in a browser, which wave was drawn and which waves were
    answered. It is a secret: it shows that you took part, and when.
    """
    device = Device(SqliteLedger(ledger), insecure_http, curator_key)
    with faults(), device.holder(subject) as holder:
        if restore is None:
            print(holder.code(url))
            return
        try:
            text = sys.stdin.read() if restore == Path("-") else restore.read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            raise HolderError(f"{restore} cannot be read.") from None
        holder.restore(url, text)
    say("Restored. A wave that you answered after this code was made is not in it: leave that out.")


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
    """Answer in a browser, on a page that this machine serves instead of the curator.

    Ends with Ctrl-C. The page keeps a ledger of its own, in the browser.
    """
    with faults():
        task_url = TaskAddress.parse(url).url
        key = "" if curator_key is None else parse_key(curator_key).hex()
        if export is not None:
            _export(export, task_url, key)
            return
        with answer_page_server(task_url, key, port) as server:
            address = "http://{}:{}/".format(*server.server_address)
            print(f"Answer at {address} and stop this with Ctrl-C.", flush=True)
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
