from collections.abc import Iterator

import pytest

from privet.learning.public_model import candidates
from tests.curator.small_models import small_public_models

__all__ = ["small_public_models"]


@pytest.fixture(autouse=True, scope="package")
def no_boosting() -> Iterator[None]:
    """A plan fits three stacks: forests and linear models alone take half as long."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates, "BOOSTING_COLUMNS", 0)
        yield
