"""The pages of the protocol are held true: their tables are those of the code."""

import re
from pathlib import Path

import pytest

from privet.protocol import calls, limits
from privet.protocol.batch import COLUMNS
from privet.protocol.errors import PROBLEM_BASE, PROBLEMS, IllegalMove
from privet.protocol.features import Categorical, Classes, Numeric, Range
from privet.protocol.label_scale import Centring
from privet.protocol.lifecycle import MOVES, Move, Phase, check_move
from privet.protocol.partition import Tree
from privet.protocol.report import REPORT_BOUNDS, Report
from privet.protocol.task import Question, Task
from privet.protocol.task_head import TASK_BOUNDS

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("protocol.md", "encoding.md", "calls.md")
TEXT = "\n".join((DOCS / page).read_text(encoding="utf-8") for page in PAGES)


def table(heading: str) -> list[list[str]]:
    """The rows of the first table below a heading, without its own head."""
    below = TEXT.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = [line for line in below.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]


def test_the_errors_are_all_there() -> None:
    """Name, class, status and title of every problem type, in the order of the code."""
    assert table("Errors") == [
        [f"`{problem.name}`", f"`{error.__name__}`", str(problem.status), problem.title]
        for error, problem in PROBLEMS.items()
    ]
    assert f"`{PROBLEM_BASE}`" in TEXT


def test_every_call_is_there() -> None:
    """Its address, what it sends and with which header; and the statuses that are tried again."""
    page = (DOCS / "calls.md").read_text(encoding="utf-8")
    for call in (*calls.HOLDER_CALLS, *calls.RELAY_CALLS):
        address = f"{call.method} {call.path.format(task_id='{id}', report_id='{report}')}`"
        assert address in page, address
        assert not call.header or call.header in page
        assert not call.body or call.body in page
    assert f"| silence, {', '.join(map(str, sorted(calls.RETRIED)))} |" in page


def test_the_lifecycle_is_the_table_of_moves() -> None:
    """Each allowed move, and no other; who tries one is told what is allowed."""
    rows = [(phase, moves) for phase, _, moves in table("Lifecycle")]
    assert rows == [(f"`{phase}`", ", ".join(moves) or "nothing") for phase, moves in MOVES.items()]
    with pytest.raises(IllegalMove, match=r"is draft cannot close: it allows open, delete\."):
        check_move(Phase.DRAFT, Move.CLOSE)


def test_the_limits_are_those_enforced() -> None:
    """Every constant of limits.py with its value."""
    constants = {name: value for name, value in vars(limits).items() if name.startswith("MAX_")}
    listed = {row[0].strip("`"): int(row[1].replace(" ", "")) for row in table("Limits")}
    assert listed == constants
    assert f"at most {TASK_BOUNDS.containers:,} in a task".replace(",", " ") in TEXT
    assert f"{REPORT_BOUNDS.containers} in a report" in TEXT


def test_every_field_has_its_place() -> None:
    """No field of a message or its parts goes unmentioned."""
    in_bold = set(re.findall(r"\*\*(\w+)\*\*", TEXT))
    for model in (Task, Numeric, Categorical, Classes, Range, Tree, Question, Centring, Report):
        assert set(model.model_fields) <= in_bold
    assert in_bold >= COLUMNS
