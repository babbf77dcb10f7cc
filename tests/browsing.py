"""What all tests with a real browser share; conftest has the fixtures ``browser`` and ``tab``."""

from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from scripts.browser import missing

WHY = missing()
MARKS = [pytest.mark.slow, pytest.mark.skipif(WHY is not None, reason=WHY or "")]
FORBIDDEN = "/healthz"
"""What a test tries to call in breach of a policy."""
AXE = Path(str(files("axe_playwright_python"))) / "axe.min.js"


def violations(tab: Any) -> list[str]:
    """What axe-core finds, by its own names."""
    tab.evaluate(AXE.read_text(encoding="utf-8"))
    found = tab.evaluate("axe.run()")
    return [f"{each['id']}: {each['nodes'][0]['html']}" for each in found["violations"]]
