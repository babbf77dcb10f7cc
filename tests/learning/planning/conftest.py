import pytest

from privet.learning.public_model import candidates


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A public model without boosting."""
    monkeypatch.setattr(candidates, "BOOSTING_COLUMNS", 0)
