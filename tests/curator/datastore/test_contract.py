"""What every store promises; the same tests for each."""

import hashlib
import os
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from privet.curator.collection.task_cache import CachedTask
from privet.curator.datastore import open_store
from privet.curator.datastore.expiry import Expired
from privet.curator.datastore.invitations import HOLD_SECONDS, InvitationCounts
from privet.curator.datastore.models import ModelInfo
from privet.curator.datastore.report_ids import BULK
from privet.curator.datastore.reports import Outcome, ReportGroup
from privet.curator.datastore.store import Store
from privet.curator.datastore.tasks import PUBLIC_MODEL
from privet.curator.datastore.tokens import StoredToken
from privet.protocol.errors import (
    IllegalMove,
    InvalidRequest,
    ModelNotFound,
    TaskNotFound,
    TaskNotOpen,
)
from privet.protocol.lifecycle import Move, TaskState
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
    task,
    total,
)

MISSING = "0" * 64


def digests(count: int) -> list[bytes]:
    return [hashlib.sha256(bytes([i])).digest() for i in range(count)]


def test_a_task_comes_back_as_it_was_given(store: Store) -> None:
    """What was kept about a task is what is read, bit by bit."""
    made, data = task(opens=5, closes=9), public()
    assert store.create_task(made, {"name": "ä", "depth": 3}, data, NOW)
    stored = store.task(made.id)
    assert stored.task == made
    assert stored.task.canonical == made.canonical
    assert (stored.state, stored.created, stored.moved) == (TaskState.DRAFT, NOW, NOW)
    assert dict(stored.settings) == {"name": "ä", "depth": 3}
    (listed,) = store.tasks()
    head = listed.task
    assert (head.id, head.name, head.label.name) == (made.id, made.name, made.label.name)
    assert (head.version, head.epsilon) == (made.version, made.epsilon)
    assert (head.opens, head.closes) == (made.opens, made.closes)
    assert len(head.questions) == len(made.questions)
    assert (listed.state, listed.created, listed.marked) == (stored.state, stored.created, None)
    read = store.public_data(made.id)
    assert np.array_equal(read.X, data.X)
    assert np.array_equal(read.y, data.y)


def test_a_public_model_is_kept_with_the_public_data(store: Store) -> None:
    """An ONNX file comes back byte for byte, is none where none came, and goes with its task."""
    made, onnx = task("with"), os.urandom(100_000)
    store.create_task(made, {PUBLIC_MODEL: "a digest"}, replace(public(), onnx=onnx), NOW)
    store.create_task(task("without"), {}, public(), NOW)
    assert store.public_data(made.id).onnx == onnx
    assert store.task(made.id).public_model == "a digest"
    assert store.public_data(task("without").id).onnx is None
    assert store.task(task("without").id).public_model is None
    store.move(made.id, Move.DELETE, NOW)
    assert store.create_task(made, {}, public(), NOW)
    assert store.public_data(made.id).onnx is None


def test_creating_a_task_again_changes_nothing(store: Store) -> None:
    """A second creation of the same task says so and leaves its sums, state and settings."""
    made = task()
    cached = open_task(store, made)
    store.take([group(cached, [report(made)])], NOW)
    before = kept(store, made)
    assert not store.create_task(made, {"other": 1}, public(), NOW + 1)
    assert kept(store, made) == before
    assert store.task(made.id).state is TaskState.OPEN
    assert "other" not in store.task(made.id).settings


def test_what_is_missing_is_named(store: Store) -> None:
    """Every verb on an unknown task says that there is none."""
    calls: list[Callable[[], object]] = [
        lambda: store.task(MISSING),
        lambda: store.public_data(MISSING),
        lambda: store.move(MISSING, Move.OPEN, NOW),
        lambda: store.sums(MISSING),
        lambda: store.status(MISSING),
        lambda: store.add_model(MISSING, b"", {}, NOW),
        lambda: store.models(MISSING),
        lambda: store.model(MISSING, 1),
        lambda: store.invite(MISSING, [bytes(32)]),
    ]
    for call in calls:
        with pytest.raises(TaskNotFound):
            call()
    store.count_rejects(MISSING, {"too-large": 1})
    store.create_task(task(), {}, public(), NOW)
    for number in (1, 0, -1):
        with pytest.raises(ModelNotFound):
            store.model(task().id, number)


