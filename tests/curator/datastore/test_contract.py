"""What every store promises; the same tests for each."""

import hashlib
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import psycopg
import pytest
from sqlalchemy import func, select, text
from sqlalchemy.engine.interfaces import DBAPICursor

from privet.admin.results import InvitationCounts
from privet.curator.collection.task_cache import CachedTask
from privet.curator.datastore import open_store, postgres, schema, sqlite
from privet.curator.datastore.audit import AuditEntry
from privet.curator.datastore.counting import MOST_PARTS
from privet.curator.datastore.database import writing
from privet.curator.datastore.expiry import Expired
from privet.curator.datastore.invitations import HOLD_SECONDS
from privet.curator.datastore.models import ModelInfo
from privet.curator.datastore.postgres import BULK
from privet.curator.datastore.reports import Outcome, ReportGroup
from privet.curator.datastore.sqlite import SERVING
from privet.curator.datastore.store import Store
from privet.curator.datastore.tasks import PUBLIC_MODEL, REGISTER
from privet.curator.datastore.tokens import (
    ISSUED,
    REVOKED,
    ROTATED,
    StoredToken,
    issued_tokens,
    short_digest,
)
from privet.curator.datastore.verification import check_audit, verify
from privet.protocol.errors import (
    IllegalMove,
    InvalidRequest,
    ModelNotFound,
    StorageFailed,
    TaskNotFound,
    TaskNotOpen,
)
from privet.protocol.lifecycle import Move, TaskState
from privet.protocol.panel import Panel
from tests.curator.datastore.made import (
    HOUR,
    NOW,
    conflicting,
    group,
    kept,
    many,
    open_task,
    pass_time,
    public,
    report,
    slow_checksum,
    take,
    task,
    total,
)
from tests.curator.datastore.races import HELD
from tests.keeping import keeps

MISSING = "0" * 64
COUNTED, REPLAYED, CONFLICT, NOT_OPEN, NOT_INVITED, NO_TASK, OVER_QUOTA, NOT_ADMITTED = Outcome


def digests(count: int) -> list[bytes]:
    return [hashlib.sha256(bytes([i])).digest() for i in range(count)]


def test_a_task_comes_back_as_it_was_given(store: Store) -> None:
    """What was kept about a task is what is read, bit by bit, also after a second creation; also
    settings that no new task has."""
    made, data = task(opens=5, closes=9), public()
    assert store.tasks.create(made, {"name": "ä", "criterion": "entropy"}, data, NOW)
    stored = store.tasks.read(made.id)
    assert stored.task == made
    assert stored.task.canonical == made.canonical
    assert (stored.state, stored.created, stored.moved) == (TaskState.DRAFT, NOW, NOW)
    assert dict(stored.settings) == {"name": "ä", "criterion": "entropy"}
    (listed,) = store.tasks.listed()
    assert listed.head == stored.head == made.head
    assert (listed.state, listed.created, listed.marked) == (stored.state, stored.created, None)
    read = store.tasks.public_data(made.id)
    assert np.array_equal(read.X, data.X)
    assert np.array_equal(read.y, data.y)
    assert not store.tasks.create(made, {"other": 1}, data, NOW + 1, TaskState.OPEN)
    assert store.tasks.read(made.id) == stored


def test_a_register_is_kept_with_the_public_data(store: Store) -> None:
    """Hidden columns stay unknown; it is none where none came, and goes with its task."""
    people = np.random.default_rng(2).random((7, public().X.shape[1]))
    people[:, -1] = np.nan
    made = task("with")
    store.tasks.create(made, {REGISTER: "a digest"}, replace(public(), register=people), NOW)
    store.tasks.create(task("without"), {}, public(), NOW)
    kept = store.tasks.public_data(made.id).register
    assert kept is not None
    np.testing.assert_array_equal(kept, people)
    assert store.tasks.read(made.id).register == "a digest"
    assert store.tasks.public_data(task("without").id).register is None
    store.tasks.move(made.id, Move.DELETE, NOW)
    assert store.tasks.create(made, {}, public(), NOW)
    assert store.tasks.public_data(made.id).register is None


def test_a_public_model_is_kept_with_the_public_data(store: Store) -> None:
    """An ONNX file comes back byte for byte, is none where none came, and goes with its task."""
    made, onnx = task("with"), os.urandom(100_000)
    store.tasks.create(made, {PUBLIC_MODEL: "a digest"}, replace(public(), onnx=onnx), NOW)
    store.tasks.create(task("without"), {}, public(), NOW)
    assert store.tasks.public_data(made.id).onnx == onnx
    assert store.tasks.read(made.id).public_model == "a digest"
    assert store.tasks.public_data(task("without").id).onnx is None
    assert store.tasks.read(task("without").id).public_model is None
    store.tasks.move(made.id, Move.DELETE, NOW)
    assert store.tasks.create(made, {}, public(), NOW)
    assert store.tasks.public_data(made.id).onnx is None


