"""Smaller public models than in production: most claims do not depend on their size."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType

import pytest

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
