"""The account of what is disclosed: bits within a year, capped whatever the epsilon."""

import json
import math
from contextlib import suppress
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest

from privet.client import BudgetSpent, Caps, Holder, Ledger, MemoryLedger, SqliteLedger
from privet.client.disclosures import disclosed_bits, splits_of
from privet.client.explanation import stratum
from privet.protocol.features import Categorical, Numeric, encode_record
from privet.protocol.limits import DISCLOSED_CAP
from privet.protocol.partition import LEAF, Tree
from privet.protocol.task import Question, Task
from tests.client.command import Command
from tests.client.fakes import Network
from tests.client.past import PLAIN, copied
from tests.fake_curator import FakeCurator, serving
from tests.keeping import keeps
from tests.protocol.examples import make_task
from tests.protocol.vectors import DISCLOSING

CODES = tuple(f"code {number}" for number in range(64))
URL = "https://curator.example/v1/tasks/"


def one_bit(number: int, **changes: Any) -> Task:
    """A task that discloses on which side of one split a record is, at next to no epsilon."""
    fields: dict[str, Any] = {
        "name": f"task {number}",
        "features": (Numeric(name=f"column {number}", low=0.0, high=1.0),),
        "partitions": (_stump(1),),
        "questions": (Question(partition=0, mechanism="grr", epsilon=0.001),),
        "disclosed": (f"column {number}",),
        "group_sizes": (100, 100),
    }
    return make_task(**{**fields, **changes})


def _stump(columns: int, feature: int = 0, threshold: float = 0.5) -> Tree:
    return Tree(
        columns=columns,
        feature=(feature, LEAF, LEAF),
        threshold=(threshold, 0.0, 0.0),
        left=(1, LEAF, LEAF),
        right=(2, LEAF, LEAF),
    )


async def answered(tasks: list[Task], record: dict[str, Any], ledger: Ledger) -> int:
    """How many of the tasks a holder answers."""
    client, count = Network([FakeCurator(*tasks)]).client(), 0
    for task in tasks:
        names = [feature.name for feature in task.features]
        own = {"answer": "yes", **{name: record.get(name) for name in names}}
        with suppress(BudgetSpent):
            await Holder(client, ledger, wait=False).answer(URL + task.id, own)
            count += 1
    return count


@keeps(
    "threat-model: 32 bits are disclosed within a year",
    in_="client/ledger.py",
    instead_of="if after > caps.disclosed * (1 + SLACK):",
    plant="if False:",
)
async def test_many_tasks_of_one_bit_are_stopped(tmp_path: Path) -> None:
    """At epsilon .001 each, whatever the record: after as many bits as the cap, and not before."""
    tasks = [one_bit(number) for number in range(40)]
    for record in ({f"column {number}": number % 2 for number in range(40)}, {}):
        ledger = MemoryLedger()
        assert await answered(tasks, record, ledger) == DISCLOSED_CAP == 32
        assert ledger.spent("me") == pytest.approx(0.032)
        assert ledger.disclosed("me") == pytest.approx(32)
    raised = SqliteLedger(tmp_path / "ledger")
    raised.set_caps("me", Caps(disclosed=35.0))
    assert await answered(tasks, {}, raised) == 35
    holder = Holder(Network([FakeCurator(tasks[-1])]).client(), raised)
    with pytest.raises(BudgetSpent, match=r"has disclosed 35 of 35 within a year: .* --disclosed"):
        await holder.answer(URL + tasks[-1].id, {})


async def test_tasks_that_disclose_the_same_are_charged_once() -> None:
    """Waves of a survey; and one column cut finer and finer costs no more than its digits."""
    waves = [DISCLOSING.model_copy(update={"name": f"wave {n}"}) for n in range(3)]
    ledger = MemoryLedger()
    assert await answered(waves, {"age": 25, "ward": "heart"}, ledger) == 3
    assert ledger.disclosed("me") == pytest.approx(2.0)  # four strata
    cuts = [
        one_bit(0, name=f"cut {n}", partitions=(_stump(1, threshold=n / 64),)) for n in range(1, 64)
    ]
    ledger = MemoryLedger()
    assert await answered(cuts, {}, ledger) == 63
    assert ledger.disclosed("me") == pytest.approx(6.0)


def halves() -> list[Task]:
    """Tasks with one tree of categories, but for the root's threshold: it sends everybody left,
    everybody right, or each as their category says."""
    names = [f"column {number}" for number in range(3)]
    features = tuple(Categorical(name=name, categories=("a", "b")) for name in names)
    tasks = []
    for threshold in (2.0, 0.0, 0.5):
        tree = Tree(
            columns=6,
            feature=(0, 2, 4, *[LEAF] * 4),
            threshold=(threshold, 0.5, 0.5, *[0.0] * 4),
            left=(1, 3, 5, *[LEAF] * 4),
            right=(2, 4, 6, *[LEAF] * 4),
        )
        changes = {"partitions": (tree,), "disclosed": tuple(names), "group_sizes": (100,) * 4}
        tasks.append(one_bit(0, name=f"half {threshold}", features=features, **changes))
    return tasks


