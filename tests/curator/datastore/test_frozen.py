"""Databases of each release are brought up by this version; see ``freeze``."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Engine, inspect, select, table, text

from privet.admin.results import Scope
from privet.curator.access.tokens import Tokens
from privet.curator.collection.task_cache import CachedTask
from privet.curator.datastore import open_store
from privet.curator.datastore.backup import backup, check_backup, migrate, restore
from privet.curator.datastore.database import snapshot
from privet.curator.datastore.migrate import FIRST_0011, head, known_revisions
from privet.curator.datastore.schema import metadata
from privet.curator.datastore.structure import check_structure
from privet.curator.datastore.verification import verify, verify_audit
from privet.protocol.lifecycle import TaskState
from tests.curator.datastore.freeze import FOLDER, TOKEN
from tests.curator.datastore.made import FEW, NOW, public, report, take, task
from tests.curator.datastore.servers import load_frozen

Open = Callable[[str], Engine]
REVISIONS = sorted({file.name.partition(".")[0] for file in FOLDER.glob("*.sql")})


def test_every_schema_is_frozen() -> None:
    """A migration that a release had stays; for a new one run tests.curator.datastore.freeze.

    Of the others ``tests/past`` has files that their programs wrote.
    """
    kinds = ("postgresql", "sqlite")
    released = known_revisions() - {"0009", "0010", FIRST_0011}
    expected = {f"{each}.{kind}.sql" for each in released for kind in kinds}
    assert {file.name for file in FOLDER.iterdir()} == expected


def rows_of(engine: Engine) -> dict[str, list[dict[str, object]]]:
    """All rows, in the columns that there are."""
    with snapshot(engine) as connection:
        return {
            name: sorted(
                (
                    dict(row)
                    for row in connection.execute(
                        select(text("*")).select_from(table(name))
                    ).mappings()
                ),
                key=repr,
            )
            for name in inspect(connection).get_table_names()
            if name in metadata.tables
        }


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_database_of_a_release_is_brought_up(
    revision: str, new_url: str, tmp_path: Path, open_database: Open
) -> None:
    """It is as its version made it, loses nothing, fits, and goes on: its token is good, and new
    reports count; and so does a backup of it."""
    load_frozen(new_url, revision)
    engine = open_database(new_url)
    with snapshot(engine) as connection:
        check_structure(connection)
    before = rows_of(engine)
    assert before["id_pages"]
    backup(engine, tmp_path / "copy.db", NOW)
    migrate(engine)
    restored = f"sqlite:///{tmp_path}/restored.db"
    copy = open_database(f"sqlite:///{tmp_path}/copy.db")
    assert check_backup(copy)
    restore(copy, open_database(restored))
    for url in (new_url, restored):
        brought = open_database(url)
        after = rows_of(brought)
        for name in before.keys() - {"audit", "facts"}:
            columns = before[name][0].keys() if before[name] else ()
            kept = [{each: row[each] for each in columns} for row in after[name]]
            assert sorted(kept, key=repr) == before[name], name
        assert [(found.reports, found.faults) for found in verify(brought)] == [(FEW + 5, ())] * 2
        assert verify_audit(brought).faults == ()
        with closing(open_store(url)) as store:
            assert Tokens(store, lambda: NOW).check(TOKEN, Scope.ADMIN) == "ops"
            made = task("new")
            assert store.tasks.create(made, {}, public(), NOW, TaskState.OPEN)
            assert take(store, CachedTask(made), [report(made)]) == [0]
    assert revision <= head()
