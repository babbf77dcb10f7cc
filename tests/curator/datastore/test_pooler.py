"""PostgreSQL behind PgBouncer, each transaction over another of its connections."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url

from privet.curator.collection.task_cache import CachedTask
from privet.curator.datastore import open_engine, open_store
from privet.curator.datastore.backup import backup, migrate
from privet.curator.datastore.verification import verify, verify_audit
from privet.protocol.errors import StorageFailed
from scripts.postgres import nobody
from scripts.servers import free_port, wait_for_port
from tests.curator.datastore.made import NOW, fill, report, take, task
from tests.curator.datastore.servers import drop_database, new_database

pytestmark = pytest.mark.needs("pgbouncer")
ROOT = Path(__file__).parents[3]
INI = """
[databases]
* = host={socket} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
default_pool_size = 4
logfile = {folder}/log
"""


@pytest.fixture
def mode() -> str:
    return "transaction"


@pytest.fixture
def database(mode: str) -> Iterator[str]:
    """Address of an empty database, through PgBouncer."""
    direct = new_database()
    parsed = make_url(direct)
    with tempfile.TemporaryDirectory(prefix="privet-pgbouncer-") as folder:
        port = free_port()
        file = Path(folder) / "ini"
        folder_of_socket = parsed.query.get("host", parsed.host)
        file.write_text(INI.format(socket=folder_of_socket, port=port, folder=folder, mode=mode))
        user, group = nobody() if os.geteuid() == 0 else (os.getuid(), os.getgid())
        for path in (Path(folder), file):
            os.chown(path, user, group)
        # it refuses to run as root, and reaches a server's folder as the server's user does
        with subprocess.Popen(
            ["pgbouncer", file], stderr=subprocess.DEVNULL, user=user, group=group, extra_groups=()
        ) as pooler:
            try:
                wait_for_port(port, pooler)
                yield f"postgresql://postgres@127.0.0.1:{port}/{parsed.database}"
            finally:
                pooler.terminate()
    drop_database(direct)


def test_a_curator_works_behind_a_pooler(database: str, tmp_path: Path) -> None:
    """Though the server's default is not to wait for the disk: what reads and writes does so often
    enough to be prepared, by two curators; then a backup, verification and a migration."""
    fill(database)
    made = task("one")
    cached = CachedTask(made)
    with closing(open_store(database)) as one, closing(open_store(database)) as two:
        for _ in range(10):
            for store in (one, two):
                store.check()
                assert take(store, cached, [report(made)]) == [0]
                assert {listed.head.name for listed in store.tasks.listed()} == {"one", "two"}
                store.tokens.listed()
                store.standing.read(made.id)
    engine = open_engine(database)
    with closing(engine.raw_connection()) as connection:
        driver: Any = connection.driver_connection
        assert driver.prepare_threshold is None
    assert backup(engine, tmp_path / "copy.db", NOW) > 0
    migrate(engine, rolling=True)
    assert [found.faults for found in verify(engine)] == [(), ()]
    assert verify_audit(engine).faults == ()
    engine.dispose()


@pytest.mark.parametrize("mode", ["statement"])
def test_a_pooler_without_transactions_is_refused(database: str) -> None:
    """In its own words, at the start."""
    with pytest.raises(StorageFailed, match="statement pooling"):
        open_store(database)


def test_the_stores_contract_holds_behind_a_pooler(database: str) -> None:
    """All of it, and the races of two curators."""
    url = make_url(database).set(database="postgres").render_as_string(hide_password=False)
    tests = ("test_contract.py", "test_two_curators.py", "test_report_ids.py")
    files = [f"tests/curator/datastore/{name}" for name in tests]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-k"]
    done = subprocess.run(
        [*command, "postgresql and not commit_waits", "-m", "not slow", *files],
        cwd=ROOT,
        env={**os.environ, "TEST_POSTGRES_URL": url},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3_000:]
