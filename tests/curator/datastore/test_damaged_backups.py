"""Whatever is changed in a backup is noticed before anybody relies on it."""

import random
import shutil
import sqlite3
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event, inspect

from privet.curator.datastore import open_engine, open_store
from privet.curator.datastore.audit import AuditEntry
from privet.curator.datastore.backup import backup, check_backup, migrate, restore
from privet.curator.datastore.database import writing
from privet.curator.datastore.migrate import naming_failures
from privet.curator.datastore.schema import backup_mark, metadata
from privet.curator.datastore.verification import verify, verify_audit
from privet.protocol.errors import InvalidRequest, StorageFailed
from tests.curator.datastore.made import NOW, fill
from tests.curator.everything import make_everything
from tests.keeping import keeps

pytestmark = pytest.mark.usefixtures("small_runs")
FLIPS = 100
"""Single bits of a file, one in a copy each."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, small_runs: None) -> Path:
    """A backup of a database with rows in every table."""
    folder = tmp_path_factory.mktemp("whole")
    url = f"sqlite:///{folder}/privet.db"
    make_everything(url, folder)
    engine = open_engine(url)
    backup(engine, folder / "whole.db", NOW)
    engine.dispose()
    return folder / "whole.db"


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(whole, tmp_path / "copy.db"))


@contextmanager
def opened(file: Path) -> Iterator[Engine]:
    engine = open_engine(f"sqlite:///{file}")
    yield engine
    engine.dispose()


def assert_not_whole(file: Path) -> None:
    """The check tells the damage, which ``assert_refused`` shows to be restoring's own."""
    with (
        opened(file) as engine,
        pytest.raises(StorageFailed, match=r"another backup|restore a backup"),
    ):
        check_backup(engine)


def assert_refused(file: Path) -> None:
    """Neither is it called whole, nor is anything taken from it."""
    target = file.with_name("target.db")
    with opened(file) as engine, opened(target) as into:
        for refusing in (check_backup, partial(restore, target=into)):
            with pytest.raises(StorageFailed, match=r"another backup|restore a backup"):
                refusing(engine)
        assert inspect(into).get_table_names() == []


def flipped(value: Any, bit: int = 0) -> Any:
    """The value with another lowest bit, or another ``bit`` of a whole number."""
    if isinstance(value, int):
        return value ^ 1 << bit
    if isinstance(value, float):
        (bits,) = struct.unpack("<q", struct.pack("<d", value))
        return struct.unpack("<d", struct.pack("<q", bits ^ 1))[0]
    if isinstance(value, str):
        return value[:-1] + chr(ord(value[-1:] or "x") ^ 1)
    return 0 if value is None else value[:-1] + bytes([value[-1] ^ 1])


TABLES = [*metadata.tables, "alembic_version"]


