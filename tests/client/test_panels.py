"""Panels: one part of a subject in all waves, paid from the first on, whatever the record is."""

import json
import math
import time
from collections import defaultdict
from contextlib import nullcontext
from fractions import Fraction
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest

from privet.client import BudgetSpent, Caps, Holder, Ledger, MemoryLedger, SqliteLedger
from privet.client.errors import TaskRefused, WrongClock
from privet.client.panels import Membership
from privet.http_client.report_client import Retry
from privet.protocol import limits
from privet.protocol.errors import InvalidRecord, InvalidRequest, TaskNotFound, TaskNotOpen
from privet.protocol.panel import Mode
from privet.protocol.task import Task
from tests.client.command import Command
from tests.client.fakes import Network
from tests.client.test_account import one_bit
from tests.fake_curator import FakeCurator, serving
from tests.keeping import keeps
from tests.protocol.examples import RECORD, make_task, question
from tests.protocol.test_whole_answer import CLASSES, law, task
from tests.protocol.test_whole_answer import question as small_question

DAY, START = 86_400, 1_800_000_000
JANUARY, MARCH, JULY = START, START + 60 * DAY, START + 180 * DAY
"""Of 2027."""
WAVES = tuple((opens, opens + 20 * DAY) for opens in (JANUARY, MARCH, JULY))


def panel(mode: Mode = "rotate", epsilon: float = 1.0, waves: Any = WAVES, **more: Any) -> Task:
    """The document of a panel of three waves."""
    asked = {"questions": (question(mechanism="subset", epsilon=epsilon),), **more}
    dates = {"opens": waves[0][0], "closes": waves[-1][1]}
    return make_task(panel={"mode": mode, "waves": waves}, **dates, **asked)


def word(value: int) -> bytes:
    return value.to_bytes(8, "big")


class Person:
    """A holder whose device's clock stands at ``now``, and a curator that publishes panels."""

    def __init__(self, *documents: Task, ledger: Ledger | None = None, wave: int = 0) -> None:
        self.now = float(JANUARY + DAY)
        self.curator = FakeCurator(*documents, *(w for each in documents for w in each.waves))
        self.ledger = MemoryLedger() if ledger is None else ledger
        chance, first = Random(1).randbytes, [word(wave)]
        self.holder = Holder(
            Network([self.curator]).client(),
            self.ledger,
            randomness=lambda n: first.pop() if first and n == 8 else chance(n),
            clock=lambda: self.now,
            wait=False,
        )

    async def answer(self, at: float, document: Task | None = None, record: Any = RECORD) -> str:
        """Answer at a time; the id of the task that was answered."""
        self.now = float(at)
        url = self.curator.url.replace(self.curator.task.id, (document or self.curator.task).id)
        return (await self.holder.answer(url, record)).task

    async def refused(self, at: float, document: Task | None = None) -> str:
        """Why nothing is answered at a time; nothing is sent."""
        before = len(self.curator.posts)
        with pytest.raises((TaskNotOpen, BudgetSpent)) as caught:
            await self.answer(at, document)
        assert len(self.curator.posts) == before
        return caught.value.detail


@keeps(
    "threat-model: a rotating holder answers in the wave that its device drew, and in no other",
    in_="client/panels.py",
    instead_of="if self.wave is not None:",
    plant="if False:",
)
async def test_a_rotating_holder_answers_in_its_wave_and_in_no_other() -> None:
    """Outside it is told when its turn is, and a second answer in it is the first one."""
    document = panel()
    person = Person(document, wave=1)
    said = await person.refused(JANUARY + DAY)
    assert "Your turn is in March 2027: from 2027-03-16" in said
    assert person.ledger.spent("me") == 0.0
    assert await person.answer(MARCH + DAY) == document.waves[1].id
    assert await person.answer(MARCH + 2 * DAY) == document.waves[1].id
    assert await person.answer(JULY + DAY) == document.waves[1].id
    assert len(person.curator.counted) == len(set(person.curator.posts)) == 1
    assert person.ledger.spent("me") == document.lifetime == 1.0