def test_moves_follow_the_table(store: Store) -> None:
    """A legal move changes the state and its time, an illegal one nothing."""
    made = task()
    store.create_task(made, {}, public(), NOW)
    with pytest.raises(IllegalMove):
        store.move(made.id, Move.CLOSE, NOW + 1)
    assert store.task(made.id).moved == NOW
    assert store.move(made.id, Move.OPEN, NOW + 2) is TaskState.OPEN
    assert store.task(made.id).moved == NOW + 2
    assert store.move(made.id, Move.CLOSE, NOW + 3) is TaskState.CLOSED
    assert store.move(made.id, Move.DELETE, NOW + 4) is TaskState.DELETED
    with pytest.raises(TaskNotFound):
        store.task(made.id)


@pytest.mark.parametrize("allocation", ["all", "one"])
def test_sums_are_those_of_the_reports(store: Store, allocation: str) -> None:
    """Sums, counts and checksum are what adding the reports one by one gives."""
    made = task(questions=3, allocation=allocation)
    cached = open_task(store, made)
    reports = [report(made, question=i % 3, category=i % 4) for i in range(20)]
    outcomes = store.take([group(cached, reports)], NOW)
    assert outcomes[0].tolist() == [Outcome.COUNTED] * 20
    store.take([group(cached, reports[:1])], NOW)
    assert kept(store, made) == total(made, reports)
    status = store.status(made.id)
    assert status.reports == 20
    assert status.answers == tuple(n for _, n in total(made, reports))
    assert status.checksum == slow_checksum([own.id for own in reports])


def test_an_id_counts_once(store: Store) -> None:
    """The same report again is a replay, another under its id a conflict; neither adds."""
    made = task()
    cached = open_task(store, made)
    first, second = report(made), report(made)
    store.take([group(cached, [first])], NOW)
    other = group(cached, [conflicting(made, first)])
    assert store.take([other], NOW)[0].tolist() == [Outcome.CONFLICT]
    sent = [first, second, conflicting(made, first)]
    outcomes = store.take([group(cached, sent)], NOW)[0]
    assert outcomes.tolist() == [Outcome.REPLAYED, Outcome.COUNTED, Outcome.CONFLICT]
    assert kept(store, made) == total(made, [first, second])


def test_repeats_within_a_group_are_found(store: Store) -> None:
    """Of several reports under one id in a group the first decides."""
    made = task()
    cached = open_task(store, made)
    first = report(made)
    outcomes = store.take([group(cached, [first, conflicting(made, first), first])], NOW)[0]
    assert outcomes.tolist() == [Outcome.COUNTED, Outcome.CONFLICT, Outcome.REPLAYED]
    assert kept(store, made) == total(made, [first])


def test_ids_of_zeros_and_of_shared_beginnings_stay_apart(store: Store) -> None:
    """Ids that differ in any one byte, trailing zeros included, are different ids."""
    made = task()
    cached = open_task(store, made)
    ids = [bytes(16)] + [bytes(i) + b"\x01" + bytes(15 - i) for i in range(16)]
    outcomes = store.take([group(cached, [report(made, own) for own in ids])], NOW)[0]
    assert outcomes.tolist() == [Outcome.COUNTED] * 17
    assert store.status(made.id).checksum == slow_checksum(ids)


def test_tasks_do_not_share_ids(store: Store) -> None:
    """The same report id counts once in each of two tasks, in one call."""
    one, two = task("one"), task("two")
    cached_tasks = open_task(store, one), open_task(store, two)
    own = os.urandom(16)
    groups = [
        group(cached, [report(made, own)])
        for cached, made in zip(cached_tasks, (one, two), strict=True)
    ]
    assert [o.tolist() for o in store.take(groups, NOW)] == [[Outcome.COUNTED]] * 2


def test_only_an_open_task_counts(store: Store) -> None:
    """Draft, closed and unknown tasks count nothing new, and still know what they counted."""
    made = task()
    cached = open_task(store, made)
    early, late = report(made), report(made)
    store.take([group(cached, [early])], NOW)
    store.move(made.id, Move.CLOSE, NOW)
    outcomes = store.take([group(cached, [early, late])], NOW)[0]
    assert outcomes.tolist() == [Outcome.REPLAYED, Outcome.NOT_OPEN]
    store.move(made.id, Move.OPEN, NOW)
    assert store.take([group(cached, [late])], NOW)[0].tolist() == [Outcome.COUNTED]
    assert kept(store, made) == total(made, [early, late])
    store.move(made.id, Move.DELETE, NOW)
    assert store.take([group(cached, [late])], NOW)[0].tolist() == [Outcome.NO_TASK]


