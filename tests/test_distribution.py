"""What an installation puts where."""

import re
import shutil
import subprocess
import sys
import tarfile
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


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> tuple[set[str], set[str], str]:
    """The files of the source archive, those of the wheel built from it, and its metadata."""
    folder = tmp_path_factory.mktemp("distribution")
    build = "from setuptools import build_meta; build_meta.build_{}({!r})"
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    for name in tracked.stdout.decode().rstrip("\0").split("\0"):
        (folder / "checkout" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / "checkout" / name, follow_symlinks=False)
    command = [sys.executable, "-c", build.format("sdist", str(folder))]
    subprocess.run(command, cwd=folder / "checkout", check=True, capture_output=True)
    with tarfile.open(next(folder.glob("*.tar.gz"))) as source:
        source.extractall(folder / "source", filter="data")
    (unpacked,) = (folder / "source").iterdir()
    files = {str(path.relative_to(unpacked)) for path in unpacked.rglob("*") if path.is_file()}
    command = [sys.executable, "-c", build.format("wheel", str(folder))]
    subprocess.run(command, cwd=unpacked, check=True, capture_output=True)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        (metadata,) = [name for name in wheel.namelist() if name.endswith("/METADATA")]
        return files, set(wheel.namelist()), wheel.read(metadata).decode()


@pytest.mark.slow
def test_the_source_archive_is_whole(archives: tuple[set[str], set[str], str]) -> None:
    """It holds every tracked file, those of the packages inside `privet/`."""
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    names = set(tracked.stdout.decode().rstrip("\0").split("\0"))
    expected = {
        f"privet/{name}" if name.split("/")[0] in PACKAGES else name
        for name in names
        if not ((ROOT / name).is_symlink() and (ROOT / name).is_dir())  # their files are there
    }
    assert expected - archives[0] == set()


@pytest.mark.slow
def test_a_wheel_installs_nothing_but_privet(archives: tuple[set[str], set[str], str]) -> None:
    """Every file of every package is in it, under `privet/`, with the marker for type checkers."""
    _, names, metadata = archives
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"privet"}
    expected = {
        f"privet/{path.relative_to(ROOT)}"
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
    }
    assert expected <= names
    assert "privet/py.typed" in names
    links = re.findall(r"\]\(([^)]*)\)", metadata)
    assert [link for link in links if not link.startswith("https://")] == []  # on a package index
