"""What the tests of all the curator's rooms share."""

import logging
from collections.abc import Iterator

import pytest

from privet.curator.workers import Workers


class SharedWorkers(Workers):
    """Worker processes that outlive the applications that use them, with what they remember."""

    def close(self) -> None:
        """Stay."""


@pytest.fixture(scope="session")
def workers() -> Iterator[Workers]:
    made = SharedWorkers(1, 16)
    yield made
    Workers.close(made)


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    """What a start in this process does to all logs ends with its test."""
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    yield
    root.handlers, root.level = handlers, level