def test_the_published_dates_hold(store: Store) -> None:
    """Reports count from the first second of collection until just before its end."""
    made = task(opens=100, closes=200)
    cached = open_task(store, made, 0.0)
    for now, expected in [
        (99.9, Outcome.NOT_OPEN),
        (100.0, Outcome.COUNTED),
        (199.9, Outcome.COUNTED),
        (200.0, Outcome.NOT_OPEN),
    ]:
        assert store.take([group(cached, [report(made)])], now)[0].tolist() == [expected]


def test_delete_removes_everything(store: Store) -> None:
    """A task made again after its deletion starts from nothing."""
    made = task()
    cached = open_task(store, made)
    own = report(made)
    store.take([group(cached, [own])], NOW)
    store.take([many(cached, BULK, seed=1)], NOW)
    store.add_model(made.id, b"model", {}, NOW)
    store.count_rejects(made.id, {"too-large": 1})
    store.move(made.id, Move.DELETE, NOW)
    assert store.tasks() == []
    assert store.was_deleted(made.id)
    assert not store.was_deleted(task("another").id)
    open_task(store, made)
    status = store.status(made.id)
    assert (status.reports, status.rejects, store.models(made.id)) == (0, {}, [])
    assert store.take([group(cached, [own])], NOW)[0].tolist() == [Outcome.COUNTED]
    assert store.take([many(cached, BULK, seed=1)], NOW)[0].tolist() == [Outcome.COUNTED] * BULK


def test_buckets_divide_the_reports_by_time(store: Store) -> None:
    """Each bucket holds the reports and the checksum of its own stretch of time."""
    made = task()
    cached = open_task(store, made)
    days = {0: [report(made)], 1: [report(made), report(made)]}
    for day, reports in days.items():
        for own in reports:
            store.take([group(cached, [own])], NOW + 86_400 * day)
    buckets = store.status(made.id).buckets
    assert [bucket.reports for bucket in buckets] == [1, 2]
    for bucket, reports in zip(buckets, days.values(), strict=True):
        assert bucket.checksum == slow_checksum([own.id for own in reports])
    assert buckets[1].starts - buckets[0].starts == 86_400
    assert buckets[0].starts <= NOW < buckets[0].starts + 86_400


def test_rejects_add_up_by_reason(store: Store) -> None:
    """Counts of refused reports are kept per reason."""
    made = task()
    store.create_task(made, {}, public(), NOW)
    store.count_rejects(made.id, {"too-large": 2, "wrong-payload": 1})
    store.count_rejects(made.id, {"too-large": 3})
    assert store.status(made.id).rejects == {"too-large": 5, "wrong-payload": 1}


def test_models_are_numbered_and_stay(store: Store) -> None:
    """Models are numbered from 1 in order, and the latest is the one without a number."""
    made = task()
    store.create_task(made, {}, public(), NOW)
    summary = {"estimator": "drift", "parameters": {"split": 0.5}, "facts": {}}
    first = store.add_model(made.id, b"first", {}, NOW)
    second = store.add_model(made.id, b"second!", summary, NOW + 1)
    assert store.models(made.id) == [first, second]
    assert (first, second) == (ModelInfo(1, NOW, {}), ModelInfo(2, NOW + 1, summary))
    assert store.model(made.id, 2) == b"second!"
    assert store.model(made.id, 1) == b"first"


def test_an_invitation_serves_once(store: Store) -> None:
    """With invitations, each new report needs an unused one; a replay needs none.

    One that is made again stays used.
    """
    made = task()
    cached = open_task(store, made)
    good = digests(2)
    assert not store.status(made.id).invited
    store.invite(made.id, good)
    assert store.status(made.id).invited
    first, *others = [report(made) for _ in range(4)]
    outcomes = store.take([group(cached, [first], [good[0]])], NOW)[0]
    assert outcomes.tolist() == [Outcome.COUNTED]
    store.invite(made.id, good)
    given = [None, good[0], good[1], None]
    outcomes = store.take([group(cached, [first, *others], given)], NOW)[0]
    assert outcomes.tolist() == [
        Outcome.REPLAYED,
        Outcome.NOT_INVITED,
        Outcome.COUNTED,
        Outcome.NOT_INVITED,
    ]
    assert kept(store, made) == total(made, [first, others[1]])


