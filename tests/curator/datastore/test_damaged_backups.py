"""Whatever is changed in a backup is noticed before anybody relies on it."""

import random
import shutil
import sqlite3
import struct
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, inspect

from privet.curator.datastore import open_engine, open_store
from privet.curator.datastore.audit import AuditEntry, insert_audit
from privet.curator.datastore.backup import backup, check_backup, restore
from privet.curator.datastore.database import writing
from privet.curator.datastore.migrate import naming_failures
from privet.curator.datastore.schema import backup_mark, metadata
from privet.protocol.errors import InvalidRequest, StorageFailed
from tests.curator.datastore.made import NOW, fill

pytestmark = pytest.mark.usefixtures("small_runs")
FLIPS = 200
"""Single bits of a file, one in a copy each."""
SAMPLES: dict[type, Any] = {int: 1, float: 1.5, str: "abc", bytes: b"abc", bool: True}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, small_runs: None) -> Path:
    """A backup of a database with rows in every table."""
    folder = tmp_path_factory.mktemp("whole")
    url = f"sqlite:///{folder}/privet.db"
    open_store(url).close()
    fill(url)
    engine = open_engine(url)
    with writing(engine) as logging:
        insert_audit(logging, AuditEntry(NOW, "somebody", "something done", "a task", {}))
    with closing(sqlite3.connect(folder / "privet.db")) as connection:
        for table in metadata.sorted_tables:
            if not connection.execute(f"SELECT 1 FROM {table.name}").fetchone():
                row = [SAMPLES[column.type.python_type] for column in table.columns]
                marks = ", ".join("?" * len(row))
                connection.execute(f"INSERT INTO {table.name} VALUES ({marks})", row)
        connection.commit()
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


def assert_refused(file: Path) -> None:
    """Neither is it called whole, nor is anything taken from it."""
    target = file.with_name("target.db")
    with opened(file) as engine, opened(target) as into:
        with pytest.raises(StorageFailed, match="another backup"):
            check_backup(engine)
        with pytest.raises(StorageFailed, match="another backup"):
            restore(engine, into)
        assert inspect(into).get_table_names() == []


def flipped(value: Any, bit: int = 0) -> Any:
    """The value with another lowest bit, or another ``bit`` of a whole number."""
    if isinstance(value, int):
        return value ^ 1 << bit
    if isinstance(value, float):
        (bits,) = struct.unpack("<q", struct.pack("<d", value))
        return struct.unpack("<d", struct.pack("<q", bits ^ 1))[0]
    if isinstance(value, str):
        return value[:-1] + chr(ord(value[-1]) ^ 1)
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
        assert_refused(copy)


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


@pytest.mark.parametrize(
    "damage",
    ["UPDATE sums SET n = n + 1", "DELETE FROM public_data", "UPDATE buckets SET reports = 0"],
)
def test_what_does_not_fit_is_not_restored(
    whole: Path, tmp_path: Path, damage: str, open_database: Callable[[str], Engine], new_url: str
) -> None:
    """Though the backup has it as it was written: it was damaged when it was made."""
    source, file = tmp_path / "source.db", tmp_path / "copy.db"
    with opened(whole) as engine, opened(source) as target:
        restore(engine, target)
    with closing(sqlite3.connect(source)) as connection:
        connection.execute(damage)
        connection.commit()
    with opened(source) as engine:
        backup(engine, file, NOW)
    target = open_database(new_url)
    with opened(file) as engine:
        assert check_backup(engine)
        with pytest.raises(StorageFailed, match="another backup"):
            restore(engine, target)
    assert inspect(target).get_table_names() == []
