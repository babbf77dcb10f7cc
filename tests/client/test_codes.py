"""Codes to keep of a part in a panel: they restore it, and nobody else's."""

import json
import time
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.client import Ledger, MemoryLedger, SqliteLedger
from privet.client.codes import Part, read_code, write_code
from privet.client.panels import Membership
from privet.protocol.errors import InvalidRequest
from privet.protocol.panel import Mode, Panel
from tests.client.command import Command
from tests.client.test_panels import DAY, JANUARY, JULY, MARCH, Person, panel
from tests.fake_curator import FakeCurator, serving
from tests.holder_js.node import evaluated

pytestmark = pytest.mark.anyio
ID = "5c" * 32


def waves(mode: Mode, count: int) -> Panel:
    """A panel of some waves."""
    return Panel(mode=mode, waves=tuple((10 * n + 1, 10 * n + 5) for n in range(count)))


@st.composite
def parts(draw: st.DrawFn) -> tuple[Panel, Part]:
    """A panel and any part in it."""
    modes: list[Mode] = ["rotate", "repeat"]
    count, mode = draw(st.integers(2, 64)), draw(st.sampled_from(modes))
    first = 0 if mode == "rotate" else draw(st.integers(0, count - 1))
    wave = draw(st.integers(0, count - 1)) if mode == "rotate" else None
    coming = range(first, count) if wave is None else [wave]
    return waves(mode, count), Part(
        wave, first, tuple(sorted(draw(st.sets(st.sampled_from(coming)))))
    )


@given(parts())
def test_a_code_is_its_part(drawn: tuple[Panel, Part]) -> None:
    """In other text too, and as long whatever was answered."""
    asked, part = drawn
    code = write_code(ID, part)
    assert len(code) == 72
    assert read_code(f"My study\nhttps://a.example/?b=c\n{code}\n", ID, asked) == part


def test_other_and_damaged_codes_are_refused() -> None:
    """With any sign changed, cut or longer, of another panel, or of a part that none has."""
    asked = waves("repeat", 3)
    code = write_code(ID, Part(None, 0, (0, 1)))
    with pytest.raises(InvalidRequest, match="of another panel"):
        read_code(code, "5d" * 32, asked)
    wrong = ["", code[:-1], f"{code}A", code.lower(), code.replace("privet1", "privet2")]
    wrong += [code[:n] + ("A" if code[n] != "A" else "B") + code[n + 1 :] for n in range(8, 72)]
    wrong += [
        write_code(ID, each)
        for each in (Part(0, 0, ()), Part(None, 3, ()), Part(None, 1, (0,)), Part(None, 0, (3,)))
    ]
    for each in wrong:
        with pytest.raises(InvalidRequest, match="no whole code"):
            read_code(each, ID, asked)
    for part in (Part(None, 0, ()), Part(3, 0, ()), Part(1, 1, ()), Part(1, 0, (0,))):
        with pytest.raises(InvalidRequest, match="no whole code"):
            read_code(write_code(ID, part), ID, waves("rotate", 3))


@pytest.fixture(params=["memory", "file"])
def empty(request: Any, tmp_path: Path) -> Any:
    """Makes ledgers that know nothing."""
    names = (tmp_path / f"{n}.sqlite3" for n in range(9))
    return MemoryLedger if request.param == "memory" else lambda: SqliteLedger(next(names))


def moved(person: Person, ledger: Ledger) -> None:
    """Give the person a device that knows nothing."""
    person.holder.ledger = ledger


async def test_a_repeating_holder_goes_on_elsewhere(empty: Any) -> None:
    """What was answered stays answered and spent, what is kept for later stays kept, and nothing
    is sent again."""
    person = Person(panel("repeat", 0.5), ledger=empty())
    first = await person.answer(JANUARY)
    with pytest.raises(InvalidRequest, match="no part in a panel"):
        await Person(panel("repeat", 0.5)).holder.code(person.curator.url)
    code = await person.holder.code(person.curator.url)
    moved(person, empty())
    for _ in range(2):
        part = await person.holder.restore(person.curator.url, code)
    assert (part.wave, part.lifetime) == (None, 1.5)
    ledger = person.holder.ledger
    assert (ledger.spent("me"), ledger.reserved("me", JANUARY + DAY)) == (0.5, 1.0)
    assert await person.answer(JANUARY + DAY) == first
    assert await person.holder.resend() == []
    assert await person.holder.show_counted("d7" * 32) == {}
    assert len(person.curator.posts) == 1
    assert await person.answer(MARCH) != first
    assert (ledger.spent("me"), ledger.reserved("me", MARCH)) == (1.0, 0.5)


async def test_a_rotating_holder_keeps_its_turn_elsewhere(empty: Any) -> None:
    """Answered or not; a device that drew another turn gives it up, unless that was used."""
    person = Person(panel(), ledger=empty(), wave=2)
    await person.refused(JANUARY)
    before = await person.holder.code(person.curator.url)
    mine = await person.answer(JULY)
    after = await person.holder.code(person.curator.url)
    for code, posts in ((before, 2), (after, 2)):
        moved(person, empty())
        await person.holder.restore(person.curator.url, code)
        if code == before:
            assert "July 2027" in await person.refused(MARCH)
        assert await person.answer(JULY) == mine
        assert len(person.curator.posts) == posts
    other = Person(panel(), ledger=empty(), wave=0)
    await other.answer(JANUARY)
    await other.holder.restore(other.curator.url, after)
    (member,) = other.holder.ledger.members("me")
    assert member.wave == 0
    assert other.holder.ledger.spent("me") == 2.0  # of both, which nothing undoes


