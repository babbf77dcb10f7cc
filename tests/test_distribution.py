"""What an installation puts where."""

import re
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.processes import checkout, output_of

ROOT = Path(__file__).parent.parent
PACKAGES = {path.name for path in (ROOT / "privet").iterdir() if path.is_symlink()}
BUILD = "from setuptools import build_meta; build_meta.build_{}({!r})"


@pytest.mark.slow
def test_archives_are_whole_and_hold_nothing_else(tmp_path: Path) -> None:
    """The source archive has every file of the checkout, those of the packages inside `privet/`.

    A wheel built from it has every module, under `privet/`, the marker for type checkers, and no
    link that leads nowhere on a package index.
    """
    folder = checkout(tmp_path / "checkout")
    names = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    expected = {f"privet/{n}" if n.split("/")[0] in PACKAGES else n for n in names}
    output_of(sys.executable, "-c", BUILD.format("sdist", str(tmp_path)), cwd=folder)
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as source:
        source.extractall(tmp_path / "source", filter="data")
    (unpacked,) = (tmp_path / "source").iterdir()
    assert {name for name in expected if not (unpacked / name).is_file()} == set()

    output_of(sys.executable, "-c", BUILD.format("wheel", str(tmp_path)), cwd=unpacked)
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        installed = set(wheel.namelist())
        (metadata,) = [name for name in installed if name.endswith("/METADATA")]
        links = re.findall(r"\]\(([^)]*)\)", wheel.read(metadata).decode())
    assert {name.split("/")[0].partition("-")[0] for name in installed} == {"privet"}
    assert {name for name in expected if re.match(r"privet/.*\.py$", name)} <= installed
    assert "privet/py.typed" in installed
    assert [link for link in links if not link.startswith("https://")] == []
