"""The two commands of the README on a machine that has Python, make and nothing else."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import set_up

ROOT = Path(__file__).parent.parent
COREUTILS = ("cat", "cp", "date", "ls", "mkdir", "mv", "rm", "sha256sum", "sleep", "test", "touch")
KEPT = ("CERT", "PROXY", "PIP_", "UV_")
"""How this machine reaches a package index."""
UNREACHABLE = "http://127.0.0.1:9/simple"
SOME = "tests/client tests/curator/datastore tests/learning/sklearn tests/test_front_door.py"
MINUTES = 60


def checkout(folder: Path) -> Path:
    """A copy of what git would hand out of this checkout."""
    listed = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    names = subprocess.check_output(listed, cwd=ROOT, text=True).split("\0")
    for name in filter(None, names):
        if (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
    return folder


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


def run(command: list[str], folder: Path, environment: dict[str, str]) -> str:
    """What a command prints."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-10_000:]
    return done.stdout


@pytest.mark.needs("git", "make")
@pytest.mark.timeout(30 * MINUTES)
def test_a_bare_machine_runs_the_demo_and_the_tests(tmp_path: Path) -> None:
    """`make demo` and `make test` run from a fresh checkout, and skip nothing in silence.

    Of the tests only some, by another Python; `.ci/run` runs all of them on a bare PATH.
    """
    environment, folder = bare_machine(tmp_path), checkout(tmp_path / "privet")
    make = str(shutil.which("make"))
    assert "Predictions of 1273 test records" in run([make, "demo"], folder, environment)
    said = run([make, "test", f"ARGS={SOME}"], folder, environment)
    assert "`make test-all` runs them" in said
    assert " failed" not in said


@pytest.mark.needs("git")
@pytest.mark.timeout(10 * MINUTES)
def test_pip_does_it_where_uv_reaches_no_index(tmp_path: Path) -> None:
    """A company's index may be in pip's configuration alone."""
    folder = checkout(tmp_path / "privet")
    environment = os.environ | {"UV_DEFAULT_INDEX": UNREACHABLE}
    said = run([sys.executable, "scripts/set_up.py", "holder"], folder, environment)
    assert "pip does the same" in said
    holder = [str(folder / ".venv/bin/privet-holder"), "--help"]
    assert "privet-holder" in run(holder, folder, environment)


@pytest.mark.slow
@pytest.mark.parametrize("python", ["3.11.0", "3.12.0", "3.13.0"])
def test_pins_hold_for_each_python_that_is_promised(python: str) -> None:
    """Its first patch release included; a resolver keeps every pin."""
    lock = ROOT / "requirements" / "all.txt"
    asked = ("--quiet", "--all-extras", "--group=all", f"--constraint={lock}")
    command = [sys.executable, "-m", "uv", "pip", "compile", *asked, f"--python-version={python}"]
    run([*command, "pyproject.toml"], ROOT, dict(os.environ))


@pytest.mark.slow
@pytest.mark.parametrize("name", set_up.LOCKED)
def test_the_lists_pin_what_pyproject_asks_for(name: str, tmp_path: Path) -> None:
    """Writing a list anew changes nothing: nobody forgot `make lock`."""
    stored, again = ROOT / "requirements" / f"{name}.txt", tmp_path / f"{name}.txt"
    shutil.copy(stored, again)
    set_up.pin(name, again)
    assert again.read_text() == stored.read_text()
