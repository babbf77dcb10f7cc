"""The two commands of the README on a machine that has Python, make and nothing else."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import set_up
from tests.processes import checkout, output_of

ROOT = Path(__file__).parent.parent
COREUTILS = ("cat", "cp", "date", "ls", "mkdir", "mv", "rm", "sha256sum", "sleep", "test", "touch")
KEPT = ("CERT", "PROXY", "PIP_", "UV_")
"""How this machine reaches a package index."""
UNREACHABLE = "http://127.0.0.1:9/simple"
SOME = "tests/client/test_cli.py tests/test_front_door.py"
MINUTES = 60


def bare_machine(folder: Path) -> dict[str, str]:
    """An environment whose PATH has nothing but a Python, make and the like of ``cp``."""
    programs = folder / "bin"
    programs.mkdir()
    for name in ("make", *COREUTILS):
        (programs / name).symlink_to(str(shutil.which(name)))
    (programs / "python3").symlink_to(another_python())
    kept = {k: v for k, v in os.environ.items() if any(part in k.upper() for part in KEPT)}
    return kept | {"PATH": str(programs), "HOME": str(folder)}


def another_python() -> Path:
    """An interpreter of another version than this one where there is one, else this one's."""
    own = sys.version_info[:2]
    for minor in {11, 12, 13} - {own[1]}:
        asked = ("-m", "uv", "python", "find", "--offline", "--no-project", f"3.{minor}")
        done = subprocess.run(
            [sys.executable, *asked], cwd="/", capture_output=True, text=True, check=False
        )
        found = Path(done.stdout.strip())
        if done.returncode == 0 and found.exists():
            return found.resolve()
    return Path(sys.base_prefix, "bin", f"python{own[0]}.{own[1]}").resolve()


@pytest.mark.needs("git", "make")
@pytest.mark.timeout(30 * MINUTES)
def test_a_bare_machine_runs_the_demo_and_the_tests(tmp_path: Path) -> None:
    """`make demo` and `make test` run from a fresh checkout, and skip nothing in silence.

    Of the tests only some, by another Python and without the checks; `.ci/run` runs all of both on
    a bare PATH.
    """
    environment, folder = bare_machine(tmp_path), checkout(tmp_path / "privet")
    make = str(shutil.which("make"))
    assert "Predictions of 1273 test records" in output_of(
        make, "demo", cwd=folder, env=environment
    )
    asked = ("test", f"ARGS={SOME}", "CHECKS=", "JOBS=1")
    said = output_of(make, *asked, cwd=folder, env=environment)
    assert "`make test-all` runs them" in said
    assert " failed" not in said


@pytest.mark.needs("git")
@pytest.mark.timeout(10 * MINUTES)
def test_pip_does_it_where_uv_reaches_no_index(tmp_path: Path) -> None:
    """A company's index may be in pip's configuration alone."""
    folder = checkout(tmp_path / "privet")
    environment = os.environ | {"UV_DEFAULT_INDEX": UNREACHABLE}
    assert not (folder / ".venv").exists()  # this checkout's own, if it is a link
    set_up_holder = (sys.executable, "scripts/set_up.py", "holder")
    assert "pip does the same" in output_of(*set_up_holder, cwd=folder, env=environment)
    assert "privet-holder" in output_of(folder / ".venv/bin/privet-holder", "--help")


@pytest.mark.slow
@pytest.mark.parametrize("python", ["3.11.0", "3.12.0", "3.13.0"])
def test_pins_hold_for_each_python_that_is_promised(python: str) -> None:
    """Its first patch release included; a resolver keeps every pin."""
    lock = ROOT / "requirements" / "all.txt"
    asked = ("--quiet", "--all-extras", "--group=all", f"--constraint={lock}")
    command = [sys.executable, "-m", "uv", "pip", "compile", *asked, f"--python-version={python}"]
    output_of(*command, "pyproject.toml", cwd=ROOT)


@pytest.mark.slow
@pytest.mark.parametrize("name", set_up.LOCKED)
def test_the_lists_pin_what_pyproject_asks_for(name: str, tmp_path: Path) -> None:
    """Writing a list again changes nothing: `make lock` was not forgotten."""
    stored, again = ROOT / "requirements" / f"{name}.txt", tmp_path / f"{name}.txt"
    shutil.copy(stored, again)
    set_up.pin(name, again)
    assert again.read_text() == stored.read_text()