@pytest.mark.parametrize("table", [*TABLES, backup_mark.name])
def test_a_flipped_bit_is_noticed(whole: Path, copy: Path, table: str) -> None:
    """In any column of any table, the mark among them."""
    with closing(sqlite3.connect(copy)) as connection:
        columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
        row = connection.execute(f"SELECT * FROM {table}").fetchone()
    key = [column[1] for column in columns if column[5]] or [columns[0][1]]
    of_key = " AND ".join(f"{name} = ?" for name in key)
    of_row = [value for column, value in zip(columns, row, strict=True) if column[1] in key]
    for column, value in zip(columns, row, strict=True):
        shutil.copy(whole, copy)
        with closing(sqlite3.connect(copy)) as connection:
            change = f"UPDATE {table} SET {column[1]} = ? WHERE {of_key}"
            other = flipped(value, 30 if column[1] in key else 0)  # no other row has this key
            assert connection.execute(change, [other, *of_row]).rowcount == 1
            connection.commit()
        (assert_refused if column == columns[-1] else assert_not_whole)(copy)


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup of a database without a row."""
    folder = tmp_path_factory.mktemp("empty")
    open_store(f"sqlite:///{folder}/privet.db").close()
    with opened(folder / "privet.db") as engine:
        backup(engine, folder / "empty.db", NOW)
    return folder / "empty.db"


@pytest.mark.parametrize("table", TABLES)
def test_a_lost_table_is_noticed(whole: Path, empty: Path, copy: Path, table: str) -> None:
    """Whichever it is, with rows or without."""
    for file in (whole, empty):
        shutil.copy(file, copy)
        with closing(sqlite3.connect(copy)) as connection:
            connection.execute(f"DROP TABLE {table}")
        assert_refused(copy)


def test_a_backup_that_lost_its_mark_is_none(copy: Path, tmp_path: Path) -> None:
    """It is not called one, and not restored."""
    with closing(sqlite3.connect(copy)) as connection:
        connection.execute(f"DROP TABLE {backup_mark.name}")
    with opened(copy) as engine, opened(tmp_path / "target.db") as target:
        assert check_backup(engine) is None
        with pytest.raises(InvalidRequest, match="privet backup"):
            restore(engine, target)


def contents(file: Path) -> list[Any]:
    with closing(sqlite3.connect(file)) as connection:
        found = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
        names = [name for kind, name, _ in found if kind == "table"]
        return [found, *(connection.execute(f"SELECT * FROM {n}").fetchall() for n in names)]


def test_a_bit_of_the_file_that_matters_is_noticed(whole: Path, copy: Path) -> None:
    """After any one that is not, all that the file holds is as it was."""
    bits, before = whole.read_bytes(), contents(whole)
    used = [place for place, byte in enumerate(bits) if byte]
    chance, unnoticed = random.Random(7), 0
    for _ in range(FLIPS):
        damaged = bytearray(bits)
        damaged[chance.choice(used)] ^= 1 << chance.randrange(8)
        copy.write_bytes(damaged)
        if is_called_whole(copy):
            assert contents(copy) == before
            unnoticed += 1
    assert unnoticed < FLIPS / 2


def is_called_whole(file: Path) -> bool:
    """True if the check finds nothing, rather than damage or no backup."""
    with opened(file) as engine:
        try:
            with naming_failures(engine):
                return check_backup(engine) is not None
        except StorageFailed:
            return False


@pytest.fixture(scope="module")
def restored(whole: Path) -> Path:
    """A database in use, of what is in the backup."""
    file = whole.with_name("restored.db")
    with opened(whole) as engine, opened(file) as target:
        restore(engine, target)
    return file


@pytest.fixture
def used(restored: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(restored, tmp_path / "used.db"))


HAND_MADE_TOKENS = (
    "INSERT INTO tokens VALUES ('mine', 'admin', x'00', 1.0, NULL, NULL)",
    "UPDATE tokens SET digest = x'00' WHERE name = 'north'",
    "UPDATE tokens SET name = 'mine' WHERE name = 'north'",
    "UPDATE tokens SET scope = 'reader' WHERE name = 'north'",
)


@keeps(
    "threat-model: a token takes an entry of the audit log",
    in_="curator/datastore/verification.py",
    instead_of="if name not in issued or not issued[name].is_as(row)",
    plant="if name not in issued",
)
@pytest.mark.parametrize("change", HAND_MADE_TOKENS)
def test_a_token_takes_an_entry_of_the_audit_log(used: Path, change: str) -> None:
    """Of its name, scope and digest."""
    with opened(used) as engine:
        assert verify_audit(engine).faults == ()
        with closing(sqlite3.connect(used)) as connection:
            connection.execute(change)
            connection.commit()
        assert "not the one that the audit log says" in verify_audit(engine).faults[0]


def test_a_token_that_comes_back_is_noticed(used: Path) -> None:
    """It was issued once, and then revoked."""
    with closing(open_store(f"sqlite:///{used}")) as store:
        token = store.tokens.listed()[-1]
        assert store.tokens.drop(token.name, AuditEntry(NOW, "", "", "", {}))
        assert verify_audit(store.engine).faults == ()
    with closing(sqlite3.connect(used)) as connection:
        row = (token.name, token.scope, token.digest, token.created, None, None)
        connection.execute("INSERT INTO tokens VALUES (?, ?, ?, ?, ?, ?)", row)
        connection.commit()
    with opened(used) as engine:
        assert verify_audit(engine).faults


EVIL = "abs(-9223372036854775808)"
"""An error wherever it is evaluated."""


@keeps(
    "threat-model: nothing is read of a file that acts by itself",
    in_="curator/datastore/backup.py",
    instead_of="check_structure(connection)",
    plant="pass",
)
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (f"ALTER TABLE tasks ADD COLUMN more BLOB AS ({EVIL})", "another table 'tasks'"),
        (f"ALTER TABLE alembic_version ADD COLUMN more AS ({EVIL})", "'alembic_version'"),
        (f"CREATE TABLE more (a, b AS ({EVIL}) UNIQUE)", "has the "),
        (f"CREATE TABLE more (a CHECK ({EVIL}))", "has the table 'more'"),
        ("CREATE INDEX more ON tasks (created)", "has the index 'more'"),
        ("CREATE TRIGGER more AFTER INSERT ON tokens BEGIN DELETE FROM tasks; END", "the trigger"),
        (f"CREATE VIEW more AS SELECT {EVIL}", "has the view 'more'"),
        ("ALTER TABLE tasks RENAME TO tasks_old", "tasks_old"),
        ("DROP TABLE seen", "lacks the table 'seen'"),
        (
            "INSERT INTO sqlite_master VALUES ('trigger', 'sqlite_stat1', 'tokens', 0, "
            "'CREATE TRIGGER sqlite_stat1 AFTER INSERT ON tokens BEGIN DELETE FROM tasks; END')",
            "the trigger 'sqlite_stat1'",
        ),
    ],
)
def test_nothing_is_read_of_a_file_that_acts_by_itself(
    copy: Path, used: Path, tmp_path: Path, change: str, said: str
) -> None:
    """Neither of a backup nor of a database in use: no expression of its own is evaluated."""
    for file in (copy, used):
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("PRAGMA writable_schema = ON")
            connection.execute(change)
            connection.commit()
        with opened(file) as engine:
            for check in (check_backup, migrate, verify, verify_audit):
                with pytest.raises(StorageFailed, match=said):
                    check(engine)
    with opened(copy) as engine, opened(tmp_path / "target.db") as target:
        with pytest.raises(StorageFailed, match=said):
            restore(engine, target)
        assert inspect(target).get_table_names() == []
    with pytest.raises(StorageFailed, match=said):
        open_store(f"sqlite:///{copy}")


@keeps(
    "threat-model: computed columns of PostgreSQL are noticed",
    in_="curator/datastore/structure.py",
    instead_of="if table in expected and not is_plain:",
    plant="if False:",
)
def test_what_acts_by_itself_in_postgresql_is_noticed(
    postgres_url: str, open_database: Callable[[str], Engine]
) -> None:
    """In Privet's own tables, which others may have beside theirs."""
    engine = open_database(postgres_url)
    verify(engine)
    of_others = "CREATE TABLE others (a int, b int GENERATED ALWAYS AS (a + 1) STORED)"
    drop_others = "DROP TABLE others"
    function = "CREATE FUNCTION act() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'"
    changes = [
        (of_others, drop_others, None),
        (
            f"{function}; CREATE TRIGGER act BEFORE INSERT ON tokens EXECUTE FUNCTION act()",
            "DROP FUNCTION act CASCADE",
            "the trigger 'act' on 'tokens'",
        ),
        (
            "CREATE RULE act AS ON DELETE TO audit DO INSTEAD NOTHING",
            "DROP RULE act ON audit",
            "the rule 'act'",
        ),
        (
            "ALTER TABLE tasks ADD COLUMN act int GENERATED ALWAYS AS (no + 1) STORED",
            "ALTER TABLE tasks DROP COLUMN act",
            "computed",
        ),
        ("ALTER TABLE seen RENAME TO hidden", "ALTER TABLE hidden RENAME TO seen", "'seen'"),
    ]
    for change, undo, said in changes:
        with writing(engine) as connection:
            connection.exec_driver_sql(change)
        try:
            if said is None:
                verify(engine)
                continue
            for check in (verify, verify_audit):
                with pytest.raises(StorageFailed, match=said):
                    check(engine)
        finally:
            with writing(engine) as connection:
                connection.exec_driver_sql(undo)
    verify(engine)