def test_what_is_missing_is_named(store: Store) -> None:
    """Every verb on an unknown task says that there is none."""
    calls: list[Callable[[], object]] = [
        lambda: store.tasks.read(MISSING),
        lambda: store.tasks.public_data(MISSING),
        lambda: store.tasks.move(MISSING, Move.OPEN, NOW),
        lambda: store.standing.collected(MISSING),
        lambda: store.standing.read(MISSING),
        lambda: store.standing.snapshot(MISSING),
        lambda: store.models.add(MISSING, b"", {}, NOW),
        lambda: store.models.listed(MISSING),
        lambda: store.models.document(MISSING, 1),
        lambda: store.invitations.issue(MISSING, [bytes(32)]),
    ]
    for call in calls:
        with pytest.raises(TaskNotFound):
            call()
    store.standing.count_rejects(MISSING, {"too-large": 1})
    store.tasks.create(task(), {}, public(), NOW)
    for number in (1, 0, -1):
        with pytest.raises(ModelNotFound):
            store.models.document(task().id, number)


def test_a_snapshot_is_what_the_parts_say(store: Store) -> None:
    """Of a panel and its waves, of a wave and its panel's, and of a task that is asked once."""
    ends = (int(NOW) - 9, int(NOW), int(NOW) + 9)
    panel = Panel(mode="repeat", waves=(ends[:2], ends[1:]))
    asked = task("panel", panel=panel, opens=ends[0], closes=ends[2])
    for made in (task("alone"), asked):
        assert store.tasks.create(made, {}, public(), NOW, TaskState.OPEN)
    last = asked.waves[1]
    take(store, CachedTask(last), [report(last), report(last)])
    store.models.add(last.id, b"a model", {"cells": 2}, NOW)
    store.models.name(last.id, "best", 1)
    store.standing.tell(last.id, "relay", HELD, NOW)
    store.standing.count_rejects(last.id, {"too-large": 3})
    waves = [wave.id for wave in asked.waves]
    for made, there in ((task("alone"), []), (asked, waves), (last, waves)):
        read = store.standing.snapshot(made.id, models=True, counts=lambda _: True)
        assert list(read.waves) == there
        for task_id, each in ((made.id, read.task), *read.waves.items()):
            assert each.stored == store.tasks.read(task_id)
            assert each.status == store.standing.read(task_id)
            assert list(each.models) == store.models.listed(task_id)
            sums = store.standing.collected(task_id).sums
            for of, own in zip(each.sums, sums, strict=True):
                assert (of.vector.tolist(), of.n) == (own.vector.tolist(), own.n)
        assert read.public is not None
        np.testing.assert_array_equal(read.public.X, public().X)
        status_alone = store.standing.snapshot(made.id)
        assert (status_alone.task.status, status_alone.public) == (read.task.status, None)
    assert store.standing.read(last.id).models == 1
    assert store.standing.read(last.id).reports == 2


def test_moves_follow_the_table(store: Store) -> None:
    """A legal move changes the state and its time, an illegal one nothing."""
    made = task()
    store.tasks.create(made, {}, public(), NOW)
    with pytest.raises(IllegalMove):
        store.tasks.move(made.id, Move.CLOSE, NOW + 1)
    assert store.tasks.read(made.id).moved == NOW
    for move, at in ((Move.OPEN, NOW + 2), (Move.CLOSE, NOW + 3)):
        store.tasks.move(made.id, move, at)
        assert (store.tasks.read(made.id).state, store.tasks.read(made.id).moved) == (
            move.state,
            at,
        )
    store.tasks.move(made.id, Move.DELETE, NOW + 4)
    with pytest.raises(TaskNotFound):
        store.tasks.read(made.id)


@keeps(
    "deployment: an answer comes after the commit",
    in_="curator/datastore/counting.py",
    instead_of="connection.commit()",
    plant="pass",
)
@keeps(
    "deployment: the same bytes count once",
    in_="curator/datastore/counting.py",
    instead_of="where(known.there, settled, unknown).astype(np.int8)",
    plant="full(len(settled), Outcome.COUNTED, dtype=np.int8)",
)
@pytest.mark.parametrize("allocation", ["all", "one"])
def test_sums_are_those_of_the_reports(store: Store, allocation: str) -> None:
    """Sums, counts and checksum are what adding the reports one by one gives."""
    cached = open_task(store, task(questions=3, allocation=allocation))
    reports = [report(cached.task, question=i % 3, category=i % 4) for i in range(20)]
    assert take(store, cached, reports) == [COUNTED] * 20
    take(store, cached, reports[:1])
    assert kept(store, cached.task) == total(cached.task, reports)
    status = store.standing.read(cached.id)
    assert status.reports == 20
    assert status.answers == tuple(n for _, n in total(cached.task, reports))
    assert status.checksum == slow_checksum([own.id for own in reports])