def admitted(cached: CachedTask, count: int, *admissions: bytes) -> ReportGroup:
    """``count`` new reports of a relay's batch that names admissions."""
    own = group(cached, [report(cached.task) for _ in range(count)])
    return replace(own, admissions=admissions, relay="relay")


def test_held_invitations_serve_for_their_batch_alone(store: Store) -> None:
    """Neither a report nor another admission gets them, and all are used up by the batch."""
    cached, good = open_task(store, task()), digests(4)
    store.invite(cached.id, good)
    assert store.admit(cached.id, b"1" * 16, [*good[:3], bytes(32)], NOW) == [bytes(32)]
    assert store.admit(cached.id, b"1" * 16, [*good[:3], bytes(32)], NOW) == [bytes(32)]
    assert store.admit(cached.id, b"2" * 16, good[2:], NOW) == [good[2]]
    single = group(cached, [report(cached.task)], [good[0]])
    assert store.take([single], NOW)[0].tolist() == [Outcome.NOT_INVITED]
    for wrong in ((b"1" * 16,), (b"3" * 16,), (b"2" * 16, b"3" * 16)):
        too_many = admitted(cached, 4, *wrong)
        assert store.take([too_many], NOW)[0].tolist() == [Outcome.NOT_ADMITTED] * 4
    both = admitted(cached, 4, b"1" * 16, b"2" * 16)
    assert store.take([both], NOW)[0].tolist() == [Outcome.COUNTED] * 4
    assert store.take([both], NOW)[0].tolist() == [Outcome.REPLAYED] * 4
    assert store.take([admitted(cached, 1, b"1" * 16)], NOW)[0].tolist() == [Outcome.NOT_ADMITTED]
    assert store.admit(cached.id, b"4" * 16, good, NOW) == good
    assert store.status(cached.id).reports == 4


def test_an_admission_holds_what_it_held(store: Store) -> None:
    """Its id names one set of invitations, in one task, that takes reports."""
    cached, good = open_task(store, task(closes=int(NOW) + 10)), digests(2)
    store.invite(cached.id, good)
    store.admit(cached.id, b"1" * 16, good[:1], NOW)
    with pytest.raises(InvalidRequest, match="draw a new id"):
        store.admit(cached.id, b"1" * 16, good, NOW)
    with pytest.raises(TaskNotOpen):
        store.admit(cached.id, b"2" * 16, good, NOW + 10)
    with pytest.raises(TaskNotFound):
        store.admit(MISSING, b"2" * 16, good, NOW)
    other = open_task(store, task("other"))
    assert store.admit(other.id, b"1" * 16, good, NOW) == good


def test_an_admission_without_its_batch_is_forgotten(store: Store) -> None:
    """After seven days its invitations serve again, and its batch needs it anew."""
    cached, good = open_task(store, task()), digests(2)
    store.invite(cached.id, good)
    store.admit(cached.id, b"1" * 16, good, NOW)
    late = admitted(cached, 2, b"1" * 16)
    assert pass_time(store, NOW, HOLD_SECONDS - HOUR, HOUR, None).admissions == 0
    assert store.admit(cached.id, b"2" * 16, good, NOW + HOUR) == good
    assert store.expire(NOW + HOLD_SECONDS, HOUR, None).admissions == 1
    assert store.take([late], NOW)[0].tolist() == [Outcome.NOT_ADMITTED] * 2
    assert store.admit(cached.id, b"1" * 16, good, NOW) == []
    assert store.take([late], NOW)[0].tolist() == [Outcome.COUNTED] * 2


def test_a_quota_is_for_admitted_reports_too(store: Store) -> None:
    """Those beyond it are refused for that, also when the batch comes again."""
    cached, good = open_task(store, task(), quota=2), digests(3)
    store.invite(cached.id, good)
    store.admit(cached.id, b"1" * 16, good, NOW)
    own = admitted(cached, 3, b"1" * 16)
    assert store.take([own], NOW)[0].tolist() == [Outcome.COUNTED] * 2 + [Outcome.OVER_QUOTA]
    assert store.take([own], NOW)[0].tolist() == [Outcome.REPLAYED] * 2 + [Outcome.OVER_QUOTA]


