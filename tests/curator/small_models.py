"""Smaller public models than in production: most claims do not depend on their size."""

from collections.abc import Iterator

import pytest

from privet.learning.public_model import candidates, knowledge, stacking

TREES = 10
SHARED_TREES = 40


@pytest.fixture(autouse=True, scope="module")
def small_public_models() -> Iterator[None]:
    """Few trees and boosting rounds; what other modules cached is forgotten."""
    knowledge._stacked.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stacking, "TREES", TREES)
        patch.setattr(stacking, "SHARED_TREES", SHARED_TREES)
        patch.setattr(stacking, "FEWEST_SHARED_TREES", SHARED_TREES)
        patch.setattr(stacking, "VALIDATION_TREES", 3)
        patch.setattr(candidates, "VALIDATION_TREES", 3)
        patch.setattr(candidates, "ROUNDS", 10)
        yield
    knowledge._stacked.cache_clear()
