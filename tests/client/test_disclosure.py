"""Tasks with disclosed columns: what a holder is told, refuses, sends and keeps."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from privet.client import (
    BlockingHolder,
    Holder,
    MemoryLedger,
    ReportClient,
    Retry,
    SqliteLedger,
    TaskRefused,
)
from privet.client.explanation import Explanation, disclosure, stratum
from privet.client.opening import validate
from privet.protocol.errors import Overloaded
from privet.protocol.features import encode_record
from privet.protocol.report import Report
from privet.protocol.task import Task
from tests.client.command import Command
from tests.client.past import PLAIN, copied
from tests.fake_curator import FakeCurator, serving
from tests.keeping import keeps
from tests.protocol.vectors import DISCLOSING, TASKS

RECORD = {"age": 25, "ward": "heart", "work": "shop", "answer": "yes"}
ELSEWHERE = {"age": 60, "ward": "skin", "work": "farm", "answer": "yes"}
OPENLY = (
    "Disclosed: age is below 30 and ward is heart. About 13% of people: 260 of the 2000 expected."
)
UNTOUCHED: Any = object()
"""No record at all: reading it fails."""


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(tmp_path, RECORD)


def openly(task: Task, record: Any) -> str:
    return disclosure(task, encode_record(task.features, task.label, record))


def test_what_is_said_openly_in_words() -> None:
    """Of every stratum, with its group size; of a misfit what its report says; else nothing."""
    assert openly(DISCLOSING, RECORD) == OPENLY
    assert openly(DISCLOSING, {**RECORD, "work": "circus"}) == OPENLY
    assert "age is below 40 and ward is not heart" in openly(DISCLOSING, {**RECORD, "ward": "skin"})
    assert "age is at least 30 and age is below 40 and ward is heart" in openly(
        DISCLOSING, {**RECORD, "age": 35}
    )
    assert "age is at least 40. About 60% of" in openly(DISCLOSING, ELSEWHERE)
    few = DISCLOSING.model_copy(update={"group_sizes": [9750, 0, 250, 0]})
    assert "About 1 in 40 people: 250 of the 10000 expected." in openly(few, RECORD)
    assert "You may be the only one: 0 of the 10000 expected." in openly(few, {**RECORD, "age": 35})
    alone = TASKS["disclosed columns that tell nothing"]
    assert "nothing, as everybody is in one group. About 100% of people" in openly(alone, RECORD)
    assert openly(TASKS["classes, one question"], {}) == ""


def test_who_is_asked_for_the_label_alone_is_told_that_its_group_is_sent() -> None:
    """Of both questions the group is said openly; only the first asks for a cell in it."""
    task = TASKS["age and ward disclosed, the label alone of a third"]
    told = Explanation.of(task)
    first, second = told.computes
    assert (
        "which of 4 disclosed groups the record lies in, and perturbed which of the at most 3"
        in first
    )
    assert (
        "which of 4 disclosed groups the record lies in, and perturbed your answer alone" in second
    )
    assert openly(task, RECORD) == OPENLY


def test_a_value_that_does_not_count_is_not_told_as_a_fact() -> None:
    """What stands in for it is said to, of columns that the stratum tells, and of no others."""
    instead = " Another value is used in place of the record's own: "
    assert f"ward is heart.{instead}ward. About" in openly(DISCLOSING, {**RECORD, "ward": "garden"})
    assert f"{instead}age, ward. About" in openly(DISCLOSING, {"work": "shop", "answer": "yes"})
    for record in ({**RECORD, "work": "circus"}, {**ELSEWHERE, "ward": "garden"}, RECORD):
        assert "stands in" not in openly(DISCLOSING, record)
    age, ward, work = DISCLOSING.features
    replacing = DISCLOSING.model_copy(
        update={"features": (age, ward.model_copy(update={"unknown": "skin"}), work)}
    )
    assert f"ward is not heart.{instead}ward. About" in openly(
        replacing, {**RECORD, "ward": "garden"}
    )


def test_each_stratum_is_told_apart() -> None:
    """Records whose reports say different strata are told different words, others the same."""
    for task in TASKS.values():
        if task.disclosed:
            told: dict[str, set[int]] = {}
            for age in (20, 25, 35, 45, 55):
                for ward in ("heart", "lungs", "skin"):
                    for work in ("farm", "shop", "none"):
                        record = {"age": age, "ward": ward, "work": work, "answer": "no"}
                        record |= {"income": 3}
                        record.pop("income" if task.label.name == "answer" else "answer")
                        encoded = encode_record(task.features, task.label, record)
                        assert encoded.faults == ()
                        assert task.strata is not None
                        cell = task.strata.of_cell[task.tree_of(0).locate_one(encoded.x)]
                        told.setdefault(disclosure(task, encoded), set()).add(int(cell))
            assert sorted(cell for cells in told.values() for cell in cells) == list(
                range(len(task.group_sizes))
            )
            assert all(len(cells) == 1 for cells in told.values())


def test_the_explanation_promises_no_more_than_is_so() -> None:
    """Of a task with disclosed columns no sentence says that all is hidden, or bounds odds between
    any two."""
    explanation = Explanation.of(DISCLOSING)
    assert explanation.discloses[0].startswith("age, ward: ")
    assert "240 to 1200 people" in explanation.discloses[1]
    assert [line.endswith("; disclosed") for line in explanation.reads] == [True, True, False]
    assert "another record of the same group does" in explanation.means
    assert "two possible records of the same group" in explanation.means
    assert "Apart from your group, the record" in explanation.sends
    assert "like any other of your group" in explanation.sends
    assert "4 disclosed groups" in explanation.computes[0]
    hidden = Explanation.of(TASKS["classes, one question"])
    assert hidden.discloses == ()
    assert "disclosed" not in json.dumps(asdict(hidden)).replace('"disclosed"', "")


def test_the_holder_sees_its_stratum_before_it_agrees(command: Command) -> None:
    """Before the question, and without a yes nothing is drawn; afterwards the ledger lists it."""
    with serving(FakeCurator(DISCLOSING)) as curator:
        shown = " ".join(command("show", curator.url).stdout.replace("│", " ").split())
        assert "may identify you" not in shown
        assert "Disclosed age, ward: at the resolution" in shown
        assert "never sent" not in shown
        refused = command.answer(curator.url, stdin="n\n")
        assert refused.exit_code == 1
        assert 0 <= refused.stderr.index(OPENLY) < refused.stderr.index("Draw a perturbed answer")
        dry = command.answer(curator.url, "--dry-run", "--json")
        assert json.loads(dry.stdout)["disclosed"] == OPENLY
        assert curator.posts == []
        agreed = command.answer(curator.url, "--yes")
        assert agreed.exit_code == 0, agreed.output
        assert OPENLY in agreed.stderr
        assert OPENLY in command.answer(curator.url).stderr
        budget = command("budget")
        assert OPENLY in " ".join(budget.stdout.split())
        ((_, payload),) = Report.unpack(curator.posts[0]).answers
        assert payload[0] == 2


@keeps(
    "threat-model: a device refuses small groups whatever the record",
    in_="client/holder.py",
    instead_of="check_group_sizes(task, self.smallest_group)",
    plant="pass",
)
@pytest.mark.parametrize("size", [19, 0])
async def test_too_small_a_group_is_refused_whatever_the_record(
    command: Command, size: int
) -> None:
    """If any stratum has fewer people, before a record is read, so silence tells nothing."""
    few = DISCLOSING.model_copy(update={"group_sizes": [*DISCLOSING.group_sizes[:-1], size]})
    with serving(FakeCurator(few)) as curator:
        async with ReportClient() as client:
            careful = Holder(client, MemoryLedger())
            for record in (UNTOUCHED, RECORD, ELSEWHERE):
                with pytest.raises(TaskRefused, match=rf"{size} people .* fewer than the 20"):
                    await careful.answer(curator.url, record)
            assert careful.ledger.answers() == []
            bold = Holder(client, MemoryLedger(), smallest_group=size)
            assert (await bold.answer(curator.url, RECORD)).counted
        refused = command.answer(curator.url, "--yes")
        assert (refused.exit_code, len(curator.posts)) == (3, 1)
        assert "--smallest-group" in refused.stderr
        shown = " ".join(command("show", curator.url).stdout.replace("│", " ").split())
        assert "disclosed values may identify you" in shown
        agreed = command.answer(curator.url, "--yes", "--smallest-group", str(size))
        assert agreed.exit_code == 0


async def test_a_record_that_has_changed_is_not_drawn_again(command: Command) -> None:
    """The stored report, with the stratum of the day it was drawn, is all that is ever sent."""
    ledger = command.ledger
    with serving(FakeCurator(DISCLOSING)) as curator:
        async with ReportClient(retry=Retry(1)) as client:
            owner = Holder(client, ledger, wait=False)
            curator.busy = 2
            for record in (RECORD, ELSEWHERE):
                with pytest.raises(Overloaded):
                    await owner.answer(curator.url, record)
        assert OPENLY in command.answer(curator.url).stderr
        (answered,) = ledger.answers()
        assert (answered.disclosed, answered.counted) == (OPENLY, True)
        assert set(curator.posts) == {answered.report}


def test_a_file_is_told_its_smallest_group_before_it_is_sent(command: Command) -> None:
    """Of its own lines; and a program is told what one record would say."""
    lines = "1,25,heart,shop,yes\n2,60,skin,farm,no\n"
    with serving(FakeCurator(DISCLOSING)) as curator, BlockingHolder(MemoryLedger()) as owner:
        asked = command.answer_lines(curator.url, lines, stdin="n\n")
        assert asked.stderr.index("has 260 people") < asked.stderr.index("Draw 2 perturbed")
        assert curator.posts == []
        assert owner.validate(owner.fetch(curator.url), RECORD).disclosed == OPENLY


def test_an_older_ledger_is_read_and_shows_nothing(tmp_path: Path) -> None:
    """One of version 4 keeps its answers, which showed no column, and takes new ones."""
    ledger = SqliteLedger(copied(PLAIN[4], tmp_path))
    kept = ledger.answers("me")[0]
    assert {each.disclosed for each in ledger.answers()} == {""}
    newer = ledger.keep(replace(kept, task="b", disclosed=OPENLY))
    assert ledger.find("me", "b") == newer
    assert math.isclose(ledger.spent("me"), 3.5)


class Lazy(Mapping[str, Any]):
    """A record that cannot give one of its values."""

    def __init__(self, fields: dict[str, Any], lost: str) -> None:
        self.fields, self.lost = fields, lost

    def __getitem__(self, name: str) -> Any:
        if name == self.lost:
            raise RuntimeError(name)
        return self.fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)


@pytest.mark.parametrize("hidden", ["work", "answer"])
def test_a_hidden_value_that_cannot_be_read_leaves_the_stratum(hidden: str) -> None:
    """Else the stratum would tell for certain that it cannot be read."""
    for age in (20, 70):
        fields = {**RECORD, "age": age}
        read = validate(DISCLOSING, fields)
        unread = validate(DISCLOSING, Lazy(fields, hidden))
        assert stratum(DISCLOSING, unread.encoded) == stratum(DISCLOSING, read.encoded)
        assert (read.findings, len(unread.findings)) == ((), 1)
