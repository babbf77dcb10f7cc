"""docs/privacy.md and docs/mechanisms.md say what the code does."""

import importlib
import os
import pkgutil
import re
from pathlib import Path

import pytest

from privet.client import disclosures, holder, ledger, panels
from privet.protocol import mechanisms, report, shuffling
from privet.protocol.mechanisms import MECHANISMS
from privet.protocol.strata import Strata
from privet.protocol.task import Task

DOCS = Path(__file__).parents[1] / "docs"
PRIVACY = DOCS / "privacy.md"
TESTS = "\n".join(
    path.read_text()
    for room in ("protocol", "client", "outside")
    for path in (Path(__file__).parent / room).rglob("test_*.py")
)
MODULES = {
    info.name: importlib.import_module(f"privet.protocol.mechanisms.{info.name}")
    for info in pkgutil.iter_modules(mechanisms.__path__)
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_is_on_both_pages(name: str) -> None:
    """Each mechanism has a section with claim, proof, code and test, and a row in the table."""
    (section,) = re.findall(
        rf"^## (?:\w+ and )?{name}\b.*?\n(.*?)(?=^## )",
        PRIVACY.read_text(),
        re.DOTALL | re.MULTILINE,
    )
    assert all(part in section for part in ("**Claim", "**Proof.**", "**Code.**", "**Test.**"))
    assert f"| `{name}` |" in (DOCS / "mechanisms.md").read_text()


def test_named_tests_exist() -> None:
    """Every test that the privacy page names is there."""
    named = set(re.findall(r"`(test_\w+)`", PRIVACY.read_text()))
    assert named
    assert {name for name in named if f"def {name}(" not in TESTS} == set()


def test_named_code_exists() -> None:
    """Every function and method that the privacy page names is there."""
    homes = {name: value for module in MODULES.values() for name, value in vars(module).items()}
    homes |= MODULES | {"os": os}
    homes |= {"Strata": Strata, "report": report, "holder": holder}
    homes |= {"disclosures": disclosures, "ledger": ledger, "panels": panels}
    homes |= {"shuffling": shuffling, "Task": Task, "Holder": holder.Holder}
    named = re.findall(r"`(\w+)\.(\w+)`", PRIVACY.read_text())
    missing = [f"{home}.{name}" for home, name in named if not hasattr(homes[home], name)]
    assert named
    assert missing == []
