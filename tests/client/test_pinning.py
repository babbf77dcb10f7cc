"""A holder that pins its curator's key answers that curator's tasks and no others."""

import json
import re
import sys
from dataclasses import replace
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from privet.client import (
    BlockingHolder,
    CuratorUnreachable,
    Holder,
    HolderError,
    MemoryLedger,
    Offer,
    ReportState,
    SqliteLedger,
    StoredAnswer,
    TaskRefused,
)
from privet.client.pinning import check_key, signed_by
from privet.protocol.calls import SIGNATURE_HEADER
from privet.protocol.errors import InvalidRequest
from privet.protocol.installing import install_command
from privet.protocol.signature import (
    Signature,
    signed_message,
)
from privet.protocol.task import Task
from tests.client.command import Command
from tests.client.fakes import TASK, URL, Network, publish
from tests.client.test_holder import no_record
from tests.fake_curator import FakeCurator, serving
from tests.keeping import keeps
from tests.protocol.examples import RECORD, make_task
from tests.protocol.vectors import VECTORS

CASES = json.loads((VECTORS / "signatures.json").read_text())

OURS, THEIRS = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
KEY = OURS.public_key().public_bytes_raw().hex()


def signed(secret: Ed25519PrivateKey, task: Task = TASK) -> str:
    """The header of a task signed by ``secret``."""
    key = secret.public_key().public_bytes_raw()
    return Signature(key, secret.sign(signed_message(task.id))).header


def publishing(header: str | None) -> Network:
    """A curator that sends ``header`` with its task."""

    def reply(request: httpx.Request) -> httpx.Response:
        response = publish(request)
        if header is not None and request.method == "GET":
            response.headers[SIGNATURE_HEADER] = header
        return response

    return Network([reply])


@keeps(
    "threat-model: a task of another key is refused",
    in_="client/pinning.py",
    instead_of="if not _is_valid(Signature(",
    plant="if False and not _is_valid(Signature(",
)
@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_vectors(case: dict[str, Any]) -> None:
    """The published headers are accepted and refused as they say."""
    task = Task.model_construct()
    task.__dict__["id"] = case["task"]
    offer = Offer(task, Signature.parse(case["header"]))
    if case["success"]:
        check_key(offer, case["key"])
        secret = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(case["secret"]))
        made = Signature(bytes.fromhex(case["key"]), secret.sign(signed_message(case["task"])))
        assert made.header == case["header"]
    else:
        with pytest.raises(TaskRefused, match=case["key"]):
            check_key(offer, case["key"])


async def test_a_task_of_the_pinned_key_is_answered() -> None:
    """Whatever the case of the digits, and with the task fetched once."""
    network = publishing(signed(OURS))
    holder = Holder(network.client(), MemoryLedger(), curator_key=KEY.upper())
    assert (await holder.answer(URL, RECORD)).counted
    assert [request.method for request in network.requests] == ["GET", "GET", "POST"]


@keeps(
    "threat-model: an unsigned task is refused where a key is pinned",
    in_="client/holder.py",
    instead_of="check_key(offer, self.curator_key)",
    plant="offer.signature is None or check_key(offer, self.curator_key)",
)
@pytest.mark.parametrize(
    "header",
    [None, "", "ed25519", signed(THEIRS), signed(OURS, make_task(name="swapped"))],
    ids=["none", "empty", "damaged", "another key", "another task"],
)
async def test_any_other_task_is_refused_before_the_record(header: str | None) -> None:
    """The record is not looked at, nothing is drawn or sent, and no epsilon is spent."""
    network, ledger = publishing(header), MemoryLedger()
    holder = Holder(network.client(), ledger, curator_key=KEY)
    for verb in (
        lambda: holder.fetch(URL),
        lambda: holder.offer(URL),
        lambda: holder.answer(URL, no_record()),
    ):
        with pytest.raises(TaskRefused, match=KEY):
            await verb()
    assert ledger.answers() == []
    assert all(request.method == "GET" for request in network.requests)


@keeps(
    "threat-model: a kept answer goes to the pinned key's host only",
    in_="client/holder.py",
    instead_of="""
            if self.curator_key is not None:
                await self._offered""",
    plant="""
            if False:
                await self._offered""",
)
@pytest.mark.parametrize("header", [None, signed(THEIRS)], ids=["unsigned", "another key"])
async def test_a_kept_answer_is_not_sent_either(header: str | None, ledger: SqliteLedger) -> None:
    """True if it was drawn with the pin or without, sent again or sent elsewhere."""
    offers = publishing(signed(OURS)).replies
    broken = Network([*offers, httpx.ConnectError("refused")])
    with pytest.raises(CuratorUnreachable):
        await Holder(broken.client(), ledger, curator_key=KEY).answer(URL, RECORD, "inv-123")
    network = publishing(header)
    for url in (URL, URL.replace("curator.example", "elsewhere.example")):
        with pytest.raises(TaskRefused, match=KEY):
            await Holder(network.client(), ledger, curator_key=KEY).answer(url, no_record())
    (kept,) = await Holder(network.client(), ledger, curator_key=KEY).resend()
    assert kept.state is ReportState.DRAWN
    assert "TaskRefused" in (kept.reason or "")
    assert {request.method for request in network.requests} == {"GET"}
    assert (await Holder(publishing(signed(OURS)).client(), ledger, curator_key=KEY).resend())[
        0
    ].counted


