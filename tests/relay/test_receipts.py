"""What shows a holder behind a relay that its report counts, with a real curator behind it."""

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from typer.testing import CliRunner

from privet.client import Holder, MemoryLedger, SqliteLedger, StoredAnswer
from privet.client.cli import app as holder_app
from privet.client.pinning import shows_counted
from privet.curator.access.signing import Signer
from privet.protocol.errors import ReportNotFound
from privet.protocol.receipts import SignedReceipt
from privet.protocol.report import Report
from tests.curator.datastore.made import conflicting, report
from tests.fake_curator import FakeCurator, serving
from tests.keeping import keeps
from tests.protocol.examples import RECORD as PERSON
from tests.protocol.examples import make_task
from tests.relay.real_curator import RECORD, Curator, Setting, relaying

pytestmark = pytest.mark.usefixtures("always_looking")
OURS = Ed25519PrivateKey.generate()
KEY = OURS.public_key().public_bytes_raw().hex()
THEIRS = Ed25519PrivateKey.generate().public_key().public_bytes_raw().hex()


@pytest.fixture
async def relay(tmp_path: Path) -> AsyncIterator[Setting]:
    """A relay that forwards every single report, before a curator that signs."""
    curator = Curator(signer=Signer(OURS))
    async with relaying(curator, tmp_path / "spool", 1) as made:
        yield made
    curator.close()


async def answered(relay: Setting, count: int) -> tuple[list[Holder], list[StoredAnswer]]:
    """Holders whose answers the relay holds, and these."""
    holders = [relay.holder(f"{i}") for i in range(count)]
    return holders, [await own.answer(relay.address.url, RECORD) for own in holders]


@keeps(
    "threat-model: a receipt names the report",
    in_="client/pinning.py",
    instead_of="hash_of(counted) in hashes and _is_valid",
    plant="_is_valid",
)
@keeps(
    "threat-model: the curator does not see who checks a receipt",
    in_="relay/app.py",
    instead_of="""
        receipt = await""",
    plant="""
        await self._client.status(self.address(task_id))
        receipt = await""",
)
@pytest.mark.parametrize("count", [1, 70])
async def test_every_holder_sees_that_its_report_counts(relay: Setting, count: int) -> None:
    """By the curator's key; the curator is not asked, and no other key nor report is shown so."""
    holders, answers = await answered(relay, count)
    assert await holders[0].show_counted(KEY) == {}
    await relay.forwarder.forward()
    calls: list[httpx.Request] = []
    relay.curator.lie = calls.append
    for own in holders:
        assert await own.ask_relays() == []
        assert await own.show_counted(KEY) == {relay.address.id: True}
    assert await holders[0].show_counted(THEIRS) == {relay.address.id: False}
    assert calls == []
    receipt = await relay.client.receipt(relay.address, answers[0].report)
    assert len(receipt.reports) <= 64
    assert shows_counted(receipt, answers[0].report, KEY)
    changed = conflicting(relay.curator.task, Report.unpack(answers[0].report))
    for other in (changed, report(relay.curator.task)):
        assert not shows_counted(receipt, other.pack(), KEY)
        with pytest.raises(ReportNotFound):
            await relay.client.receipt(relay.address, other.pack())


async def test_what_does_not_count_has_no_receipt(relay: Setting) -> None:
    """Held or refused in a batch whose others count, and forgotten with its state."""
    known = report(relay.curator.task)
    await relay.curator.direct.send(relay.address, known.pack(), known.id.hex())
    _, answers = await answered(relay, 3)
    clash = conflicting(relay.curator.task, known).pack()
    await relay.client.send(relay.address, clash, known.id.hex())
    bodies = [own.report for own in answers]
    for body in (*bodies, clash):
        with pytest.raises(ReportNotFound):
            await relay.client.receipt(relay.address, body)
    await relay.forwarder.forward()
    for body in bodies:
        assert shows_counted(await relay.client.receipt(relay.address, body), body, KEY)
    with pytest.raises(ReportNotFound):
        await relay.client.receipt(relay.address, clash)
    relay.spool.forget(10**6)
    with pytest.raises(ReportNotFound):
        await relay.client.receipt(relay.address, bodies[0])


@keeps(
    "threat-model: a receipt takes the curator's key",
    in_="client/pinning.py",
    instead_of="hashes and _is_valid(signature, message)",
    plant="hashes",
)
@pytest.mark.parametrize("signatures", [[], ["0" * 128], ["0" * 128] * 5])
async def test_a_curator_that_signs_something_else_is_found_out(
    relay: Setting, signatures: list[str]
) -> None:
    """No, wrong or too many signatures: reports are settled, and none is shown to count."""
    (holder,), (answer,) = await answered(relay, 1)

    def lie(request: httpx.Request) -> httpx.Response | None:
        if not request.url.path.endswith("/batch"):
            return None
        counted = {"counted": 1, "replayed": 0, "failed": {}, "receipts": signatures}
        return httpx.Response(200, json=counted)

    relay.curator.lie = lie
    await relay.forwarder.forward()
    assert await holder.ask_relays() == []
    assert await relay.states([answer]) == ["counted"]
    assert await holder.show_counted(KEY) == {relay.address.id: False}


async def test_a_curator_shows_its_own_holders_too(relay: Setting) -> None:
    """A report that was sent directly is sent again, and counts once."""
    holder = Holder(relay.curator.direct, MemoryLedger(), clock=relay.curator.clock)
    await holder.answer(relay.address.url, RECORD)
    assert await holder.show_counted(KEY) == {relay.address.id: True}
    assert await holder.show_counted(THEIRS) == {relay.address.id: False}
    assert relay.curator.counted == 1


@pytest.fixture
def liar() -> Iterator[FakeCurator]:
    """A relay that says of each report that it counts, and keeps none."""
    with serving(FakeCurator(make_task())) as stub:
        yield stub


def test_a_relay_that_lies_is_not_believed(liar: FakeCurator, tmp_path: Path) -> None:
    """`check` says what was not shown, with exit status 1; a wrong key is wrong usage."""
    ledger = SqliteLedger(tmp_path / "ledger")
    record = tmp_path / "record.json"
    record.write_text(json.dumps(PERSON))

    def run(*arguments: str) -> tuple[int, str]:
        done = CliRunner().invoke(holder_app, [*arguments, "--ledger", str(ledger.path)])
        return done.exit_code, done.output

    assert run("answer", liar.url, "--record", str(record), "--yes")[0] == 0
    code, said = run("check", "--curator-key", KEY)
    assert (code, "counted according to the relay; no curator signature" in said) == (1, True)
    assert run("check")[0] == 2
    assert "64 hexadecimal digits" in run("check", "--curator-key", "0")[1]


def test_a_receipt_is_read_within_bounds() -> None:
    """Sixty-four hashes at most."""
    with pytest.raises(ValueError, match="at most 64"):
        SignedReceipt(signature="0" * 128, reports=("0" * 64,) * 65)
