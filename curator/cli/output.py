"""The commands' output: tables for people, JSON for scripts, errors that say what to do."""

import json
import re
import shlex
from ast import literal_eval
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import typer
from pydantic import TypeAdapter
from rich.console import Console
from rich.table import Table

from privet.learning.core.amounts import amount, in_figures
from privet.learning.task_building.columns import Table as ReadTable
from privet.protocol.errors import InvalidRequest, PrivetError
from privet.protocol.lifecycle import LOSSES_FOUND
from privet.protocol.wire import printable
from privet.tables.text_format import AS_PROGRAMS_WRITE, Stated

R = TypeVar("R")
SHORT_ID = 12
OF_SETTINGS = re.compile(
    r"\((?P<name>features|ignore|numbers|rename|years)"
    r"=(?:…|(?P<columns>\[[^\]]*\])|(?P<names>\{.*?\}))\)"
)
"""A setting that a sentence names in brackets, as Python takes it."""


def out() -> Console:
    """Standard output; made at every use, so that it follows redirection."""
    return Console()


def err() -> Console:
    return Console(stderr=True)


PRINTERS: dict[Any, Callable[[Any], None]] = {}
"""The printer of a result for people, by its type."""


def prints(kind: Any) -> Callable[[Callable[[R], None]], Callable[[R], None]]:
    """Let a function print results of a type."""

    def declare(printer: Callable[[R], None]) -> Callable[[R], None]:
        PRINTERS[kind] = printer
        return printer

    return declare


def print_json(value: Any) -> None:
    """One JSON document on standard output, without colours or line breaks of our own.

    Of results it has the fields that the curator sent.
    """
    plain = TypeAdapter(Any).dump_python(value, mode="json", exclude_unset=True)
    print(json.dumps(plain, indent=2, ensure_ascii=False))


def show_link(link: str, *, code: bool) -> None:
    """The link to an answer page on standard output, and its QR code."""
    typer.echo(link)
    if code:
        import segno

        segno.make(link, error="m", micro=False).terminal(compact=True)


def say(sentence: str) -> None:
    """Print a sentence beside the output; neither wrapped nor coloured, since it may be copied."""
    err().print(sentence, soft_wrap=True, highlight=False, markup=False)


def print_error(detail: str) -> None:
    err().print(f"[bold red]Error:[/] {escaped(with_options(detail))}", soft_wrap=True)


def with_options(text: str) -> str:
    """A text in which settings, named as Python takes them, are options of the command."""

    def options(found: re.Match[str]) -> str:
        option = f"--{found['name']}"
        values = [found["names"]] if found["names"] else []
        if found["columns"]:
            quoted = re.findall(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", found["columns"])
            values = [literal_eval(name) for name in quoted]
        given = " ".join(f"{option} {shlex.quote(value)}" for value in values)
        return f"({given or option})"

    return OF_SETTINGS.sub(options, text)


def print_remarks(remarks: Iterable[str]) -> None:
    """Print what looks wrong about a file."""
    for remark in remarks:
        say(f"Please check: {with_options(remark)}")


def check_free(path: Path | None, force: bool = False) -> None:
    """Raise ``InvalidRequest`` if ``path`` exists and is not to be overwritten."""
    if path is not None and path.exists() and not force:
        raise InvalidRequest(f"{path} already exists: name another file, or use --force.")


@contextmanager
def naming_target(path: Path) -> Iterator[None]:
    """Raise ``PrivetError`` where ``path`` cannot be written."""
    try:
        yield
    except OSError as error:
        raise PrivetError(f"Cannot write {path}: {error.strerror}.") from None


def write_export(content: bytes, what: str, out: Path | None, default: str, *, force: bool) -> None:
    """Write an exported file to ``out``, or to a file called ``default``; - is standard output."""
    if str(out) == "-":
        typer.get_binary_stream("stdout").write(content)
        return
    target = out or Path(default)
    check_free(target, force)
    with naming_target(target):
        target.write_bytes(content)
    say(f"Wrote {what} to {target} ({len(content)} bytes).")


def print_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], whole: Collection[str] = ()
) -> None:
    """A table; numbers are set right, and columns in ``whole`` stay on one line."""
    table = Table(title=escaped(title), title_justify="left")
    rows = [list(row) for row in rows]
    for i, name in enumerate(columns):
        numeric = bool(rows) and all(isinstance(row[i], int | float) for row in rows)
        table.add_column(
            name, justify="right" if numeric else "left", overflow="fold", no_wrap=name in whole
        )
    for row in rows:
        table.add_row(*(escaped(as_text(value)) for value in row))
    out().print(table)


def show_reading(table: ReadTable, *, rows: bool = False) -> None:
    """Print how a CSV file was read, where it is not as programs write it, and its first rows."""
    form = table.format
    if form is None:
        return
    if rows:
        print_table(form.in_words(), list(table), table.first_rows)
    elif form.sheet or Stated(form.encoding, form.separator, form.decimal) != AS_PROGRAMS_WRITE:
        say(form.in_words())
    for name, note in table.notes.items():
        say(f"{printable(name)!r} {note}")


def print_facts(title: str, facts: Mapping[str, Any]) -> None:
    """Names and values in two columns, without a header."""
    table = Table(title=escaped(title), title_justify="left", show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in facts.items():
        table.add_row(escaped(name), escaped(as_text(value)))
    out().print(table)


def as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}".replace(",", " ")
    if isinstance(value, float):
        return amount(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={as_text(part)}" for key, part in value.items()) or "-"
    if isinstance(value, list | tuple):
        return ", ".join(map(as_text, value)) or "-"
    return "-" if value is None else str(value)


def lost_in(relays: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Reports that relays lost, by the reason in words."""
    lost = Counter[str]()
    for relay in relays:
        lost.update({LOSSES_FOUND.get(name, name): count for name, count in relay["lost"].items()})
    return lost


def when(moment: str | datetime | float) -> str:
    """A moment in UTC, as the API has it in JSON or in its types, or in Unix time."""
    return in_figures(datetime.fromisoformat(moment) if isinstance(moment, str) else moment)


def escaped(text: str) -> str:
    """Text from elsewhere, in which square brackets and control characters mean nothing."""
    return printable(text, len(text)).replace("[", r"\[")
