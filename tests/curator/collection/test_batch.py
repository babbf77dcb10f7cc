"""The call for many reports, over HTTP without a network."""

import asyncio
import hashlib
import threading
from collections.abc import AsyncIterator, Sequence

import httpx
import pytest

from privet.admin.results import Scope
from privet.curator.app import CuratorApp
from privet.curator.collection.batch import MAX_BATCHES, MAX_WAITING
from privet.curator.collection.task_cache import CachedTask
from privet.curator.datastore.store import Store
from privet.curator.settings import Settings
from privet.protocol.batch import Admission
from privet.protocol.errors import (
    InsufficientScope,
    InvalidRequest,
    MalformedReport,
    NotAdmitted,
    NotAuthorized,
    Overloaded,
    QuotaReached,
    TaskNotOpen,
    TooLarge,
    TooManyRequests,
)
from privet.protocol.lifecycle import Move
from privet.protocol.report import Report
from tests.curator.collection.conftest import ADMIN, SMALL, TOKEN
from tests.curator.collection.test_upload import send
from tests.curator.datastore.made import (
    NOW,
    conflicting,
    impossible,
    kept,
    open_task,
    report,
    task,
    total,
)
from tests.keeping import keeps
from tests.problems import assert_problem
from tests.protocol.examples import batch_of


def pack(reports: Sequence[Report], *admissions: bytes) -> bytes:
    return batch_of(reports, *admissions).pack()


async def send_batch(http: httpx.AsyncClient, cached: CachedTask, body: bytes) -> httpx.Response:
    return await http.post(f"/v1/tasks/{cached.id}/reports/batch", content=body)


@keeps(
    "threat-model: a batch takes a relay's token",
    in_="curator/collection/batch.py",
    instead_of="check, head.token, TokenScope.RELAY,",
    plant="check, head.token, TokenScope.READER,",
)
async def test_every_report_of_a_batch_counts_once_or_is_listed(
    http: httpx.AsyncClient, app: CuratorApp, store: Store, cached: CachedTask
) -> None:
    """New, repeated, known, conflicting and impossible reports each have their own outcome.

    Those that count do so by the name of the batch's token.
    """
    known, taken = report(cached.task), report(cached.task)
    for own in (known, taken):
        assert (await send(http, cached, own.pack())).status_code == 201
    other = conflicting(cached.task, taken)
    new, bad = [report(cached.task) for _ in range(3)], impossible(report(cached.task))
    answer = await send_batch(http, cached, pack([known, new[0], bad, new[1], new[1], other]))
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == {
        "counted": 2,
        "replayed": 2,
        "failed": {"report-conflict": [taken.id.hex()], "wrong-payload": [bad.id.hex()]},
    }
    assert kept(store, cached.task) == total(cached.task, [known, taken, *new[:2]])
    text = (await http.get("/metrics", headers=ADMIN)).text
    for name, count in {
        "counted": 4,
        "replayed": 2,
        "report-conflict": 1,
        "wrong-payload": 1,
    }.items():
        assert f'privet_reports_total{{outcome="{name}"}} {count}.0' in text
    for name, count in {"counted": 4, "replayed": 2, "refused": 2}.items():
        labels = f'outcome="{name}",task="{cached.id[:12]}"'
        assert f"privet_task_reports_total{{{labels}}} {count}.0" in text
    app.state.rejects.close()
    status = store.standing.read(cached.id)
    assert status.rejects == {"report-conflict": 1, "wrong-payload": 1}
    assert (status.reports, status.relayed) == (4, {"relay": 2})


async def test_a_batch_of_impossible_reports_counts_nothing(
    http: httpx.AsyncClient, store: Store, cached: CachedTask
) -> None:
    """It is answered, with all ids listed."""
    bad = [impossible(report(cached.task)) for _ in range(2)]
    answer = await send_batch(http, cached, pack(bad))
    assert answer.json() == {
        "counted": 0,
        "replayed": 0,
        "failed": {"wrong-payload": [own.id.hex() for own in bad]},
    }
    assert store.standing.read(cached.id).reports == 0


async def test_a_batch_answers_one_question_of_several(
    http: httpx.AsyncClient, store: Store
) -> None:
    """Where each holder answers one question, a batch counts for its own."""
    made = task(questions=3, allocation="one")
    cached = open_task(store, made)
    reports = [report(made, question=2) for _ in range(4)]
    assert (await send_batch(http, cached, pack(reports))).json()["counted"] == 4
    assert kept(store, made) == total(made, reports)


OWN = b"an admission of "


async def admit(http: httpx.AsyncClient, cached: CachedTask, *digests: bytes) -> httpx.Response:
    body = Admission.of(OWN, digests).pack()
    return await http.post(f"/v1/tasks/{cached.id}/admissions", content=body)