async def test_no_code_frees_what_is_kept() -> None:
    """One with a shorter lifetime changes nothing, and a part of another panel is refused."""
    person = Person(panel("repeat", 0.5))
    await person.answer(JANUARY)
    document = person.curator.task
    late = write_code(document.id, Part(None, 2, ()))
    await person.holder.restore(person.curator.url, late)
    assert [each.lifetime for each in person.holder.ledger.members("me")] == [1.5]
    with pytest.raises(InvalidRequest, match="another panel"):
        await person.holder.restore(person.curator.url, write_code(ID, Part(None, 0, ())))
    assert len(person.holder.ledger.answers("me")) == 1


async def test_what_is_restored_is_never_over_a_cap() -> None:
    """It is kept, since it was spent, and the next wave is refused."""
    person = Person(panel("repeat", 0.5))
    code = write_code(person.curator.task.id, Part(None, 0, (0,)))
    ledger = MemoryLedger()
    for each in (ID, "5d" * 32):
        ledger.join(Membership("me", each, None, 2.0, JULY), JANUARY)
    moved(person, ledger)
    await person.holder.restore(person.curator.url, code)
    assert "costs epsilon 0.5" in await person.refused(MARCH)


def test_a_code_goes_through_files_and_no_argument(tmp_path: Path) -> None:
    """At the command line: printed, read from a file or stdin, and refused without being
    repeated."""
    now = int(time.time())
    document = panel("repeat", 0.5, ((now - DAY, now + DAY), (now + 2 * DAY, now + 3 * DAY)))
    curator, command = FakeCurator(document, *document.waves), Command(tmp_path)
    with serving(curator):
        assert command("code", curator.url).exit_code == 1
        assert command.answer(curator.url, "--yes").exit_code == 0
        code = command("code", curator.url).stdout.strip()
        command.ledger.path.unlink()
        assert command("code", curator.url, "--restore", "-", stdin=code).exit_code == 0
        assert command.ledger.spent("me") == 0.5
        again = command.answer(curator.url, "--yes")
        line = command.answer_lines(curator.url, "me,40,shop,no", "--yes")
        for said in (again.stderr, line.stderr, command("budget").stdout):
            assert "nswered, as a code to" in said
            assert "counted" not in said
        assert "sent from here" in command("resend").stderr
        (answer,) = json.loads(command("budget", "--json").stdout)["answers"]
        assert answer["state"] == "restored"
        command.ledger.path.unlink()
        file = tmp_path / "code.txt"
        for text in (code[:-1], write_code(ID, Part(None, 0, ()))):
            file.write_text(text)
            done = command("code", curator.url, "--restore", str(file))
            assert (done.exit_code, text in done.output + done.stderr) == (1, False)
        assert command("code", curator.url, "--restore", str(tmp_path)).exit_code != 0
    assert command.ledger.answers("me") == []
    assert len(curator.counted) == 1


WRITTEN = """
import { webcrypto } from "node:crypto";
import { readFileSync } from "node:fs";
import { readCode, writeCode } from "./code.js";
globalThis.crypto ??= webcrypto; // global from Node 20 on
const { id, parts, tries } = JSON.parse(readFileSync(0, "utf8"));
const written = await Promise.all(parts.map((part) => writeCode(id, part)));
const read = await Promise.all(tries.map(([text, panel, mine]) => readCode(text, mine, panel).catch(({ type, why }) => `${type} ${why}`)));
console.log(JSON.stringify({ written, read }));
"""  # noqa: E501


@pytest.mark.needs("node")
def test_the_other_holder_writes_and_reads_the_same() -> None:
    """Codes of each part in small panels, and what is refused."""
    both: list[tuple[Mode, int]] = [("rotate", 2), ("repeat", 3), ("repeat", 64)]
    tries, written = [], []
    said: list[Any] = []
    for (mode, count), wave, first, answered in product(
        both, (None, 0, 1, 2), (0, 1, 2), ((), (0,), (1,), (0, 2))
    ):
        asked, part = waves(mode, count), Part(wave, first, answered)
        code = write_code(ID, part)
        tries.append((code, asked.model_dump(), ID))
        written.append((code, part))
        try:
            said.append(vars(read_code(code, ID, asked)) | {"answered": list(answered)})
        except InvalidRequest:
            said.append("invalid-request code")
    code = written[0][0]
    for text, mine, why in ((code, "00" * 32, "other-code"), (code[:-1], ID, "code")):
        tries.append((text, waves("repeat", 3).model_dump(), mine))
        said.append(f"invalid-request {why}")
    parts = [vars(part) for _, part in written]
    found = evaluated(WRITTEN, json.dumps({"id": ID, "parts": parts, "tries": tries}))
    assert found["written"] == [code for code, _ in written]
    assert found["read"] == said
    assert {type(each) for each in said} == {str, dict}