@pytest.mark.parametrize("state", [ReportState.HELD, ReportState.COUNTED])
async def test_nothing_of_a_kept_answer_is_asked_elsewhere(
    state: ReportState, ledger: SqliteLedger
) -> None:
    """No status, status or receipt of a host that does not show the key: that names the answer."""
    ours = publishing(signed(OURS))
    counted = await Holder(ours.client(), ledger, curator_key=KEY).answer(URL, RECORD)
    ledger.settle(replace(counted, state=state))
    network = publishing(signed(THEIRS))
    holder = Holder(network.client(), ledger, curator_key=KEY)
    await holder.resend()
    await holder.ask_relays()
    await holder.show_counted(KEY)
    assert {(request.method, request.url.path) for request in network.requests} == {
        ("GET", httpx.URL(URL).path)
    }


async def test_each_host_shows_the_signature_itself(ledger: SqliteLedger) -> None:
    """One that a process has seen from another host vouches for no second host."""
    first = publishing(signed(OURS)).replies[0]
    assert callable(first)

    def reply(request: httpx.Request) -> httpx.Response:
        if request.url.host == "elsewhere.example":
            return publish(request)
        if request.method == "POST":
            raise httpx.ConnectError("refused")
        return first(request)

    network = Network([reply])
    holder = Holder(network.client(attempts=1), ledger, curator_key=KEY)
    with pytest.raises(CuratorUnreachable):
        await holder.answer(URL, RECORD)
    with pytest.raises(TaskRefused):
        await holder.answer(URL.replace("curator.example", "elsewhere.example"), no_record())


async def test_holders_who_pin_and_holders_who_do_not_share_a_client() -> None:
    """A task that one holder took does not pass another's pin from the cache."""
    client = publishing(signed(THEIRS)).client()
    assert (await Holder(client, MemoryLedger(), "a").answer(URL, RECORD)).counted
    with pytest.raises(TaskRefused):
        await Holder(client, MemoryLedger(), "b", curator_key=KEY).answer(URL, no_record())


async def test_a_damaged_pin_is_refused() -> None:
    """A pin that is no key protects nobody: it is an error, not a pin that is left out."""
    for pinned in ("", KEY[:-1], KEY + "00", "g" * 64):
        network, ledger = publishing(signed(OURS)), MemoryLedger()
        holder = Holder(network.client(), ledger, curator_key=pinned)
        with pytest.raises(InvalidRequest, match="64 hexadecimal"):
            await holder.fetch(URL)
        ledger.keep(StoredAnswer("me", TASK.id, URL, 1.0, "0", b"", 0.0, state=ReportState.HELD))
        (fault,) = await holder.ask_relays()
        assert "64 hexadecimal" in fault
        assert {str(request.url) for request in network.requests} == {URL}


async def test_without_the_package_nothing_is_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pin that cannot be checked refuses, and says what to install; without one, all goes on."""
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
    holder = Holder(publishing(signed(OURS)).client(), MemoryLedger(), curator_key=KEY)
    with pytest.raises(HolderError, match=re.escape(install_command("pinned"))):
        await holder.answer(URL, no_record())
    offer = Offer(TASK, Signature.parse(signed(OURS)))
    assert install_command("pinned") in signed_by(offer)
    free = Holder(publishing(signed(OURS)).client(), MemoryLedger())
    assert (await free.answer(URL, RECORD)).counted


def test_words_say_who_signed() -> None:
    """Each of the cases that a person may meet."""
    good, wrong = Signature.parse(signed(OURS)), Signature.parse(signed(OURS, make_task(name="b")))
    assert signed_by(Offer(TASK)).startswith("Nobody: this curator does not sign")
    assert signed_by(Offer(TASK, good)).startswith(f"The key {KEY}. ")
    assert signed_by(Offer(TASK, good), KEY) == f"The key that you pinned, {KEY}."
    assert signed_by(Offer(TASK, wrong)).startswith("Nobody: its signature does not")


@pytest.mark.usefixtures("impatient")
def test_the_command_line_pins(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """`show` tells the key; for a wrong one, given or in the environment, nothing is ever sent."""
    curator = FakeCurator(make_task(), busy=2)
    ours, theirs = (signed(secret, curator.task) for secret in (OURS, THEIRS))
    curator.signature = ours
    other = ("--curator-key", THEIRS.public_key().public_bytes_raw().hex())
    with serving(curator):
        shown = command("show", curator.url, "--json")
        assert KEY in json.loads(shown.stdout)["signed_by"]
        for refused in (
            command("show", curator.url, *other),
            command.answer(curator.url, "--yes", *other),
        ):
            assert refused.exit_code == 3
            assert "that you pinned" in " ".join(refused.stderr.split())
        assert curator.posts == []
        assert command.answer(curator.url, "--yes", "--curator-key", KEY).exit_code == 4
        tried, curator.signature = len(curator.posts), theirs
        assert command("resend", "--curator-key", KEY).exit_code == 4
        monkeypatch.setenv("PRIVET_HOLDER_CURATOR_KEY", KEY)
        assert command("resend").exit_code == 4
        assert len(curator.posts) == tried
        curator.signature = ours
        assert command("resend").exit_code == 0
    assert len(curator.counted) == 1


def test_programs_without_an_event_loop_pin_too() -> None:
    """``BlockingHolder`` takes the same key."""
    network = publishing(signed(THEIRS))
    blocking = BlockingHolder(MemoryLedger(), connect=network.client, curator_key=KEY)
    with blocking as holder, pytest.raises(TaskRefused):
        holder.answer(URL, no_record())
