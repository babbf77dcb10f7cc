import asyncio
import logging
import math
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, NoReturn

import httpx
import pytest

from privet.client import (
    BlockingHolder,
    BudgetSpent,
    Caps,
    CuratorUnreachable,
    Holder,
    Ledger,
    MemoryLedger,
    ReportClient,
    ReportState,
    SqliteLedger,
    TaskRefused,
    opening,
)
from privet.client.departure import Departure
from privet.protocol.errors import (
    InvalidRecord,
    InvalidRequest,
    Overloaded,
    PrivetError,
    QuotaReached,
    ReportNotFound,
    TaskNotFound,
    TaskNotOpen,
)
from privet.protocol.features import Numeric
from privet.protocol.mechanisms import SubsetSelection
from privet.protocol.report import make_report
from privet.protocol.task import Task
from tests.client.fakes import TASK, URL, Canned, Network, publish
from tests.fake_curator import FakeCurator, problem, serving
from tests.keeping import keeps
from tests.protocol.examples import RECORD, make_task


def no_randomness(n: int) -> NoReturn:
    raise AssertionError(n)


async def undelivered(
    ledger: Ledger,
    url: str = URL,
    publish: Canned = publish,
    invitation: str | None = None,
    record: Any = RECORD,
) -> Network:
    """Draw and keep an answer that nobody takes; what was tried."""
    broken = Network([publish, httpx.ConnectError("refused")])
    with pytest.raises(CuratorUnreachable):
        await Holder(broken.client(), ledger).answer(url, record, invitation)
    return broken


def no_record() -> Any:
    """A record that must not be looked at."""

    class Untouchable(dict[str, Any]):
        def __getattribute__(self, name: str) -> NoReturn:
            raise AssertionError(name)

    return Untouchable()


@keeps(
    "threat-model: answers to twin tasks are two draws",
    in_="client/holder.py",
    instead_of="opened.draw(self.randomness)",
    plant="opened.draw(lambda n: bytes(n))",
)
async def test_the_blocking_holder_does_the_same(
    curator: FakeCurator, ledger: SqliteLedger
) -> None:
    """Fetch, explain, check, answer, also inside a running loop; errors arrive as themselves.

    With the same random bytes the same report is drawn.
    """
    with BlockingHolder(ledger, randomness=Random(1).randbytes) as holder:
        task = holder.fetch(curator.url)
        assert holder.explain(task).epsilon == 1.0
        holder.check(task)
        answered = holder.answer(curator.url, RECORD)
        assert answered.counted
        assert answered.report == make_report(task, RECORD, Random(1).randbytes).pack()
        assert holder.resend() == []
        with pytest.raises(TaskNotFound):
            holder.fetch(curator.url.replace(task.id, "0" * 64))
    assert len(curator.counted) == 1


async def test_answers_to_twin_tasks_are_two_draws() -> None:
    """Of the same question under two names: nothing links one task's report to the other's."""
    twins, ledger = [make_task(name=name) for name in "ab"], MemoryLedger()
    client = Network([FakeCurator(*twins)]).client()
    holder = Holder(client, ledger, "me", Random(1).randbytes)
    answers = [await holder.answer(URL.replace(TASK.id, twin.id), RECORD) for twin in twins]
    stream = Random(1).randbytes
    assert [a.report for a in answers] == [make_report(t, RECORD, stream).pack() for t in twins]
    assert ledger.spent("me") == 2.0


@keeps(
    "threat-model: the same bytes are sent again when a record changes",
    in_="client/ledger.py",
    instead_of="""
            if kept is None:
                caps, earlier = _caps(db, answer""",
    plant="""
            if True:
                caps, earlier = _caps(db, answer""",
)
async def test_clicks_at_once_are_counted_once(curator: FakeCurator, ledger: SqliteLedger) -> None:
    """Eight answers at the same time send one and the same report, and spend epsilon once."""
    async with ReportClient() as client:
        holders = [Holder(client, ledger) for _ in range(8)]
        await asyncio.gather(*(holder.answer(curator.url, RECORD) for holder in holders))
    assert len(set(curator.posts)) == len(curator.counted) == 1
    assert ledger.spent("me") == curator.task.epsilon


