import pytest

from privet.learning.drift import candidates


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A public model without boosting."""
    monkeypatch.setattr(candidates, "BOOSTING_COLUMNS", 0)