@keeps(
    "deployment: sums of curators add up",
    in_="curator/datastore/counting.py",
    instead_of="unpacked_sums(*kept).plus(sums.get(question))",
    plant="sums.get(question) or unpacked_sums(*kept)",
)
@pytest.mark.parametrize("allocation", ["all", "one"])
def test_sums_are_whole_however_many_additions_wait(store: Store, allocation: str) -> None:
    """Merged and not: each commit writes a part of its own, and every so often they become one."""
    cached = open_task(store, task(questions=2, allocation=allocation))
    reports = [report(cached.task, question=i % 2) for i in range(2 * MOST_PARTS + 3)]
    parts = []
    for number, own in enumerate(reports, 1):
        assert take(store, cached, [own]) == [COUNTED]
        if number % (MOST_PARTS + 1) in (0, 1, MOST_PARTS):
            assert kept(store, cached.task) == total(cached.task, reports[:number])
        with store.engine.connect() as connection:
            parts.append(connection.scalar(select(func.count(schema.sums.c.part.distinct()))))
    assert max(filter(None, parts)) == MOST_PARTS + 1
    assert parts[MOST_PARTS] == 1
    assert [found.faults for found in verify(store.engine)] == [()]


@keeps(
    "deployment: other bytes under a used id are refused",
    in_="curator/datastore/counting.py",
    instead_of="same = known.fingerprints == fingerprints",
    plant="same = known.there",
)
@keeps(
    "deployment: repeats within a group too",
    in_="curator/datastore/counting.py",
    instead_of="fingerprints[repeats] == fingerprints[firsts]",
    plant="repeats >= 0",
)
def test_an_id_counts_once(store: Store) -> None:
    """In its task: the same report again is a replay, another under its id a conflict.

    Of several in one group the first decides.
    """
    cached = open_task(store, task())
    first, second = report(cached.task), report(cached.task)
    take(store, cached, [first])
    false_first, false_second = (conflicting(cached.task, own) for own in (first, second))
    assert take(store, cached, [false_first]) == [CONFLICT]
    sent = [first, second, false_second, second, false_first]
    elsewhere = open_task(store, task("other"))
    same = report(elsewhere.task, first.id)
    outcomes, others = store.reports.take([group(cached, sent), group(elsewhere, [same])], NOW)
    assert outcomes.tolist() == [REPLAYED, COUNTED, CONFLICT, REPLAYED, CONFLICT]
    assert kept(store, cached.task) == total(cached.task, [first, second])
    assert others.tolist() == [COUNTED]


def test_ids_of_zeros_and_of_shared_beginnings_stay_apart(store: Store) -> None:
    """Ids that differ in any one byte, trailing zeros included, are different ids."""
    cached = open_task(store, task())
    ids = [bytes(16)] + [bytes(i) + b"\x01" + bytes(15 - i) for i in range(16)]
    assert take(store, cached, [report(cached.task, own) for own in ids]) == [COUNTED] * 17
    assert store.standing.read(cached.id).checksum == slow_checksum(ids)


@keeps(
    "deployment: closed means closed",
    in_="curator/datastore/counting.py",
    instead_of="None, self.now) is Phase.OPEN",
    plant="None, self.now) in {Phase.OPEN, Phase.CLOSED}",
)
@keeps(
    "deployment: what was refused for want of an open task counts nothing",
    in_="curator/datastore/counting.py",
    instead_of="known, fingerprints, Outcome.NOT_OPEN",
    plant="self.report_ids.claim(*place, ids, fingerprints), fingerprints, Outcome.COUNTED",
)
def test_only_an_open_task_counts(store: Store) -> None:
    """Draft, closed and unknown tasks count nothing new, and still know what they counted."""
    cached = open_task(store, task())
    early, late = report(cached.task), report(cached.task)
    take(store, cached, [early])
    store.tasks.move(cached.id, Move.CLOSE, NOW)
    assert take(store, cached, [early, late]) == [REPLAYED, NOT_OPEN]
    store.tasks.move(cached.id, Move.OPEN, NOW)
    assert take(store, cached, [late]) == [COUNTED]
    assert kept(store, cached.task) == total(cached.task, [early, late])
    store.tasks.move(cached.id, Move.DELETE, NOW)
    assert take(store, cached, [late]) == [NO_TASK]


