"""Start-up brings up an empty database and refuses any that is not this version's."""

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from subprocess import PIPE, Popen

import pytest
from sqlalchemy import Connection, Engine, create_engine, inspect, make_url, select, text

from privet.curator.collection.task_cache import CachedTask
from privet.curator.datastore import migrate as migrate_module
from privet.curator.datastore import open_store, postgres, printable_address
from privet.curator.datastore.backup import backup, check_backup, migrate, restore
from privet.curator.datastore.migrate import head, upgrade
from privet.curator.datastore.reports import Outcome
from privet.curator.datastore.schema import metadata
from privet.curator.datastore.verification import verify
from privet.protocol.errors import StorageFailed
from tests.curator.datastore.made import NOW, fill, group, kept, open_task, report, task
from tests.curator.datastore.races import RACES, task_of
from tests.curator.datastore.servers import new_file

Open = Callable[[str], Engine]


def execute(engine: Engine, statement: str) -> None:
    """One statement in a transaction of its own."""
    with engine.connect().execution_options(privet_writes=True) as connection, connection.begin():
        connection.execute(text(statement))


def test_the_migrations_make_the_declared_tables(url: str, open_database: Open) -> None:
    """Exactly the columns that the code declares, which PostgreSQL explains by a comment each."""
    engine = open_database(url)
    columns = {name: inspect(engine).get_columns(name) for name in metadata.tables}
    found = {name: {column["name"] for column in those} for name, those in columns.items()}
    declared = {name: {c.name for c in table.columns} for name, table in metadata.tables.items()}
    assert found == declared
    if engine.dialect.name == "postgresql":
        uncommented = [
            column for those in columns.values() for column in those if not column["comment"]
        ]
        assert uncommented == []


def contents_of(url: str) -> list[object]:
    """What a store says of what ``fill`` has made."""
    with closing(open_store(url)) as store:
        both = [task(name) for name in ("one", "two")]
        said = [(store.standing.read(made.id), kept(store, made)) for made in both]
        return [*said, store.models.listed(both[0].id), store.tasks.public_data(both[1].id).onnx]


def test_an_older_database_is_brought_up(
    new_url: str, become_next: Callable[[], None], open_database: Open
) -> None:
    """It is refused, migrated in one step, and then holds what it held, and counts."""
    fill(new_url)
    before = contents_of(new_url)
    become_next()
    with pytest.raises(StorageFailed, match="privet migrate"):
        open_store(new_url)
    migrate(open_database(new_url))
    assert contents_of(new_url) == before
    assert [found.faults for found in verify(open_database(new_url))] == [(), ()]
    made = task("one")
    with closing(open_store(new_url)) as store:
        outcomes = store.reports.take([group(CachedTask(made), [report(made)])], NOW)[0]
        assert [entry.action for entry in store.audit.entries(10)] == ["schema migrated"]
    assert outcomes.tolist() == [Outcome.COUNTED]


def test_an_older_database_is_backed_up_as_it_is(
    new_url: str, tmp_path: Path, become_next: Callable[[], None], open_database: Open
) -> None:
    """So the version before serves from the backup, and this one from what is restored of it."""
    fill(new_url)
    before = contents_of(new_url)
    old = head()
    become_next()
    file = tmp_path / "copy.db"
    backup(open_database(new_url), file, NOW)
    copy = open_database(f"sqlite:///{file}")
    mark = check_backup(copy)
    assert mark is not None
    assert (mark.made, revision(copy)) == (NOW, old)
    restored = f"sqlite:///{tmp_path}/restored.db"
    restore(copy, open_database(restored))
    assert contents_of(restored) == before


def test_a_migrated_backup_stays_a_backup(
    tmp_path: Path, become_next: Callable[[], None], open_database: Open
) -> None:
    """Its mark is of what migration made of it, and never of what was damaged before."""
    address = new_file(tmp_path)
    fill(address)
    source = open_database(address)
    for name in ("whole.db", "damaged.db"):
        backup(source, tmp_path / name, NOW)
    become_next()
    whole, damaged = (open_database(f"sqlite:///{tmp_path}/{n}.db") for n in ("whole", "damaged"))
    before = check_backup(whole)
    migrate(whole)
    after = check_backup(whole)
    assert before is not None
    assert after is not None
    assert before.made == after.made == NOW
    assert before.digest != after.digest
    restored = f"sqlite:///{tmp_path}/restored.db"
    restore(whole, open_database(restored))
    with closing(open_store(restored)) as store:
        assert [entry.action for entry in store.audit.entries(10)] == [
            "backup restored",
            "schema migrated",
        ]
    execute(damaged, "UPDATE models SET created = created + 1")
    for verb in (migrate, check_backup):
        with pytest.raises(StorageFailed, match="another backup"):
            verb(damaged)