def test_tokens_are_kept_by_name(store: Store) -> None:
    """A token is replaced under its name and forgotten on demand."""
    one, two = StoredToken("a", "admin", b"1" * 32, NOW), StoredToken("b", "reader", b"2" * 32, NOW)
    assert not store.put_token(two)
    assert not store.put_token(one)
    assert store.tokens() == [one, two]
    newer = StoredToken("a", "reader", b"3" * 32, NOW + 1)
    assert store.put_token(newer)
    assert store.tokens() == [newer, two]
    assert not store.replace_token(None, one)
    assert not store.replace_token(one, one)
    assert store.tokens() == [newer, two]
    assert store.replace_token(newer, one)
    assert store.tokens() == [one, two]
    assert store.drop_token("a")
    assert not store.drop_token("a")
    assert store.tokens() == [two]
    assert store.replace_token(one, newer)
    assert store.tokens() == [newer, two]


def test_expiry_keeps_what_a_replay_could_need(store: Store) -> None:
    """Ids go only after the published end and the time to keep them; tasks after theirs."""
    ended, endless = task("ended", closes=96 * 3600), task("endless")
    cached_tasks = open_task(store, ended, 0.0), open_task(store, endless, 0.0)
    for cached in cached_tasks:
        store.take([group(cached, [report(cached.task)])], 10.0)
        store.take([many(cached, BULK, seed=1)], 10.0)
    keep = (12 * HOUR, 48 * HOUR)
    assert pass_time(store, 0.0, 131 * HOUR, *keep) == Expired(0, 0, marked=1)
    assert store.expire(132 * HOUR, *keep) == Expired(0, BULK + 1)
    assert store.status(ended.id).reports == BULK + 1
    assert pass_time(store, 132 * HOUR, 35 * HOUR, *keep) == Expired(0, 0, marked=1)
    assert store.expire(168 * HOUR, *keep) == Expired(1, 0)
    assert [listed.task.id for listed in store.tasks()] == [endless.id]
    assert pass_time(store, 169 * HOUR, 100 * HOUR, 0.0, None) == Expired(0, 0)


def test_a_task_counts_no_more_than_its_quota(store: Store) -> None:
    """In order of arrival, over groups of all sizes; what was counted before is still known."""
    made = task()
    cached = open_task(store, made, quota=5)
    first = [report(made) for _ in range(3)]
    assert (store.take([group(cached, first)], NOW)[0] == Outcome.COUNTED).all()
    more = [first[0], *(report(made) for _ in range(4))]
    outcomes = store.take([group(cached, more)], NOW)[0].tolist()
    assert outcomes == [Outcome.REPLAYED, *[Outcome.COUNTED] * 2, *[Outcome.OVER_QUOTA] * 2]
    batch = many(cached, BULK, seed=3)
    assert (store.take([batch], NOW)[0] == Outcome.OVER_QUOTA).all()
    assert kept(store, made) == total(made, [*first, *more[1:3]])


def test_a_quota_uses_no_invitation_up(store: Store) -> None:
    """An invitation that came after the quota was reached is still unused."""
    made = task()
    cached = open_task(store, made, quota=2)
    codes = digests(3)
    store.invite(made.id, codes)
    given = [None, codes[0], codes[0], codes[1], codes[2]]
    outcomes = store.take([group(cached, [report(made) for _ in given], given)], NOW)[0]
    assert outcomes.tolist() == [
        Outcome.NOT_INVITED,
        Outcome.COUNTED,
        Outcome.NOT_INVITED,
        Outcome.COUNTED,
        Outcome.OVER_QUOTA,
    ]


def test_reports_are_counted_by_relay(store: Store) -> None:
    """What counted of each relay's batches, over all buckets; replays are not counted again."""
    made = task()
    cached = open_task(store, made)
    store.take([group(cached, [report(made)])], NOW)
    batch = many(cached, 7, seed=1)
    for relay, own, when in [
        ("a", batch, NOW),
        ("b", batch, NOW),
        ("b", many(cached, 3, seed=2), NOW),
        ("a", many(cached, 2, seed=4), NOW + 3 * 86_400),
    ]:
        store.take([replace(own, relay=relay)], when)
    status = store.status(made.id)
    assert (status.reports, dict(status.relayed)) == (13, {"a": 9, "b": 3})


def test_a_store_that_works_says_so(store: Store) -> None:
    """The readiness check passes, and changes nothing that anybody keeps."""
    store.check()
    assert store.tokens() == []
    assert store.tasks() == []


def test_the_readiness_check_writes(url: str) -> None:
    """Something else each time, in a database."""
    with closing(open_store(url)) as store:
        written = set()
        for _ in range(3):
            store.check()
            written.add(store.fact("probe"))
    assert len(written) == 3
    assert None not in written


