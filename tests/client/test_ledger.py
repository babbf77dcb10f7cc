import copy
import json
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from privet.client import (
    BudgetSpent,
    Caps,
    CuratorUnreachable,
    Ledger,
    LedgerFailed,
    MemoryLedger,
    ReportState,
    SqliteLedger,
    StoredAnswer,
    TaskRefused,
    UnexpectedResponse,
)
from privet.client.disclosures import DisclosedSplits
from privet.client.ledger import default_path
from privet.client.panels import Membership
from privet.protocol.errors import ERRORS_BY_URI, PROBLEM_BASE, PROBLEMS, PrivetError
from privet.protocol.lifecycle import report_state_after
from tests.client.fakes import assert_closed, record_connections
from tests.client.past import PLAIN, copied
from tests.keeping import keeps


@pytest.fixture(params=["memory", "sqlite"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Ledger:
    """Each kind of ledger, where two subjects have a cap of 1."""
    made: Ledger = MemoryLedger()
    if request.param == "sqlite":
        made = SqliteLedger(tmp_path / "new" / "folder" / "answers.sqlite3")
    for subject in ("me", "you"):
        made.set_caps(subject, ONE)
    return made


ONE = Caps(task=1.0, year=1.0)
DAY = 86_400.0
NOW = 1_800_000_000.0
"""A moment in 2027."""


def answer(
    task: str = "a", epsilon: float = 0.1, report: bytes = b"1", **more: object
) -> StoredAnswer:
    fields = {"subject": "me", "url": "https://c.example", "report_id": "0", "drawn": NOW, **more}
    return StoredAnswer(task=task, epsilon=epsilon, report=report, **fields)  # type: ignore[arg-type]


def test_an_answer_is_kept_as_it_was_drawn(ledger: Ledger) -> None:
    """What is found again is equal, and another subject or task has none."""
    drawn = answer(report=bytes(range(256)), drawn=NOW + 1.5, epsilon=0.125, invitation="i")
    assert ledger.find("me", "a") is None
    assert ledger.keep(drawn) == drawn
    assert ledger.find("me", "a") == drawn
    assert ledger.find("you", "a") is None
    assert ledger.find("me", "b") is None


def test_answers_are_listed_in_the_order_in_which_they_were_drawn(ledger: Ledger) -> None:
    """Whatever becomes of them, and in whatever order."""
    kept = [ledger.keep(answer(task, drawn=NOW + at)) for at, task in enumerate("bca")]
    for each in reversed(kept):
        ledger.settle(replace(each, state=ReportState.COUNTED))
    assert [a.task for a in ledger.answers("me")] == ["b", "c", "a"]


TABLE = json.loads((Path(__file__).parents[1] / "vectors" / "ledger.json").read_text())
OWN = {
    "unreachable": CuratorUnreachable,
    "unexpected-response": UnexpectedResponse,
    "refused": TaskRefused,
}


@keeps(
    "threat-model: a cap for one task",
    in_="client/ledger.py",
    instead_of="if epsilon > caps.task * (1 + SLACK):",
    plant="if False:",
)
@keeps(
    "threat-model: a cap for a year",
    in_="client/ledger.py",
    instead_of="spent + kept + epsilon > caps.year * (1 + SLACK)",
    plant="False",
)
@keeps(
    "threat-model: an answer of a year ago does not count",
    in_="client/ledger.py",
    instead_of="if answer.drawn > since or answer.drawn < EARLIEST",
    plant="",
)
@keeps(
    "threat-model: a date before anybody could draw counts",
    in_="client/ledger.py",
    instead_of="drawn > since or answer.drawn < EARLIEST",
    plant="drawn > since",
)
@pytest.mark.parametrize("case", TABLE, ids=[case["name"] for case in TABLE])
def test_the_table_of_cases(ledger: Ledger, case: dict[str, Any]) -> None:
    """The one that `tests/holder_js/ledger.js` holds the answer page's ledger to."""
    for step in case["steps"]:
        check_step(ledger, **step)


def _splits(given: dict[str, Any] | None) -> DisclosedSplits | None:
    if given is None:
        return None
    cuts = {column: frozenset(each) for column, each in given["cuts"].items()}
    return DisclosedSplits(given["tree"], given["strata"], cuts)


def check_step(ledger: Ledger, *, gives: Any = None, problem: str = "", **step: Any) -> None:
    """Run one step of a case, for a subject with the default caps, and compare."""
    now = step.pop("at", None)
    ((verb, given),) = copy.deepcopy(step).items()
    if verb == "join":
        asked = _splits(given.pop("splits", None))
        with pytest.raises(BudgetSpent) if problem == "budget-spent" else nullcontext():
            assert ledger.join(Membership("page", **given), now, asked).wave == gives
        return
    if verb == "keep":
        splits = given.pop("splits", None)
        drawn = answer(
            **{**given, "report": bytes.fromhex(given["report"])},
            subject="page",
            splits=_splits(splits),
        )
        with pytest.raises(BudgetSpent) if problem == "budget-spent" else nullcontext():
            assert ledger.keep(drawn).report.hex() == gives
        verb, given = "find", given["task"]
    if verb == "find":
        kept = ledger.find("page", given)
        assert (None if kept is None else kept.report.hex()) == gives
    elif verb == "spent":
        assert ledger.spent("page", given) == pytest.approx(gives)
    elif verb == "kept":
        assert ledger.reserved("page", given) == pytest.approx(gives)
    elif verb == "disclosed":
        assert ledger.disclosed("page", given) == pytest.approx(gives)
    elif verb == "dated":
        kept = ledger.find("page", given)
        assert kept is not None
        assert kept.drawn == gives
    else:
        kept = ledger.find("page", given["task"])
        assert kept is not None
        if verb == "fail":
            name = given["problem"]
            error = OWN.get(name) or ERRORS_BY_URI.get(PROBLEM_BASE + name, PrivetError)
            given = {"state": report_state_after(error("")), "reason": name}
        settled = replace(kept, state=ReportState(given["state"]), reason=given["reason"])
        newer = ledger.settle(settled)
        assert [newer.state, newer.reason] == gives


def test_the_table_has_every_problem() -> None:
    """A new one needs a row, and a place in both holders."""
    fails = {step["fail"]["problem"] for c in TABLE for step in c["steps"] if "fail" in step}
    assert fails == {problem.name for problem in PROBLEMS.values()} | {*OWN, "of-a-later-version"}


def test_threads_that_race_spend_once_and_agree(ledger: Ledger) -> None:
    """Of sixteen different draws for one task one survives, and all threads get it."""
    start = threading.Barrier(16)

    def draw(i: int) -> bytes:
        start.wait()
        return ledger.keep(answer(report=bytes([i]), epsilon=0.6)).report

    with ThreadPoolExecutor(16) as pool:
        assert len(set(pool.map(draw, range(16)))) == 1
    assert ledger.spent("me") == 0.6


KEEP = """
import sys
from pathlib import Path
from privet.client import StoredAnswer, BudgetSpent, SqliteLedger
ledger, i = SqliteLedger(Path(sys.argv[1])), sys.argv[2]
def answer(task):
    return StoredAnswer("me", task, "https://c.example", 0.3, "0", i.encode(), 0.0)
sys.stdin.readline()
print(ledger.keep(answer("shared")).report.decode())
try:
    ledger.keep(answer(f"own {i}"))
except BudgetSpent:
    print("refused")
else:
    print("kept")
"""


def test_threads_share_a_transaction_and_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is asked for while another is at work is kept together; what one raises undoes its own
    part, and a disk that fails fails all."""
    ledger = SqliteLedger(tmp_path / "ledger.sqlite3")
    for _ in range(2):  # so that the file is there, and its structure known
        assert ledger.find("a", "a") is None
    opened = record_connections(monkeypatch)

    def outcome(made: StoredAnswer) -> str:
        try:
            return ledger.keep(made).subject
        except PrivetError as error:
            return type(error).__name__

    def together(answers: list[StoredAnswer], busy: sqlite3.Connection) -> list[str]:
        """What becomes of answers that come while a first one waits for the file."""
        before = len(opened)
        with ThreadPoolExecutor(len(answers) + 1) as pool:
            busy.execute("BEGIN IMMEDIATE")
            first = pool.submit(ledger.caps, "me")
            while len(opened) == before:
                time.sleep(0.001)
            doing = [pool.submit(outcome, each) for each in answers]
            while ledger.waiting < len(answers):
                time.sleep(0.001)
            busy.execute("ROLLBACK")
            first.result()
            return [each.result() for each in doing]

    wanted = [answer(subject=s, epsilon=e) for s, e in (("a", 1.0), ("b", 9.0), ("c", 1.0))]
    with closing(sqlite3.connect(ledger.path, isolation_level=None)) as other:
        before = len(opened)
        assert together(wanted, other) == ["a", "BudgetSpent", "c"]
        assert len(opened) == before + 2
        assert [each.subject for each in ledger.answers()] == ["a", "c"]
        other.execute("BEGIN IMMEDIATE")
        with monkeypatch.context() as patch, ThreadPoolExecutor() as pool:
            patch.setattr("privet.client.ledger.BUSY_SECONDS", 0.0)
            failed = pool.map(outcome, [replace(each, task="b") for each in wanted])
            assert list(failed) == ["LedgerFailed"] * 3
        other.execute("ROLLBACK")
    assert len(ledger.answers()) == 2


@pytest.mark.slow
def test_processes_that_race_cannot_overspend(tmp_path: Path) -> None:
    """Four processes use one ledger at once: all see one shared answer, two more fit the cap."""
    path = tmp_path / "answers.sqlite3"
    SqliteLedger(path).set_caps("me", ONE)
    running = [
        subprocess.Popen(
            [sys.executable, "-c", KEEP, str(path), str(i)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for i in range(4)
    ]
    for process in running:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    outcomes = [process.communicate(timeout=60)[0].split() for process in running]
    assert len({shared for shared, _ in outcomes}) == 1
    assert sorted(own for _, own in outcomes) == ["kept"] * 2 + ["refused"] * 2
    assert SqliteLedger(path).spent("me") == pytest.approx(0.9)


@keeps(
    "threat-model: the ledger is for its owner",
    in_="client/ledger.py",
    instead_of="sqlite_files.keep_private(self.path)",
    plant="pass",
)
@keeps(
    "threat-model: a ledger that others could read is closed to them",
    in_="sqlite_files/__init__.py",
    instead_of="file.chmod(0o600)",
    plant="pass",
)
def test_only_the_owner_can_read_the_file(tmp_path: Path) -> None:
    """The file is 0600 and its new folder 0700, whatever the umask or others allowed before."""
    ledger = SqliteLedger(tmp_path / "data" / "answers.sqlite3")
    ledger.keep(answer())
    assert stat.S_IMODE(ledger.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(ledger.path.parent.stat().st_mode) == 0o700
    assert [path.name for path in ledger.path.parent.iterdir()] == ["answers.sqlite3"]
    ledger.path.chmod(0o644)
    assert len(ledger.answers()) == 1
    assert stat.S_IMODE(ledger.path.stat().st_mode) == 0o600


def test_looking_makes_no_ledger(tmp_path: Path) -> None:
    """Where nothing was kept, nothing is known and nothing is written."""
    ledger = SqliteLedger(tmp_path / "answers.sqlite3")
    assert (ledger.answers(), ledger.caps("me")) == ([], Caps())
    assert not ledger.path.exists()


def test_a_cap_for_one_task_and_one_for_a_year(ledger: Ledger) -> None:
    """What was drawn a year ago counts no more; what lies in the future does."""
    ledger.set_caps("me", Caps(task=0.5, year=0.8))
    with pytest.raises(BudgetSpent, match=r"at most 0\.5 on one task.*privet-holder cap --task"):
        ledger.keep(answer(epsilon=0.6))
    ledger.keep(answer("b", epsilon=0.3, drawn=NOW))
    ledger.keep(answer("a", epsilon=0.5, drawn=NOW + 10 * DAY))
    with pytest.raises(BudgetSpent, match="privet-holder cap --year"):
        ledger.keep(answer("c", epsilon=0.1, drawn=NOW + 364 * DAY))
    ledger.keep(answer("c", epsilon=0.1, drawn=NOW + 365 * DAY))
    assert ledger.spent("me", NOW + 365 * DAY) == pytest.approx(0.6)
    assert ledger.spent("me") == pytest.approx(0.9)


def test_caps_stay_until_they_are_set(tmp_path: Path) -> None:
    """They are the ledger's, not the caller's: a new process has those that were set."""
    path = tmp_path / "answers.sqlite3"
    assert Caps() == SqliteLedger(path).caps("me") == Caps(task=2.0, year=4.0, disclosed=32.0)
    SqliteLedger(path).set_caps("me", Caps(3.0, float("inf"), 9.0))
    assert SqliteLedger(path).caps("me") == Caps(3.0, float("inf"), 9.0)
    assert SqliteLedger(path).caps("you") == Caps()


def test_every_change_is_written_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite waits for the disk, folder entry included, at each commit."""
    modes = []

    class Watched(sqlite3.Connection):
        def close(self) -> None:
            both = ("PRAGMA synchronous", "PRAGMA journal_mode")
            modes.append([self.execute(pragma).fetchone()[0] for pragma in both])
            super().close()

    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Watched))
    SqliteLedger(tmp_path / "answers.sqlite3").keep(answer())
    assert modes == [[3, "delete"]]