@pytest.mark.parametrize(
    ("statement", "advice"),
    [
        (
            "UPDATE alembic_version SET version_num = '9999'",
            "newer than .* start the one that wrote",
        ),
        ("UPDATE alembic_version SET version_num = '0007'", "older than the first release"),
        ("DELETE FROM alembic_version", "restore a backup"),
    ],
)
def test_another_schema_is_refused(
    tmp_path: Path, open_database: Open, statement: str, advice: str
) -> None:
    """A newer and a half-migrated one: neither served, migrated nor backed up; it is said why."""
    address = new_file(tmp_path)
    engine = open_database(address)
    execute(engine, statement)
    for refused in (
        partial(open_store, address),
        partial(migrate, engine),
        partial(backup, engine, tmp_path / "copy.db", NOW),
    ):
        with pytest.raises(StorageFailed, match=advice):
            refused()
    assert not (tmp_path / "copy.db").exists()


def test_a_foreign_database_is_refused(tmp_path: Path, open_database: Open) -> None:
    """Tables of somebody else are left alone."""
    address = f"sqlite:///{tmp_path}/other.db"
    engine = open_database(address)
    execute(engine, "CREATE TABLE recipes (name TEXT)")
    with pytest.raises(StorageFailed, match="not Privet's"):
        open_store(address)
    assert inspect(engine).get_table_names() == ["recipes"]


@pytest.mark.parametrize(
    "address",
    [
        "mysql://host/name",
        "nonsense",
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:////no/such/folder/x.db",
        "postgresql://127.0.0.1:9/x",
    ],
)
def test_an_address_that_cannot_be_used_is_named(address: str) -> None:
    """An unknown scheme, no file, a missing folder and no server there say what to check."""
    with pytest.raises(StorageFailed, match=r"(?i)address") as refused:
        open_store(address)
    assert ("folder" in str(refused.value)) == address.endswith("x.db")
    assert ("server runs" in str(refused.value)) == address.startswith("postgresql")


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me@one,two/name",
        "postgresql+psycopg://me:a,b@one:5432,two:5433/name",
        "postgres://one/name?host=one&host=two",
        "postgresql:///name?host=one,two&port=1,2",
    ],
)
def test_several_hosts_are_refused(address: str) -> None:
    """Of which libpq takes the first that answers: two curators could count into two databases."""
    with pytest.raises(StorageFailed, match="names several hosts: give one"):
        open_store(address)


def test_a_comma_in_a_password_names_no_second_host() -> None:
    assert "one/name" in printable_address("postgresql://me:a,b@one/name")


@pytest.mark.quick(
    "sqlite-*",
    "postgresql-tasks.create",
    "postgresql-reports.take, one *",
    "postgresql-expiry.expire, ids",
)
@pytest.mark.parametrize("name", RACES)
def test_no_verb_writes_into_another_schema(name: str, url: str, open_database: Open) -> None:
    """A curator whose database was migrated meanwhile changes nothing more."""
    race, engine = RACES[name], open_database(url)
    made = task_of(0, invited=race.invited)
    with closing(open_store(url)) as store, engine.connect() as connection:
        known = connection.scalar(text("SELECT version_num FROM alembic_version"))
        connection.rollback()
        race.before(store, made)
        execute(engine, "UPDATE alembic_version SET version_num = '9999'")
        try:
            before = contents(connection)
            with pytest.raises(StorageFailed, match="9999"):
                race.verb(store, made, 0)
            assert contents(connection) == before
        finally:
            execute(engine, f"UPDATE alembic_version SET version_num = '{known}'")


