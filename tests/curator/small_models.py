"""Smaller public models than in production, and plans without the gains that are simulated: most
claims do not depend on these."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType

import numpy as np
import pytest

from privet.learning.planning.outcome import Mean
from privet.learning.planning.planner import Planner
from privet.learning.public_model import candidates, knowledge, stacking

TREES = 10
SHARED_TREES = 40
OF_PRODUCTION = {
    (module, name): getattr(module, name)
    for module, name in (
        (stacking, "FOREST_TREES"),
        (stacking, "SHARED_TREES"),
        (stacking, "FEWEST_SHARED_TREES"),
        (stacking, "VALIDATION_TREES"),
        (candidates, "VALIDATION_TREES"),
        (candidates, "ROUNDS"),
    )
}
SMALL = dict(zip(OF_PRODUCTION, (TREES, SHARED_TREES, SHARED_TREES, 3, 3, 10), strict=True))


@contextmanager
def sized(sizes: Mapping[tuple[ModuleType, str], int]) -> Iterator[None]:
    """Public models of other sizes; what was cached before is forgotten, and so is what is now."""
    knowledge.stacked_knowledge.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        for (module, name), size in sizes.items():
            patch.setattr(module, name, size)
        yield
    knowledge.stacked_knowledge.cache_clear()


@contextmanager
def smaller() -> Iterator[None]:
    """Few trees and boosting rounds."""
    with sized(SMALL):
        yield


@pytest.fixture(autouse=True, scope="module")
def small_public_models() -> Iterator[None]:
    """For all tests of a module."""
    with smaller():
        yield


@pytest.fixture
def without_gains(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans do not simulate what reports are worth, which takes most of their time."""
    none = Mean.of(np.zeros(2))
    monkeypatch.setattr(Planner, "gain", lambda *_: (none, none))


@pytest.fixture
def planned_alone(monkeypatch: pytest.MonkeyPatch, without_gains: None) -> None:
    """Plans are of the planned number of people, and do not look for others either."""
    monkeypatch.setattr(Planner, "fewest_people", lambda *_: None)
