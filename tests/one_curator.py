"""A pytest plugin: one curator as a process, for all tests that need any."""

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def served_curator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A ``RunningCurator``, which takes seconds to start and to warm up; tests may restart it, and
    leave their tasks."""
    from tests.end_to_end.running_curator import RunningCurator

    with RunningCurator(tmp_path_factory.mktemp("curator")) as running:
        yield running
