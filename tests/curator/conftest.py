"""What the tests of all the curator's rooms share."""

import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from privet.curator.datastore import migrate
from privet.curator.workers import Workers
from tests.curator.datastore.made import NEXT, next_migration
from tests.manual_clock import ManualClock


class SharedWorkers(Workers):
    """Worker processes that outlive the applications that use them, with what they remember."""

    def close(self) -> None:
        """Stay."""


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(scope="session")
def workers() -> Iterator[Workers]:
    made = SharedWorkers(1, 16)
    yield made
    Workers.close(made)


@pytest.fixture
def become_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Makes this the next version, to which databases that were made before are old."""

    def become() -> None:
        folder = shutil.copytree(migrate.HERE, tmp_path / "migrations")
        (folder / f"versions/{NEXT}_next.py").write_text(next_migration())
        monkeypatch.setattr(migrate, "HERE", folder)
        monkeypatch.setattr(migrate, "_scripts", cache(migrate._scripts.__wrapped__))

    return become
