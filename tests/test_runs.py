"""Which tests run, and in what order: each once, files in two parts, alike for every worker."""

import re
import subprocess
import sys
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests import needs
from tests.needs import PACKAGES, leave_all_but_the_quick, unexpected
from tests.order import pytest_collection_modifyitems
from tests.processes import ROOT, output_of


def item(path: str, seconds: int | None = None, number: int = 0) -> SimpleNamespace:
    """A test as far as its order goes, which may have seconds of its own."""
    mark = pytest.mark.timeout(seconds).mark if seconds else None
    return SimpleNamespace(path=Path(path), number=number, get_closest_marker=lambda _: mark)


ITEMS = [item(f"test_{n // 10}.py", number=n) for n in range(100)]


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


def test_what_takes_long_or_starts_processes_comes_first() -> None:
    """In the order of the files."""
    paths = [f"tests/{folder}/test_a.py" for folder in ("admin", "curator", "protocol", "relay")]
    items: Any = [item(path) for path in paths] + [item("tests/test_b.py", 600)]
    config: Any = SimpleNamespace(getoption={}.get)
    pytest_collection_modifyitems(config, items)
    found = [item.path.parts[1] for item in items]
    assert found == ["test_b.py", "curator", "relay", "admin", "protocol"]


def test_reverse_and_twice() -> None:
    assert ordered(order="reverse") == [*range(99, -1, -1)]
    assert ordered(twice=True) == [*range(100), *range(100)]


@pytest.mark.parametrize("target", ["test", "test-order"])
def test_make_only_prints_what_it_is_asked_to_print(target: str, tmp_path: Path) -> None:
    """Of an environment that is not there nothing runs, so that nothing fails either."""
    given = (f"VENV={tmp_path / 'none'}", f"PYTHON={sys.executable}")
    printed = output_of("make", "--dry-run", target, *given, cwd=ROOT)
    assert "none/bin/pytest" in printed
    assert not list(tmp_path.iterdir())


def test_servers_in_this_process_leave_logs_as_they_are() -> None:
    """Their set-up is a module's, and would last for all modules that follow."""
    told = [
        f"{path.name}: {line.strip()}"
        for path in (ROOT / "tests").rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if "uvicorn.Config(" in line
        and "log_config=None" not in line
        and path.name != Path(__file__).name
    ]
    assert told == []


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
    cases: Any = [Case(case, "ca*") for case in ("cart", "grid", "distilled")]
    leave_all_but_the_quick(cases)
    assert [case.own for case in cases] == [[], ["slow"], ["slow"]]
    wrong: Any = [Case(case, "carrt") for case in ("cart", "grid")]
    with pytest.raises(pytest.UsageError, match="carrt"):
        leave_all_but_the_quick(wrong)


def skipping(allowed: str | None, *why: str) -> Any:
    """The configuration of a run that skipped tests."""
    reports = [SimpleNamespace(longrepr=("test_a.py", 1, f"Skipped: {reason}")) for reason in why]
    reporter = SimpleNamespace(stats={"skipped": reports})
    return SimpleNamespace(
        getoption={"may_skip": allowed}.get,
        pluginmanager=SimpleNamespace(getplugin=lambda _: reporter),
    )


def test_only_what_is_known_may_be_skipped() -> None:
    """So that a check whose program is gone does not pass; nobody is asked unless it is said."""
    why = ("needs docker", "needs promtool", "could not import 'schemathesis'")
    assert unexpected(skipping("needs (docker|kubectl)", *why)) == [*why[1:]]
    assert unexpected(skipping("needs docker", why[0])) == []
    assert unexpected(skipping(None, *why)) == []


def test_an_unknown_program_is_no_reason_to_skip() -> None:
    """A misspelt one would never be there."""
    wanting: Any = SimpleNamespace(
        nodeid="test_a.py::test_b",
        add_marker=lambda _: None,
        iter_markers=lambda name: [pytest.mark.needs("promtol").mark] * (name == "needs"),
    )
    config: Any = SimpleNamespace(getoption={"markexpr": "slow"}.get)
    with pytest.raises(pytest.UsageError, match="promtol"):
        needs.pytest_collection_modifyitems(config, [wanting])


@pytest.mark.slow
def test_an_audit_that_leaves_a_package_out_fails(tmp_path: Path) -> None:
    """It names what nothing is known of; so it does where its service is out of reach."""
    pytest.importorskip("pip_audit")
    missing = "privet-has-no-such-package"
    pins = tmp_path / "pins.txt"
    pins.write_text(f"{missing}==1.0 --hash=sha256:{'0' * 64}\n")
    (asked,) = re.findall(r"\$\(BIN\)/pip-audit (.*)", (ROOT / "Makefile").read_text("utf-8"))
    options = asked.replace("requirements/all.txt", str(pins)).split()
    command = [sys.executable, "-m", "pip_audit", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=250)
    assert done.returncode == 1
    assert missing in done.stderr or "onnection" in done.stderr


def test_continuous_integration_installs_what_tests_need() -> None:
    """All that it may not skip, and the R packages that ours needs, without what Debian only
    recommends."""
    commands = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    may_skip = str(re.search("--may-skip '(.+)'", commands)[1])  # type: ignore[index]
    needed = {
        package
        for program, packages in PACKAGES.items()
        if not re.fullmatch(may_skip, f"needs {program}")
        for package in packages.split()
    }
    installed = {
        package
        for found in re.findall(r"needed\+=\((.+?)\)", commands)
        for package in found.split()
    }
    assert needed - installed == set()
    described = (ROOT / "r" / "DESCRIPTION").read_text(encoding="utf-8")
    fields = re.findall(r"^(?:Imports|Suggests): (.+)", described, re.MULTILINE)
    imported = {name.split()[0] for field in fields for name in field.split(", ")}
    assert imported == {"httr2", "jsonlite", "knitr"}
    checks = commands + Path(needs.__file__).read_text(encoding="utf-8")
    for name in imported:
        assert f"r-cran-{name}" in needed
        assert checks.count(f"library({name})") == 2
