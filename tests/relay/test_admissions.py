"""Invited holders behind a relay: nothing pairs a report with an invitation at the curator."""

import contextlib
import json
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path

import httpx
import msgpack
import pytest
from sqlalchemy import delete, update

from privet.client import Holder, MemoryLedger, ReportState, StoredAnswer
from privet.curator.datastore.schema import admissions, invitations
from privet.protocol.errors import NotAdmitted, PrivetError
from privet.relay.spool import Spool
from tests.curator.datastore.made import task
from tests.fake_curator import problem
from tests.keeping import keeps
from tests.relay.real_curator import CURATOR, RECORD, Curator, Setting, relaying, rows

pytestmark = pytest.mark.usefixtures("always_looking")
LEAST = 4


@pytest.fixture
async def curator() -> AsyncIterator[Curator]:
    made = Curator(task=task(invited=True))
    yield made
    made.close()


@pytest.fixture
async def relay(curator: Curator, tmp_path: Path) -> AsyncIterator[Setting]:
    async with relaying(curator, tmp_path / "spool", LEAST) as made:
        yield made


def ids(answers: list[StoredAnswer]) -> frozenset[bytes]:
    return frozenset(bytes.fromhex(own.report_id) for own in answers)


@keeps(
    "threat-model: invitations travel as a sorted set",
    in_="protocol/batch.py",
    instead_of='b"".join(sorted(digests)), dtype=np.uint8',
    plant='b"".join(digests), dtype=np.uint8',
)
@keeps(
    "threat-model: an admitted report is apart from its invitation",
    in_="relay/spool.py",
    instead_of="kept, sealed=False",
    plant="kept, sealed=False, invitations=paired",
)
@keeps(
    "threat-model: a relay's invitation is a hash",
    in_="intake/upload.py",
    instead_of="hashlib.sha256(head.invitation).digest()",
    plant="head.invitation.ljust(32)[:32]",
)
async def test_invitations_travel_as_a_sorted_set_before_the_reports(
    curator: Curator, relay: Setting
) -> None:
    """Wrong and doubled ones leave alone; the others count, and fewer than least never ask."""
    good = curator.invite(6)
    answers = await relay.answers([*good[:2]])
    await relay.forwarder.forward()
    assert curator.asked == []
    more = await relay.answers([*good[2:], "wrong", "false"])
    (double,) = await relay.answers(good[:1])
    await relay.forwarder.forward()
    (asked,) = curator.asked
    assert asked == sorted(sha256(own.encode()).digest() for own in [*good, "wrong", "false"])
    counted = [*answers, *more[:4]]
    assert curator.counted == 6
    assert len(curator.sent) == 1
    states = await relay.states([*counted[1:], *more[4:]])
    assert states == ["counted"] * 5 + ["not-authorized"] * 2
    first, second = await relay.states([counted[0], double])
    assert {first, second} == {"counted", "held"}  # either may have been drawn
    tallies = relay.spool.tallies(curator.task.id)
    assert (tallies["counted"], tallies["smallest_batch"]) == (6, 6)


async def test_whoever_is_refused_is_not_missed_in_a_second_batch(
    curator: Curator, relay: Setting
) -> None:
    """A curator that calls a good invitation bad never sees a report with and without it.

    It refuses one before the batch, then says that it holds nothing, and then refuses another: the
    batch goes out once, or again as it was, or not at all.
    """
    good = curator.invite(8)
    answers = await relay.answers(good)
    bad = sha256(good[0].encode()).digest()
    steps = iter(["refuse", "forget", "refuse more"])

    def lie(request: httpx.Request) -> httpx.Response | None:
        if request.url.path.endswith("/batch"):
            assert next(steps) == "forget"
            return problem(NotAdmitted("nothing is held"))
        if not request.url.path.endswith("/admissions"):
            return None
        asked = rows(msgpack.unpackb(request.content)["invitations"], 32)
        refused = [bad] if next(steps) == "refuse" else asked[:1]
        answer = {"held": len(asked) - 1, "refused": [own.hex() for own in refused]}
        return httpx.Response(200, json=answer)

    curator.lie = lie
    for _ in range(3):
        await relay.forwarder.forward()
    assert list(steps) == []
    assert curator.sent == [ids(answers[1:])]
    assert await relay.states(answers) == ["not-authorized"] + ["not-admitted"] * 7
    curator.lie = lambda _: None
    again = [Holder(relay.client, MemoryLedger(), own.subject) for own in answers]
    for holder, own in zip(again, answers, strict=True):
        holder.ledger.keep(own)
        with contextlib.suppress(PrivetError):
            await holder.answer(relay.address.url, RECORD, own.invitation)
    newcomers = await relay.answers(["invitation-0", "x", "y", "z"])
    await relay.forwarder.forward()
    assert all(batch <= ids(answers[1:]) or not batch & ids(answers[1:]) for batch in curator.sent)
    assert not ids(newcomers) & curator.sent[0]


