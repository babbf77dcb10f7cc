"""The promises that tests keep, and a fault for each that the test must notice."""

from collections.abc import Callable
from typing import TypeVar

Test = TypeVar("Test", bound=Callable[..., object])


def keeps(promise: str, *, in_: str, instead_of: str, plant: str) -> Callable[[Test], Test]:
    """State that a test keeps a promise of the docs, and a fault that it notices by itself.

    ``promise`` is ``page: words``, for a page of ``docs/``. The fault is ``plant`` in place of
    ``instead_of``, which occurs once in the file ``in_``, a path from the root. The test stays as
    it is: ``scripts/plant_faults.py`` reads the arguments, which are therefore plain strings, from
    the source.
    """
    return lambda test: test