async def test_invitations_come_apart_from_reports(
    http: httpx.AsyncClient, store: Store, invited: CachedTask
) -> None:
    """As a set, before the batch, which has one row for each that is held, or counts for nothing.

    No message pairs them: the batch has no column for invitations, nor has the admission one for
    ids.
    """
    good = sorted(hashlib.sha256(bytes([i])).digest() for i in range(3))
    cached = invited
    store.invitations.issue(cached.id, good)
    reports = [report(cached.task) for _ in range(4)]
    for _ in range(2):
        answer = await admit(http, cached, bytes(32), *good)
        assert answer.json() == {"held": 3, "refused": [bytes(32).hex()]}
    assert_problem(await send_batch(http, cached, pack(reports, OWN)), NotAdmitted)
    assert_problem(await send_batch(http, cached, pack(reports, OWN[::-1])), NotAdmitted)
    assert store.standing.read(cached.id).reports == 0
    unnamed = (await send_batch(http, cached, pack(reports[:1]))).json()
    assert unnamed["failed"] == {"not-authorized": [reports[0].id.hex()]}
    for expected in ({"counted": 3, "replayed": 0}, {"counted": 0, "replayed": 3}):
        answer = await send_batch(http, cached, pack(reports[:3], OWN))
        assert answer.json() == {**expected, "failed": {}}
    assert kept(store, cached.task) == total(cached.task, reports[:3])


async def test_an_admission_is_asked_for_by_a_relay(
    http: httpx.AsyncClient, store: Store, invited: CachedTask
) -> None:
    """With its token, of no more than a batch holds, for a task that is open."""
    digest = hashlib.sha256(b"golden").digest()
    cached = invited
    store.invitations.issue(cached.id, [digest])
    many = [i.to_bytes(32, "big") for i in range(SMALL.batch_reports + 1)]
    assert_problem(await admit(http, cached, *many), TooLarge)
    url = f"/v1/tasks/{cached.id}/admissions"
    assert_problem(await http.post(url, content=b"\xc1"), MalformedReport)
    store.tasks.move(cached.id, Move.CLOSE, NOW)
    assert_problem(await admit(http, cached, digest), TaskNotOpen)
    store.tasks.move(cached.id, Move.OPEN, NOW)
    assert (await admit(http, cached, digest)).json() == {"held": 1, "refused": []}
    other = Admission.of(OWN, [bytes(32)]).pack()
    assert_problem(await http.post(url, content=other), InvalidRequest)
    del http.headers["Authorization"]
    assert_problem(await admit(http, cached, digest), NotAuthorized)


async def test_a_batch_for_a_task_that_is_closed_or_gone(
    http: httpx.AsyncClient, store: Store, cached: CachedTask
) -> None:
    """A closed task still knows what it counted; of one that is deleted nothing is left."""
    known, late = report(cached.task), report(cached.task)
    assert (await send_batch(http, cached, pack([known]))).json()["counted"] == 1
    store.tasks.move(cached.id, Move.CLOSE, NOW)
    assert (await send_batch(http, cached, pack([known, late]))).json() == {
        "counted": 0,
        "replayed": 1,
        "failed": {"task-not-open": [late.id.hex()]},
    }
    store.tasks.move(cached.id, Move.DELETE, NOW)
    answer = await send_batch(http, cached, pack([late]))
    assert answer.json()["failed"] == {"task-not-found": [late.id.hex()]}


@keeps(
    "threat-model: it is checked before the body is read",
    in_="curator/collection/batch.py",
    instead_of="""
        relay = await self._authorized(scope, head)
        tasks = self.intake.tasks
        task = tasks.get(task_id) or await tasks.load(task_id)
        with MemoryShare(self.intake.budget) as share:
            body = await self._body(receive, head, BATCH_MEDIA_TYPE, share)""",
    plant="""
        tasks = self.intake.tasks
        task = tasks.get(task_id) or await tasks.load(task_id)
        with MemoryShare(self.intake.budget) as share:
            body = await self._body(receive, head, BATCH_MEDIA_TYPE, share)
            relay = await self._authorized(scope, head)""",
)
async def test_a_batch_needs_a_relays_token(
    http: httpx.AsyncClient, app: CuratorApp, store: Store, cached: CachedTask
) -> None:
    """Without a token, or with a reader's or a wrong one, no body is read and nothing counts."""
    path, body = f"/v1/tasks/{cached.id}/reports/batch", pack([report(cached.task)])
    read = []

    async def content() -> AsyncIterator[bytes]:
        read.append(len(body))
        yield body

    del http.headers["Authorization"]
    reader = app.state.curator.tokens.issue("reader", Scope.READER)
    for token, error in (
        (None, NotAuthorized),
        ("wrong", NotAuthorized),
        (reader, InsufficientScope),
    ):
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        answer = await http.post(path, content=content(), headers=headers)
        assert_problem(answer, error)
        assert "privet token issue" in answer.text or token is not None
    assert read == []
    assert store.standing.read(cached.id).reports == 0
    assert dict(store.standing.read(cached.id).relayed) == {}


