"""Every fault that stands above a test can still be planted; the reader finds all of them."""

from pathlib import Path

import pytest

from scripts.plant_faults import Fault, faults
from tests.keeping import keeps

TESTS = '''
from tests.keeping import keeps


@keeps("page: it adds", in_="sums.py", instead_of="a + b", plant="a - b")
@keeps(
    "page: and lasts",
    in_="sums.py",
    instead_of="""
    return""",
    plant="""
    a = 0
    return""",
)
async def test_both() -> None: ...


class TestSums:
    @parametrized
    @keeps("page: it adds", in_="sums.py", instead_of=r"a + b", plant="b")
    def test_one(self, case) -> None: ...
'''


def test_no_fault_is_stale() -> None:
    """Whoever changes a line that keeps a promise plants its fault in what takes its place."""
    found = list(faults())
    stale = {f"{fault.test}: {fault.promise}": fault.stale() for fault in found}
    assert {test: why for test, why in stale.items() if why} == {}
    assert len(found) > 280


def test_faults_are_read_from_the_source(tmp_path: Path) -> None:
    """Several above one test, tests of classes, and code of several lines as it stands."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_sums.py").write_text(TESTS)
    test, method = "tests/test_sums.py::test_both", "tests/test_sums.py::TestSums::test_one"
    assert list(faults(tmp_path)) == [
        Fault("page: it adds", "sums.py", "a + b", "a - b", test),
        Fault("page: and lasts", "sums.py", "\n    return", "\n    a = 0\n    return", test),
        Fault("page: it adds", "sums.py", "a + b", "b", method),
    ]


@pytest.mark.parametrize(
    ("page", "file", "code", "test", "why"),
    [
        ("page", "sums.py", "a + b", "tests/test_sums.py::test_sum", None),
        ("page", "sums.py", "a", "tests/test_sums.py::test_sum", "sums.py has 'a' 2 times"),
        ("page", "gone.py", "a", "tests/test_sums.py::test_sum", "gone.py has 'a' 0 times"),
        ("gone", "sums.py", "a + b", "tests/test_sums.py::test_sum", "there is no page"),
        ("page", "sums.py", "a + b", "tests/test_sums.py::added", "added is no test"),
        ("page", "sums.py", "a + b", "tests/sums.py::test_sum", "test_sum is no test"),
    ],
)
def test_a_fault_is_stale(
    page: str, file: str, code: str, test: str, why: str | None, tmp_path: Path
) -> None:
    """Where its code is not there once, its page is gone, or no test is below it."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").touch()
    (tmp_path / "sums.py").write_text("added = a + b\n")
    stale = Fault(f"{page}: it adds", file, code, "b", test).stale(tmp_path)
    assert stale is None if why is None else why in str(stale)


def test_keeps_leaves_the_test_as_it_is() -> None:
    """The arguments are for readers of the source."""

    def test() -> None: ...

    assert keeps("page: it adds", in_="sums.py", instead_of="a", plant="b")(test) is test
