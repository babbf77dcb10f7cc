import io
import os

import numpy as np
import pytest

from bench.samples import full_tree
from privet.protocol.features import Classes, Numeric
from privet.protocol.mechanisms.subset import SubsetSelection
from privet.protocol.partition import Tree
from privet.protocol.report import make_report
from privet.protocol.task import Question, Task
from scripts.load.holders import answers, scaled, subset_rows
from scripts.load.population import people

HOLDERS = 300
TASK = Task.checked(
    {
        "name": "squares",
        "features": [Numeric(name=name, low=0.0, high=1.0) for name in "xz"],
        "label": Classes(name="y", classes=("a", "b")),
        "partitions": [Tree.of(full_tree(16, columns=2))],
        "questions": [Question(partition=0, mechanism="subset", epsilon=1.0)],
    }
)


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


def test_holders_answer_as_one_holder_does() -> None:
    """The same record and the same random bytes give the same report, id included."""
    X, y = people(np.random.default_rng(0), HOLDERS)
    tape = Tape()
    ids, payloads = answers(TASK, X, y, tape)
    for holder, (report_id, payload) in enumerate(zip(ids, payloads, strict=True)):
        drawn = io.BytesIO(tape.of(holder, HOLDERS))
        record = {"x": float(X[holder, 0]), "z": float(X[holder, 1]), "y": "ab"[int(y[holder])]}
        report = make_report(TASK, record, drawn.read)
        assert (report_id.tobytes(), payload.tobytes()) == (report.id, report.answers[0][1])
        assert drawn.read() == b""