async def test_a_repeating_holder_answers_each_wave_once() -> None:
    """A later record counts, and between waves nothing is sent."""
    document = panel("repeat", 0.5)
    person = Person(document)
    ids = [await person.answer(opens + DAY) for opens, _ in WAVES for _ in range(2)]
    assert ids == [wave.id for wave in document.waves for _ in range(2)]
    assert len(person.curator.counted) == 3
    assert len({kept.report for kept in person.ledger.answers("me")}) == 3
    assert person.ledger.spent("me") == document.lifetime == 1.5
    between = Person(document)
    assert "The next turn is in March 2027" in await between.refused(JANUARY + 30 * DAY)


@keeps(
    "threat-model: a wave's own address leads to its panel",
    in_="client/holder.py",
    instead_of="if task.panel is None:\n            return offer",
    plant="if task.panel is None or task.wave is not None:\n            return offer",
)
async def test_a_wave_by_its_own_address_is_the_panels() -> None:
    """Nobody answers out of turn, or more often, by the address of a wave."""
    document = panel()
    person = Person(document, wave=2)
    for wave, (opens, _) in zip(document.waves[:2], WAVES, strict=False):
        assert "Your turn is in July 2027" in await person.refused(opens + DAY, wave)
    assert await person.answer(JULY, document.waves[0]) == document.waves[2].id


@pytest.mark.parametrize("mode", ["rotate", "repeat"])
async def test_the_lifetime_is_kept_from_the_first_wave_on(mode: Mode, tmp_path: Path) -> None:
    """Other tasks get what is left of the year, and the later waves find theirs."""
    document = panel(mode, 1.0 if mode == "rotate" else 1 / 3)
    person = Person(document, make_task(), ledger=SqliteLedger(tmp_path / "ledger"), wave=2)
    caps, now = Caps(task=2.0, year=1.5), float(JANUARY + DAY)
    person.ledger.set_caps("me", caps)
    if mode == "rotate":
        await person.refused(now)
    else:
        await person.answer(now)
    left = person.ledger.reserved("me", now)
    assert math.isclose(left, 1.0 if mode == "rotate" else 2 / 3)
    said = await person.refused(now, make_task())
    assert f"and keeps {left:g} for later waves, of 1.5 within a year" in said
    for opens, _ in WAVES[2:] if mode == "rotate" else WAVES[1:]:
        await person.answer(opens + DAY)
    assert math.isclose(person.ledger.spent("me"), document.lifetime)
    assert person.ledger.reserved("me", now) == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("mode", "epsilon", "said"),
    [
        (
            "repeat",
            1.0,
            "All answers to this panel together cost epsilon 3 and 'me' spends at most",
        ),
        ("rotate", 2.5, "All answers to this panel together cost epsilon 2.5 and"),
    ],
)
async def test_a_panel_past_the_caps_is_refused_at_its_first_wave(
    mode: Mode, epsilon: float, said: str
) -> None:
    """With the sum of all waves, before anything is drawn or kept."""
    person = Person(panel(mode, epsilon))
    assert said in await person.refused(JANUARY + DAY)
    assert person.ledger.members("me") == []


@keeps(
    "threat-model: all waves of a panel are paid from what is kept at the first",
    in_="client/ledger.py",
    instead_of="kept = reserved(members, by_panel, now)",
    plant="kept = 0.0",
)
async def test_two_panels_do_not_split_a_lifetime() -> None:
    """What a curator publishes as two adds up, and the third is refused at its first wave."""
    documents = [panel(epsilon=2.0, name=name) for name in "abc"]
    person = Person(*documents, wave=0)
    await person.answer(JANUARY + DAY, documents[0])
    person.ledger.join(Membership("me", documents[1].id, 2, 2.0, WAVES[-1][1]), person.now)
    said = await person.refused(JANUARY + DAY, documents[2])
    assert "has spent 2, and keeps 2 for later waves, of 4 within a year" in said


async def test_moved_dates_are_another_panel() -> None:
    """It has other ids, and costs what another costs: an answer is none to it."""
    moved = panel(epsilon=2.0, waves=(*WAVES[:2], (JULY + DAY, JULY + 20 * DAY)))
    document = panel(epsilon=2.0)
    assert not {moved.id, *(w.id for w in moved.waves)} & {w.id for w in document.waves}
    person = Person(document, moved, make_task())
    await person.answer(JANUARY + DAY)
    person.ledger.set_caps("me", Caps(task=2.0, year=3.0))
    assert "cost epsilon 2" in await person.refused(JANUARY + DAY, moved)


