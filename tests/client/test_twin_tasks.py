"""The same question under two names is answered twice, so nothing links one task's reports to the
other's."""

from pathlib import Path
from random import Random

import httpx
import pytest
from scipy.stats import binom

from privet.client import Holder, LedgerEntry, MemoryLedger
from privet.protocol.report import Report
from privet.protocol.task import TASK_MEDIA_TYPE, Question
from tests.client.fakes import Network, media, receipt
from tests.client.stub_curator import StubCurator, serving
from tests.client.test_cli import Command, as_json
from tests.protocol.examples import RECORD, make_task
from tests.protocol.mechanisms.laws import law
from tests.stat_checks import ALPHA, check_frequencies

PEOPLE = 400


def payloads(answer: LedgerEntry) -> list[bytes]:
    return [payload for _, payload in Report.unpack(answer.report).answers]


@pytest.mark.parametrize("mechanism", ["grr", "subset"])
async def test_answers_to_twin_tasks_are_two_draws(mechanism: str) -> None:
    """Of 400 people as many have equal payloads as by chance (false alarm: one in a million)."""
    question = Question(partition=0, mechanism=mechanism, epsilon=1.0)
    twins = {task.id: task for task in (make_task(questions=(question,), name=n) for n in "ab")}

    def publish(request: httpx.Request) -> httpx.Response:
        if request.method == "POST":
            return receipt(request)
        task = twins[request.url.path.split("/")[3]]
        return httpx.Response(200, content=task.canonical, headers=media(TASK_MEDIA_TYPE))

    client, ledger, chance = (
        Network([publish]).client(),
        MemoryLedger(),
        Random(mechanism).randbytes,
    )
    equal = 0
    for person in range(PEOPLE):
        holder = Holder(client, ledger, str(person), chance, wait=False)
        first, second = [
            await holder.answer(f"https://curator.example/v1/tasks/{task}", RECORD)
            for task in twins
        ]
        equal += payloads(first) == payloads(second)
    (drawn,) = next(iter(twins.values())).mechanisms
    chance_of_equal = float(sum(p * p for p in law(drawn, 3).values()))
    check_frequencies(
        [equal, PEOPLE - equal], [chance_of_equal, 1 - chance_of_equal], what="equal payloads"
    )
    assert {ledger.spent(str(person)) for person in range(PEOPLE)} == {2.0}


def test_the_command_draws_anew_and_charges_in_full(tmp_path: Path) -> None:
    """Of 40 payloads as many are equal as by chance (false alarm: one in a million); the third
    twin is past the cap of a year."""
    command = Command(tmp_path)
    asked = (Question(partition=0, mechanism="grr", epsilon=0.05),) * 40
    twins = [StubCurator(make_task(questions=asked, name=name)) for name in "abc"]
    for twin in twins:
        with serving(twin):
            last = command.answer(twin.url, "--yes")
    first, second, *_ = map(payloads, command.ledger.answers())
    chance = float(sum(p * p for p in law(twins[0].task.mechanisms[0], 3).values()))
    assert sum(a == b for a, b in zip(first, second, strict=True)) <= binom.isf(ALPHA, 40, chance)
    assert [len(twin.counted) for twin in twins] == [1, 1, 0]
    assert as_json(command("budget", "--json"))["spent"] == pytest.approx(4.0)
    assert last.exit_code == 3
    assert "privet-holder cap --year" in last.stderr