@keeps(
    "deployment: nothing counts after the published end",
    in_="protocol/lifecycle.py",
    instead_of="closes is not None and now >= closes",
    plant="False",
)
def test_the_published_dates_hold(store: Store) -> None:
    """Reports count from the first second of collection until just before its end."""
    cached = open_task(store, task(opens=100, closes=200), 0.0)
    expected = {99.9: NOT_OPEN, 100.0: COUNTED, 199.9: COUNTED, 200.0: NOT_OPEN}
    for now, outcome in expected.items():
        assert take(store, cached, [report(cached.task)], now=now) == [outcome]


@keeps(
    "deployment: models go with their task",
    in_="curator/datastore/schema.py",
    instead_of="""
    models,
    aliases,""",
    plant="""
    aliases,""",
)
@keeps(
    "deployment: public records go with their task",
    in_="curator/datastore/schema.py",
    instead_of="""
    public_data,
    buckets,""",
    plant="""
    buckets,""",
)
def test_delete_removes_everything(store: Store) -> None:
    """A task made again after its deletion starts from nothing."""
    made = task()
    cached = open_task(store, made)
    own = report(made)
    take(store, cached, [own])
    store.reports.take([many(cached, BULK, seed=1)], NOW)
    store.models.add(made.id, b"model", {}, NOW)
    store.standing.count_rejects(made.id, {"too-large": 1})
    store.tasks.move(made.id, Move.DELETE, NOW)
    assert store.tasks.listed() == []
    assert rows_of_tasks(store) == 0
    assert store.tasks.was_deleted(made.id)
    assert not store.tasks.was_deleted(task("another").id)
    open_task(store, made)
    status = store.standing.read(made.id)
    assert (status.reports, status.rejects, store.models.listed(made.id)) == (0, {}, [])
    assert take(store, cached, [own]) == [COUNTED]
    assert store.reports.take([many(cached, BULK, seed=1)], NOW)[0].tolist() == [COUNTED] * BULK


def rows_of_tasks(store: Store) -> int:
    """The number of rows of all tables that name a task."""
    tables = [table for table in schema.metadata.tables.values() if "task_no" in table.c]
    with store.engine.connect() as connection:
        counts = [connection.scalar(select(func.count()).select_from(each)) for each in tables]
    assert len(counts) > len(schema.OF_A_TASK)
    return sum(count or 0 for count in counts)


def test_buckets_divide_the_reports_by_time(store: Store) -> None:
    """Each bucket holds the reports and the checksum of its own stretch of time."""
    cached = open_task(store, task())
    days = {0: [report(cached.task)], 1: [report(cached.task), report(cached.task)]}
    for day, reports in days.items():
        for own in reports:
            take(store, cached, [own], now=NOW + 86_400 * day)
    buckets = store.standing.read(cached.id).buckets
    assert [bucket.reports for bucket in buckets] == [1, 2]
    for bucket, reports in zip(buckets, days.values(), strict=True):
        assert bucket.checksum == slow_checksum([own.id for own in reports])
    assert buckets[1].starts - buckets[0].starts == 86_400
    assert buckets[0].starts <= NOW < buckets[0].starts + 86_400


@keeps(
    "threat-model: an invitation serves once",
    in_="curator/datastore/counting.py",
    instead_of="UPDATE invitations SET unused = FALSE",
    plant="UPDATE invitations SET unused = TRUE",
)
def test_an_invitation_serves_once(store: Store) -> None:
    """With invitations, each new report needs an unused one; a replay needs none.

    One that is made again stays used.
    """
    cached = open_task(store, task(invited=True))
    good = digests(2)
    store.invitations.issue(cached.id, good)
    assert store.standing.read(cached.id).invited
    first, *others = [report(cached.task) for _ in range(4)]
    assert take(store, cached, [first], [good[0]]) == [COUNTED]
    store.invitations.issue(cached.id, good)
    given = [None, good[0], good[1], None]
    expected = [REPLAYED, NOT_INVITED, COUNTED, NOT_INVITED]
    assert take(store, cached, [first, *others], given) == expected
    assert kept(store, cached.task) == total(cached.task, [first, others[1]])


def admitted(cached: CachedTask, count: int, *admissions: bytes) -> ReportGroup:
    """``count`` new reports of a relay's batch that names admissions."""
    own = group(cached, [report(cached.task) for _ in range(count)])
    return replace(own, admissions=admissions, relay="relay")


