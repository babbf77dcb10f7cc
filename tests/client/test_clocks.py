"""Wrong clocks of the device or of the server: nothing is forgotten, and they are named."""

from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import format_datetime, formatdate
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.client import BudgetSpent, Holder, Ledger, MemoryLedger, SqliteLedger, WrongClock
from privet.client.clocks import in_utc
from privet.client.ledger import EARLIEST, YEAR_SECONDS
from privet.http_client.report_client import ReportClient, Retry
from privet.protocol.errors import TaskNotOpen
from privet.protocol.task import Task
from tests.client.command import Command
from tests.client.test_ledger import answer
from tests.fake_curator import FakeCurator
from tests.keeping import keeps
from tests.protocol.examples import RECORD, make_task

DAY = 86_400.0
NOW = EARLIEST + 4 * YEAR_SECONDS
"""So late that a clock may be wrong by years and what it says still be possible."""
MONTH = 30 * DAY
CLOCKS = {
    "right": [0.0] * 20,
    "back to 1970, then right": [-NOW] * 10 + [0.0] * 10,
    "before Privet, then right": [EARLIEST - NOW - DAY] * 10 + [0.0] * 10,
    "right, then behind, then right": [0.0] * 6 + [-13 * MONTH] * 8 + [0.0] * 6,
    "right, then ahead, then right": [0.0] * 6 + [11 * MONTH] * 6 + [0.0] * 8,
    "behind again and again": [0.0, -13 * MONTH] * 10,
    "ever further behind": [-MONTH * number for number in range(20)],
}


def spend(ledger: Ledger, errors: Sequence[float], epsilon: float = 0.5) -> float:
    """What is spent within a day, by a clock that is off by each of these in turn."""
    spent = 0.0
    for number, error in enumerate(errors):
        try:
            ledger.keep(answer(f"task {number}", epsilon, drawn=NOW + 60 * number + error))
        except BudgetSpent:
            continue
        spent += epsilon
    return spent


@keeps(
    "threat-model: a draw is dated no earlier than the one before it",
    in_="client/ledger.py",
    instead_of="replace(answer, drawn=max(answer.drawn, latest or answer.drawn))",
    plant="answer",
)
@pytest.mark.parametrize("errors", CLOCKS.values(), ids=CLOCKS)
def test_no_clock_gives_a_second_year(errors: list[float], tmp_path: Path) -> None:
    """At most 4 within a day, whether the clock is behind, ahead, or jumps."""
    assert spend(MemoryLedger(), errors) == spend(SqliteLedger(tmp_path / "l"), errors) == 4.0


@given(jumps=st.lists(st.floats(-40 * MONTH, 40 * MONTH), min_size=1, max_size=40))
def test_only_a_clock_that_runs_ahead_of_all_it_said_gives_more(jumps: list[float]) -> None:
    """A new year begins where the latest reading yet is a year later than what was spent then:
    going back and forth gives nothing."""
    readings = [max(NOW + jump, EARLIEST) for jump in jumps]
    years = (max(readings) - min(readings)) // YEAR_SECONDS + 1
    assert spend(MemoryLedger(), [r - NOW - 60 * n for n, r in enumerate(readings)]) <= 4.0 * years


def test_what_a_wrong_clock_dated_counts_until_it_is_a_year_old(tmp_path: Path) -> None:
    """A draw is dated no earlier than the one before it, of whomever, and nothing is lost."""
    for ledger in (MemoryLedger(), SqliteLedger(tmp_path / "ledger")):
        ledger.keep(answer("a", subject="you", drawn=NOW))
        assert ledger.keep(answer("b", drawn=NOW - MONTH)).drawn == NOW
        assert ledger.keep(answer("c", drawn=NOW + MONTH)).drawn == NOW + MONTH
        assert [kept.drawn for kept in ledger.answers("me")] == [NOW, NOW + MONTH]


def test_a_person_is_told_of_impossible_dates(tmp_path: Path) -> None:
    """`budget` says why old answers count, and nothing of answers that are dated well."""
    command = Command(tmp_path)
    command.ledger.keep(answer("a", drawn=EARLIEST))
    assert "impossible" not in command("budget").stdout
    command.ledger.keep(answer("b", drawn=1e19))
    assert "1 answer has an impossible date" in command("budget").stdout
    folder = tmp_path / "older"
    folder.mkdir()
    older = Command(folder)
    for task in "ab":
        older.ledger.keep(answer(task, drawn=1.0))
    shown = older("budget").stdout
    assert "2 answers have impossible dates, from a wrong clock, and count." in shown