def size_of(given: tuple[Any, ...]) -> int:
    """Bytes of the largest group of rows among the parameters of an execution."""
    parameters = given[3]
    rows = parameters if isinstance(parameters, list) else [parameters]
    return sum(len(value) for row in rows for value in row if isinstance(value, bytes | str))


def test_rows_are_read_a_few_at_a_time(
    small_runs: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of large ones fewer: memory is bounded by a number of bytes or one row."""
    fill(f"sqlite:///{tmp_path}/filled.db")
    file = tmp_path / "whole.db"
    with opened(tmp_path / "filled.db") as source:
        backup(source, file, NOW)
    monkeypatch.setattr("privet.curator.datastore.backup.BYTES_AT_ONCE", 1_000)
    seen = Counter[int]()
    with opened(file) as engine, opened(tmp_path / "target.db") as target:
        event.listen(target, "before_cursor_execute", lambda *given: seen.update([size_of(given)]))
        restore(engine, target)
    assert 0 < max(seen) < 5_000


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE sums SET n = n + 1",
        "DELETE FROM public_data",
        "UPDATE buckets SET reports = 0",
    ],
)
@pytest.mark.quick("sqlite-UPDATE sums*", "postgresql-DELETE*", "postgresql-UPDATE buckets*")
def test_what_does_not_fit_is_not_restored(
    used: Path, damage: str, open_database: Callable[[str], Engine], new_url: str
) -> None:
    """Though the backup has it as it was written: it was damaged when it was made."""
    assert_not_restored(used, damage, open_database(new_url))


@keeps(
    "threat-model: a broken audit log is not restored",
    in_="curator/datastore/backup.py",
    instead_of="faults += check_audit(out).faults",
    plant="pass",
)
@pytest.mark.parametrize(
    "damage", ["UPDATE audit SET actor = 'eve' WHERE no = 1", HAND_MADE_TOKENS[0]]
)
def test_a_broken_audit_log_is_not_restored(used: Path, tmp_path: Path, damage: str) -> None:
    """Nor is a token that nobody issued."""
    with opened(tmp_path / "target.db") as target:
        assert_not_restored(used, damage, target)


def assert_not_restored(used: Path, damage: str, target: Engine) -> None:
    """Nothing is taken from a backup of the database ``used`` with the damage."""
    file = used.with_name("copy.db")
    with closing(sqlite3.connect(used)) as connection:
        connection.execute(damage)
        connection.commit()
    with opened(used) as engine:
        backup(engine, file, NOW)
    with opened(file) as engine:
        assert check_backup(engine)
        with pytest.raises(StorageFailed, match="another backup"):
            restore(engine, target)
    assert inspect(target).get_table_names() == []
