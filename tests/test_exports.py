import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FRONT_DOORS = ["privet.client", "privet.protocol.mechanisms", "privet.learning.trees"]


@pytest.mark.parametrize("name", FRONT_DOORS)
def test_the_list_at_the_front_door_is_what_is_there(name: str) -> None:
    """`__all__` is sorted, complete and real: what is imported is exported, and the reverse."""
    module = importlib.import_module(name)
    source = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    imported = {
        alias.asname or alias.name
        for node in source.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert set(module.__all__) == imported
    assert len(module.__all__) == len(set(module.__all__))
    assert all(hasattr(module, exported) for exported in module.__all__)
    assert module.__doc__


def test_the_protocol_has_one_place_for_each_name() -> None:
    """Its package is a list of its modules, all of them, and exports nothing itself."""
    opening = ast.parse((ROOT / "protocol" / "__init__.py").read_text(encoding="utf-8"))
    assert len(opening.body) == 1
    listed = re.findall(
        r"^    (\w+)  ", ast.get_docstring(opening, clean=False) or "", re.MULTILINE
    )
    modules = {path.stem for path in (ROOT / "protocol").iterdir() if path.stem[0] not in "_."}
    assert sorted(listed) == sorted(modules)


@pytest.mark.parametrize("package", ["protocol", "client"])
def test_every_module_says_what_it_is_about(package: str) -> None:
    """A docstring opens each file."""
    for path in sorted((ROOT / package).rglob("*.py")):
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), path
