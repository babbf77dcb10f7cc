"""Smaller public models than in production: the claims do not depend on their size."""

from collections.abc import Iterator

import pytest

from privet.learning.public_model import candidates, knowledge, stacking


@pytest.fixture(autouse=True, scope="package")
def small_public_models() -> Iterator[None]:
    """Fewer trees and boosting rounds; models kept from other tests are forgotten."""
    knowledge._stacked.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stacking, "TREES", 10)
        patch.setattr(stacking, "SHARED_TREES", 40)
        patch.setattr(stacking, "FEWEST_SHARED_TREES", 40)
        patch.setattr(stacking, "VALIDATION_TREES", 5)
        patch.setattr(candidates, "ROUNDS", 15)
        yield
    knowledge._stacked.cache_clear()