@keeps(
    "threat-model: no more new reports than invitations are held",
    in_="curator/datastore/counting.py",
    instead_of="new > sum(row[0] for row in rows if row is not None)",
    plant="False",
)
@keeps(
    "threat-model: a used admission ends",
    in_="curator/datastore/counting.py",
    instead_of="self.cursor.executemany(END_ADMISSION, keys)",
    plant="pass",
)
@keeps(
    "threat-model: held invitations serve for no other report",
    in_="curator/datastore/invitations.py",
    instead_of="_hold(connection, row.no, [hidden(digest) for digest in digests], now)",
    plant="{hidden(digest) for digest in digests}",
)
def test_held_invitations_serve_for_their_batch_alone(store: Store) -> None:
    """Neither a report nor another admission gets them, and all are used up by the batch."""
    cached, good = open_task(store, task(invited=True)), digests(4)
    store.invitations.issue(cached.id, good)
    assert store.invitations.admit(cached.id, b"1" * 16, [*good[:3], bytes(32)], NOW) == [bytes(32)]
    assert store.invitations.admit(cached.id, b"1" * 16, [*good[:3], bytes(32)], NOW) == [bytes(32)]
    assert store.invitations.admit(cached.id, b"2" * 16, good[2:], NOW) == [good[2]]
    assert take(store, cached, [report(cached.task)], [good[0]]) == [NOT_INVITED]
    for wrong in ((b"1" * 16,), (b"3" * 16,), (b"2" * 16, b"3" * 16)):
        too_many = admitted(cached, 4, *wrong)
        assert store.reports.take([too_many], NOW)[0].tolist() == [NOT_ADMITTED] * 4
    both = admitted(cached, 4, b"1" * 16, b"2" * 16)
    assert store.reports.take([both], NOW)[0].tolist() == [COUNTED] * 4
    assert store.reports.take([both], NOW)[0].tolist() == [REPLAYED] * 4
    assert store.reports.take([admitted(cached, 1, b"1" * 16)], NOW)[0].tolist() == [NOT_ADMITTED]
    assert store.invitations.admit(cached.id, b"4" * 16, good, NOW) == good
    assert store.standing.read(cached.id).reports == 4


def test_an_admission_holds_what_it_held(store: Store) -> None:
    """Its id names one set of invitations, in one task, that takes reports."""
    cached, good = open_task(store, task(invited=True, closes=int(NOW) + 10)), digests(2)
    store.invitations.issue(cached.id, good)
    store.invitations.admit(cached.id, b"1" * 16, good[:1], NOW)
    with pytest.raises(InvalidRequest, match="draw a new id"):
        store.invitations.admit(cached.id, b"1" * 16, good, NOW)
    with pytest.raises(TaskNotOpen):
        store.invitations.admit(cached.id, b"2" * 16, good, NOW + 10)
    with pytest.raises(TaskNotFound):
        store.invitations.admit(MISSING, b"2" * 16, good, NOW)
    other = open_task(store, task("other"))
    assert store.invitations.admit(other.id, b"1" * 16, good, NOW) == good


@keeps(
    "threat-model: an admission without its batch is forgotten",
    in_="curator/datastore/expiry.py",
    instead_of="held = admissions_before(connection, time - HOLD_SECONDS)",
    plant="held = []",
)
def test_an_admission_without_its_batch_is_forgotten(store: Store) -> None:
    """After seven days its invitations serve again, and its batch needs it anew."""
    cached, good = open_task(store, task(invited=True)), digests(2)
    store.invitations.issue(cached.id, good)
    store.invitations.admit(cached.id, b"1" * 16, good, NOW)
    late = admitted(cached, 2, b"1" * 16)
    assert pass_time(store, NOW, HOLD_SECONDS - HOUR, HOUR, None).admissions == 0
    assert store.invitations.admit(cached.id, b"2" * 16, good, NOW + HOUR) == good
    assert store.expiry.expire(NOW + HOLD_SECONDS, HOUR, None).admissions == 1
    assert store.reports.take([late], NOW)[0].tolist() == [NOT_ADMITTED] * 2
    assert store.invitations.admit(cached.id, b"1" * 16, good, NOW) == []
    assert store.reports.take([late], NOW)[0].tolist() == [COUNTED] * 2


@keeps(
    "threat-model: a task counts no more than its quota",
    in_="curator/datastore/counting.py",
    instead_of="group.in_time else task.quota - counted",
    plant="group.in_time else task.quota",
)
def test_a_quota_is_for_admitted_reports_too(store: Store) -> None:
    """Those beyond it are refused for that, also when the batch comes again."""
    cached, good = open_task(store, task(invited=True), quota=2), digests(3)
    store.invitations.issue(cached.id, good)
    store.invitations.admit(cached.id, b"1" * 16, good, NOW)
    own = admitted(cached, 3, b"1" * 16)
    assert store.reports.take([own], NOW)[0].tolist() == [COUNTED] * 2 + [OVER_QUOTA]
    assert store.reports.take([own], NOW)[0].tolist() == [REPLAYED] * 2 + [OVER_QUOTA]


