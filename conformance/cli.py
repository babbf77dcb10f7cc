"""``privet-conformance``: does a holder program keep the protocol? Needs no curator of yours."""

import os
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from rich.table import Table

from privet.curator.cli.on_use import run
from privet.curator.cli.options import FILE, AsJson
from privet.curator.cli.output import err, escaped, out, print_json
from privet.protocol.errors import InvalidRequest
from privet.protocol.help_texts import whole_paragraphs

from .clauses import CLAUSES, Trial, Verdict, judge_all, program, site_program
from .vectors import NO_VECTORS, Vectors
from .wire import open_bench

VERDICTS = {True: "[green]pass[/]", False: "[red]FAIL[/]", None: "not tried"}


app = typer.Typer(pretty_exceptions_enable=False)


def conformance(
    holder: Annotated[
        str,
        typer.Option(
            metavar="CMD",
            help="The command that answers one task, in which {url} and {state} stand for the "
            "task's address and the file that is to keep its report; the record comes on "
            "standard input.",
        ),
    ],
    *,
    draw: Annotated[
        str | None,
        typer.Option(
            metavar="CMD",
            help="The command that draws the vectors' reports from given random bytes.",
        ),
    ] = None,
    site: Annotated[
        str | None,
        typer.Option(
            metavar="CMD",
            help="The command that answers for each line of the CSV file {records}, whose column "
            "`subject` says whom a line is about.",
        ),
    ] = None,
    vectors: Annotated[
        Path | None, typer.Option(**FILE, help="The archive of test vectors.")
    ] = None,
    clause: Annotated[
        list[str] | None, typer.Option(help="A clause to try; by default all are.")
    ] = None,
    reports: Annotated[int, typer.Option(min=20, help="Reports of each statistical clause.")] = 100,
    jobs: Annotated[int, typer.Option(min=1, help="Programs that run at a time.")] = os.cpu_count()
    or 1,
    as_json: AsJson = False,
) -> None:
    """Run a holder program against good, bad and hostile tasks; pass or fail per clause.

    A real curator answers on loopback, with something in front that listens and misbehaves. Exit
    code 1 if a clause fails. What a program must do is in docs/conformance.md.
    """
    unknown = [name for name in clause or () if name not in CLAUSES]
    if unknown:
        raise InvalidRequest(f"There is no clause {unknown[0]!r}; there are {', '.join(CLAUSES)}.")
    run = program(holder)
    cases = NO_VECTORS if vectors is None else Vectors.read(vectors)
    folder = TemporaryDirectory(prefix="privet-holders-")
    with err().status("Trying clauses ..."), open_bench() as bench, folder as place:
        trial = Trial(bench, run, Path(place), reports, jobs, cases)
        if draw is not None:
            trial.draw = lambda given: _drawn(draw, given)
        if site is not None:
            trial.site = site_program(site)
        verdicts = judge_all(trial, clause or tuple(CLAUSES))
    if as_json:
        print_json([asdict(verdict) for verdict in verdicts])
    else:
        _print(verdicts)
    if any(verdict.kept is False for verdict in verdicts):
        raise typer.Exit(1)


app.command(
    help=whole_paragraphs(conformance.__doc__),
    epilog="Example: privet-conformance --holder 'privet-holder answer {url} --record - --yes "
    "--ledger {state}'",
)(conformance)


def _print(verdicts: list[Verdict]) -> None:
    table = Table("", "clause", "a holder ...", "found")
    for verdict in verdicts:
        says = escaped(CLAUSES[verdict.clause].says)
        table.add_row(VERDICTS[verdict.kept], verdict.clause, says, escaped(verdict.fault or ""))
    out().print(table)
    failed = sum(verdict.kept is False for verdict in verdicts)
    untried = sum(verdict.kept is None for verdict in verdicts)
    out().print(f"{len(verdicts) - failed - untried} pass, {failed} fail, {untried} not tried.")


def _drawn(command: str, given: str) -> str:
    """The command's output; raises ``InvalidRequest`` if it fails."""
    try:
        return subprocess.run(  # noqa: S603 - the command that the user has given
            shlex.split(command), input=given, capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise InvalidRequest(f"--draw failed: {error}.") from None


def main(arguments: Sequence[str] | None = None) -> int:
    return run(app, arguments)