async def test_few_that_were_admitted_wait_for_more(curator: Curator, relay: Setting) -> None:
    """A curator that takes one of many gets it among as many as ever."""
    good = curator.invite(LEAST)
    first = await relay.answers([good[0], "a", "b", "c"])
    await relay.forwarder.forward()
    assert (len(curator.asked), curator.sent) == (1, [])
    assert await relay.states(first) == ["held"] + ["not-authorized"] * 3
    second = await relay.answers([*good[1:], "d"])
    await relay.forwarder.forward()
    assert curator.sent == [ids([first[0], *second[:3]])]
    assert curator.counted == LEAST


@pytest.mark.parametrize("call", ["admissions", "batch"])
async def test_a_lost_answer_doubles_nothing(
    call: str, curator: Curator, relay: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same invitations, and the same batch, are sent again until they are answered."""
    answers = await relay.answers(curator.invite(5))
    lost = iter([call])

    class Lost(BaseException): ...

    settled = "admit" if call == "admissions" else "settle"
    works = getattr(Spool, settled)

    def die(*arguments: object, **named: object) -> object:
        if next(lost, None):
            raise Lost
        return works(*arguments, **named)

    monkeypatch.setattr(Spool, settled, die)
    with pytest.raises(Lost):
        await relay.forwarder.forward()
    await relay.forwarder.forward()
    assert curator.counted == 5
    assert await relay.states(answers) == ["counted"] * 5
    assert len(set(map(tuple, curator.asked))) == len(set(curator.sent)) == 1


async def test_a_curator_that_lost_an_admission_is_asked_again(
    curator: Curator, relay: Setting
) -> None:
    """After the restore of a backup, say: the same invitations, then the same batch."""
    answers = await relay.answers(curator.invite(5))
    curator.lie = lambda call: (
        problem(PrivetError("down")) if call.url.path.endswith("/batch") else None
    )
    await relay.forwarder.forward()
    with curator.store.database.writing() as connection:
        connection.execute(delete(admissions))
        connection.execute(update(invitations).values(unused=True))
    curator.lie = lambda _: None
    await relay.forwarder.forward()
    await relay.forwarder.forward()
    assert curator.counted == 5
    assert await relay.states(answers) == ["counted"] * 5
    assert (len(set(map(tuple, curator.asked))), len(set(curator.sent))) == (1, 1)


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"{}",
        b'{"held": 3, "refused": []}',
        b'{"held": 5, "refused": ["00"]}',
        json.dumps({"held": 3, "refused": [bytes(32).hex()]}).encode(),
    ],
)
async def test_a_curator_must_account_for_every_invitation(
    reply: bytes, curator: Curator, relay: Setting
) -> None:
    """Otherwise nothing is sent, and all wait."""
    answers = await relay.answers(curator.invite(4))
    curator.lie = lambda call: (
        httpx.Response(200, content=reply) if call.url.path.endswith("/admissions") else None
    )
    await relay.forwarder.forward()
    assert curator.sent == []
    assert await relay.states(answers) == ["held"] * 4
    curator.lie = lambda _: None
    await relay.forwarder.forward()
    assert curator.counted == 4


async def test_single_reports_and_admissions_do_not_share_invitations(
    curator: Curator, relay: Setting
) -> None:
    """An invitation that is held, or was used by a report sent directly, serves no second time."""
    good = curator.invite(LEAST)
    holder = Holder(curator.direct, MemoryLedger(), "direct")
    url = f"{CURATOR}/v1/tasks/{curator.task.id}"
    assert (await holder.answer(url, RECORD, good[0])).state is ReportState.COUNTED
    answers = await relay.answers(good)
    await relay.forwarder.forward()
    assert await relay.states(answers) == ["not-authorized"] + ["held"] * (LEAST - 1)
    assert curator.counted == 1
