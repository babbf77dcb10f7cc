"""What all tests share: the same generated examples in every run, and what holders answer to."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from privet.client import SqliteLedger
from tests.client.stub_curator import StubCurator, serving
from tests.protocol.examples import make_task

settings.register_profile(
    "everywhere",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("everywhere")


@pytest.fixture
def curator() -> Iterator[StubCurator]:
    """A curator on loopback that publishes the example task."""
    with serving(StubCurator(make_task())) as stub:
        yield stub


@pytest.fixture
def ledger(tmp_path: Path) -> SqliteLedger:
    """A ledger in a folder that does not exist yet."""
    return SqliteLedger(tmp_path / "data" / "answers.sqlite3")
