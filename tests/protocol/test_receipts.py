"""What a curator signs of reports that count."""

import os
from typing import Any

import pytest

from privet.protocol.receipts import (
    GROUP,
    groups_of,
    hash_of,
    hashes_of,
    receipt_message,
)
from privet.protocol.report import make_report
from privet.protocol.signature import signed_message
from tests.keeping import keeps
from tests.protocol.examples import RECORD, batch_of, make_task

TASK = make_task()


@pytest.mark.parametrize("allocation", ["all", "one"])
def test_a_batch_and_its_reports_have_the_same_hashes(allocation: str) -> None:
    """Row by row, whatever the questions."""
    task = make_task(allocation=allocation)
    reports = [make_report(task, RECORD, os.urandom) for _ in range(5)]
    assert hashes_of(batch_of(reports)) == [hash_of(own) for own in reports]


@keeps(
    "threat-model: a receipt is of the task",
    in_="protocol/receipts.py",
    instead_of="return PREFIX + bytes.fromhex(task_id) + b",
    plant="return PREFIX + b",
)
def test_each_part_of_a_report_changes_its_hash() -> None:
    """Its id, its question and its payload; the task is in what is signed."""
    own = make_report(TASK, RECORD, os.urandom)
    ((question, payload),) = own.answers
    changes: list[dict[str, Any]] = [
        {"id": bytes(16)},
        {"answers": ((question + 1, payload),)},
        {"answers": ((question, payload[:-1] + bytes([payload[-1] ^ 1])),)},
    ]
    others = {hash_of(own.model_copy(update=change)) for change in changes}
    assert len(others | {hash_of(own)}) == 4
    assert receipt_message(TASK.id, [hash_of(own)]) != receipt_message("0" * 64, [hash_of(own)])


@pytest.mark.parametrize("count", [0, 1, GROUP, GROUP + 1, 3 * GROUP])
def test_groups_are_sorted_and_have_all(count: int) -> None:
    """No order of a batch is left in them, and none is larger than a receipt may be."""
    hashes = [os.urandom(32) for _ in range(count)]
    groups = groups_of(hashes)
    assert [own for group in groups for own in group] == sorted(hashes)
    assert all(0 < len(group) <= GROUP for group in groups)
    assert len(groups) == -(-count // GROUP)


def test_a_signature_of_a_task_is_none_of_a_receipt() -> None:
    """They sign bytes that begin differently, whatever follows."""
    assert receipt_message(TASK.id, [])[:14] != signed_message(TASK.id)[:14]
