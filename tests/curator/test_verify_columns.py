"""Whatever is changed by hand, ``privet verify`` sees it, or its list says that it may not."""

import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Column, Engine, Table

from privet.curator.cli import main
from privet.curator.datastore import open_engine
from privet.curator.datastore.schema import metadata, tasks
from privet.curator.datastore.verification import verify_all
from privet.protocol.errors import PrivetError
from tests.curator.everything import make_everything

COLUMNS = [column for table in metadata.sorted_tables for column in table.c]
QUICK = ("tokens.expires", "models.summary", "relayed.starts", "payload_events.n", "facts.value")
ROOT = Path(__file__).parents[2]
MOST_ROWS = 2
"""Rows at either end of a table that are changed."""
UNSEEN = {
    table: set(re.findall(r"`(\w+)`", columns))
    for table, columns in re.findall(
        r"^\| `(\w+)` \| ([^|]+) \| ", (ROOT / "docs/verify.md").read_text("utf-8"), re.MULTILINE
    )
}
"""Columns whose change alone may not be seen, by their table, as the page lists them."""
OF_OTHER_TYPES = (b"\xff", "abc", 1.5, 7, None)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Engine, Path]]:
    folder = tmp_path_factory.mktemp("everything")
    file = folder / "privet.db"
    make_everything(f"sqlite:///{file}", folder)
    engine = open_engine(f"sqlite:///{file}")
    yield engine, file
    engine.dispose()


def faults(engine: Engine) -> list[str]:
    """All that ``privet verify`` says."""
    try:
        findings, chain = verify_all(engine)
        return [*chain.faults, *(fault for finding in findings for fault in finding.faults)]
    except PrivetError as error:
        return [error.detail]


def others(value: Any) -> list[Any]:
    """Other values of the same type, as near as there are."""
    if value is None:
        return []
    if isinstance(value, str):
        return [f"{value}x", value[:-1]]
    if isinstance(value, bytes):
        flipped = (bytes([value[0] ^ 1]) + value[1:], value[:-1] + bytes([value[-1] ^ 1]))
        return [*flipped, value + b"\0"]
    return [value + 1, value - 1]


def listed(column: Column[Any]) -> bool:
    return column.name in UNSEEN.get(column.table.name, ())


def test_all_is_as_it_was_left(database: tuple[Engine, Path]) -> None:
    """And no table is empty."""
    assert faults(database[0]) == []
    with closing(sqlite3.connect(database[1])) as connection:
        for table in metadata.sorted_tables:
            assert connection.execute(f"SELECT 1 FROM {table.name}").fetchone(), table.name


def test_the_page_lists_columns_that_are_there() -> None:
    """No other, and some tables'."""
    there = {table.name: set(table.c.keys()) for table in metadata.sorted_tables}
    assert UNSEEN
    assert all(columns <= there[table] for table, columns in UNSEEN.items())


def test_a_task_as_text_is_said_in_a_sentence(
    database: tuple[Engine, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """No traceback, and exit status 1."""
    engine, file = database
    with closing(sqlite3.connect(file)) as connection:
        before = rows_of(connection, tasks)
        connection.execute("UPDATE tasks SET canonical = 'a text'")
        connection.commit()
        assert main(["verify", "--database", f"sqlite:///{file}"]) == 1
        put(connection, tasks, before)
    assert "tasks.canonical has a value of another type" in " ".join(
        capsys.readouterr().err.split()
    )
    assert faults(engine) == []


@pytest.mark.quick(*QUICK)
@pytest.mark.parametrize("column", COLUMNS, ids=str)
def test_a_value_that_was_changed_is_seen(
    database: tuple[Engine, Path], column: Column[Any]
) -> None:
    """In any row, to another value of its type or of none; the list has no other columns."""
    engine, file = database
    place, unseen = list(column.table.c).index(column), []
    with closing(sqlite3.connect(file)) as connection:
        before = rows_of(connection, column.table)
        some = sorted(before, key=lambda row: [(str(type(each)), each) for each in row if each])
        for number, row in enumerate({*some[:MOST_ROWS], *some[-MOST_ROWS:]}):
            for other in (*others(row[place]), *(() if number else OF_OTHER_TYPES)):
                changed = [*row[:place], other, *row[place + 1 :]]
                is_there = put(connection, column.table, [*(before - {row}), changed])
                if is_there and rows_of(connection, column.table) != before and not faults(engine):
                    unseen.append((row[place], other))
        put(connection, column.table, before)
    assert faults(engine) == [], "all is as it was"
    assert bool(unseen) == listed(column), unseen[:5]


def rows_of(connection: sqlite3.Connection, table: Table) -> set[tuple[Any, ...]]:
    return set(connection.execute(f"SELECT {names_of(table)} FROM {table.name}").fetchall())


def names_of(table: Table) -> str:
    return ", ".join(f'"{column.name}"' for column in table.c)


def put(connection: sqlite3.Connection, table: Table, rows: Iterable[Sequence[Any]]) -> bool:
    """Replace all rows; False if the table does not take them."""
    marks = ", ".join("?" * len(table.c))
    try:
        connection.execute(f"DELETE FROM {table.name}")
        into = f"INSERT INTO {table.name} ({names_of(table)}) VALUES ({marks})"
        connection.executemany(into, list(rows))
    except sqlite3.IntegrityError:
        connection.rollback()
        return False
    connection.commit()
    return True
