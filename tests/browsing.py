"""What all tests with a real browser share; conftest has the fixtures ``browser`` and ``tab``."""

from pathlib import Path
from typing import Any

FORBIDDEN = "/healthz"
"""What a test tries to call in breach of a policy."""


def axe() -> str:
    """The source of axe-core."""
    from axe_playwright_python import __file__ as package

    return (Path(package).parent / "axe.min.js").read_text(encoding="utf-8")


def violations(tab: Any) -> list[str]:
    """What axe-core finds, by its own names."""
    tab.evaluate(axe())
    found = tab.evaluate("axe.run()")
    return [f"{each['id']}: {each['nodes'][0]['html']}" for each in found["violations"]]
