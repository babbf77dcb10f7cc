"""A quick public model stands in for the stack, which takes many seconds to fit."""

import numpy as np
import pytest
from numpy.typing import NDArray

from privet.learning.public_model.base import BaseModel
from privet.learning.public_model.candidates import as_arrays, candidates
from privet.learning.public_model.knowledge import Knowledge

TREES = 10


@pytest.fixture(autouse=True)
def quick_knowledge(monkeypatch: pytest.MonkeyPatch) -> None:
    """``distilled`` grows on a small forest."""
    monkeypatch.setattr("privet.learning.partitions.distilled.public_knowledge", small_forest)


def small_forest(
    X: NDArray[np.float64], y: NDArray[np.float64], slots: int, base: BaseModel | None
) -> Knowledge:
    """What a few trees know, unless there is a model."""
    if base is not None:
        return Knowledge.of(base, X)
    forest = next(c for c in candidates(len(X), X.shape[1], slots) if c.name == "smooth forest")
    fitted = forest.make(TREES).fit(X, y)
    return Knowledge.of(as_arrays(forest, fitted, slots), X)
