"""Lines that ``privet-holder`` prints for people, and the JSON for programs."""

import json
from typing import Any

from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from privet.protocol.wire import printable

from ..clocks import in_utc
from ..explanation import Explanation
from ..ledger import StoredAnswer
from .states import state_in_words

LONGEST_LIST = 40
"""Maximum number of lines printed per section."""


def say(sentence: str) -> None:
    Console(stderr=True, soft_wrap=True).print(Text(printable(sentence)))


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2))


def print_explanation(explanation: Explanation) -> None:
    """The explanation as a panel; text from the task is never read as markup."""
    parts = [Text(explanation.description.strip())] if explanation.description.strip() else []
    parts += (
        _section("Who asks, in their words", list(explanation.asked_by))
        if explanation.asked_by
        else []
    )
    sent = "sent only as stated below" if explanation.discloses else "never sent"
    parts += _section(f"Read on this device, and {sent}", [*explanation.reads, explanation.label])
    parts += _section("Computed on this device", list(explanation.computes))
    parts += _section("Disclosed", list(explanation.discloses)) if explanation.discloses else []
    parts += _section("Sent", [explanation.sends])
    parts += _section("What that reveals about you", [explanation.means])
    parts += _section("Several times", list(explanation.waves)) if explanation.waves else []
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


def answer_json(answer: StoredAnswer) -> dict[str, Any]:
    """An answer without its bytes."""
    return {
        "subject": answer.subject,
        "task": answer.task,
        "url": answer.url,
        "epsilon": answer.epsilon,
        "report": answer.report_id,
        "bytes": len(answer.report),
        "drawn": answer.drawn,
        "state": "restored" if answer.restored else answer.state,
        "reason": answer.reason,
        "disclosed": answer.disclosed,
    }


def print_answers(answers: list[StoredAnswer]) -> None:
    console = Console()
    table = Table("drawn", "task", "epsilon", "state")
    for answer in answers:
        drawn = in_utc(answer.drawn)
        table.add_row(drawn, answer.task[:16], f"{answer.epsilon:g}", Text(state_in_words(answer)))
    if answers:
        console.print(table)
    for answer in answers:
        if answer.disclosed:
            console.print(Text(f"{answer.task[:16]}: {answer.disclosed}"))
