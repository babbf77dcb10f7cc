import pytest

from privet.learning.drift import candidates
from privet.learning.planning import planner


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No other holders and budgets than those planned for, and a public model without boosting."""
    for steps in ("HOLDER_STEPS", "EPSILON_STEPS"):
        monkeypatch.setattr(planner, steps, (1.0,))
    monkeypatch.setattr(candidates, "BOOSTING_COLUMNS", 0)