@keeps(
    "threat-model: the rate of a relay counts reports",
    in_="curator/collection/batch.py",
    instead_of="len(batch.valid) + len(batch.invalid)",
    plant="1",
)
@keeps(
    "threat-model: invalid reports count towards a relay's rate",
    in_="curator/collection/batch.py",
    instead_of="len(batch.valid) + len(batch.invalid)",
    plant="len(batch.valid)",
)
@pytest.mark.parametrize("settings", [Settings(admin_token=TOKEN, relay_rate_limit=20)])  # type: ignore[arg-type]
async def test_the_rate_of_a_relay_counts_reports(
    http: httpx.AsyncClient, store: Store, cached: CachedTask
) -> None:
    """One batch may be larger than the limit, and then the token waits for all of it.

    Those that no holder could have sent count as well.
    """
    reports = [report(cached.task) for _ in range(8)]
    many = await send_batch(http, cached, pack([*reports[:5], *map(impossible, reports[5:])] * 3))
    assert (many.json()["counted"], many.json()["replayed"]) == (5, 10)
    one = await send_batch(http, cached, pack([report(cached.task)]))
    assert_problem(one, TooManyRequests)
    assert store.standing.read(cached.id).reports == 5


async def test_a_quota_refuses_what_is_beyond_it(http: httpx.AsyncClient, store: Store) -> None:
    """In a batch those beyond are listed; a single report gets a problem of its own."""
    cached = open_task(store, task(), quota=2)
    reports = [report(cached.task) for _ in range(3)]
    answer = await send_batch(http, cached, pack(reports))
    assert answer.json() == {
        "counted": 2,
        "replayed": 0,
        "failed": {"quota-reached": [reports[2].id.hex()]},
    }
    assert_problem(await send(http, cached, report(cached.task).pack()), QuotaReached)


@keeps(
    "deployment: a batch has no more bytes than allowed",
    in_="curator/collection/batch.py",
    instead_of="limit = self.limits.batch_bytes",
    plant="limit = 2**40",
)
@keeps(
    "deployment: a batch has no more reports than allowed",
    in_="curator/collection/batch.py",
    instead_of="task, body, self.limits.batch_reports,",
    plant="task, body, 10**9,",
)
async def test_limits_of_a_batch(http: httpx.AsyncClient, cached: CachedTask) -> None:
    """Too many reports, too many bytes and what is no batch are refused whole."""
    reports = [report(cached.task) for _ in range(SMALL.batch_reports + 1)]
    assert_problem(await send_batch(http, cached, pack(reports)), TooLarge)
    large = bytes(SMALL.batch_bytes + 1)
    assert_problem(await send_batch(http, cached, large), TooLarge)
    assert_problem(await send_batch(http, cached, b"\xc1"), MalformedReport)


async def test_batches_wait_their_turn_up_to_a_bound(
    http: httpx.AsyncClient, cached: CachedTask, go_on: threading.Event
) -> None:
    """More than are counted at a time wait; one more than may wait is a 503 with Retry-After."""
    allowed = MAX_BATCHES + MAX_WAITING
    bodies = [pack([report(cached.task)]) for _ in range(allowed + 1)]
    sent = [asyncio.create_task(send_batch(http, cached, body)) for body in bodies]
    done, _ = await asyncio.wait(sent, return_when=asyncio.FIRST_COMPLETED)
    (first,) = done
    assert_problem(await first, Overloaded)
    assert (await first).headers["retry-after"]
    go_on.set()
    answers = [(await own).json() for own in sent if own is not first]
    assert [answer["counted"] for answer in answers] == [1] * allowed


async def test_silent_bodies_take_no_place(http: httpx.AsyncClient, cached: CachedTask) -> None:
    """Any number of senders that announce a batch and send nothing keep no batch out."""
    over, begun = asyncio.Event(), []

    async def silent() -> AsyncIterator[bytes]:
        begun.append(True)
        await over.wait()
        yield b""

    url = f"/v1/tasks/{cached.id}/reports/batch"
    count = MAX_BATCHES + MAX_WAITING + 1
    quiet = [asyncio.create_task(http.post(url, content=silent())) for _ in range(count)]
    while len(begun) < count:
        await asyncio.sleep(0.01)
    assert (await send_batch(http, cached, pack([report(cached.task)]))).json()["counted"] == 1
    over.set()
    assert {(await each).status_code for each in quiet} <= {400, 503}