async def test_who_joins_late_draws_among_the_waves_to_come() -> None:
    """Evenly; in the last wave it is that one, and after it nothing is drawn."""
    document = panel()
    for drawn, expected in ((0, 1), (1, 2), (2, 1)):
        member = Membership.drawn("me", document, MARCH, lambda _, w=drawn: word(w))  # type: ignore[misc]
        assert member.wave == expected
    assert Membership.drawn("me", document, JULY, Random(1).randbytes).wave == 2
    with pytest.raises(TaskNotOpen, match="The last wave closed on"):
        Membership.drawn("me", document, WAVES[-1][1], Random(1).randbytes)


@keeps(
    "threat-model: what was kept for a wave is free once it has closed",
    in_="client/panels.py",
    instead_of="span[1] if wave is None else panel.waves[wave][1]",
    plant="span[1]",
)
async def test_who_misses_the_wave_has_spent_nothing() -> None:
    """It answers no other, and what was kept is free again."""
    document = panel(epsilon=2.0)
    person = Person(document, make_task(), wave=0)
    await person.holder.turn(await person.holder.offer(person.curator.url))
    assert "Your turn was until" in await person.refused(MARCH + DAY)
    assert person.ledger.reserved("me", WAVES[0][1] - 1) == 2.0
    assert person.ledger.reserved("me", WAVES[0][1]) == person.ledger.spent("me") == 0.0


async def test_a_new_device_is_another_person() -> None:
    """As for every task: the ledger is what knows of the part, and a copy of it has the same."""
    document = panel()
    first = Person(document, wave=0)
    await first.answer(JANUARY + DAY)
    copied = Person(document, ledger=first.ledger, wave=1)
    assert await copied.answer(MARCH + DAY) == document.waves[0].id
    assert copied.curator.posts == []
    new = Person(document, wave=0)
    assert await new.answer(MARCH + DAY) == document.waves[1].id


async def test_a_wrong_clock_draws_nothing() -> None:
    """Where it and the server's are more than two days apart no wave is drawn either."""
    person = Person(panel())
    offer = await person.holder.offer(person.curator.url)
    object.__setattr__(offer, "clock_ahead", 3.0 * DAY)
    with pytest.raises(WrongClock):
        await person.holder.turn(offer)
    assert person.ledger.members("me") == []


@keeps(
    "threat-model: a panel without a near end keeps nothing",
    in_="client/panels.py",
    instead_of="if panel.span[1] - now > MAX_PANEL_SECONDS",
    plant="if False",
)
@pytest.mark.parametrize("mode", ["rotate", "repeat"])
async def test_a_panel_without_a_near_end_keeps_nothing(mode: Mode) -> None:
    """Or whoever opens its link would have a cap taken for as long, without having answered."""
    now, years = JANUARY + DAY, limits.MAX_PANEL_SECONDS
    for late, joined in ((0, 1), (1, 0)):
        document = panel(mode, 0.5, waves=(WAVES[0], (MARCH, now + years + late)))
        person = Person(document)
        person.now = float(now)
        offer = await person.holder.offer(person.curator.url)
        for take in (person.holder.check(offer.task), person.answer(now)):
            with nullcontext() if joined else pytest.raises(TaskRefused, match="three years"):
                await take
        assert len(person.ledger.members("me")) == joined
        taken = person.ledger.spent("me") + person.ledger.reserved("me", now)
        assert taken == pytest.approx(joined * document.lifetime)


async def test_a_record_opened_against_the_panel_answers_its_wave() -> None:
    """And one against another task does not."""
    document = panel()
    person = Person(document, make_task(), wave=0)
    for opened in (document, document.waves[2]):
        record = person.holder.validate(opened, RECORD)
        assert await person.answer(JANUARY + DAY, record=record) == document.waves[0].id
    other = person.holder.validate(make_task(), RECORD)
    with pytest.raises(InvalidRequest, match="validated against the task"):
        await person.answer(JANUARY + DAY, record=other)


