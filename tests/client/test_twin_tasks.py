"""The same question under two names is answered twice, so nothing links one task's reports to the
other's."""

from random import Random

import httpx
import pytest

from privet.client import Holder, LedgerEntry, MemoryLedger
from privet.protocol.report import Report
from privet.protocol.task import TASK_MEDIA_TYPE, Question
from tests.client.fakes import Network, media, receipt
from tests.protocol.examples import RECORD, make_task
from tests.protocol.mechanisms.laws import law
from tests.stat_checks import check_frequencies

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