@pytest.mark.parametrize("size", [BULK - 1, BULK])
def test_large_batches_and_single_reports_know_of_each_other(store: Store, size: int) -> None:
    """An id counted in a batch is known to later singles and batches, and the other way round."""
    made = task()
    cached = open_task(store, made)
    batch = many(cached, size, seed=3)
    assert (store.take([batch], NOW)[0] == Outcome.COUNTED).all()
    assert (store.take([batch], NOW)[0] == Outcome.REPLAYED).all()
    counted = [report(made, batch.ids[i].tobytes()) for i in range(0, size, 97)]
    outcomes = store.take([group(cached, counted)], NOW)[0]
    assert set(outcomes.tolist()) <= {Outcome.REPLAYED, Outcome.CONFLICT}
    assert store.take([group(cached, counted[:1])], NOW)[0] == outcomes[:1]
    single = report(made)
    store.take([group(cached, [single])], NOW)
    mixed = many(cached, size, seed=4)
    mixed.ids[size // 2] = np.frombuffer(single.id, dtype=np.uint8)
    outcomes = store.take([mixed], NOW)[0]
    assert np.count_nonzero(outcomes == Outcome.COUNTED) == size - 1
    assert outcomes[size // 2] in (Outcome.REPLAYED, Outcome.CONFLICT)
    assert store.status(made.id).reports == 2 * size


def test_a_task_may_be_invited_from_the_start(store: Store) -> None:
    """No report counts before the first invitation is made, and then only invited ones."""
    made = task(invited=True)
    cached = open_task(store, made)
    assert store.status(made.id).invited
    refused = store.take([group(cached, [report(made)])], NOW)[0]
    assert refused.tolist() == [Outcome.NOT_INVITED]
    store.invite(made.id, [bytes(32)])
    invited = group(cached, [report(made)], [bytes(32)])
    assert store.take([invited], NOW)[0].tolist() == [Outcome.COUNTED]


def test_facts_are_kept(store: Store) -> None:
    """The last that was noted under a name."""
    assert store.fact("colour") is None
    store.note("colour", "red")
    store.note("colour", "blue")
    assert store.fact("colour") == "blue"
    assert store.note_first("colour", "green") == "blue"
    assert store.note_first("shape", "round") == "round"
    assert store.fact("shape") == "round"


def test_invitations_end_and_are_revoked_and_counted(store: Store) -> None:
    """Neither an expired one nor a revoked one counts a report or holds a place; used ones stay."""
    made = task(invited=True)
    cached = open_task(store, made)
    codes = digests(5)
    store.invite(made.id, codes[:2])
    store.invite(made.id, codes[2:], expires=NOW + 1)

    def outcome(digest: bytes, now: float) -> int:
        return int(store.take([group(cached, [report(made)], [digest])], now)[0][0])

    assert outcome(codes[0], NOW) == Outcome.COUNTED
    assert outcome(codes[2], NOW) == Outcome.COUNTED
    assert outcome(codes[3], NOW + 1) == Outcome.NOT_INVITED
    assert store.admit(made.id, bytes(16), [codes[3]], NOW + 1) == [codes[3]]
    assert store.invitations(made.id, NOW) == InvitationCounts(5, 2, 0, 0)
    assert store.invitations(made.id, NOW + 1) == InvitationCounts(5, 2, 0, 2)
    assert store.revoke_invitations(made.id, [codes[0], codes[4], bytes(31)]) == 1
    assert store.revoke_invitations(made.id) == 2
    assert outcome(codes[1], NOW) == Outcome.NOT_INVITED
    assert store.invitations(made.id, NOW + 1) == InvitationCounts(5, 2, 3, 0)


def test_an_alias_stands_for_one_model(store: Store) -> None:
    """It goes over to another, and goes with the task; a model that is not there has none."""
    made = task()
    open_task(store, made)
    for _ in range(2):
        store.add_model(made.id, b"model", {}, NOW)
    store.name_model(made.id, "serving", 1)
    store.name_model(made.id, "best", 1)
    store.name_model(made.id, "serving", 2)
    assert [info.aliases for info in store.models(made.id)] == [("best",), ("serving",)]
    with pytest.raises(ModelNotFound):
        store.name_model(made.id, "serving", 3)
    store.move(made.id, Move.DELETE, NOW)
    open_task(store, made)
    store.add_model(made.id, b"model", {}, NOW)
    assert [info.aliases for info in store.models(made.id)] == [()]
