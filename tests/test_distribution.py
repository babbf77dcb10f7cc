"""What an installation puts where."""

import os
import re
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import brotli
import pytest

from privet.protocol.installing import WHEEL, install_command
from tests.processes import checkout, output_of

ROOT = Path(__file__).parent.parent
PACKAGES = {path.name for path in (ROOT / "privet").iterdir() if path.is_symlink()}
TEXTS = (
    ".ipynb",
    ".js",
    ".md",
    ".py",
    ".sh",
    ".toml",
    ".txt",
    ".yaml",
    ".yml",
    "Dockerfile",
    "Makefile",
)
MADE = {"build", "dist", "node_modules", "privet-data", "site"}
INSTALLS = re.compile(
    r"""\b(?:pip3?|pipx|uvx?|conda|poetry|pdm) (?:[^\n]* )?['"(]*privet(?![\w.])(?!-\w)"""
    r"""|(?<!["\w])privet\[[a-z]"""
    r"""|\b(?:npm|npx|pnpm|yarn|bunx?|deno) [^\n]*@privet/"""
    r"""|(?:unpkg|jsdelivr|esm)\.[a-z]+/\S*privet"""
)
"""What has an installer look for the name; extras of pyproject.toml's own are in double quotes."""
BUILD = "from setuptools import build_meta; build_meta.build_{}({!r})"
SENT = """
import sys
sys.path.insert(0, {!r})
from privet import page
print(page.served(page.NAMED, "/v1/tasks/ab", {{"accept-encoding": "br"}}).body.hex())
"""


def texts() -> Iterator[Path]:
    """The tree's files that people and programs read, without what was made or installed."""
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in MADE and name[0] != "."]
        yield from (Path(folder, name) for name in files if name.endswith(TEXTS))


def test_nothing_says_to_install_privet_by_its_name() -> None:
    """No index has it: whoever registers the name would be installed in its place. The file in the
    commands is that of this version."""
    assert f"privet-{version('privet')}-py3-none-any.whl" == WHEEL.removeprefix("./")
    told, files = [], 0
    for path in texts():
        text = path.read_text(encoding="utf-8")
        told += [f"{path.relative_to(ROOT)}: {found}" for found in INSTALLS.findall(text)]
        told += [
            str(path)
            for found in re.findall(r"privet-\d[\w.]*any\.whl", text)
            if found not in WHEEL
        ]
        files += "whl[" in text
    assert told == []
    assert files >= 8
    for command in ("pip install", "uv add -q", "pipx install", "pip install -U"):
        for wanted in ("{}", "'{}[relay]'", "{}==1.0"):
            assert INSTALLS.search(f"{command} {wanted.format('privet')}"), (command, wanted)
    for command in ("npm install {}", "npx -y {}", "//unpkg.com/{}"):
        assert INSTALLS.search(command.format("@privet/holder")), command
    assert not INSTALLS.search(install_command("relay"))
    assert not INSTALLS.search("npm install ./build/privet-holder-0.2.0.tgz")


@pytest.mark.slow
def test_archives_are_whole_and_hold_nothing_else(tmp_path: Path) -> None:
    """The source archive has every file of the checkout, those of the packages inside `privet/`.

    A wheel built from it has every module, under `privet/`, the answer page, the marker for type
    checkers, and no link that leads nowhere on a package index. It sends the page's component by
    Brotli.
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
        wheel.extractall(tmp_path / "wheel")
    assert {name.split("/")[0].partition("-")[0] for name in installed} == {"privet"}
    assert {name for name in expected if re.match(r"privet/.*\.py$", name)} <= installed
    assert "privet/py.typed" in installed
    assert {"privet/page/index.html", "privet/page/privet-answer.js"} <= installed
    assert [link for link in links if not link.startswith("https://")] == []
    sent = output_of(sys.executable, "-I", "-c", SENT.format(str(tmp_path / "wheel")), cwd=tmp_path)
    component = (ROOT / "page" / "privet-answer.js").read_bytes()
    assert brotli.decompress(bytes.fromhex(sent)) == component
