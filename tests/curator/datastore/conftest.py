"""Every store of the contract: SQLite and PostgreSQL."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from sqlalchemy import Engine

from privet.curator.datastore import open_engine, open_store, postgres, sqlite
from privet.curator.datastore.report_ids import runs
from privet.curator.datastore.store import Store
from tests.curator.datastore.made import FAN_IN, FEW, LARGE
from tests.curator.datastore.servers import (
    drop_database,
    empty_tables,
    new_database,
    new_file,
    wait_for_nobody,
)


@pytest.fixture
def new_databases() -> Iterator[Callable[[], str]]:
    """Makes PostgreSQL databases, and drops them once the test has closed all that it opened."""
    with ExitStack() as stack:

        def made() -> str:
            url = new_database()
            stack.callback(drop_database, url)
            return url

        yield made


@pytest.fixture
def open_database(
    new_databases: Callable[[], str],  # dropped after what is open is closed
) -> Iterator[Callable[[str], Engine]]:
    """Opens databases as they are, and closes them after the test."""
    with ExitStack() as stack:

        def opened(url: str) -> Engine:
            engine = open_engine(url)
            stack.callback(engine.dispose)
            return engine

        yield opened


@pytest.fixture(scope="session")
def shared_database() -> Iterator[str]:
    """A PostgreSQL database with Privet's tables, for one test after the other."""
    url = new_database()
    open_store(url).close()
    yield url
    drop_database(url)


@pytest.fixture
def postgres_url(shared_database: str) -> Iterator[str]:
    empty_tables(shared_database)
    yield shared_database
    wait_for_nobody(shared_database)


@pytest.fixture(scope="module")
def small_runs() -> Iterator[None]:
    """Batches of eight become runs of pages of three, merged by threes up to sixty ids."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (postgres, sqlite):
            patch.setattr(module, "BULK", FEW)
        patch.setattr(runs, "PAGE", 3)
        patch.setattr(runs, "LARGE", LARGE)
        patch.setattr(runs, "FAN_IN", FAN_IN)
        yield


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database with empty tables, which outlives the store."""
    if request.param == "sqlite":
        return new_file(tmp_path)
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture(params=["sqlite", "postgresql"])
def new_url(
    request: pytest.FixtureRequest, tmp_path: Path, new_databases: Callable[[], str]
) -> str:
    return f"sqlite:///{tmp_path}/new.db" if request.param == "sqlite" else new_databases()


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with closing(open_store(url)) as opened:
        yield opened
