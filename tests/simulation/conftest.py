"""Simulated servers say nothing."""

import logging
from collections.abc import Iterator

import pytest

from tests.curator.datastore.servers import new_store


@pytest.fixture(autouse=True)
def silence() -> Iterator[None]:
    """Faults are planned here, so that what servers log of them is of no use."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture(autouse=True, scope="session")
def known_structure() -> None:
    """A process works out once what a database looks like; a schedule does not show that."""
    new_store()
