"""The structure of a database: its tables, columns and all else that is no row."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from sqlalchemy import Connection, create_engine

from privet.protocol.errors import StorageFailed
from privet.sqlite_files import objects

from .migrate import VERSION_TABLE, revision_of, upgrade
from .schema import backup_mark

COLUMNS = "SELECT name FROM pragma_table_info(?)"
VERSIONS_KEPT = ("table", VERSION_TABLE)
OF_POSTGRES = """
SELECT c.relname, a.attname, c.relkind = 'r' AND a.attgenerated = ''
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
    AND a.attnum > 0 AND NOT a.attisdropped
"""
ACTING = """
SELECT 'trigger', c.relname, t.tgname
FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
WHERE NOT t.tgisinternal AND c.relnamespace = current_schema()::regnamespace
UNION ALL
SELECT 'rule', c.relname, r.rulename
FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class
WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace
"""


@dataclass(frozen=True)
class Structure:
    """The structure that a revision has in a new SQLite file."""

    objects: dict[tuple[str, str], str]
    """(type, name) -> the statement that makes it."""
    columns: dict[str, list[str]]
    """Table -> names of its columns."""


def check_structure(connection: Connection) -> None:
    """Raise ``StorageFailed`` unless the structure is that of a database that Privet makes.

    An empty database passes. In PostgreSQL, which others may use too, only Privet's own tables
    count.
    """
    of_dialect = _in_file if connection.dialect.name == "sqlite" else _in_postgres
    for fault in of_dialect(connection):
        raise StorageFailed(
            f"The database {fault}, which Privet did not do: find out who did, and use another "
            "backup."
        )


def _in_file(connection: Connection) -> Iterator[str]:
    rows = objects(connection.exec_driver_sql)
    found = {(kind, name): sql for kind, name, sql in rows}
    if not found:
        return
    if len(found) < len(rows):
        yield "has two objects of one name"
    if found.get(VERSIONS_KEPT) == _of_revision("head").objects[VERSIONS_KEPT]:
        expected = dict(_of_revision(revision_of(connection)).objects)
    else:
        expected = dict(_of_revision("head").objects)
    if ("table", backup_mark.name) not in found:
        del expected["table", backup_mark.name]
    for kind, name in sorted(found.keys() - expected.keys()):
        yield f"has the {kind} {name!r}"
    for kind, name in sorted(expected.keys() - found.keys()):
        yield f"lacks the {kind} {name!r}"
    for kind, name in sorted(expected):
        if found[kind, name] != expected[kind, name]:
            yield f"has another {kind} {name!r} than Privet's"


def _in_postgres(connection: Connection) -> Iterator[str]:
    rows = connection.exec_driver_sql(OF_POSTGRES).all()
    if not rows:
        return
    expected = _of_revision(revision_of(connection)).columns
    found: dict[str, set[str]] = {}
    for table, column, is_plain in rows:
        if table in expected and not is_plain:
            yield f"has a column {table}.{column} that is computed as it is read"
        found.setdefault(table, set()).add(column)
    for table, columns in expected.items():
        if table != backup_mark.name and found.get(table) != set(columns):
            yield f"has other columns in {table!r} than Privet's"
    for kind, table, name in connection.exec_driver_sql(ACTING):
        if table in expected:
            yield f"has the {kind} {name!r} on {table!r}"


@cache
def _of_revision(revision: str) -> Structure:
    """The structure of a new file of this revision, with the mark of a backup."""
    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        upgrade(connection, revision)
        backup_mark.create(connection)
        made = {(kind, name): sql for kind, name, sql in objects(connection.exec_driver_sql)}
        columns = {
            name: list(connection.exec_driver_sql(COLUMNS, (name,)).scalars())
            for kind, name in made
            if kind == "table" and not name.startswith("sqlite_")
        }
    engine.dispose()
    return Structure(made, columns)
