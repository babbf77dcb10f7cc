"""Which tests run, and in what order: each once, files in two parts, alike for every worker."""

from itertools import groupby
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.needs import leave_all_but_the_quick
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


class Case:
    """A test's case, as far as marks go."""

    def __init__(self, case: str, *quick: str) -> None:
        self.nodeid = f"test_a.py::test_b[{case}]"
        self._quick = pytest.mark.quick(*quick).mark
        self.own: list[str] = []

    def iter_markers(self, name: str) -> list[pytest.Mark]:
        return [self._quick] if name == "quick" else []

    def add_marker(self, name: str) -> None:
        self.own.append(name)


def test_all_but_the_quick_cases_are_slow() -> None:
    """A name that no case has is an error: else all of the test's cases could be slow, unseen."""
    cases: Any = [Case(case, "cart") for case in ("cart", "grid", "distilled")]
    leave_all_but_the_quick(cases)
    assert [case.own for case in cases] == [[], ["slow"], ["slow"]]
    wrong: Any = [Case(case, "carrt") for case in ("cart", "grid")]
    with pytest.raises(pytest.UsageError, match="carrt"):
        leave_all_but_the_quick(wrong)