@keeps(
    "threat-model: nothing of a panel takes part of a cap before its person agrees",
    in_="client/holder.py",
    instead_of='if task.panel.mode == "rotate":',
    plant="if True:",
)
@pytest.mark.parametrize("mode", ["rotate", "repeat"])
async def test_who_looks_at_a_panel_and_leaves_keeps_nothing(mode: Mode, tmp_path: Path) -> None:
    """Neither the task, nor whether it can be answered, nor what a record would disclose draws a
    turn or takes a part of a cap; the first answer does."""
    document = panel(mode, 0.5)
    for asked in (document, document.waves[0]):
        person = Person(document, ledger=SqliteLedger(tmp_path / asked.id))
        offer = await person.holder.offer(person.curator.url.replace(document.id, asked.id))
        checked = await person.holder.check(offer.task, offer.clock_ahead)
        person.holder.explain(offer.task)
        checked.open(RECORD)
        if mode == "repeat":
            assert (await person.holder.turn(offer)).task.id == document.waves[0].id
        with pytest.raises(InvalidRecord):
            await person.answer(JANUARY + DAY, asked, {"of no": "column"})
        assert person.ledger.account("me") == MemoryLedger().account("me")
        await person.answer(JANUARY + DAY, asked)
        assert len(person.ledger.members("me")) == 1


@pytest.mark.parametrize("mode", ["rotate", "repeat"])
async def test_a_deleted_wave_costs_nothing(mode: Mode) -> None:
    """Its panel is still there, and says nothing of that: the wave is asked for before a report is
    drawn."""
    document = panel(mode, 0.5)
    person = Person(document)
    del person.curator.tasks[document.waves[0].id]
    if mode == "rotate":
        with pytest.raises(TaskNotFound):
            await person.answer(JANUARY + DAY)
    else:
        for asked in (document, document.waves[2]):
            for at in (JANUARY - DAY, JANUARY + DAY):
                said = await person.refused(at, asked)
                assert "The next turn is in March 2027: from 2027-03-16" in said
    assert person.ledger.spent("me") == 0.0
    assert person.ledger.answers("me") == []
    if mode == "repeat":
        assert await person.answer(MARCH + DAY) == document.waves[1].id
        del person.curator.tasks[document.waves[2].id]
        with pytest.raises(TaskNotFound):
            await person.answer(JULY + DAY)


async def test_who_comes_late_keeps_what_is_still_asked() -> None:
    """Where holders repeat, of the last two waves or one, and no more is ever answered, whatever
    the clock says later: nothing is kept for it."""
    document = panel("repeat", 0.5)
    person = Person(document)
    person.ledger.set_caps("me", Caps(task=1.0, year=1.0))
    assert "cost epsilon 1.5" in await person.refused(JANUARY + DAY)
    assert await person.answer(MARCH + DAY) == document.waves[1].id
    assert person.ledger.reserved("me", person.now) == 0.5
    assert "The next turn is in March 2027" in await person.refused(JANUARY + DAY)
    assert await person.answer(MARCH + DAY) == document.waves[1].id
    assert await person.answer(JULY + DAY) == document.waves[2].id
    assert person.ledger.spent("me") == 1.0
    last = Person(document)
    last.ledger.set_caps("me", Caps(task=0.5, year=0.5))
    last.now = float(JULY)
    await last.holder.check(document)
    assert await last.answer(JULY) == document.waves[2].id
    assert (last.ledger.reserved("me", JULY), last.ledger.spent("me")) == (0.0, 0.5)


async def test_a_panel_past_the_cap_on_disclosed_bits_keeps_nothing(tmp_path: Path) -> None:
    """It is refused before a turn is drawn, which no answer could follow."""
    once = one_bit(0)
    document = Task.checked(
        {
            **once.model_dump(exclude_none=True),
            "panel": {"mode": "rotate", "waves": WAVES},
            "opens": WAVES[0][0],
            "closes": WAVES[-1][1],
        }
    )
    for ledger in (MemoryLedger(), SqliteLedger(tmp_path / "ledger")):
        person = Person(document, ledger=ledger)
        ledger.set_caps("me", Caps(disclosed=0.5))
        offer = await person.holder.offer(person.curator.url)
        for take in (person.holder.turn(offer), person.answer(JANUARY + DAY, record={})):
            with pytest.raises(BudgetSpent, match="discloses 1 more bits"):
                await take
        assert ledger.members("me") == []


