"""Smaller public models than in production: most claims do not depend on their size."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from privet.learning.public_model import candidates, knowledge, stacking

TREES = 10
SHARED_TREES = 40


@contextmanager
def smaller() -> Iterator[None]:
    """Few trees and boosting rounds; what was cached before is forgotten, and so is what is now."""
    knowledge.stacked_knowledge.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stacking, "FOREST_TREES", TREES)
        patch.setattr(stacking, "SHARED_TREES", SHARED_TREES)
        patch.setattr(stacking, "FEWEST_SHARED_TREES", SHARED_TREES)
        patch.setattr(stacking, "VALIDATION_TREES", 3)
        patch.setattr(candidates, "VALIDATION_TREES", 3)
        patch.setattr(candidates, "ROUNDS", 10)
        yield
    knowledge.stacked_knowledge.cache_clear()


@pytest.fixture(autouse=True, scope="module")
def small_public_models() -> Iterator[None]:
    """For all tests of a module."""
    with smaller():
        yield
