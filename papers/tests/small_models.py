"""Smaller public models than in production: most claims do not depend on their size."""

from collections.abc import Iterator

import pytest

from privet.learning.public_model import candidates, knowledge, stacking


@pytest.fixture(autouse=True, scope="module")
def small_public_models() -> Iterator[None]:
    """Few trees and boosting rounds, for all tests of a module, which no other module sees."""
    knowledge.stacked_knowledge.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stacking, "FOREST_TREES", 10)
        patch.setattr(stacking, "SHARED_TREES", 40)
        patch.setattr(stacking, "FEWEST_SHARED_TREES", 40)
        patch.setattr(stacking, "VALIDATION_TREES", 3)
        patch.setattr(candidates, "VALIDATION_TREES", 3)
        patch.setattr(candidates, "ROUNDS", 10)
        yield
    knowledge.stacked_knowledge.cache_clear()