async def test_a_turn_that_is_known_is_kept() -> None:
    """Nobody draws again until a turn suits, and what it costs is kept for it."""
    person = Person(panel(), wave=1)
    offer = await person.holder.offer(person.curator.url)
    for _ in range(3):
        with pytest.raises(TaskNotOpen, match="Your turn is in March 2027"):
            await person.holder.turn(offer)
    (member,) = person.ledger.members("me")
    assert (member.wave, person.ledger.reserved("me", person.now)) == (1, 1.0)


async def test_a_panel_past_the_caps_is_refused_before_anybody_agrees() -> None:
    """By whoever checks it, with the sum of all waves, at any of its addresses."""
    document = panel("repeat", 1.0)
    person = Person(document)
    for asked in (document, document.waves[0]):
        with pytest.raises(BudgetSpent, match="All answers to this panel together cost epsilon 3"):
            await person.holder.check(asked)
    person.ledger.set_caps("me", Caps(task=3.0))
    await person.holder.check(document)
    await person.answer(JANUARY + DAY)
    person.now = float(MARCH)
    await person.holder.check(document.waves[1])  # of its own part


@pytest.mark.parametrize("ledger", ["memory", "file"])
def test_the_first_part_in_a_panel_stays(ledger: str, tmp_path: Path) -> None:
    """A second draw changes nothing, also from another process."""
    kept = MemoryLedger() if ledger == "memory" else SqliteLedger(tmp_path / "ledger")
    members = [Membership("me", "p", wave, 1.0, 2e9) for wave in (2, 0)]
    assert [kept.join(member, 1.8e9) for member in members] == [members[0]] * 2
    assert kept.members("me") == [members[0]]
    assert kept.members("you") == []


HISTORIES: list[Any] = [{"x": "u", "y": "a"}, {"x": "v", "y": "b"}, {"x": "w", "y": "a"}]
"""Two records, and one that does not fit."""


@keeps(
    "privacy: a repeating panel costs its epsilon in every wave",
    in_="protocol/task.py",
    instead_of="epsilon * (1 if self.panel is None else self.panel.answers)",
    plant="epsilon",
)
@pytest.mark.parametrize("mode", ["rotate", "repeat"])
@pytest.mark.parametrize("mechanism", ["grr", "subset"])
def test_the_lifetime_holds_for_whole_histories(mode: Mode, mechanism: str) -> None:
    """All that a curator sees of one person in all waves, enumerated: which waves were answered,
    and with what. Between any two histories of records, as they change from wave to wave, no
    outcome's odds change by more than e^lifetime; where holders rotate, by e^epsilon."""
    plain = task(CLASSES, small_question(mechanism, 0.5))
    waves = ((0, 10), (20, 30))
    document = plain.model_copy(
        update={"opens": 0, "closes": 30, "panel": {"mode": mode, "waves": waves}}
    )
    laws = {
        number: [law(wave, record) for record in HISTORIES]
        for number, wave in enumerate(document.waves)
    }

    def of_history(history: tuple[int, ...]) -> dict[Any, Fraction]:
        whole: dict[Any, Fraction] = defaultdict(Fraction)
        if mode == "rotate":
            for drawn in range(2):
                member = Membership.drawn("me", document, 0.0, lambda _: word(drawn))  # noqa: B023
                assert member.wave is not None
                for answers, p in laws[member.wave][history[member.wave]].items():
                    whole[member.wave, answers] += p / 2
            return whole
        both = product(laws[0][history[0]].items(), laws[1][history[1]].items())
        for (first, p), (second, q) in both:
            whole[first, second] += p * q
        return whole

    found = [of_history(history) for history in product(range(len(HISTORIES)), repeat=2)]
    assert all(sum(each.values()) == 1 for each in found)
    worst = max(one[seen] / other[seen] for one in found for other in found for seen in one)
    assert math.log(worst) <= document.lifetime * (1 + 1e-12)
    assert math.log(worst) > 0.95 * document.lifetime  # and it is all of it


