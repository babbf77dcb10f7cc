"""A quick public model stands in for the stack, which takes many seconds to fit."""

import pytest

from curator.estimation.public.knowledge import Knowledge
from curator.planning.study import quick_public_model


@pytest.fixture(autouse=True)
def quick_knowledge(monkeypatch: pytest.MonkeyPatch) -> None:
    """``distilled`` grows on a small public model."""
    monkeypatch.setattr(
        "curator.estimation.public.distil.public_knowledge",
        lambda X, y, slots: Knowledge.of(quick_public_model(X, y, slots), X),
    )