async def test_many_subjects_are_answered_by_one_call(ledger: SqliteLedger) -> None:
    """Each once, whatever its values, and an error in one is its outcome alone; called again it
    sends what is missing, byte for byte, and looks at no record that was counted."""
    curator = FakeCurator(make_task(name="many"))
    records = {f"patient {number}": {**RECORD, "age": 20 + number} for number in range(9)}
    records["patient 3"]["age"] = "many"
    ledger.set_caps("patient 5", Caps(task=0.5))

    def one_fails(request: httpx.Request) -> httpx.Response:
        is_second = request.method == "POST" and len(curator.posts) == 2 and not failed
        if is_second:
            failed.append(request.content)
            return problem(TaskNotFound("Gone."))
        return curator(request)

    failed: list[bytes] = []
    done: list[int] = []
    holder = Holder(Network([one_fails]).client(), ledger, wait=False)
    outcomes = await holder.answer_all(
        curator.url, records, at_a_time=4, answered=lambda: done.append(1)
    )
    errors = {s: type(o) for s, o in outcomes.items() if isinstance(o, Exception)}
    assert list(outcomes) == list(records)
    assert errors.pop("patient 5") is BudgetSpent
    assert list(errors.values()) == [TaskNotFound]
    assert (len(curator.counted), len(done)) == (7, 9)
    misfit = getattr(outcomes["patient 3"], "misfit", None)
    assert "age" in str(misfit) or "patient 3" in errors
    again = await holder.answer_all(curator.url, dict.fromkeys(records, RECORD))
    assert [s for s, o in again.items() if isinstance(o, Exception)] == ["patient 5"]
    assert (len(curator.counted), len(curator.posts)) == (8, 8)
    assert failed == curator.posts[-1:]
    named = {"a": RECORD, "b": {**RECORD, "aeg": 1}}
    with pytest.raises(InvalidRecord):
        await holder.answer_all(curator.url, named)
    assert ledger.answers("a") == []


@keeps(
    "holder: nothing is drawn for a task that takes no answers",
    in_="client/holder.py",
    instead_of="check_phase(await self.http.phase(address))",
    plant="check_phase(None)",
)
@pytest.mark.parametrize(
    ("phase", "error"),
    [("full", QuotaReached), ("over", TaskNotOpen), ("closed", TaskNotOpen)],
)
async def test_nothing_is_drawn_for_a_task_that_takes_no_answers(
    phase: str, error: type[PrivetError], ledger: SqliteLedger
) -> None:
    """Of one subject or of thirty, in one call for all; an answer that is kept is sent again."""
    curator = FakeCurator(make_task(name=phase))
    holder = Holder(Network([curator]).client(), ledger, wait=False)
    curator.busy = 99
    with pytest.raises(Overloaded):
        await holder.answer(curator.url, RECORD)
    curator.busy, curator.says, curator.posts = 0, {"phase": phase}, []
    fresh = Holder(Network([curator]).client(), ledger, "you", wait=False)
    with pytest.raises(error, match="Nothing was drawn"):
        await fresh.answer(curator.url, RECORD)
    subjects = [f"patient {number}" for number in range(30)]
    asked = curator.calls.count("/status")
    outcomes = await fresh.answer_all(curator.url, dict.fromkeys(subjects, RECORD))
    assert {type(outcome) for outcome in outcomes.values()} == {error}
    assert (curator.posts, curator.calls.count("/status")) == ([], asked)
    assert [who for who in ("me", "you", *subjects) if ledger.spent(who)] == ["me"]
    assert (await holder.answer(curator.url, RECORD)).counted


async def test_only_those_under_way_spend_when_a_task_fills(ledger: SqliteLedger) -> None:
    """A refusal is heard by all, who then ask."""
    curator = FakeCurator(make_task(name="fills"))

    def full_at_three(request: httpx.Request) -> httpx.Response:
        if len(curator.counted) < 3:
            return curator(request)
        curator.says = {"phase": "full"}
        is_report = request.method == "POST"
        return problem(QuotaReached("All are in.")) if is_report else curator(request)

    holder = Holder(Network([full_at_three]).client(), ledger, wait=False)
    records = dict.fromkeys([f"patient {number}" for number in range(30)], RECORD)
    outcomes = await holder.answer_all(curator.url, records, at_a_time=4)
    assert sum(isinstance(outcome, QuotaReached) for outcome in outcomes.values()) == 27
    assert len(ledger.answers()) <= 3 + 4


