"""What ``import privet`` gives, with the curator's extra and without it."""

import ast
import re
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

import privet
from privet.protocol.installing import install_command
from scripts.servers import running_curator
from tests.processes import output_of

NEED_THE_EXTRA = {
    "PrivatePanel",
    "PrivateTreeClassifier",
    "PrivateTreeRegressor",
    "TreeDisplay",
    "plan",
    "simulate",
}
BASE_INSTALL = """
import re, sys
from importlib.metadata import packages_distributions, requires
from packaging.requirements import Requirement

def normal(name):
    return re.sub("[-_.]+", "-", name).lower()

installed = {"privet"}
waiting = ["privet"]
while waiting:
    for text in requires(waiting.pop()) or ():
        needed = Requirement(text)
        if needed.marker is None or needed.marker.evaluate({"extra": ""}):
            if normal(needed.name) not in installed:
                installed.add(normal(needed.name))
                waiting.append(needed.name)
blocked = {
    module for module, owners in packages_distributions().items()
    if not {normal(owner) for owner in owners} & installed
}

class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in blocked:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, NotInstalled())
assert {"fastapi", "sklearn", "pyarrow"} <= blocked, blocked
"""


def test_every_name_is_real_and_listed() -> None:
    """`__all__` is sorted, and what it names is what static tools see imported."""
    assert list(privet.__all__) == sorted(privet.__all__)
    assert set(privet.__all__) <= set(dir(privet))
    assert {name for name in dir(privet) if not name.startswith("_")} <= set(privet.__all__)
    source = ast.parse(Path(privet.__file__).read_text(encoding="utf-8"))
    seen = {
        alias.name: str(node.module)
        for node in ast.walk(source)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("privet.")
        for alias in node.names
    }
    assert {*seen, "__version__"} == set(privet.__all__)
    for name, module in seen.items():
        assert getattr(privet, name) is getattr(import_module(module), name)
    assert privet.__version__ == version("privet")


def test_unknown_names_are_attribute_errors() -> None:
    """A name that the package lacks raises ``AttributeError``, so that ``hasattr`` works."""
    with pytest.raises(AttributeError, match="no attribute 'oak'"):
        privet.oak  # noqa: B018
    assert not hasattr(privet, "oak")


def test_the_base_install_answers_and_administers() -> None:
    """Without the curator's libraries the other names import, and these say what to install."""
    base = sorted(set(privet.__all__) - NEED_THE_EXTRA)
    printed = output_of(
        sys.executable,
        "-c",
        f"""{BASE_INSTALL}
from privet import {", ".join(base)}
import privet
for name in {sorted(NEED_THE_EXTRA)}:
    try:
        getattr(privet, name)
    except ImportError as error:
        print(error)
""",
    )
    for name, line in zip(sorted(NEED_THE_EXTRA), printed.splitlines(), strict=True):
        assert f"privet.{name} needs " in line
        assert install_command("learning") in line


@pytest.mark.slow
def test_the_pages_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every example of docs/python.md, one after the other, against a curator of its own."""
    page = (Path(__file__).parent.parent / "docs" / "python.md").read_text(encoding="utf-8")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.chdir(Path(__file__).parent.parent)
    with running_curator(tmp_path) as curator:
        names: dict[str, Any] = {"url": curator.url, "token": curator.token}
        for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
            exec(compile(block, "docs/python.md", "exec"), names)
    assert len(names["model"].predict([[0.9, 0.5]])) == 1
    assert sum(question.n for question in names["questions"]) == 10_000_000
    assert b"readmitted" in names["exported"]
    listed = set(re.findall(r"`(\w+)`", page.split("## ")[0]))
    assert set(privet.__all__) - {"__version__"} <= listed