def test_tokens_are_kept_by_name(store: Store) -> None:
    """A token is replaced under its name and forgotten on demand, and each time an audit entry is
    kept that says which."""
    one, two = StoredToken("a", "admin", b"1" * 32, NOW), StoredToken("b", "reader", b"2" * 32, NOW)
    about = AuditEntry(NOW, "ops", ISSUED, "", {})
    assert store.tokens.put(two, about).action == ISSUED
    assert store.tokens.put(one, about).action == ISSUED
    assert store.tokens.listed() == [one, two]
    newer = StoredToken("a", "reader", b"3" * 32, NOW + 1)
    assert store.tokens.put(newer, about).action == ROTATED
    assert store.tokens.listed() == [newer, two]
    assert not store.tokens.replace(None, one, about)
    assert not store.tokens.replace(one, one, about)
    assert store.tokens.listed() == [newer, two]
    assert store.tokens.replace(newer, one, about)
    assert store.tokens.listed() == [one, two]
    assert store.tokens.drop("a", about)
    assert not store.tokens.drop("a", about)
    assert store.tokens.listed() == [two]
    assert store.tokens.replace(one, newer, about)
    assert store.tokens.listed() == [newer, two]
    with store.database.reading() as connection:
        assert check_audit(connection).faults == ()
        kept = {row.name: (row.scope, short_digest(row.digest)) for row in store.tokens.listed()}
        found = {
            name: (token.scope, token.token) for name, token in issued_tokens(connection).items()
        }
        assert found == kept
    entries = [(entry.action, entry.subject) for entry in store.audit.entries(9)[::-1]]
    issued = [(ISSUED, "b"), (ISSUED, "a"), (ROTATED, "a"), (ISSUED, "a")]
    assert entries == [*issued, (REVOKED, "a"), (ISSUED, "a")]


@keeps(
    "deployment: report ids are kept as long as a replay could count",
    in_="curator/datastore/expiry.py",
    instead_of="if closes + keep_ids <= seen and not",
    plant="if closes <= seen and not",
)
def test_expiry_keeps_what_a_replay_could_need(store: Store) -> None:
    """Ids go only after the published end and the time to keep them; tasks after theirs.

    What is due is marked for a day first, and the task says since when.
    """
    ended, endless = task("ended", closes=96 * 3600), task("endless")
    cached_tasks = open_task(store, ended, 0.0), open_task(store, endless, 0.0)
    for cached in cached_tasks:
        take(store, cached, [report(cached.task)], now=10.0)
        store.reports.take([many(cached, BULK, seed=1)], 10.0)
    keep = (12 * HOUR, 48 * HOUR)
    assert pass_time(store, 0.0, 131 * HOUR, *keep) == Expired(0, 0, marked=1)
    assert store.tasks.read(ended.id).marked == 108 * HOUR
    assert store.expiry.expire(132 * HOUR, *keep) == Expired(0, BULK + 1)
    assert store.standing.read(ended.id).reports == BULK + 1
    assert pass_time(store, 132 * HOUR, 35 * HOUR, *keep) == Expired(0, 0, marked=1)
    assert store.expiry.expire(168 * HOUR, *keep) == Expired(1, 0)
    assert [listed.head.id for listed in store.tasks.listed()] == [endless.id]
    assert pass_time(store, 169 * HOUR, 100 * HOUR, 0.0, None) == Expired(0, 0)


def test_a_task_counts_no_more_than_its_quota(store: Store) -> None:
    """In order of arrival, over groups of all sizes; what was counted before is still known."""
    cached = open_task(store, task(), quota=5)
    first = [report(cached.task) for _ in range(3)]
    assert take(store, cached, first) == [COUNTED] * 3
    more = [first[0], *(report(cached.task) for _ in range(4))]
    assert take(store, cached, more) == [REPLAYED, *[COUNTED] * 2, *[OVER_QUOTA] * 2]
    batch = many(cached, BULK, seed=3)
    assert (store.reports.take([batch], NOW)[0] == OVER_QUOTA).all()
    assert kept(store, cached.task) == total(cached.task, [*first, *more[1:3]])


