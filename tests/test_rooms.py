"""Imports show which room they come from, and load no more than is used."""

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROLES = sorted(path.name for path in (ROOT / "privet").iterdir() if path.is_symlink())
SERVERS = ("alembic", "fastapi", "httpx", "sqlalchemy", "starlette", "uvicorn")
ON_DEMAND = ("onnx", "onnxruntime", "pyarrow")
"""pandas, which scikit-learn imports where it is installed, imports pyarrow."""


@pytest.mark.parametrize("role", ROLES)
def test_imports_are_relative_at_home_and_absolute_elsewhere(role: str) -> None:
    """A module imported under two names would exist twice, and readers see what leaves the room."""
    faults, seen = [], 0
    for path in (ROOT / role).rglob("*.py"):
        depth = len(path.relative_to(ROOT).parts) - 1
        seen += 1
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                name = node.module or ""
                at_home = name == f"privet.{role}" or name.startswith(f"privet.{role}.")
                outside = node.level == 0 and name.split(".")[0] in ROLES
                if at_home or outside or node.level > depth:
                    faults.append(f"{path}:{node.lineno}")
            elif isinstance(node, ast.Import):
                names = [alias.name.split(".")[0] for alias in node.names]
                faults += [f"{path}:{node.lineno}" for name in names if name in {*ROLES, "privet"}]
    assert faults == []
    assert seen > 0


@pytest.mark.parametrize(
    "statements",
    [
        {
            "import privet": ("numpy", "pydantic", "httpx", "sklearn"),
            "import privet.learning.task_building.workbook": ("numpy", "pydantic"),
            "from privet.curator.cli import app": ("numpy", "pydantic", "httpx", "sklearn"),
            "from privet import CuratorClient": ("numpy", *SERVERS, *ON_DEMAND),
            "import typer; [*typer.main.get_command(app).commands.values()]": (
                *SERVERS,
                *ON_DEMAND,
                "scipy",
                "sklearn",
            ),
            "from privet import Holder": (
                "sklearn",
                "scipy",
                "starlette",
                "sqlalchemy",
                *ON_DEMAND,
            ),
            "import privet.curator.server": ("scipy", "sklearn", *ON_DEMAND),
        },
        {"from privet import PrivateTreeClassifier": (*SERVERS, *ON_DEMAND)},
    ],
    ids=["network", "learning"],
)
def test_what_is_imported_loads_no_more_than_it_uses(
    statements: dict[str, tuple[str, ...]],
) -> None:
    """Nothing by itself; learning no server, holders and curators no statistics, CLI little.
    A process of its own reads each workbook.

    In one process, since each may load what those before it may.
    """
    lines = ["import sys", "sys.modules['pandas'] = None"]
    for statement, unwanted in statements.items():
        lines += [statement, f"print(*sorted(set({unwanted!r}) & set(sys.modules)))"]
    printed = subprocess.check_output([sys.executable, "-c", "\n".join(lines)], cwd=ROOT, text=True)
    assert dict(zip(statements, printed.splitlines(), strict=True)) == dict.fromkeys(statements, "")


def imported_by(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file's absolute imports, and the modules or names that they import."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


@pytest.mark.parametrize("room", ["protocol", "http_server", "http_client", "client"])
def test_what_needs_no_curator_is_tested_without_one(room: str) -> None:
    """Nor with pandas, FastAPI or scripts, by these tests or what they import of other tests."""
    unwanted = ("privet.curator.", "scripts.", "bench.", "pandas.", "fastapi.")
    waiting = [ROOT / "tests" / "conftest.py", *(ROOT / "tests" / room).rglob("*.py")]
    seen, faults = set(waiting), []
    while waiting:
        path = waiting.pop()
        for line, name in imported_by(path):
            if f"{name}.".startswith(unwanted):
                faults.append(f"{path}:{line}")
            module = ROOT.joinpath(*name.split("."))
            for file in (module.with_suffix(".py"), module.parent.with_suffix(".py")):
                if name.startswith("tests.") and file.exists() and file not in seen:
                    seen.add(file)
                    waiting.append(file)
    assert faults == []


OF_OTHERS = {"_calls", "_compiled_cache", "_exit", "_transport"}
"""Private attributes that a test reads for want of another way: what a provider's calls hold, and
those of SQLAlchemy and httpx; and `os._exit`."""


def test_tests_use_no_private_names() -> None:
    """What is worth a test has a public name, or shows in what a public function does."""
    faults = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not re.search(r"[.(\s]_(?!_|repr_)\w", text):  # parsing takes longer
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom):
                named = [alias.name for alias in node.names]
            elif isinstance(node, ast.Attribute) and node.attr.startswith("_"):
                own = ast.unparse(node.value) in ("self", "cls")
                named = [] if own else [node.attr]
            else:
                continue
            private = [name for name in named if re.match(r"_(?!_|repr_)", name)]
            faults += [f"{path}:{node.lineno} {name}" for name in {*private} - OF_OTHERS]
    assert faults == []


def test_holders_have_no_generator_of_pseudorandom_numbers() -> None:
    """All that they draw comes from the operating system; populations are simulated elsewhere."""
    lines = [
        f"{path}:{number}"
        for room in ("protocol", "http_client", "client")
        for path in sorted((ROOT / room).rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines())
        if re.search(r"\bnp\.random\b|^(from|import) random\b|default_rng", line)
    ]
    assert lines == []


def test_the_protocol_has_one_place_for_each_name() -> None:
    """Its package is a list of its modules, all of them, and exports nothing itself."""
    opening = ast.parse((ROOT / "protocol" / "__init__.py").read_text(encoding="utf-8"))
    assert len(opening.body) == 1
    listed = re.findall(
        r"^    (\w+)  ", ast.get_docstring(opening, clean=False) or "", re.MULTILINE
    )
    modules = {path.stem for path in (ROOT / "protocol").iterdir() if path.stem[0] not in "_."}
    assert sorted(listed) == sorted(modules)


def test_a_checkout_without_links_says_what_to_do(tmp_path: Path) -> None:
    """git writes a file with the link's target where links are not to be had."""
    (tmp_path / "privet").mkdir()
    shutil.copy(ROOT / "privet" / "__init__.py", tmp_path / "privet")
    (tmp_path / "privet" / "protocol").write_text("../protocol")
    done = subprocess.run(
        [sys.executable, "-c", "import privet"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "git config core.symlinks true" in done.stderr.splitlines()[-1]