async def test_a_task_whose_server_does_not_say_is_answered(ledger: SqliteLedger) -> None:
    """A status that fails, or is none, keeps nobody from answering."""
    curator = FakeCurator(make_task(name="silent"))

    def silent(request: httpx.Request) -> httpx.Response:
        is_status = request.url.path.endswith("/status")
        return problem(TaskNotFound("Gone.")) if is_status else curator(request)

    holder = Holder(Network([silent]).client(), ledger, wait=False)
    assert (await holder.answer(curator.url, RECORD)).counted


async def test_an_answer_takes_three_transactions(
    ledger: SqliteLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To read the account, to keep the answer, and to note that it counts: each waits for the
    disk."""
    opened: list[object] = []

    def connect(path: Any, **named: Any) -> Any:
        opened.append(path)
        return sqlite3.connect(path, **named)

    curator = FakeCurator(make_task(name="by three"))
    watched = SimpleNamespace(**{**vars(sqlite3), "connect": connect})
    monkeypatch.setattr("privet.client.ledger.sqlite3", watched)
    holder = Holder(Network([curator]).client(), ledger, wait=False)
    answer = await holder.answer(curator.url, RECORD)
    assert opened.count(ledger.path) == 2  # and none before there is a ledger
    await holder.answer(curator.url, RECORD)
    assert opened.count(ledger.path) == 3
    account = ledger.account("me")
    assert account.find(curator.task.id) == answer
    assert (account.caps, account.members) == (ledger.caps("me"), ledger.members("me"))


@keeps(
    "threat-model: what is told of records that do not fit decides nothing",
    in_="client/holder.py",
    instead_of="fault = error",
    plant="raise",
)
async def test_what_does_not_fit_is_told_before_and_decides_nothing(ledger: SqliteLedger) -> None:
    """By subject, once, of all that is not answered yet; what the hook raises comes when all is
    sent."""
    curator = FakeCurator(make_task(name="told before"))
    holder = Holder(Network([curator]).client(), ledger, wait=False)
    records = {"a": RECORD, "b": {**RECORD, "age": "many"}, "c": {**RECORD, "age": None}}
    told: list[Any] = []

    def hook(unfit: dict[str, tuple[str, ...]]) -> None:
        told.append((unfit, len(curator.posts), len(ledger.answers())))
        raise ValueError("Stop!")

    with pytest.raises(ValueError, match="Stop"):
        await holder.answer_all(curator.url, records, unfit=hook)
    ((unfit, posts, drawn),) = told
    assert sorted(unfit) == ["b", "c"]
    assert "age" in unfit["b"][0]
    assert (posts, drawn, len(curator.counted)) == (0, 0, 3)
    await holder.answer_all(curator.url, {**records, "d": RECORD}, unfit=told.append)
    assert told[1:] == [{}]
    assert len(curator.counted) == 4


async def test_reading_records_for_the_hook_shows_in_no_moment(
    ledger: SqliteLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is fixed before; nor does a hook that ends the program keep reports back."""
    order: list[str] = []

    class Watched(dict[str, Any]):
        def __getitem__(self, name: str) -> Any:
            order.append("read")
            return super().__getitem__(name)

    class Noted(Departure):
        @classmethod
        def of(cls, task: Task) -> "Noted":
            order.append("fixed")
            return cls(time.monotonic(), 0.001)

        async def wait(self) -> None:
            order.append("waited")

    def hook(unfit: object) -> None:
        order.append("told")
        raise SystemExit(1)

    monkeypatch.setattr("privet.client.holder.Departure", Noted)
    curator = FakeCurator(make_task(name="fixed before"))
    holder = Holder(Network([curator]).client(), ledger)
    with pytest.raises(SystemExit):
        await holder.answer_all(curator.url, {"a": Watched(RECORD)}, unfit=hook)
    assert len(curator.counted) == 1
    assert order.index("fixed") < order.index("read") < order.index("told")
    assert order[order.index("told") + 1] == "waited"


async def test_resend_delivers_what_was_kept_and_skips_what_cannot_be(
    ledger: SqliteLedger,
) -> None:
    """Pending answers are sent again; one that still fails is reported and harms no other."""
    await undelivered(ledger)
    kept = ledger.find("me", TASK.id)
    assert kept is not None
    assert "CuratorUnreachable" in (kept.reason or "")
    ledger.keep(replace(kept, task="f" * 64, url=URL.replace(TASK.id, "f" * 64)))

    def one_is_gone(request: httpx.Request) -> httpx.Response:
        gone = "f" * 64 in request.url.path
        return problem(TaskNotFound("No such task.")) if gone else publish(request)

    network = Network([one_is_gone])
    outcomes = await Holder(network.client(), ledger, randomness=no_randomness).resend()
    assert [outcome.counted for outcome in outcomes] == [True, False]
    assert outcomes[1].reason == "TaskNotFound: No such task."
    assert {request.content for request in network.requests} == {kept.report}
    assert [request.method for request in network.requests] == ["POST", "POST"]


@keeps(
    "threat-model: the record is looked at after the task was checked",
    in_="client/holder.py",
    instead_of="check_dates(task, now, clock_ahead)",
    plant="pass",
)
async def test_the_task_is_checked_before_the_record_is_looked_at() -> None:
    """Past the cap, and outside its dates, a task is refused without touching record or chance."""
    closed = make_task(closes=1_000)
    early = make_task(opens=3_000)
    for task, cap, error in [
        (TASK, 0.5, BudgetSpent),
        (closed, 8.0, TaskNotOpen),
        (early, 8.0, TaskNotOpen),
    ]:
        with serving(FakeCurator(task)) as curator:
            async with ReportClient() as client:
                ledger = MemoryLedger(Caps(cap, cap))
                holder = Holder(client, ledger, "me", no_randomness, clock=lambda: 2_000.0)
                with pytest.raises(error):
                    await holder.answer(curator.url, no_record())
                assert (curator.posts, ledger.answers()) == ([], [])


@keeps(
    "threat-model: a task that spends more than it states is refused",
    in_="client/holder.py",
    instead_of="check_promise(task)",
    plant="pass",
)
@keeps(
    "privacy: log_ratio is recomputed, not as stated",
    in_="protocol/task.py",
    instead_of="mechanism.log_ratio() for mechanism in self.mechanisms",
    plant="question.epsilon for question in self.questions",
)
async def test_a_task_that_understates_its_epsilon_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The true log ratio is recomputed here; more than promised, or no number, is refused."""
    for ratio in (1.001, float("inf"), float("nan")):
        monkeypatch.setattr(SubsetSelection, "log_ratio", lambda _self, r=ratio: r)
        with pytest.raises(TaskRefused, match="but spends"):
            await Holder(Network([publish]).client(), MemoryLedger()).answer(URL, no_record())
    monkeypatch.setattr(SubsetSelection, "log_ratio", lambda _self: 1.0)
    assert (await Holder(Network([publish]).client(), MemoryLedger()).answer(URL, RECORD)).counted


async def test_who_has_answered_is_not_asked_for_the_record_again(ledger: SqliteLedger) -> None:
    """The stored bytes are sent again, whatever became of them, and nothing is drawn."""
    await undelivered(ledger)
    (kept,) = ledger.answers()
    network = Network([publish])
    holder = Holder(network.client(), ledger, randomness=no_randomness)
    assert (await holder.answer(URL, no_record())).counted
    assert (await holder.answer(URL, no_record())).counted
    assert [request.content for request in network.requests] == [kept.report]


async def test_an_invitation_goes_along_and_is_kept_for_resending(ledger: SqliteLedger) -> None:
    """In a header of its own, also when a later process resends; a damaged one is refused."""
    broken = await undelivered(ledger, invitation="inv-123")
    again = Network([publish])
    await Holder(again.client(), ledger).resend()
    sent = [r for r in broken.requests + again.requests if r.method == "POST"]
    assert {request.headers["privet-invitation"] for request in sent} == {"inv-123"}
    for damaged in ("", "two words", "line\r\nX-Injected: 1", "x" * 201):
        with pytest.raises(InvalidRequest):
            await Holder(again.client(), MemoryLedger()).answer(URL, no_record(), damaged)


INVITED = TASK.model_copy(update={"invited": True})
INVITED_URL = URL.replace(TASK.id, INVITED.id)
ELSEWHERE = INVITED_URL.replace("curator.example", "elsewhere.example")
invite = FakeCurator(INVITED)


async def test_a_task_that_needs_an_invitation_says_so_before_a_draw() -> None:
    """Without one nothing is drawn; with one it goes along."""
    network, ledger = Network([invite]), MemoryLedger()
    with pytest.raises(InvalidRequest, match="--invitation"):
        await Holder(network.client(), ledger, "me", no_randomness).answer(INVITED_URL, no_record())
    assert ledger.answers() == []
    assert (await Holder(network.client(), ledger).answer(INVITED_URL, RECORD, "inv-123")).counted


async def test_another_host_gets_no_invitation_that_was_not_given_for_it(
    ledger: SqliteLedger,
) -> None:
    """Without one of its own it gets nothing at all, and where it needs none, the report alone."""
    await undelivered(ledger, INVITED_URL, invite, "inv-123")
    (kept,) = ledger.answers()
    network = Network([invite])
    with pytest.raises(InvalidRequest, match="--invitation"):
        await Holder(network.client(), ledger).answer(ELSEWHERE, no_record())
    assert [request.method for request in network.requests] == ["GET"]
    assert ledger.answers() == [kept]
    assert (await Holder(network.client(), ledger).answer(ELSEWHERE, no_record(), "other")).counted
    assert {r.headers.get("privet-invitation") for r in network.requests} == {None, "other"}
    (taken,) = ledger.answers()
    assert (taken.url, taken.invitation, taken.report) == (ELSEWHERE, "other", kept.report)


async def test_a_failed_attempt_elsewhere_leaves_the_invitation_with_its_host(
    ledger: SqliteLedger,
) -> None:
    """What is resent then goes to the first address, with the invitation that was given for it."""
    await undelivered(ledger, INVITED_URL, invite, "inv-123")
    await undelivered(ledger, ELSEWHERE, invite, "other", no_record())
    network = Network([invite])
    await Holder(network.client(), ledger).resend()
    (request,) = network.requests
    assert (request.url.host, request.headers["privet-invitation"]) == (
        "curator.example",
        "inv-123",
    )


@keeps(
    "threat-model: another host gets no invitation",
    in_="client/ledger.py",
    instead_of="invitation if url == self.url else None",
    plant="invitation",
)
async def test_who_loses_a_race_sends_no_invitation_of_the_winner() -> None:
    """Another process kept its answer, to another host, after this one had looked for one."""

    class Raced(MemoryLedger):
        def find(self, *_: str) -> None:
            return None

    ledger, network = Raced(), Network([publish])
    elsewhere = URL.replace("curator.example", "elsewhere.example")
    await undelivered(ledger, invitation="inv-123")
    await Holder(network.client(), ledger).answer(elsewhere, RECORD)
    assert all("privet-invitation" not in request.headers for request in network.requests)
    assert len(ledger.answers()) == 1


@pytest.mark.parametrize("again", [True, False])
async def test_a_restored_curator_is_sent_again_what_it_had_counted(again: bool) -> None:
    """The same bytes, if it asks for them; a refusal is told, and the ledger stays as it is."""
    network, ledger = Network([publish]), MemoryLedger()
    answered = await Holder(network.client(), ledger).answer(URL, RECORD)
    status = {"phase": "open", "invited": False, "asks_again": again}
    restored = Network([httpx.Response(200, json=status), publish])
    outcomes = await Holder(restored.client(), ledger).resend()
    assert outcomes == ([answered] if again else [])
    sent = [request.content for request in restored.requests if request.method == "POST"]
    assert sent == ([answered.report] if again else [])
    closed = Network([httpx.Response(200, json=status), problem(TaskNotOpen("Closed."))])
    for refused in await Holder(closed.client(), ledger).resend():
        assert (refused.state, refused.reason) == (ReportState.REFUSED, "Closed.")
    busy = Network([httpx.Response(200, json=status), problem(Overloaded("Later."))])
    for postponed in await Holder(busy.client(), ledger).resend():
        assert (postponed.state, postponed.reason) == (ReportState.DRAWN, "Later.")
    assert ledger.answers() == [answered]


@pytest.mark.parametrize("state", [ReportState.COUNTED, ReportState.HELD])
async def test_resend_goes_on_where_nobody_answers(
    ledger: SqliteLedger, state: ReportState
) -> None:
    """A curator that does not say asks for nothing; at a relay the answer is not sent unasked."""
    await undelivered(ledger)
    (kept,) = ledger.answers()
    kept = ledger.settle(replace(kept, state=state))
    network = Network([httpx.ConnectError("refused")])
    outcomes = await Holder(network.client(), ledger).resend()
    assert {request.method for request in network.requests} == {"GET"}
    assert [outcome.counted for outcome in outcomes] == [False] * (not kept.counted)


async def test_what_a_relay_no_longer_has_is_sent_again(ledger: SqliteLedger) -> None:
    """The same bytes, once it has said so."""
    await undelivered(ledger)
    (kept,) = ledger.answers()
    ledger.settle(replace(kept, state=ReportState.HELD))
    network = Network([problem(ReportNotFound("No such report.")), publish])
    (sent,) = await Holder(network.client(), ledger).resend()
    assert sent.counted
    assert [request.content for request in network.requests] == [b"", kept.report]


@pytest.mark.parametrize(
    "record",
    [
        None,
        {},
        {"age": 3},
        {**RECORD, "answer": "maybe"},
        {**RECORD, "answer": None},
        {**RECORD, "age": "old"},
        {**RECORD, "age": math.nan},
        {**RECORD, "age": [33.5]},
    ],
    ids=str,
)
async def test_a_record_that_does_not_fit_is_answered_like_any_other(record: Any) -> None:
    """The same messages of the same sizes at the same cost; only the caller learns of it."""
    seen = []
    for each in (RECORD, record):
        network, ledger = Network([publish]), MemoryLedger()
        answered = await Holder(network.client(), ledger).answer(URL, each)
        assert answered.counted
        assert (answered.misfit is None) == (each is RECORD)
        assert [kept.misfit for kept in ledger.answers()] == [None]
        sent = [(r.method, str(r.url), len(r.content), dict(r.headers)) for r in network.requests]
        seen.append((sent, ledger.spent("me")))
    assert seen[0] == seen[1]


async def test_what_was_validated_is_answered_whatever_it_says() -> None:
    """The findings are all of them, and for the caller; the report is the record's own; a record
    of another task is the program's mistake, and so is a name that the task does not ask for."""
    client, stream = Network([publish]).client(), Random(1).randbytes
    for record, findings in [
        (RECORD, []),
        ({}, ["Missing fields", "'age' is missing", "'answer' is missing"]),
        ({**RECORD, "age": "old", "answer": "maybe"}, ["'age' is 'old'", "'answer' is 'maybe'"]),
    ]:
        holder = Holder(client, MemoryLedger(), "me", Random(1).randbytes)
        opened = holder.validate(TASK, record)
        assert len(opened.findings) == len(findings)
        assert all(said in found for said, found in zip(findings, opened.findings, strict=True))
        answered = await holder.answer(URL, opened)
        assert answered.misfit == (opened.findings[0] if findings else None)
        stream = Random(1).randbytes
        assert answered.report == make_report(TASK, record, stream).pack()
    with pytest.raises(InvalidRequest, match="validated against the task"):
        await Holder(client, MemoryLedger()).answer(URL, holder.validate(make_task(name="b"), {}))
    for refused in (holder.validate, lambda _, record: holder.validate(TASK, record)):
        with pytest.raises(InvalidRecord, match="Unknown fields 'aeg': the task asks for 'age'"):
            refused(TASK, {"aeg": 30})
    with pytest.raises(InvalidRecord, match="Nothing was drawn"):
        await Holder(client, MemoryLedger(), "me", no_randomness).answer(URL, {"aeg": 30})


async def test_reading_a_record_beforehand_does_not_show_in_the_next_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What was validated is answered from a moment on that was fixed before it was read."""
    order: list[object] = []

    async def waited(departure: Departure) -> None:
        order.append(departure)

    def reply(request: httpx.Request) -> httpx.Response:
        order.append(request.method)
        return publish(request)

    monkeypatch.setattr(Departure, "wait", waited)
    holder = Holder(Network([reply]).client(), MemoryLedger())
    opened = holder.validate(TASK, RECORD)
    await holder.answer(URL, opened)
    first, *gets, second, post = order
    assert (first, gets, post) == (opened.departure, ["GET", "GET"], "POST")
    assert second != first


async def test_development_mode_says_loudly_what_does_not_fit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Once a process, whatever becomes of the report, and only there: nobody else hears of it."""
    monkeypatch.setattr(opening, "_said_in_development", False)
    for flags, said in (
        (SimpleNamespace(dev_mode=False), ""),
        (SimpleNamespace(dev_mode=True), "THIS"),
    ):
        monkeypatch.setattr("sys.flags", flags)
        await undelivered(MemoryLedger(), record={**RECORD, "answer": "maybe"})
        assert said in capsys.readouterr().err
    await undelivered(MemoryLedger(), record={})
    assert capsys.readouterr().err == ""


CANARY_AGE, CANARY_WORK = 47.123456789, "zq-canary-work"


def canaries() -> list[bytes]:
    """The forms in which the private values could leak."""
    return [str(CANARY_AGE).encode(), b"47.12345", b"zq-canary"]


@pytest.mark.parametrize("outcome", ["counted", "unreachable", "refused", "garbage"])
async def test_the_private_value_leaves_no_trace(
    outcome: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither logs, nor error texts, nor requests, nor any file hold the record's values."""
    caplog.set_level(logging.DEBUG)
    task = make_task(features=(Numeric(name="age", low=0, high=100), TASK.features[1]))
    curator = FakeCurator(task)
    replies: dict[str, Canned] = {
        "counted": curator,
        "unreachable": httpx.ConnectError("refused"),
        "refused": problem(TaskNotOpen("closed")),
        "garbage": httpx.Response(201, text="thanks"),
    }
    record = {"age": CANARY_AGE, "work": CANARY_WORK, "answer": "yes"}
    network = Network([curator, replies[outcome]])
    ledger: Ledger = SqliteLedger(tmp_path / "answers.sqlite3")
    texts = []
    try:
        await Holder(network.client(), ledger).answer(URL.replace(TASK.id, task.id), record)
    except Exception as error:  # noqa: BLE001 - whatever is raised must be clean
        texts = [repr(error), str(error), repr(error.__cause__), repr(error.__context__)]
    assert bool(texts) == (outcome != "counted")
    said = [text.encode() for text in [*texts, caplog.text]]
    sent = [part for r in network.requests for part in (r.content, bytes(r.url.raw_path))]
    stored = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(network.requests) > 1
    assert len(stored) == 1
    for place in [*said, *sent, *stored, repr(ledger.answers()).encode()]:
        assert not any(canary in place for canary in canaries())


HOLDER_NEEDS = """
import sys
import time
before = set(sys.modules)
import privet.client.cli
loaded = {name.split('.')[0] for name in set(sys.modules) - before} - set(sys.stdlib_module_names)
print(*sorted(name for name in loaded if not name.startswith('_')))
"""


DECLARED = {"httpx", "msgpack", "numpy", "platformdirs", "pydantic", "rich", "typer"}
BROUGHT_ALONG = {
    "annotated_doc", "annotated_types", "anyio", "certifi", "click", "cython_runtime", "h11",
    "httpcore", "idna", "markdown_it", "mdurl", "pydantic_core", "pygments", "shellingham",
    "sniffio", "typing_extensions", "typing_inspection",
    "brotli",  # which httpx takes where it is installed, as it is to build wheels
}  # fmt: skip


def test_a_holder_needs_the_base_installation_only() -> None:
    """`privet-holder` imports what the base installation declares and brings along, and no more."""
    run = [sys.executable, "-c", HOLDER_NEEDS]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    needed = set(done.stdout.split())
    assert needed - BROUGHT_ALONG == {"privet", *DECLARED}
