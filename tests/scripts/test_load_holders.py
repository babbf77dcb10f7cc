import io
import os
from pathlib import Path

import numpy as np
import pytest

from privet.protocol.features import Classes, Range
from privet.protocol.mechanisms.subset import SubsetSelection
from privet.protocol.report import make_report
from privet.protocol.task import Task
from scripts.load import people
from scripts.load.bulk import scaled, subset_rows
from scripts.load.holders import answers, encode_population
from scripts.load.spool import groups
from tests.scripts.load_tasks import CELL, INDEXED, LABEL, LAPLACE, NUMBER, SUBSET, make_task

HOLDERS = 300


class Tape:
    """Random bytes as the operating system gives them, kept."""

    def __init__(self) -> None:
        self.drawn: list[bytes] = []

    def __call__(self, size: int) -> bytes:
        self.drawn.append(os.urandom(size))
        return self.drawn[-1]

    def of(self, holder: int, holders: int) -> bytes:
        """What one of ``holders`` drew, if all drew alike."""
        sizes = [len(block) // holders for block in self.drawn]
        return b"".join(
            block[holder * size : (holder + 1) * size]
            for block, size in zip(self.drawn, sizes, strict=True)
        )


def record_of(task: Task, x: np.ndarray, y: float) -> dict[str, float | str]:
    label = task.label.classes[int(y)] if isinstance(task.label, Classes) else float(y)
    return {"x": float(x[0]), "z": float(x[1]), "y": label}


@pytest.mark.parametrize(
    ("epsilon", "cells", "slots"),
    [(1.0, 256, 2), (0.1, 4, 2), (7.0, 300, 2), (3.0, 1, 2), (9.0, 3, 3)],
)
def test_columns_draw_what_one_holder_draws(epsilon: float, cells: int, slots: int) -> None:
    """Bit for bit, as bitmaps and as indices, for every category."""
    mechanism = SubsetSelection.create(epsilon, cells, slots)
    categories = np.resize(np.arange(mechanism.categories), HOLDERS)
    tape = Tape()
    rows = subset_rows(mechanism, categories, tape)
    assert [row.tobytes() for row in rows] == [
        mechanism.privatize(category, io.BytesIO(tape.of(holder, HOLDERS)).read)
        for holder, category in enumerate(categories.tolist())
    ]


@pytest.mark.parametrize("size", [1, 2, 511, 2**17 - 1, 2**32 - 1])
def test_words_are_scaled_exactly(size: int) -> None:
    """The product's upper half, without its rounding, at the ends of the words as well."""
    words = np.frombuffer(os.urandom(8000), dtype=np.uint64)
    words = np.concatenate([words, np.array([0, 1, 2**32 - 1, 2**32, 2**64 - 1], dtype=np.uint64)])
    assert scaled(words, size).tolist() == [size * word >> 64 for word in words.tolist()]


@pytest.mark.parametrize("label", [LABEL, NUMBER], ids=["classes", "number"])
def test_holders_answer_all_questions_as_one_holder_does(label: Classes | Range) -> None:
    """The same record and the same random bytes give the same report, id included."""
    task = make_task([SUBSET, CELL, INDEXED], label=label)
    rng = np.random.default_rng(0)
    X, y = people.uniform(task, rng, HOLDERS)
    if label is NUMBER:
        y[:2] = NUMBER.low, NUMBER.high
    tape = Tape()
    ((group, rows),) = answers(task, X, y, tape)
    assert group == 0
    for holder, row in enumerate(rows):
        drawn = io.BytesIO(tape.of(holder, HOLDERS))
        report = make_report(task, record_of(task, X[holder], y[holder]), drawn.read)
        assert row.tobytes() == report.id + b"".join(payload for _, payload in report.answers)
        assert drawn.read() == b""


def test_holders_answer_one_question_as_one_holder_does() -> None:
    """The question is the one that the holder's own bytes ask for, and its answer the same."""
    task = make_task([SUBSET, INDEXED, CELL], allocation="one")
    X, y = people.uniform(task, np.random.default_rng(0), HOLDERS)
    tape = Tape()
    found = dict(answers(task, X, y, tape))
    heads, blocks = tape.drawn[:2], iter(tape.drawn[2:])
    assert sum(len(rows) for rows in found.values()) == HOLDERS
    asked = np.frombuffer(heads[1], dtype=">u8")
    for question, rows in found.items():
        own = [h for h in range(HOLDERS) if int(asked[h]) * 3 >> 64 == question]
        tapes = [next(blocks) for _ in range(1 if task.questions[question].asks == "cell" else 2)]
        for place, (holder, row) in enumerate(zip(own, rows, strict=True)):
            rest = b"".join(_part(block, place, len(own)) for block in tapes)
            drawn = b"".join(_part(block, holder, HOLDERS) for block in heads) + rest
            report = make_report(
                task, record_of(task, X[holder], y[holder]), io.BytesIO(drawn).read
            )
            assert (report.answers[0][0], row.tobytes()) == (
                question,
                report.id + report.answers[0][1],
            )


def _part(block: bytes, place: int, parts: int) -> bytes:
    size = len(block) // parts
    return block[place * size : (place + 1) * size]


def test_workers_answer_for_every_holder_once(tmp_path: Path) -> None:
    """All holders are in the shards, under different ids, with payloads some holder could send."""
    task = make_task([SUBSET, LAPLACE])
    progress: list[int] = []
    shards = encode_population(
        task, 1500, tmp_path, shard=600, processes=2, source=people.uniform, seed=1,
        progress=progress.append,
    )  # fmt: skip
    assert (progress, sum(shard.rows for shard in shards)) == ([600, 600, 300], 1500)
    rows = np.concatenate([shard.read() for shard in shards])
    assert len({row[:16].tobytes() for row in rows}) == 1500
    edge = 16 + task.mechanisms[0].report_bytes
    for mechanism, part in zip(task.mechanisms, (rows[:, 16:edge], rows[:, edge:]), strict=True):
        assert mechanism.valid(np.ascontiguousarray(part)).all()
    assert groups(task) == [(0, 1)]


def test_rows_of_a_table_are_encoded_as_records_are(tmp_path: Path) -> None:
    """Drawn from a CSV file: each is one of its rows, label included."""
    task = make_task([SUBSET])
    path = tmp_path / "table.csv"
    path.write_text("z,y,x\n0.25,c,0.5\n0.75,a,1\n", encoding="utf-8")
    X, y = people.rows_of(path, task, np.random.default_rng(0), 50)
    assert {(*x, label) for x, label in zip(X.tolist(), y.tolist(), strict=True)} == {
        (0.5, 0.25, 2.0),
        (1.0, 0.75, 0.0),
    }
