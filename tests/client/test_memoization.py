"""The same question gets the same answer, whatever its task is called."""

import os
from typing import Any

import pytest

from privet.client import Caps, Cost, Holder, LedgerEntry, MemoryLedger, ReportClient
from privet.client.memoization import cost_of, question_keys
from privet.protocol.features import Classes, Numeric
from privet.protocol.partition import Partition, Tree
from privet.protocol.report import Report, make_report
from privet.protocol.task import Question, Task
from tests.client.stub_curator import StubCurator, serving
from tests.protocol.examples import FEATURES, RECORD, SPLITS, make_task

ONE, TWO = (Question(partition=0, mechanism="subset", epsilon=e) for e in (1.0, 0.5))
TASK = make_task()


def answered(task: Task, record: dict[str, Any] = RECORD) -> LedgerEntry:
    """An answer as a holder keeps it."""
    report = make_report(task, record, os.urandom)
    keys = tuple(question_keys(task)[question] for question, _ in report.answers)
    return LedgerEntry(
        "me", task.id, "https://c.example", task.epsilon, "0", report.pack(), 0.0, questions=keys
    )


def payloads(answer: LedgerEntry) -> dict[int, bytes]:
    return dict(Report.unpack(answer.report).answers)


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "another"},
        {"description": "another"},
        {"opens": 1, "closes": 2},
        {"allocation": "one"},
        {"invited": True},
        {
            "features": (Numeric(name="more", low=0.0, high=1.0), *FEATURES),
            "partitions": (
                Tree.of(
                    Partition.build(
                        5,
                        [1, 2, 1, -1, -1, -1, -1],
                        SPLITS.threshold,
                        SPLITS.left,
                        SPLITS.right,
                    )
                ),
            ),
        },
    ],
    ids=["name", "description", "dates", "allocation", "invited", "an unused feature"],
)
def test_what_does_not_change_the_question_costs_nothing(changes: dict[str, Any]) -> None:
    """The payload is that of the first answer, and the task it comes from is named."""
    first = answered(TASK)
    cost = cost_of(make_task(**changes), [first])
    assert cost == Cost(0.0, payloads(first), same=(TASK.id,))


@pytest.mark.parametrize(
    ("changes", "similar"),
    [
        ({"questions": (TWO,)}, True),
        ({"questions": (ONE.model_copy(update={"mechanism": "grr"}),)}, True),
        ({"questions": (ONE.model_copy(update={"asks": "cell"}),)}, False),
        ({"label": Classes(name="answer", classes=("yes", "no"))}, False),
        ({"features": (FEATURES[0].model_copy(update={"high": 61.0}), FEATURES[1])}, False),
        ({"partitions": (Tree.of(Partition.root(4)),)}, False),
    ],
    ids=["epsilon", "mechanism", "asks", "label", "feature", "cells"],
)
def test_another_question_costs_its_epsilon(changes: dict[str, Any], *, similar: bool) -> None:
    """One about the same features, cells and label is said to add to what was told."""
    task = make_task(**changes)
    cost = cost_of(task, [answered(TASK)])
    assert cost == Cost(task.epsilon, {}, similar=(TASK.id,) if similar else ())


def test_only_new_questions_cost_something() -> None:
    """Of two questions to everybody the one that was answered is answered as before."""
    both = make_task(questions=(TWO, ONE))
    first = answered(TASK)
    assert cost_of(both, [first]) == Cost(0.5, {1: payloads(first)[0]}, (TASK.id,), (TASK.id,))


def test_one_of_several_questions_is_drawn_once() -> None:
    """The choice is a part of the answer: another task with the same choice gets the same one."""
    tasks = [make_task(questions=(ONE, TWO), allocation="one", name=name) for name in "ab"]
    first = answered(tasks[0])
    assert cost_of(tasks[1], [first]).reused == payloads(first)
    wider = make_task(questions=(ONE, TWO, TWO), allocation="one")
    assert cost_of(wider, [first]).epsilon == 1.0


async def test_a_holder_sends_the_same_answer_within_its_caps() -> None:
    """Under an id of its own, whatever the record has become, and with nothing left to spend."""
    ledger = MemoryLedger(Caps(1.0, 1.0))
    with (
        serving(StubCurator(TASK)) as first,
        serving(StubCurator(make_task(name="b"))) as second,
    ):
        async with ReportClient() as client:
            holder = Holder(client, ledger)
            answers = [
                await holder.answer(first.url, RECORD),
                await holder.answer(second.url, {**RECORD, "age": 59, "answer": "no"}),
            ]
            shown = await holder.explain(second.task)
    assert payloads(answers[0]) == payloads(answers[1])
    assert answers[0].report_id != answers[1].report_id
    assert [answer.epsilon for answer in answers] == [1.0, 0.0]
    assert ledger.spent("me") == 1.0
    assert shown.costs.startswith("Epsilon 0: you have answered all of this in task ")


def test_answers_of_earlier_versions_are_not_known() -> None:
    """Their questions were not noted, so nothing is reused of them."""
    old = answered(TASK)
    unknown = LedgerEntry(**{**vars(old), "questions": ()})
    assert cost_of(make_task(name="b"), [unknown]) == Cost(1.0, {})
