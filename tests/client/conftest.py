from pathlib import Path

import pytest

from tests.client.command import Command


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(tmp_path)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls are tried twice, without a pause."""
    pauses = "privet.http_client.report_client.Retry.pauses"
    monkeypatch.setattr(pauses, lambda _self: iter([0.0]))