def test_a_ledger_that_cannot_be_used_says_so_and_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder, a damaged file, a newer version: LedgerFailed with the path and what to do."""
    damaged, newer = tmp_path / "damaged", tmp_path / "newer"
    damaged.write_bytes(b"this is not a database" * 100)
    SqliteLedger(newer).keep(answer())
    with closing(sqlite3.connect(newer)) as db:
        db.execute("PRAGMA user_version = 9")
    opened = record_connections(monkeypatch)
    for path in (tmp_path, damaged, newer, damaged / "below"):
        with pytest.raises(LedgerFailed, match=f"{path}.*Nothing was sent"):
            SqliteLedger(path).keep(answer())
    assert_closed(opened)


TAMPERED = {
    "a trigger": "CREATE TRIGGER t AFTER INSERT ON answers BEGIN DELETE FROM answers; END",
    "a trigger named like statistics": "PRAGMA writable_schema = ON;"
    "INSERT INTO sqlite_schema VALUES ('trigger', 'sqlite_stat1', 'answers', 0,"
    "'CREATE TRIGGER sqlite_stat1 AFTER INSERT ON answers BEGIN DELETE FROM answers; END')",
    "a trigger named nearly so": "CREATE TRIGGER sqliteXstat1 AFTER INSERT ON answers "
    "BEGIN DELETE FROM answers; END",
    "a computed column": "ALTER TABLE caps ADD COLUMN b BLOB AS (zeroblob(1000000000))",
    "a column more": "ALTER TABLE answers ADD COLUMN b TEXT",
    "a column less": "ALTER TABLE answers DROP COLUMN reason",
    "a view in place of a table": "ALTER TABLE caps RENAME TO c;"
    "CREATE VIEW caps AS SELECT subject, 100.0 AS task, 100.0 AS year, 1.0 AS disclosed FROM c",
    "an index": "CREATE INDEX i ON answers (state)",
    "an index of another order": "DROP INDEX IF EXISTS answers_by_date;"
    "CREATE INDEX answers_by_date ON answers (state)",
    "a table more": "CREATE TABLE more (a)",
    "a table less": "DROP TABLE caps",
}


@keeps(
    "threat-model: nothing is read of a ledger that acts by itself",
    in_="client/ledger.py",
    instead_of="if not sqlite_files.has_been_made(db, MADE[version]):",
    plant="if False:",
)
@pytest.mark.parametrize("name", PLAIN.values())
@pytest.mark.parametrize("change", TAMPERED)
def test_nothing_is_read_of_a_ledger_that_acts_by_itself(
    tmp_path: Path, name: str, change: str
) -> None:
    """Neither answers nor caps, of this version or an older one; and it stays as it was."""
    path = copied(name, tmp_path)
    with closing(sqlite3.connect(path)) as db:
        db.executescript(f"DELETE FROM caps; {TAMPERED[change]}")
        before = list(db.iterdump())
    ledger = SqliteLedger(path)
    for verb in (
        partial(ledger.keep, answer()),
        partial(ledger.caps, "me"),
        partial(ledger.set_caps, "me", Caps()),
        ledger.answers,
    ):
        with pytest.raises(LedgerFailed, match=r"find out who changed it.*Nothing was sent"):
            verb()
    with closing(sqlite3.connect(path)) as db:
        assert list(db.iterdump()) == before


def test_what_a_database_of_others_has_is_not_taken_for_an_empty_ledger(tmp_path: Path) -> None:
    """One whose version is 0, such as a browser's or a program's."""
    with closing(sqlite3.connect(tmp_path / "other")) as db:
        db.execute("CREATE TABLE bookmarks (a)")
    with pytest.raises(LedgerFailed, match="choose another with --ledger"):
        SqliteLedger(tmp_path / "other").keep(answer())


def test_a_ledger_whose_statistics_sqlite_keeps_is_read(tmp_path: Path) -> None:
    """As a person has them made by ANALYZE."""
    ledger = SqliteLedger(tmp_path / "ledger")
    ledger.keep(answer())
    with closing(sqlite3.connect(ledger.path)) as db:
        db.execute("ANALYZE")
        db.commit()
    assert len(ledger.answers()) == 1


def test_a_user_without_a_home_names_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """No folder called ~ is made where the program happens to run."""
    monkeypatch.setattr("privet.client.ledger.user_data_path", lambda *_, **__: Path("~/.local"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LedgerFailed, match="no home folder"):
        SqliteLedger().keep(answer())
    with pytest.raises(LedgerFailed, match="no home folder"):
        SqliteLedger().find("me", answer().task)
    assert [*tmp_path.iterdir()] == []


def test_the_ledger_lives_in_the_users_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless another path is given."""
    monkeypatch.setenv("XDG_DATA_HOME", "/somewhere")
    assert default_path().name == "answers.sqlite3"
    assert SqliteLedger().path == default_path()


def test_a_user_without_a_home_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a service has none: one sentence says what to set."""

    def unknown(_: int) -> None:
        raise KeyError

    for name in ("HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", unknown)
    with pytest.raises(LedgerFailed, match="set HOME"):
        SqliteLedger()