def contents(connection: Connection) -> list[object]:
    tables = metadata.sorted_tables
    rows = [sorted(connection.execute(select(table)), key=str) for table in tables]
    connection.rollback()
    return [*rows]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Migrations that wait for others for half a second."""
    monkeypatch.setattr(migrate_module, "WAIT_SECONDS", 0.5)
    monkeypatch.setattr(migrate_module, "LOOK_SECONDS", 0.1)


@pytest.fixture
def old_postgres(become_next: Callable[[], None], new_databases: Callable[[], str]) -> str:
    """A PostgreSQL database of an older schema, to which nobody is connected."""
    url = new_databases()
    open_store(url).close()
    become_next()
    return url


@contextmanager
def connected(url: str, name: str) -> Iterator[None]:
    """Somebody who does nothing now but might; a curator of earlier versions has no name."""
    engine = create_engine(make_url(url).set(drivername="postgresql+psycopg"))
    with engine.connect() as connection:
        connection.execute(text(f"SET application_name = '{name}'"))
        connection.commit()
        yield
    engine.dispose()


def revision(engine: Engine) -> str:
    with engine.connect() as connection:
        return str(connection.scalar(text("SELECT version_num FROM alembic_version")))


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("name", "rolling", "refused"),
    [
        ("", False, "without a name"),
        ("", True, "without a name"),
        ("privet curator, process 7 on web-1", False, "process 7 on web-1"),
        ("privet curator, process 7 on web-1", True, None),
        ("privet command, process 7 on web-1", True, "process 7 on web-1"),
        ("psql", False, None),
    ],
)
def test_a_migration_names_who_uses_the_database(
    name: str, rolling: bool, refused: str | None, old_postgres: str, open_database: Open
) -> None:
    """It changes nothing unless the others stop by themselves and it may count on that."""
    engine = open_database(old_postgres)
    with connected(old_postgres, name):
        if refused:
            with pytest.raises(StorageFailed, match=refused):
                migrate(engine, rolling=rolling)
            assert revision(engine) != head()
        else:
            migrate(engine, rolling=rolling)
            assert revision(engine) == head()
    migrate(engine)
    assert revision(engine) == head()


def test_a_migration_waits_for_others_to_end(
    old_postgres: str, open_database: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were told to stop a moment ago."""
    monkeypatch.setattr(migrate_module, "LOOK_SECONDS", 0.1)
    engine = open_database(old_postgres)
    with ThreadPoolExecutor(1) as pool:
        with connected(old_postgres, ""):
            migrated = pool.submit(migrate, engine)
            assert wait([migrated], 0.5).not_done
        migrated.result(30)
    assert revision(engine) == head()


def test_a_migration_is_undone_if_somebody_came(
    old_postgres: str, open_database: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A curator of an earlier version that was started again meanwhile goes on in its schema."""
    engine = open_database(old_postgres)
    with ExitStack() as stack:

        def slowly(connection: Connection) -> None:
            upgrade(connection)
            stack.enter_context(connected(old_postgres, ""))

        monkeypatch.setattr("privet.curator.datastore.backup.upgrade", slowly)
        with pytest.raises(StorageFailed, match="without a name"):
            migrate(engine)
    assert revision(engine) != head()


def test_a_migration_does_not_wait_for_long_reads(
    old_postgres: str, open_database: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dump, say: whoever came next would wait for the migration, and that for the dump."""
    monkeypatch.setattr(postgres, "LOCK_SECONDS", 1)
    engine = create_engine(make_url(old_postgres).set(drivername="postgresql+psycopg"))
    with engine.connect() as dump:
        dump.execute(text("SET application_name = 'pg_dump'"))
        dump.execute(text("SELECT * FROM buckets"))
        with pytest.raises(StorageFailed, match="for too long"):
            migrate(open_database(old_postgres))
    engine.dispose()
    migrate(open_database(old_postgres))


def test_a_migration_keeps_transactions_apart(postgres_url: str, open_database: Open) -> None:
    """It waits for those that are under way; those that begin meanwhile are refused at once."""
    engine = open_database(postgres_url)
    with closing(open_store(postgres_url)) as store, ThreadPoolExecutor(1) as pool:
        cached = open_task(store, task())
        alone, go_on = threading.Event(), threading.Event()

        def change() -> None:
            with postgres.alone(engine):
                alone.set()
                go_on.wait(30)

        with store.database.writing():
            changed = pool.submit(change)
            assert not alone.wait(0.5)
        assert alone.wait(30)
        reports = [group(cached, [report(cached.task)])]
        for refused in (store.check, partial(store.reports.take, reports, NOW)):
            with pytest.raises(StorageFailed, match="being migrated"):
                refused()
        go_on.set()
        changed.result(30)
        assert store.reports.take(reports, NOW)[0].tolist() == [Outcome.COUNTED]


READS = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
print(connection.execute("SELECT * FROM tasks").fetchall(), flush=True)
sys.stdin.readline()
"""


@pytest.mark.usefixtures("impatient")
def test_a_file_in_use_is_not_migrated(
    tmp_path: Path, become_next: Callable[[], None], open_database: Open
) -> None:
    """By any process, which is named: there is no telling whether it would stop."""
    url, file = new_file(tmp_path), tmp_path / "privet.db"
    become_next()
    engine = open_database(url)
    with Popen([sys.executable, "-c", READS, str(file)], stdin=PIPE, stdout=PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(StorageFailed, match=f"process {other.pid}"):
            migrate(engine, rolling=True)
        assert revision(engine) != head()
        other.communicate(b"\n")
    migrate(engine)
    assert revision(engine) == head()


def test_each_statement_sees_what_was_committed_before(
    open_database: Open, new_databases: Callable[[], str]
) -> None:
    """Also where the server has another default: locks are no use to who looked before."""
    url = new_databases()
    name = make_url(url).database
    execute(
        open_database(url),
        f"ALTER DATABASE {name} SET default_transaction_isolation = 'repeatable read'",
    )
    with closing(open_store(url)) as store, store.database.writing() as connection:
        assert connection.scalar(text("SHOW transaction_isolation")) == "read committed"