def test_a_quota_uses_no_invitation_up(store: Store) -> None:
    """An invitation that came after the quota was reached is still unused."""
    cached = open_task(store, task(invited=True), quota=2)
    codes = digests(3)
    store.invitations.issue(cached.id, codes)
    given = [None, codes[0], codes[0], codes[1], codes[2]]
    expected = [NOT_INVITED, COUNTED, NOT_INVITED, COUNTED, OVER_QUOTA]
    assert take(store, cached, [report(cached.task) for _ in given], given) == expected


@keeps(
    "threat-model: a relay's share is on the card",
    in_="curator/datastore/counting.py",
    instead_of="if group.relay:",
    plant="if False:",
)
def test_reports_are_counted_by_relay(store: Store) -> None:
    """What counted of each relay's batches, over all buckets; replays are not counted again."""
    cached = open_task(store, task())
    take(store, cached, [report(cached.task)])
    batch = many(cached, 7, seed=1)
    for relay, own, when in [
        ("a", batch, NOW),
        ("b", batch, NOW),
        ("b", many(cached, 3, seed=2), NOW),
        ("a", many(cached, 2, seed=4), NOW + 3 * 86_400),
    ]:
        store.reports.take([replace(own, relay=relay)], when)
    status = store.standing.read(cached.id)
    assert (status.reports, dict(status.relayed)) == (13, {"a": 9, "b": 3})


def test_the_readiness_check_writes(url: str) -> None:
    """Something else each time, and nothing that anybody keeps."""
    with closing(open_store(url)) as store:
        written = set()
        for _ in range(3):
            store.check()
            written.add(store.facts.read("probe"))
        assert store.tokens.listed() == []
        assert store.tasks.listed() == []
    assert len(written) == 3
    assert None not in written


