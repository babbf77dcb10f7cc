import pytest

from privet.relay import task_watch


@pytest.fixture
def always_looking(monkeypatch: pytest.MonkeyPatch) -> None:
    """The relay asks for the task's state each time, without waiting."""
    monkeypatch.setattr(task_watch, "SHORTEST", 0.0)
    monkeypatch.setattr(task_watch, "LONGEST", 0.0)
