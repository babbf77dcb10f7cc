"""Backups by days, and the way back from them: what is empty neither hides nor replaces reports."""

import io
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine, make_url, text

from privet.curator.access.signing import make_key, read_key
from privet.curator.datastore import open_store
from privet.curator.datastore.audit import SIGNING_KEY
from privet.curator.datastore.backup_folder import NAME, add_backup, backups_in, prune
from privet.protocol.errors import InvalidRequest
from privet.protocol.lifecycle import Move
from tests.curator.cli.conftest import Cli
from tests.curator.datastore.made import fill, open_task, report, take, task
from tests.curator.datastore.servers import drop_database, new_database, new_file
from tests.keeping import keeps

DAY = 86_400.0
START = 1_790_000_000.0 // DAY * DAY
FILLED = 26
"""Reports of the two tasks that ``fill`` makes."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty one, for backups."""
    made = tmp_path / "backups"
    made.mkdir()
    return made


@pytest.fixture(scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes]:
    """A database with reports, and its backup."""
    folder = tmp_path_factory.mktemp("made")
    address = new_file(folder)
    fill(address)
    with closing(open_store(address)) as store:
        file, _ = add_backup(store.engine, folder / "copy.db", START - DAY)
    return Path(address.removeprefix("sqlite:///")).read_bytes(), file.read_bytes()


