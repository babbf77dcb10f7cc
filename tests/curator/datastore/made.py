"""Tasks and reports made for tests of the datastore and of collection."""

import os
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

import numpy as np
from sqlalchemy import update

from privet.curator.collection.task_cache import CachedTask
from privet.curator.datastore import open_store
from privet.curator.datastore.expiry import STEP_SECONDS, Expired
from privet.curator.datastore.migrate import head
from privet.curator.datastore.reports import PerturbedAnswers, ReportGroup
from privet.curator.datastore.schema import tasks
from privet.curator.datastore.store import Store
from privet.curator.datastore.tasks import PUBLIC_MODEL, REGISTER, packed
from privet.learning.core.public_data import PublicData
from privet.protocol.features import Classes, Numeric
from privet.protocol.lifecycle import TaskState
from privet.protocol.partition import LEAF, Tree
from privet.protocol.report import Report
from privet.protocol.task import Question, Task

NOW = 1_800_000_000.0
HOUR = 3_600.0
NEXT = "9998"
"""Revision of the next version's schema."""
FEW, LARGE, FAN_IN = 8, 60, 3
"""What the fixture ``small_runs`` sets."""
ONNX = b"a public model that came along"
STUMP = Tree(
    columns=1,
    feature=(0, LEAF, LEAF),
    threshold=(0.5, 0.0, 0.0),
    left=(1, LEAF, LEAF),
    right=(2, LEAF, LEAF),
)


def task(name: str = "task", questions: int = 1, **fields: Any) -> Task:
    """A task of two cells and two classes."""
    return Task(
        name=name,
        features=(Numeric(name="x", low=0.0, high=1.0),),
        label=Classes(name="y", classes=("no", "yes")),
        partitions=(STUMP,),
        questions=tuple(
            Question(partition=0, mechanism="subset", epsilon=1.0 + question)
            for question in range(questions)
        ),
        **fields,
    )


def public() -> PublicData:
    """Ten public records."""
    rng = np.random.default_rng(0)
    return PublicData(rng.uniform(size=(10, 1)), rng.integers(0, 2, 10).astype(np.float64))


def open_task(store: Store, made: Task, now: float = NOW, quota: int | None = None) -> CachedTask:
    assert store.tasks.create(made, {"quota": quota}, public(), now, TaskState.OPEN)
    return CachedTask(made)


def only_invited(store: Store, task_id: str, only: bool = True) -> None:
    """Let a task with reports count invited ones from now on, which no published task does, or all
    again."""
    with store.database.writing() as connection:
        connection.execute(update(tasks).where(tasks.c.id == task_id).values(invited=only))


def report(
    made: Task, report_id: bytes | None = None, question: int = 0, category: int = 0
) -> Report:
    """A report with fresh randomness: all answers, or one to ``question``."""
    count = len(made.questions)
    asked = range(count) if made.allocation == "all" else [question]
    answers = tuple((q, made.mechanisms[q].privatize(category, os.urandom)) for q in asked)
    own = os.urandom(16) if report_id is None else report_id
    return Report.to(made, own, answers)


def conflicting(made: Task, own: Report) -> Report:
    """Another report under the same id."""
    other = own
    while other.answers == own.answers:
        other = report(made, own.id)
    return other


def impossible(own: Report) -> Report:
    """The same report with an answer that no holder could send."""
    return own.model_copy(update={"answers": ((0, b"\xff" * len(own.answers[0][1])),)})


def group(
    cached: CachedTask,
    reports: Sequence[Report],
    invitations: Sequence[bytes | None] | None = None,
) -> ReportGroup:
    """Some reports as the store takes them."""
    bodies = []
    for body in (own.pack() for own in reports):
        layout = cached.layout_of(body)
        assert layout is not None
        bodies.append((layout, body))
    return cached.group_of_bodies(bodies, invitations or [None] * len(reports))


def take(
    store: Store,
    cached: CachedTask,
    reports: Sequence[Report],
    invitations: Sequence[bytes | None] | None = None,
    now: float = NOW,
) -> list[int]:
    """What becomes of some reports in one group."""
    return list(map(int, store.reports.take([group(cached, reports, invitations)], now)[0]))


def many(cached: CachedTask, count: int, seed: int) -> ReportGroup:
    """``count`` reports of a one-question task with random ids, without packing each."""
    rng = np.random.default_rng(seed)
    mechanism = cached.task.mechanisms[0]
    payload = np.frombuffer(mechanism.privatize(0, rng.bytes), dtype=np.uint8)
    ids = rng.integers(0, 256, (count, 16), dtype=np.uint8)
    return cached.group(ids, [PerturbedAnswers(0, np.tile(payload, (count, 1)))])


def pass_time(
    store: Store, start: float, seconds: float, keep_ids: float, keep_tasks: float | None
) -> Expired:
    """Rounds of expiry as far apart as a clock is believed, and one at the end; what went in all.

    What is marked is that of the last round.
    """
    moments = [start + step for step in range(0, int(seconds), int(STEP_SECONDS))] + [
        start + seconds
    ]
    rounds = [store.expiry.expire(moment, keep_ids, keep_tasks) for moment in moments]
    names = ("tasks", "ids", "admissions")
    sums = {name: sum(getattr(each, name) for each in rounds) for name in names}
    return Expired(**sums, marked=rounds[-1].marked)


def slow_checksum(ids: Sequence[bytes]) -> str:
    """The checksum of some ids, one half of an id at a time."""
    halves = [int.from_bytes(part, "big") for own in ids for part in (own[:8], own[8:])]
    return f"{sum(halves) % 2**64:016x}"


def total(made: Task, reports: Sequence[Report]) -> list[tuple[list[int], int]]:
    """The sums of ``reports`` by adding them one by one: (vector, n) per question."""
    totals = [(np.zeros(m.sum_size, dtype=np.int64), 0) for m in made.mechanisms]
    for own in reports:
        for question, payload in own.answers:
            vector, n = totals[question]
            row = np.frombuffer(payload, dtype=np.uint8).reshape(1, -1)
            totals[question] = (vector + made.mechanisms[question].accumulate(row), n + 1)
    return [(vector.tolist(), n) for vector, n in totals]


def kept(store: Store, made: Task) -> list[tuple[list[int], int]]:
    """The sums that the store holds, in the form of ``total``."""
    return [
        (question.vector.tolist(), question.n)
        for question in store.standing.collected(made.id).sums
    ]


def next_migration() -> str:
    """What one more version of Privet would migrate."""
    return f'''
"""Something that the version before does not know."""

import sqlalchemy as sa
from alembic import op

revision = "{NEXT}"
down_revision = "{head()}"


def upgrade() -> None:
    op.add_column("buckets", sa.Column("weather", sa.Text(), nullable=True, comment="New."))
'''


def fill(url: str) -> None:
    """Two tasks, with reports in rows and in runs, a public model and a model."""
    store = open_store(url)
    for name in ("one", "two"):
        brought = name == "two"
        data, stated = public(), {}
        if brought:
            data = replace(data, onnx=ONNX, register=data.X)
            stated = {PUBLIC_MODEL: sha256(ONNX).hexdigest()}
            stated[REGISTER] = sha256(packed(data.X)).hexdigest()
        store.tasks.create(task(name), stated, data, NOW, TaskState.OPEN)
        cached = CachedTask(task(name))
        store.reports.take([group(cached, [report(cached.task) for _ in range(5)])], NOW)
        store.reports.take([many(cached, FEW, seed=1)], NOW + 86_400)
    store.models.add(task("one").id, b"model", {}, NOW)
    store.close()
