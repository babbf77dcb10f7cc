"""The orders of tests: each test once, files in two parts, the same for every worker."""

from itertools import groupby
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.order import pytest_collection_modifyitems

ITEMS = [SimpleNamespace(path=Path(f"test_{n // 10}.py"), number=n) for n in range(100)]


def ordered(**options: Any) -> list[int]:
    """The numbers of the tests in the order of a run."""
    config: Any = SimpleNamespace(getoption={"order": None, "twice": False, **options}.get)
    items: Any = list(ITEMS)
    pytest_collection_modifyitems(config, items)
    return [item.number for item in items]


def test_a_seed_draws_an_order_of_all_tests() -> None:
    """Again the same; each file's come in two parts that others divide."""
    drawn = ordered(order="17")
    assert drawn == ordered(order="17") != ordered(order="18")
    assert sorted(drawn) == ordered() == [*range(100)]
    files = [file for file, _ in groupby(number // 10 for number in drawn)]
    assert len(files) > 15
    assert [number % 10 for number in drawn if number < 10] != sorted(range(10))


def test_reverse_and_twice() -> None:
    assert ordered(order="reverse") == [*range(99, -1, -1)]
    assert ordered(twice=True) == [*range(100), *range(100)]


def test_workers_cannot_run_all_twice() -> None:
    """They would divide the two."""
    config: Any = SimpleNamespace(getoption={"twice": True}.get, workerinput={})
    with pytest.raises(pytest.UsageError, match="one process"):
        pytest_collection_modifyitems(config, [])
