import io
import random
from itertools import islice
from pathlib import Path

import msgpack
import numpy as np
import pytest

from protocol.answering import make_report
from protocol.domain import Classes, Numeric
from protocol.partition import Partition
from protocol.report import Report
from protocol.task import Question, Task, Tree
from scripts.load.audit import audit
from scripts.load.holders import uniform_records
from scripts.load.latency import Latencies
from scripts.load.sender import Message
from scripts.load.spool import read_frames, report_id, write_frames
from scripts.load.traffic import Mischief, batches, singles


def make_task(allocation: str) -> Task:
    halves = Partition.build(1, [0, -1, -1], [0.5, 0.0, 0.0], [1, -1, -1], [2, -1, -1])
    questions = [
        Question(partition=0, mechanism="subset", epsilon=1.0),
        Question(partition=0, mechanism="laplace", epsilon=1.0),
    ]
    return Task.checked(
        {
            "name": "halves",
            "features": [Numeric(name="x", low=0, high=1)],
            "label": Classes(name="y", classes=("a", "b")),
            "partitions": [Tree.of(halves)],
            "questions": questions,
            "allocation": allocation,
        }
    )


def make_reports(task: Task, count: int) -> list[Report]:
    rng = np.random.default_rng(0)
    records = islice(uniform_records(task, rng), count)
    return [make_report(task, record, rng.bytes) for record in records]


@pytest.mark.parametrize("allocation", ["all", "one"])
def test_batches_carry_the_reports_columns(allocation: str, tmp_path: Path) -> None:
    """Cutting packed reports by columns gives what unpacking them gives, whoever answered what."""
    task = make_task(allocation)
    reports = make_reports(task, 50)
    path = tmp_path / "spool"
    write_frames(path, (report.pack() for report in reports))
    sent: dict[bytes, bytes] = {}
    for message in batches([path], task, 20):
        fields = msgpack.unpackb(message.body)
        ids = [fields["ids"][i : i + 16] for i in range(0, len(fields["ids"]), 16)]
        width = len(fields["payloads"]) // len(ids)
        for i, key in enumerate(ids):
            sent[key] = fields["payloads"][i * width : (i + 1) * width]
    assert sent == {r.id: b"".join(payload for _, payload in r.answers) for r in reports}


def test_report_id_is_found_in_packed_reports() -> None:
    """The id is found without unpacking, even if the payload contains the same bytes as its key."""
    report = Report(
        task=b"t" * 32, id=bytes(range(16)), answers=((0, b"\xa2id\xc4\x10" + b"x" * 20),)
    )
    assert report_id(report.pack()) == report.id


def test_audit_tells_loss_doubling_and_exchange(tmp_path: Path) -> None:
    """A missing report, a report counted twice and a foreign id are each seen."""
    task = make_task("all")
    reports = make_reports(task, 5)
    path = tmp_path / "spool"
    write_frames(path, (report.pack() for report in reports))
    empty = {"reports": 0, "checksum": "0" * 64}

    def status(counted: list[Report]) -> dict[str, object]:
        return {"reports": len(counted), "checksum": f"{xor_of_digests(counted):064x}"}

    clean = audit([path], empty, status(reports))
    assert (clean.lost, clean.doubled, clean.checksum_matches) == (0, 0, True)
    lost = audit([path], empty, status(reports[1:]))
    assert (lost.lost, lost.doubled, lost.checksum_matches) == (1, 0, False)
    doubled = audit([path], empty, status([*reports, reports[0]]))
    assert (doubled.lost, doubled.doubled, doubled.checksum_matches) == (0, 1, False)
    foreign = audit([path], empty, status([*reports[1:], *make_reports(task, 6)[5:]]))
    assert (foreign.lost, foreign.doubled, foreign.checksum_matches) == (0, 0, False)


def xor_of_digests(reports: list[Report]) -> int:
    from hashlib import sha256

    total = 0
    for report in reports:
        total ^= int.from_bytes(sha256(report.id).digest(), "big")
    return total


def test_quantiles_are_right_to_two_percent() -> None:
    """The histogram's quantiles lie within its bucket width of the exact ones."""
    values = np.random.default_rng(0).lognormal(-5.0, 1.0, 5000)
    latencies = Latencies()
    for value in values:
        latencies.add(float(value))
    for q in (0.5, 0.99):
        assert latencies.quantile(q) == pytest.approx(np.quantile(values, q), rel=0.03)


def test_mischief_is_added_in_its_shares(tmp_path: Path) -> None:
    """Duplicates repeat the bytes, malformed ones are cut short, and no report is left out."""
    task = make_task("all")
    reports = [report.pack() for report in make_reports(task, 200)]
    path = tmp_path / "spool"
    write_frames(path, reports)
    messages = list(singles([path], Mischief(0.5, 0.5, 0.5), random.Random(1)))
    kinds = [message.kind for message in messages]
    assert [m.body for m in messages if m.kind == "report"] == reports
    assert 60 < kinds.count("duplicate") < 140
    assert 60 < kinds.count("malformed") < 140
    assert any(message.dawdle for message in messages)
    assert all(_follows_its_report(messages, i) for i, k in enumerate(kinds) if k == "duplicate")


def _follows_its_report(messages: list[Message], i: int) -> bool:
    return messages[i - 1].kind == "report" and messages[i - 1].body == messages[i].body


def test_frames_come_back_in_order(tmp_path: Path) -> None:
    """What was spooled is read again, across files."""
    frames = [bytes([i]) * (i + 1) for i in range(9)]
    first, second = tmp_path / "a", tmp_path / "b"
    assert write_frames(first, frames[:4]) + write_frames(second, frames[4:]) == 9
    assert list(read_frames([first, second])) == frames
    assert io.BytesIO(first.read_bytes()).read(4) == b"\0\0\0\1"
