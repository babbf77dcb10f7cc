"""What the tests of all the curator's rooms share."""

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
