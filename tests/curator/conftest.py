"""What the tests of all the curator's rooms share."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from privet.curator.datastore import migrate, sqlite
from privet.curator.workers import Workers
from tests.curator.datastore.made import NEXT, next_migration
from tests.curator.use_cases import Threads
from tests.manual_clock import ManualClock


class Compiled(dict[Any, Any]):
    """Compiled statements, one for all engines of a dialect."""

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get((key[0].name, *key[1:]), default)

    def __setitem__(self, key: Any, compiled: Any) -> None:
        super().__setitem__((key[0].name, *key[1:]), compiled)


@pytest.fixture(scope="session", autouse=True)
def statements_are_compiled_once() -> Iterator[None]:
    """A test's new engine need not compile what another test's has."""
    compiled, make = Compiled(), Engine.__init__

    def made(engine: Engine, *arguments: Any, **options: Any) -> None:
        make(engine, *arguments, **options)
        engine._compiled_cache = compiled

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Engine, "__init__", made)
        yield


@pytest.fixture(scope="session", autouse=True)
def nothing_waits_for_the_disk() -> Iterator[None]:
    """A test's database need not survive a power cut; those of other processes do."""
    in_haste = tuple(pragma.replace("FULL", "OFF") for pragma in sqlite.SERVING)
    assert in_haste != sqlite.SERVING
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite, "SERVING", in_haste)
        yield


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(scope="session")
def workers() -> Workers:
    """What computes in this process; the processes have tests of their own."""
    return Threads(1, 16)


@pytest.fixture
def become_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Makes this the next version, to which databases that were made before are old."""

    def become() -> None:
        folder = shutil.copytree(migrate.HERE, tmp_path / "migrations")
        (folder / f"versions/{NEXT}_next.py").write_text(next_migration())
        monkeypatch.setattr(migrate, "HERE", folder)

    return become
