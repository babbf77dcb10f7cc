"""What the command line shows: for people in words and tables, for programs as JSON."""

import json
from datetime import UTC, datetime
from typing import Any

from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from privet.client.explanation import Explanation
from privet.client.ledger import Answer
from privet.transport.text import plain


def show_json(value: Any) -> None:
    """One JSON document on standard output."""
    Console(soft_wrap=True, highlight=False, markup=False).print(json.dumps(value, indent=2))


def show_explanation(console: Console, told: Explanation) -> None:
    """The explanation as a panel; text from the task is never read as markup."""
    parts: list[Any] = [Text(told.description.strip())] if told.description.strip() else []
    parts += _section("Read on this device, and never sent", [*told.reads, told.label])
    parts += _section("Computed on this device", list(told.computes))
    parts += _section("Sent", [told.sends])
    parts += _section("What that tells about you", [told.means])
    parts += _section("Who signed this task", [told.signed_by]) if told.signed_by else []
    console.print(Panel(Group(*parts), title=Text(told.name), subtitle=Text(told.task[:16])))


def _section(title: str, lines: list[str]) -> list[Text]:
    return [Text(f"\n{title}", style="bold"), *(Text(f"  {plain(line)}") for line in lines)]


def answer_json(answer: Answer) -> dict[str, Any]:
    """An answer without its bytes."""
    return {
        "subject": answer.subject,
        "task": answer.task,
        "url": answer.url,
        "epsilon": answer.epsilon,
        "report": answer.report_id,
        "bytes": len(answer.report),
        "drawn": answer.drawn,
        "counted": answer.counted,
        "fault": answer.fault,
    }


def show_answers(console: Console, answers: list[Answer], spent: float, cap: float) -> None:
    """A table of answers and what they add up to."""
    table = Table("drawn", "task", "epsilon", "state")
    for answer in answers:
        drawn = datetime.fromtimestamp(answer.drawn, tz=UTC).strftime("%Y-%m-%d %H:%M UTC")
        table.add_row(drawn, answer.task[:16], f"{answer.epsilon:g}", Text(state(answer)))
    if answers:
        console.print(table)
    console.print(f"Spent {spent:g} of epsilon {cap:g}; {max(cap - spent, 0):g} left.")


def state(answer: Answer) -> str:
    """Where an answer stands, in a few words."""
    if answer.counted:
        return "counted"
    return f"kept, not counted: {plain(answer.fault or 'never sent', 200)}"