@pytest.mark.parametrize("mode", ["rotate", "repeat"])
def test_a_site_is_told_of_a_panels_answers_as_of_a_tasks(
    mode: Mode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that was drawn and not taken is kept; one that counts was answered before."""
    monkeypatch.setattr(Retry, "pauses", lambda _: iter(()))
    now = int(time.time())
    document = panel(mode, 0.5, waves=((now - DAY, now + DAY), (now + 60 * DAY, now + 90 * DAY)))
    curator, command = FakeCurator(document, *document.waves, busy=100), Command(tmp_path)
    member = Membership("p", document.id, 0 if mode == "rotate" else None, 1.0, now + 90.0 * DAY)
    command.ledger.join(member, float(now))
    with serving(curator):
        for busy, status, said in ((100, 4, "kept, not counted"), (0, 0, ""), (0, 0, "before")):
            curator.busy = busy
            done = command.answer_lines(curator.url, "p,30,shop,yes", "--yes")
            assert (done.exit_code, said in done.stderr) == (status, True)


def test_a_person_is_asked_before_a_turn_is_drawn(tmp_path: Path) -> None:
    """At the command line: who only looks, or says no, keeps nothing; who agrees answers if its
    turn is now, and else is told when it is."""
    now = int(time.time())
    ends = ((now - DAY, 0, "Counted"), (now + 60 * DAY, 6, "Your turn is in"))
    for opens, status, said in ends:
        document = panel(waves=((now - 9 * DAY, now - 8 * DAY), (opens, opens + 20 * DAY)))
        curator, command = FakeCurator(document, *document.waves), Command(tmp_path)
        with serving(curator):
            looked = command.answer(curator.url, "--dry-run")
            refused = command.answer(curator.url, stdin="n\n")
            assert "Draw your turn, keep epsilon 1 for it" in refused.stderr
            assert (looked.exit_code, command.ledger.members("me")) == (0, [])
            agreed = command.answer(curator.url, stdin="y\n")
        assert (agreed.exit_code, len(curator.counted)) == (status, int(status == 0))
        assert said in " ".join((agreed.stdout + agreed.stderr).split())
        (member,) = command.ledger.members("me")
        assert member.wave == 1
        command.ledger.path.unlink()


def test_a_name_that_the_panel_does_not_ask_for_draws_no_turn(tmp_path: Path) -> None:
    """At the command line, also where nobody is asked: it says that nothing was drawn."""
    now = int(time.time())
    document = panel(waves=((now - DAY, now + DAY), (now + 60 * DAY, now + 61 * DAY)))
    curator, command = FakeCurator(document, *document.waves), Command(tmp_path)
    command.record.write_text(json.dumps({**RECORD, "aeg": 1}))
    with serving(curator):
        done = (
            command.answer(curator.url, "--yes"),
            command.answer_lines(curator.url, "p,30,shop,yes,1", "--yes"),
        )
    for each in done:
        assert (each.exit_code, "Unknown fields" in each.stderr) == (1, True)
    assert command.ledger.members("me") == command.ledger.members("p") == []


def test_a_sites_lines_that_wait_for_their_turn_have_an_exit_status(tmp_path: Path) -> None:
    """Which is no failure: their turns are kept, and how many wait is said."""
    now = int(time.time())
    document = panel(waves=((now - DAY, now + DAY), (now + 60 * DAY, now + 61 * DAY)))
    curator, command = FakeCurator(document, *document.waves), Command(tmp_path)
    for who, wave in (("a", 0), ("b", 1), ("c", 1)):
        command.ledger.join(Membership(who, document.id, wave, 1.0, now + 61.0 * DAY), float(now))
    with serving(curator):
        lines = "\n".join(f"{who},30,shop,yes" for who in "abc")
        done = command.answer_lines(curator.url, lines, "--yes")
        said = " ".join(done.stderr.split())
        assert (done.exit_code, "2 lines: Your turn is in" in said) == (6, True)
        assert "1 line: counted" in said
        assert command.answer_lines(curator.url, "a,30,shop,yes", "--yes").exit_code == 0
        bad = command.answer_lines(curator.url, "b,30,shop,yes", "--yes", "--curator-key", "0" * 64)
        assert bad.exit_code == 3
    assert len(curator.counted) == 1