@pytest.mark.parametrize("size", [sqlite.BULK - 1, sqlite.BULK, BULK - 1, BULK])
def test_large_batches_and_single_reports_know_of_each_other(store: Store, size: int) -> None:
    """An id counted in a batch is known to later singles and batches, and the other way round."""
    cached = open_task(store, task())
    batch = many(cached, size, seed=3)
    assert (store.reports.take([batch], NOW)[0] == COUNTED).all()
    assert (store.reports.take([batch], NOW)[0] == REPLAYED).all()
    counted = [report(cached.task, batch.ids[i].tobytes()) for i in range(0, size, 97)]
    told = take(store, cached, counted)
    assert set(told) <= {REPLAYED, CONFLICT}
    assert take(store, cached, counted[:1]) == told[:1]
    single = report(cached.task)
    take(store, cached, [single])
    mixed = many(cached, size, seed=4)
    mixed.ids[size // 2] = np.frombuffer(single.id, dtype=np.uint8)
    outcomes = store.reports.take([mixed], NOW)[0]
    assert np.count_nonzero(outcomes == COUNTED) == size - 1
    assert outcomes[size // 2] in (REPLAYED, CONFLICT)
    assert store.standing.read(cached.id).reports == 2 * size


@keeps(
    "threat-model: an expired invitation serves no more",
    in_="curator/datastore/counting.py",
    instead_of="AND (expires IS NULL OR expires > ?)",
    plant="AND (TRUE OR expires > ?)",
)
def test_invitations_end_and_are_revoked_and_counted(store: Store) -> None:
    """Neither an expired one nor a revoked one counts a report or holds a place; used ones stay.

    Where a task is for invited holders from the start, none counts before the first is made.
    """
    cached = open_task(store, task(invited=True))
    assert store.standing.read(cached.id).invited
    assert take(store, cached, [report(cached.task)]) == [NOT_INVITED]
    codes = digests(5)
    store.invitations.issue(cached.id, codes[:2])
    store.invitations.issue(cached.id, codes[2:], expires=NOW + 1)

    def outcome(digest: bytes, now: float) -> int:
        return take(store, cached, [report(cached.task)], [digest], now)[0]

    assert outcome(codes[0], NOW) == COUNTED
    assert outcome(codes[2], NOW) == COUNTED
    assert outcome(codes[3], NOW + 1) == NOT_INVITED
    assert store.invitations.admit(cached.id, bytes(16), [codes[3]], NOW + 1) == [codes[3]]
    assert store.invitations.count(cached.id, NOW) == InvitationCounts(
        issued=5, used=2, revoked=0, expired=0
    )
    assert store.invitations.count(cached.id, NOW + 1) == InvitationCounts(
        issued=5, used=2, revoked=0, expired=2
    )
    assert store.invitations.revoke(cached.id, [codes[0], codes[4], bytes(31)]) == 1
    assert store.invitations.revoke(cached.id) == 2
    assert outcome(codes[1], NOW) == NOT_INVITED
    assert store.invitations.count(cached.id, NOW + 1) == InvitationCounts(
        issued=5, used=2, revoked=3, expired=0
    )


@keeps(
    "threat-model: a fitter's model does not serve in place of another",
    in_="curator/datastore/models.py",
    instead_of="promote or not connection.scalar(select(func.count()).where(serving))",
    plant="True",
)
def test_an_alias_stands_for_one_model(store: Store) -> None:
    """It goes over to another, and goes with the task; a model that is not there has none.

    Models are numbered from 1, and stay. The first one serves.
    """
    made = task()
    open_task(store, made)
    summary = {"estimator": "drift", "parameters": {"split": 0.5}, "facts": {}}
    models = [
        store.models.add(made.id, b"first", {}, NOW),
        store.models.add(made.id, b"second!", summary, NOW + 1),
    ]
    assert models == [ModelInfo(1, NOW, {}, ("serving",)), ModelInfo(2, NOW + 1, summary)]
    assert store.models.listed(made.id) == models
    assert [store.models.document(made.id, number) for number in (1, 2)] == [b"first", b"second!"]
    store.models.name(made.id, "best", 1)
    store.models.name(made.id, "serving", 2)
    assert [info.aliases for info in store.models.listed(made.id)] == [("best",), ("serving",)]
    promoted = store.models.add(made.id, b"third", {}, NOW, promote=True)
    served = [info.number for info in store.models.listed(made.id) if "serving" in info.aliases]
    assert served == [promoted.number] == [3]
    with pytest.raises(ModelNotFound):
        store.models.name(made.id, "serving", 4)
    store.tasks.move(made.id, Move.DELETE, NOW)
    open_task(store, made)
    store.models.add(made.id, b"model", {}, NOW)
    assert [info.aliases for info in store.models.listed(made.id)] == [("serving",)]


@keeps(
    "deployment: a 2xx means durable: SQLite syncs fully",
    in_="curator/datastore/sqlite.py",
    instead_of="synchronous = FULL",
    plant="synchronous = OFF",
)
@keeps(
    "deployment: a 2xx means durable: PostgreSQL",
    in_="curator/datastore/postgres.py",
    instead_of="'synchronous_commit', 'on', true",
    plant="'synchronous_commit', 'off', true",
)
@keeps(
    "operations: a commit waits for the disk, whatever the server's default is",
    in_="curator/datastore/postgres.py",
    instead_of='f"pg_try_advisory_xact_lock_shared(5797973, 2), {DURABLE}"',
    plant='"pg_try_advisory_xact_lock_shared(5797973, 2)"',
)
def test_a_commit_waits_for_the_disk(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a report survives a power cut from the moment it is answered, whatever the server's
    default is; each kind of transaction that writes is asked before its end."""
    monkeypatch.setattr(sqlite, "SERVING", SERVING)
    with closing(open_store(url)) as store:
        assert_that_commits_wait(store, monkeypatch)


def assert_that_commits_wait(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, waits = {
        "sqlite": ("PRAGMA synchronous", 2),
        "postgresql": ("SHOW synchronous_commit", "on"),
    }[store.engine.dialect.name]
    cached, found, backend = open_task(store, task()), [], store.database.backend
    slot = backend.slot

    def asking(cursor: DBAPICursor) -> int:
        found.append(cursor.execute(asked).fetchone()[0])
        return slot(cursor)

    monkeypatch.setattr(backend, "slot", asking)
    take(store, cached, [report(cached.task)])
    for opened in (store.database.writing, partial(writing, store.engine)):
        with opened() as connection:
            found.append(connection.exec_driver_sql(asked).scalar())
    if waits == "on":
        with postgres.alone(store.engine) as connection:
            found.append(connection.exec_driver_sql(asked).scalar())
    assert set(found) == {waits}
    assert len(found) >= 3
    store.check()
    if waits == "on":
        with closing(store.engine.raw_connection()) as direct:
            driver: Any = direct.driver_connection
            assert driver.prepare_threshold == postgres.PREPARE_AFTER
        monkeypatch.setattr(postgres, "HOLD", postgres.HOLD.replace("'on'", "'off'"))
        with pytest.raises(StorageFailed, match="synchronous_commit = off"):
            store.check()


def test_a_closed_store_keeps_no_connection(store: Store) -> None:
    """Of a thread that still reads either, nor of one that reads afterwards."""
    used = []
    with store.database.reading() as connection:
        used.append(connection.connection.driver_connection)
        store.close()
        assert connection.scalar(text("SELECT 1")) == 1
    with store.database.reading() as connection:
        used.append(connection.connection.driver_connection)
    for driver in used:
        with pytest.raises((sqlite3.ProgrammingError, psycopg.OperationalError)):
            driver.cursor().execute("SELECT 1")  # type: ignore[union-attr]
