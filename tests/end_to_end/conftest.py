"""The curator that all tests here share with those of other folders."""

import pytest

from tests.end_to_end.running_curator import RunningCurator


@pytest.fixture(scope="session")
def curator(served_curator: RunningCurator) -> RunningCurator:
    """``privet serve`` over SQLite."""
    return served_curator