@keeps(
    "privacy: equal trees of disclosed splits sort alike",
    in_="protocol/features/categorical.py",
    instead_of="if self.splits(threshold):",
    plant="if True:",
)
async def test_thresholds_beyond_a_category_are_other_splits() -> None:
    """Equal in their columns, and together they tell three bits."""
    tasks, ledger = halves(), MemoryLedger()
    assert await answered(tasks, {}, ledger) == 3
    assert 3.0 <= ledger.disclosed("me") == pytest.approx(4.0)


@keeps(
    "privacy: other declarations of a column are other columns",
    in_="client/disclosures.py",
    instead_of="_digest(column.feature.model_dump_json())",
    plant="_digest(column.feature.name)",
)
def test_the_bits_bound_what_all_strata_together_tell() -> None:
    """Enumerated over all records, misfits included: tasks of any trees, over equal and over
    differently declared columns, with other stand-ins and replacements."""
    chance = Random(1)
    declared = [
        (
            Numeric(name="age", low=0.0, high=high, missing=missing),
            Categorical(name="ward", categories=wards, missing=wards[0], unknown=wards[-1]),
        )
        for high, missing in ((8.0, None), (8.0, 3.0), (6.0, 6.0))
        for wards in (("a", "b", "c"), ("c", "a", "b", "d"))
    ]
    records = [
        {"age": age, "ward": ward, "answer": "yes"}
        for age, ward in product([*range(9), None, "x"], ["a", "b", "c", "d", "e", None])
    ]
    tight = 0
    for _ in range(60):
        tasks = [
            _random_task(chance, chance.choice(declared)) for _ in range(chance.randrange(1, 5))
        ]
        told = {
            tuple(stratum(task, encode_record(task.features, task.label, record)) for task in tasks)
            for record in records
        }
        splits = [each for each in map(splits_of, tasks) if each is not None]
        assert len(splits) == len(tasks)
        bits = disclosed_bits(splits)
        assert len(told) <= 2**bits * (1 + 1e-9)
        tight += len(told) > 2 ** (bits - 0.5)
    assert tight > 10


def _random_task(chance: Random, features: tuple[Numeric, Categorical]) -> Task:
    """A task that discloses both columns, with a tree of depth two."""
    columns = 1 + len(features[1].categories)
    feature = [chance.randrange(columns) for _ in range(3)]
    tree = Tree(
        columns=columns,
        feature=(*feature, *[LEAF] * 4),
        threshold=(
            *(chance.choice((0, 9, *range(1, 8), *range(1, 8))) / 8 for _ in range(3)),
            *[0.0] * 4,
        ),
        left=(1, 3, 5, *[LEAF] * 4),
        right=(2, 4, 6, *[LEAF] * 4),
    )
    return make_task(
        features=features, partitions=(tree,), disclosed=("age", "ward"), group_sizes=(20,) * 4
    )


def test_hidden_splits_cost_nothing() -> None:
    """What lies below a stratum is not disclosed; a task that discloses nothing has no splits."""
    splits = splits_of(DISCLOSING)
    assert splits is not None
    assert splits.strata == len(DISCLOSING.group_sizes)
    assert sum(map(len, splits.cuts.values())) == splits.strata - 1
    assert splits_of(make_task()) is None


def test_a_person_is_told_before_the_answer(tmp_path: Path) -> None:
    """What it adds and what there is, and in `budget` what was disclosed; `cap` changes the cap."""
    record = {"age": 25, "ward": "heart", "work": "shop", "answer": "yes"}
    command = Command(tmp_path, record)
    with serving(FakeCurator(DISCLOSING)) as curator:
        asked = command.answer(curator.url, stdin="n\n").stderr
        assert "adds 2 bits to the 0 of 32 that were disclosed" in asked
        assert asked.index("adds 2 bits") < asked.index("Draw a perturbed answer")
        assert command("cap", "--disclosed", "1.5").exit_code == 0
        refused = command.answer(curator.url, "--yes")
        assert (refused.exit_code, curator.posts) == (3, [])
        assert command("cap", "--disclosed", "2").exit_code == 0
        assert command.answer(curator.url, "--yes").exit_code == 0
    assert "Disclosed 2 of 32" not in command("budget").stdout
    assert "Disclosed 2 of 2 bits within a year" in command("budget").stdout
    told = json.loads(command("budget", "--json").stdout)
    assert (told["disclosed_in_year"], told["caps"]["disclosed"]) == (2.0, 2.0)


def test_an_older_ledger_counts_in_full(tmp_path: Path) -> None:
    """One of version 5: its epsilon, its caps, and six bits for a task that disclosed something."""
    ledger = SqliteLedger(copied(PLAIN[5], tmp_path))
    assert (ledger.spent("me"), ledger.spent("me", 1_830_000_000)) == (2.5, 1.5)
    assert math.isclose(ledger.disclosed("me"), 6.0)
    assert ledger.caps("me") == Caps(1.5, 3.5, DISCLOSED_CAP)
