"""One curator for all tests here, since a process takes seconds to start and to warm up."""

from collections.abc import Iterator

import pytest

from tests.end_to_end.running_curator import RunningCurator


@pytest.fixture(scope="session")
def curator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCurator]:
    """``privet serve`` over SQLite; tests may restart it, and leave their tasks."""
    with RunningCurator(tmp_path_factory.mktemp("curator")) as running:
        yield running