async def asked(
    task: Task, date: str | None, error: float = 0.0, ledger: Ledger | None = None
) -> Ledger:
    """Answer a task whose server says ``date``, by a clock that is off by ``error`` seconds."""
    curator = FakeCurator(task)

    def reply(request: httpx.Request) -> httpx.Response:
        response = curator(request)
        if date is not None:
            response.headers["Date"] = date
        return response

    ledger = MemoryLedger() if ledger is None else ledger
    http = httpx.AsyncClient(transport=httpx.MockTransport(reply))
    client = ReportClient(http, retry=Retry(1), clock=lambda: NOW + error)
    url = f"https://curator.example/v1/tasks/{task.id}"
    await Holder(client, ledger, clock=lambda: NOW + error, wait=False).answer(url, RECORD)
    return ledger


def http_date(moment: float) -> str:
    return formatdate(moment, usegmt=True)


@keeps(
    "threat-model: nothing is drawn by a wrong clock",
    in_="client/holder.py",
    instead_of="check_clocks(now, clock_ahead)",
    plant="pass",
)
@pytest.mark.parametrize("error", [-9000 * DAY, -3 * DAY, 3 * DAY, 400 * DAY])
async def test_a_wrong_clock_is_named_and_draws_nothing(error: float) -> None:
    """Whatever the task's dates are, both clocks are said, and never a number of seconds."""
    for dates in ({}, {"opens": int(NOW - DAY)}, {"closes": int(NOW + DAY)}):
        ledger = MemoryLedger()
        with pytest.raises(WrongClock) as caught:
            await asked(make_task(**dates), http_date(NOW), error, ledger)
        assert (
            f"This device's clock says {in_utc(NOW + error)}, the server's" in caught.value.detail
        )
        assert in_utc(NOW) in caught.value.detail
        assert "seconds" not in caught.value.detail
        assert ledger.answers() == []


async def test_a_clock_that_is_set_after_a_task_was_fetched_is_named() -> None:
    """A task that a program has shown before is asked for anew, with the time."""
    task, clock = make_task(), [NOW]
    curator = FakeCurator(task)

    def reply(request: httpx.Request) -> httpx.Response:
        response = curator(request)
        response.headers["Date"] = http_date(NOW)
        return response

    client = ReportClient(
        httpx.AsyncClient(transport=httpx.MockTransport(reply)), clock=lambda: clock[0]
    )
    holder = Holder(client, MemoryLedger(), clock=lambda: clock[0], wait=False)
    url = f"https://curator.example/v1/tasks/{task.id}"
    await holder.fetch(url)
    clock[0] += 13 * MONTH
    with pytest.raises(WrongClock):
        await holder.answer(url, RECORD)


async def test_a_task_out_of_its_dates_says_what_the_clocks_say() -> None:
    """Where they agree within a day, or the server does not say; also for a date of no calendar."""
    for dates, date, error, words in (
        (
            {"opens": int(NOW + 60)},
            http_date(NOW),
            -3000,
            ["opens on", in_utc(NOW), in_utc(NOW - 3000)],
        ),
        (
            {"closes": int(NOW)},
            http_date(NOW - 100),
            0,
            ["closed on", in_utc(NOW), in_utc(NOW - 100)],
        ),
        ({"opens": int(NOW + 60)}, None, 0, ["opens on", f"device's clock says {in_utc(NOW)}."]),
        ({"opens": 2**53 - 1}, None, 0, ["opens on", "after the year 9999"]),
    ):
        with pytest.raises(TaskNotOpen) as caught:
            await asked(make_task(**dates), date, error)
        assert all(word in caught.value.detail for word in words), caught.value.detail


HOSTILE: list[Any] = [
    None,
    "",
    "yesterday",
    "Thu, 32 Nov 2026 07:33:07 GMT",
    "Fri, 31 Dec 99999999999 23:59:59 GMT",
    http_date(0),
    http_date(NOW - 13 * MONTH),
    http_date(NOW + 400 * DAY),
    http_date(NOW - 0.9 * DAY),
    http_date(NOW + 0.9 * DAY),
    format_datetime(datetime.fromtimestamp(NOW, UTC)).replace("+0000", "-0000"),
]


@keeps(
    "threat-model: no report is dated by its server",
    in_="client/holder.py",
    instead_of="checked.splits",
    plant="checked.splits, drawn=self.clock() + (offer.clock_ahead or 0)",
)
@pytest.mark.parametrize("date", HOSTILE, ids=str)
async def test_a_hostile_date_gives_no_epsilon_and_charges_none(date: str | None) -> None:
    """It only keeps a report back, which its server could do anyway: entries are dated by the
    device's clock, and whatever the server says there are four of them."""
    ledger = MemoryLedger()
    for number in range(6):
        task = make_task(name=f"task {number}")
        try:
            await asked(task, date, ledger=ledger)
        except (BudgetSpent, WrongClock):
            continue
    drawn = [kept.drawn for kept in ledger.answers()]
    assert drawn in ([], [NOW] * 4)
    assert ledger.spent("me", NOW) == len(drawn)
