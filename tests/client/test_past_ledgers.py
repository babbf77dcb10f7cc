"""Ledgers of older programs: read as they are, upgraded at once or not at all."""

import json
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner, Result

from privet.client import Caps, Holder, LedgerFailed, SqliteLedger
from privet.client.cli import app
from privet.client.ledger_forms import SCHEMA_VERSION
from privet.sqlite_files import structure
from tests.client.fakes import Network
from tests.client.past import PLAIN, READ, UNREAD, copied, printed, rows
from tests.keeping import keeps


def budget(path: Path, subject: str = "me") -> Result:
    return CliRunner().invoke(
        app, ["budget", "--json", "--ledger", str(path), "--subject", subject]
    )


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as db:
        return list(db.iterdump())


@keeps(
    "holder: ledgers that older versions wrote are read",
    in_="client/ledger_forms.py",
    instead_of="for column in (IN_WORDS, DISCLOSED)",
    plant="for column in (DISCLOSED,)",
)
@pytest.mark.parametrize("name", READ)
def test_a_ledger_of_an_older_program_is_opened(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Epsilon, caps and answers are those that the program which wrote it printed."""
    path, values = copied(name, tmp_path), printed(name)
    before = rows(path)
    monkeypatch.setattr(time, "time", lambda: values["now"])
    for subject, then in values["subjects"].items():
        own = [row for row in before if row["subject"] == subject]
        if any(row["state"] == "held" for row in own):  # its relay would be asked
            assert SqliteLedger(path).spent(subject) == 0.125
            continue
        result = budget(path, subject)
        assert result.exit_code == 0, result.output
        now = json.loads(result.stdout)
        assert now["caps"] == {"disclosed": 32.0, **then["caps"]}
        if then["budget"] is None:  # that program could not list its answers
            assert now["spent_in_year"] == now["spent"] == sum(row["epsilon"] for row in own)
            continue
        for answer in then["budget"]["answers"]:
            answer["disclosed"] = answer.pop("told_openly", answer.get("disclosed", ""))
        del then["budget"]["caps"]
        assert then["budget"].keys() <= now.keys()
        assert {key: now[key] for key in then["budget"]} == then["budget"]


@pytest.mark.parametrize("name", READ)
def test_it_becomes_one_of_today(name: str, tmp_path: Path) -> None:
    """Every row stays, bytes and order too; the tables are those of a new ledger, which the
    next call finds; and it takes answers."""
    path = copied(name, tmp_path)
    before = rows(path)
    ledger, new = SqliteLedger(path), SqliteLedger(tmp_path / "new")
    new.set_caps("me", Caps())
    answers = ledger.answers()
    with closing(sqlite3.connect(path)) as db, closing(sqlite3.connect(new.path)) as other:
        assert structure(db) == structure(other)
        assert db.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    absent = {"invitation": None, "disclosed": "", "panel": ""}
    assert rows(path) == [{**absent, **row} for row in before]
    assert len(answers) == len(before)
    kept = ledger.keep(replace(answers[0], subject="new", task="n", panel="", splits=None))
    assert SqliteLedger(path).find("new", "n") == kept


@pytest.mark.parametrize("name", READ)
async def test_an_answer_that_nobody_took_is_sent_as_it_was_drawn(
    name: str, tmp_path: Path
) -> None:
    """The same bytes, with the invitation to the address that it was given for."""
    path = copied(name, tmp_path)
    pending = [row for row in rows(path) if row["state"] in ("drawn", "refused")]
    reports = {row["report"]: row["report_id"] for row in pending}
    sent: dict[bytes, str | None] = {}

    def count(request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return httpx.Response(404)
        sent[request.content] = request.headers.get("privet-invitation")
        return httpx.Response(201, json={"report": reports[request.content], "counted": True})

    for subject in sorted({row["subject"] for row in pending}):
        await Holder(Network([count]).client(), SqliteLedger(path), subject).resend()
        assert all(answer.counted for answer in SqliteLedger(path).answers(subject))
    assert sent == {row["report"]: row.get("invitation") for row in pending}
    assert len(sent) > 0


@pytest.mark.parametrize("name", UNREAD)
def test_a_ledger_that_is_too_old_says_so(name: str, tmp_path: Path) -> None:
    """Nobody is said to have changed it, and it stays as it is."""
    path = copied(name, tmp_path)
    before = path.read_bytes()
    result = budget(path)
    assert result.exit_code == 1
    assert "is of version 1" in result.stderr
    assert "use the program that wrote it" in result.stderr
    assert "changed" not in result.stderr
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", READ)
def test_one_trigger_more_and_it_is_refused(name: str, tmp_path: Path) -> None:
    """As a file that somebody changed; nothing of it is upgraded."""
    path = copied(name, tmp_path)
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TRIGGER t AFTER INSERT ON answers BEGIN DELETE FROM caps; END")
    before = dump(path)
    result = budget(path)
    assert result.exit_code == 1
    assert "find out who changed it" in " ".join(result.stderr.split())
    assert dump(path) == before


@pytest.mark.parametrize("name", PLAIN.values())
def test_a_version_is_read_in_its_own_form_only(name: str, tmp_path: Path) -> None:
    """A file that states another version than its tables are of is refused."""
    path = copied(name, tmp_path)
    for version in PLAIN.keys() - {int(name[0])}:
        with closing(sqlite3.connect(path)) as db:
            db.execute(f"PRAGMA user_version = {version}")
        with pytest.raises(LedgerFailed, match="find out who changed it"):
            SqliteLedger(path).answers()


@pytest.mark.parametrize("name", PLAIN.values())
def test_many_open_it_at_once(name: str, tmp_path: Path) -> None:
    """One of them upgrades it, and all read the same."""
    path = copied(name, tmp_path)
    before, start = rows(path), threading.Barrier(8)

    def opened(_: int) -> list[bytes]:
        start.wait()
        return [answer.report for answer in SqliteLedger(path).answers()]

    with ThreadPoolExecutor(8) as pool:
        (reports,) = set(map(tuple, pool.map(opened, range(8))))
    assert sorted(reports) == sorted(row["report"] for row in before)


KILLED = """
import os, signal, sqlite3, sys
from pathlib import Path
from privet.client import SqliteLedger

class Counting(sqlite3.Connection):
    left = 0

    def execute(self, *given):
        Counting.left -= 1
        if Counting.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().execute(*given)

def connect(path, **given):
    db = sqlite3.Connection.__new__(Counting)
    db.__init__(path, **given)
    sqlite3.Connection.execute(db, "PRAGMA cache_size = 1")  # so that pages are written early
    return db

plain, path = sqlite3.connect, Path(sys.argv[1])
structure = lambda: list(plain(path).execute("SELECT name, sql FROM sqlite_schema ORDER BY 1"))
dump = lambda: list(plain(path).iterdump())
before, at, killed = dump(), 0, 0
while True:
    at += 1
    child = os.fork()
    if child == 0:
        sqlite3.connect = lambda p, **m: (plain if p == ":memory:" else connect)(p, **m)
        Counting.left = at
        SqliteLedger(path).caps("me")
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        break
    killed += 1
    assert dump() == before, at
assert dump() != before
print(killed)
"""


@pytest.mark.parametrize("name", [PLAIN[4], PLAIN[6]])
def test_a_program_that_is_killed_leaves_it_as_it_was(name: str, tmp_path: Path) -> None:
    """Before each of its statements, the commit among them; the next one upgrades it."""
    path = copied(name, tmp_path)
    before = rows(path)
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 10
    assert [row["report"] for row in rows(path)] == [row["report"] for row in before]


@pytest.mark.parametrize("name", PLAIN.values())
def test_statistics_that_sqlite_keeps_do_not_matter(name: str, tmp_path: Path) -> None:
    """As a person has them made by ANALYZE."""
    path = copied(name, tmp_path)
    with closing(sqlite3.connect(path)) as db:
        db.execute("ANALYZE")
        db.commit()
    assert len(SqliteLedger(path).answers()) == len(rows(path)) >= 6
    SqliteLedger(path).set_caps("me", Caps())