@pytest.fixture
def live(tmp_path: Path, made_once: tuple[bytes, bytes]) -> str:
    """A database with reports."""
    return new_file(tmp_path, made_once[0])


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Lets a person type something at the next question."""
    return lambda typed: monkeypatch.setattr("sys.stdin", io.StringIO(f"{typed}\n"))


@pytest.fixture
def saved(folder: Path, made_once: tuple[bytes, bytes]) -> Path:
    """The only backup in the folder."""
    file = folder / "2026-09-20T000000.db"
    file.write_bytes(made_once[1])
    return file


def lose(address: str) -> None:
    """Put an empty database where one was lost."""
    file = Path(address.removeprefix("sqlite:///"))
    file.unlink()
    new_file(file.parent)


def at(file: Path, moment: float) -> None:
    """Copy a backup to the name and the date that it would have had at a time."""
    copied = file.parent / datetime.fromtimestamp(moment, UTC).strftime(NAME)
    shutil.copy(file, copied)
    with closing(sqlite3.connect(copied)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("UPDATE backup SET made = ?", (moment,))
        connection.commit()


def nights(file: Path, count: int, first: float = START) -> None:
    """A backup each night; the file itself goes."""
    for night in range(count):
        at(file, first + night * DAY)
    file.unlink()


def days(folder: Path) -> list[int]:
    """The days since the first night that have a backup, each as often as it has one."""
    return sorted(round((each.made - START) // DAY) for each in backups_in(folder))


@keeps(
    "operations: an empty database is not saved beside fuller backups of other tasks",
    in_="curator/datastore/backup_folder.py",
    instead_of="any(count and task not in known for task, count in saved.reports.items())",
    plant="False",
)
@pytest.mark.usefixtures("saved")
def test_an_empty_database_does_not_become_the_newest_backup(
    live: str, folder: Path, run: Cli, tmp_path: Path
) -> None:
    """Not beside backups with reports of tasks that it does not know; with a task of its own or
    without."""
    before = sorted(folder.iterdir())
    lose(live)
    for fresh in ((), (task("fresh"),)):
        with closing(open_store(live)) as store:
            for made in fresh:
                open_task(store, made)
        for place in (folder, folder / "by-hand.db"):
            refused = run("backup", str(place), "--database", live)
            assert refused.code == 1
            assert f"privet recover {folder}" in refused.err
            assert f"has {FILLED} of tasks" in refused.err
    assert sorted(folder.iterdir()) == before
    assert run("backup", str(tmp_path / "elsewhere.db"), "--database", live).code == 0


@pytest.mark.usefixtures("saved")
def test_a_database_whose_tasks_were_deleted_is_saved(live: str, folder: Path, run: Cli) -> None:
    """It knows them: nothing was lost."""
    with closing(open_store(live)) as store:
        for name in ("one", "two"):
            store.tasks.move(task(name).id, Move.DELETE, START)
    assert run("backup", str(folder / "later.db"), "--database", live).code == 0


def test_thirty_restarts_do_not_delete_a_month(saved: Path, folder: Path) -> None:
    """Each makes a backup, and one of a day stays: the newest."""
    nights(saved, 9)
    for restart in range(30):
        at(next(iter(folder.glob("2*.db"))), START + 8 * DAY + 60.0 * (restart + 1))
        if restart % 15 == 14:
            prune(folder, 9)
    assert days(folder) == list(range(9))
    newest = backups_in(folder)[0]
    assert newest.made == START + 8 * DAY + 30 * 60.0


def test_days_are_those_that_have_a_backup(saved: Path, folder: Path) -> None:
    """A machine that was off for a year deletes nothing when it is back; then the oldest goes."""
    nights(saved, 9)
    at(next(iter(folder.glob("2*.db"))), START + 400 * DAY)
    assert [file.name[:10] for file in prune(folder, 9)] == [
        datetime.fromtimestamp(START, UTC).strftime("%Y-%m-%d")
    ]
    assert prune(folder, 9) == []


@keeps(
    "operations: no backup goes whose reports no newer one has",
    in_="curator/datastore/backup_folder.py",
    instead_of="first_of_day or all(newer.contents.lacks(each.contents) for newer in kept)",
    plant="first_of_day",
)
@pytest.mark.parametrize("same_tasks", [True, False], ids=["without its reports", "without it"])
def test_the_last_backup_that_has_reports_stays(
    live: str, saved: Path, folder: Path, same_tasks: bool, tmp_path: Path
) -> None:
    """However many newer ones of an emptier database there are, and of whatever age it is."""
    nights(saved, 3)
    other = new_file(tmp_path / "backups")
    with closing(open_store(other)) as store:
        for name in ("one", "two") if same_tasks else ("three",):
            open_task(store, task(name))
    empty, _ = add_backup(open_store(other).engine, tmp_path / "empty.db", START)
    Path(other.removeprefix("sqlite:///")).unlink()
    nights(Path(shutil.copy(empty, folder)), 12, START + 3 * DAY)
    removed = prune(folder, 9)
    assert len(removed) == 2 + 3
    assert days(folder) == [2, *range(6, 15)]
    kept = [each for each in backups_in(folder) if each.contents.total]
    assert [each.contents.total for each in kept] == [FILLED]
    assert live


def test_backups_of_deleted_tasks_go(live: str, saved: Path, folder: Path) -> None:
    """What was deleted is not kept for ever because it was the last of its kind."""
    nights(saved, 1)
    with closing(open_store(live)) as store:
        for name in ("one", "two"):
            store.tasks.move(task(name).id, Move.DELETE, START)
        later, _ = add_backup(store.engine, folder / "later.db", START + DAY)
    nights(later, 2, START + DAY)
    prune(folder, 2)
    assert days(folder) == [1, 2]


def test_what_a_timer_did_not_make_is_left_alone(saved: Path, folder: Path) -> None:
    """Backups by hand, other databases, and files that cannot be read."""
    nights(saved, 2)
    shutil.copy(next(iter(folder.glob("2*.db"))), folder / "before-upgrade.db")
    (folder / "2020-01-01T000000.db").write_bytes(b"no database")
    with closing(sqlite3.connect(folder / "2020-01-02T000000.db")) as connection:
        connection.execute("CREATE TABLE some (thing)")
    assert len(prune(folder, 1)) == 1
    assert len(list(folder.iterdir())) == 4


def test_days_need_a_folder(live: str, folder: Path, run: Cli) -> None:
    """Else a slip of the keyboard would prune the folder that a file is in."""
    refused = run("backup", str(folder / "x.db"), "--keep-days", "3", "--database", live)
    assert refused.code == 1
    assert "needs one" in refused.err
    assert list(folder.iterdir()) == []


def test_a_database_that_was_started_empty_is_recovered(
    live: str, saved: Path, folder: Path, run: Cli, answer: Callable[[str], None]
) -> None:
    """After a question; what was there is moved aside, whole; the key is looked for."""
    lose(live)
    made = make_at(live)
    answer("")
    recovered = run("recover", str(folder), "--database", live)
    assert recovered.code == 0, recovered.err
    for said in (saved.name, str(FILLED), "fits"):
        assert said in recovered.out
    assert "has 0 tasks and 0 reports: it will be moved aside" in recovered.err
    assert "privet-holder resend" in recovered.err
    assert run("verify", "--database", live, "--against", f"sqlite:///{saved}").code == 0
    (aside,) = saved.parent.parent.glob("privet.db.aside_*")
    assert run("verify", "--database", f"sqlite:///{aside}").code == 0
    assert read_key(made).key  # it is still there


def make_at(address: str) -> Path:
    """The key that a curator makes beside an empty database."""
    key = Path(f"{address.removeprefix('sqlite:///')}.key")
    make_key(key)
    return key


def test_a_key_that_is_not_the_backups_is_told(
    live: str, folder: Path, run: Cli, answer: Callable[[str], None], tmp_path: Path
) -> None:
    """Which one is missing, and where it belongs; not where it is the right one."""
    make_key(tmp_path / "kept.key")
    key = read_key(tmp_path / "kept.key").key.hex()
    with closing(open_store(live)) as store:
        store.facts.set(SIGNING_KEY, key)
    assert run("backup", str(folder), "--database", live).code == 0
    lose(live)
    recover = ("recover", str(folder), "--database", live)
    make_at(live)
    answer("1")
    told = run(*recover)
    assert told.code == 0
    assert f"signed with the key {key}, which is not at {tmp_path}/privet.db.key" in told.err
    lose(live)
    shutil.copy(tmp_path / "kept.key", tmp_path / "privet.db.key")
    answer("1")
    right = run(*recover)
    assert (right.code, "signed with" in right.err) == (0, False)


def test_nothing_happens_without_an_answer(
    live: str, folder: Path, saved: Path, run: Cli, answer: Callable[[str], None]
) -> None:
    """0, a number that is none, or no input at all."""
    before = Path(live.removeprefix("sqlite:///")).read_bytes()
    for typed in ("0", "2", "-1"):
        answer(typed)
        assert run("recover", str(folder), "--database", live).code == 1
    assert Path(live.removeprefix("sqlite:///")).read_bytes() == before
    assert list(saved.parent.parent.glob("*aside*")) == []


def test_without_a_person_a_file_is_named_and_no_reports_are_replaced(
    live: str, folder: Path, saved: Path, run: Cli
) -> None:
    """--yes is for scripts."""
    recover = ("recover", str(folder), "--database", live, "--yes")
    assert "needs --file" in run(*recover).err
    named = (*recover, "--file", saved.name)
    refused = run(*named)
    assert refused.code == 1
    assert f"has 2 tasks and {FILLED} reports" in refused.err
    lose(live)
    assert run(*named).code == 0
    assert run("verify", "--database", live, "--against", f"sqlite:///{saved}").code == 0


def test_the_newest_that_lacks_nothing_is_offered(
    live: str, folder: Path, saved: Path, run: Cli, answer: Callable[[str], None]
) -> None:
    """Not a damaged one, and not a newer one of another database, which a person may choose."""
    at(saved, START + 900 * DAY)  # its digest is another now
    lose(live)
    with closing(open_store(live)) as store:
        cached = open_task(store, task("fresh"))
        take(store, cached, [report(cached.task)])
        add_backup(store.engine, folder / "2090-01-01T000000.db", START + 800 * DAY)
    answer("")
    listed = run("recover", str(folder), "--database", live)
    assert "None has the reports of all others" in listed.err
    answer("1")
    damaged = run("recover", str(folder), "--database", live)
    assert damaged.code == 1
    assert "its digest differs" in damaged.err
    answer("3")
    assert run("recover", str(folder), "--database", live).code == 0
    assert run("verify", "--database", live, "--against", f"sqlite:///{saved}").code == 0


def test_a_database_in_use_is_not_replaced(live: str, folder: Path, saved: Path, run: Cli) -> None:
    """A curator would go on writing into what was moved aside."""
    lose(live)
    with closing(open_store(live)) as store:
        store.tasks.listed()
        refused = run("recover", str(folder), "--database", live, "--yes", "--file", saved.name)
    assert refused.code == 1
    assert "Others use the database" in refused.err
    assert list(saved.parent.parent.glob("*aside*")) == []


def test_a_file_that_is_no_database_is_moved_aside(
    live: str, folder: Path, saved: Path, run: Cli, answer: Callable[[str], None]
) -> None:
    """By a person, who sees that it cannot be read."""
    Path(live.removeprefix("sqlite:///")).write_bytes(b"damaged" * 1_000)
    assert (
        "cannot be read"
        in run("recover", str(folder), "--database", live, "--yes", "--file", saved.name).err
    )
    answer("1")
    assert run("recover", str(folder), "--database", live).code == 0
    (aside,) = saved.parent.parent.glob("privet.db.aside_*")
    assert aside.read_bytes().startswith(b"damaged")


@pytest.fixture
def server() -> Iterator[str]:
    """An empty PostgreSQL database."""
    address = new_database()
    yield address
    drop_database(address)


def test_a_server_that_was_started_empty_is_recovered(
    server: str, folder: Path, saved: Path, run: Cli
) -> None:
    """In one transaction; its tables are in a schema of their own then, with what was in them."""
    recover = ("recover", str(folder), "--database", server, "--yes", "--file", saved.name)
    with closing(open_store(server)) as store:
        open_task(store, task("fresh"))
        refused = run(*recover)
        assert refused.code == 1
        assert "Others use the database: privet curator" in refused.err
    recovered = run(*recover)
    assert recovered.code == 0, recovered.err
    assert run("verify", "--database", server, "--against", f"sqlite:///{saved}").code == 0
    with connected(server) as engine, engine.connect() as connection:
        schemas = text("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'aside%'")
        (aside,) = connection.scalars(schemas)
        assert connection.scalar(text(f"SELECT count(*) FROM {aside}.tasks")) == 1
    with closing(open_store(server)) as store:
        open_task(store, task("later"))
        assert len(store.tasks.listed()) == 3
    assert run("restore", str(saved), "--database", server).code == 1


class connected:  # noqa: N801
    """A plain connection to a server."""

    def __init__(self, address: str) -> None:
        self._engine = create_engine(make_url(address).set(drivername="postgresql+psycopg"))

    def __enter__(self) -> Engine:
        return self._engine

    def __exit__(self, *_: object) -> None:
        self._engine.dispose()


def test_a_folder_that_is_not_there_is_told(live: str, run: Cli, tmp_path: Path) -> None:
    for place, said in ((tmp_path / "no", "There is no folder"), (tmp_path, "privet.db")):
        refused = run("recover", str(place), "--database", live, "--yes", "--file", "x.db")
        assert refused.code == 1
        assert said in refused.err or "There is no backup x.db" in refused.err
    with pytest.raises(InvalidRequest):
        backups_in(tmp_path / "no")
