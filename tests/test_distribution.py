"""What an installation puts where."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = {path.name for path in (ROOT / "privet").iterdir() if path.is_symlink()}


def test_the_folders_of_the_checkout_are_the_packages() -> None:
    """`privet/` holds one link for each folder, and each leads to the folder next to it."""
    links = {path.name: path for path in (ROOT / "privet").iterdir() if path.is_symlink()}
    assert set(links) == PACKAGES
    assert all(path.resolve() == ROOT / name for name, path in links.items())


@pytest.mark.slow
def test_a_wheel_installs_nothing_but_privet(tmp_path: Path) -> None:
    """Every file of every package is in it, under `privet/`, with the marker for type checkers."""
    source = tmp_path / "source"
    for folder in ("privet", *PACKAGES):
        shutil.copytree(ROOT / folder, source / folder, symlinks=True)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--wheel-dir", str(tmp_path), str(source)], check=True)
    (wheel,) = tmp_path.glob("privet-*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"privet"}
    expected = {
        f"privet/{path.relative_to(ROOT)}"
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
    }
    assert expected <= names
    assert "privet/py.typed" in names
