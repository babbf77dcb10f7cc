"""The load test's part of docs/performance.md: one marked section per kind of run.

The rest of that page is written by ``python -m bench --write-docs``, which keeps these sections.
"""

import re
from pathlib import Path

HEADING = """## Load test

Written by `make load ARGS="... --write-docs"`: simulated holders, each with a record and random
bytes of its own, in worker processes that privatize first; then a curator, a relay where there is
one, and the sender share the machine. The accuracies are those of the model that the curator
fits to the reports it counted, and of the same model from exact simulations of as many holders.
"""
SECTION = re.compile(r"<!-- load: (?P<name>[\w-]+) -->\n.*?<!-- end of load -->\n", re.DOTALL)


def write_section(page: Path, name: str, text: str) -> None:
    """Put a run's table in its place on the page, or at its end if it has none yet."""
    whole = page.read_text(encoding="utf-8")
    kept = sections(whole)
    kept[name] = f"<!-- load: {name} -->\n{text.rstrip()}\n<!-- end of load -->\n"
    page.write_text(with_sections(without_sections(whole), kept), encoding="utf-8")


def sections(page: str) -> dict[str, str]:
    """The marked sections of a page by name."""
    return {match["name"]: match[0] for match in SECTION.finditer(page)}


def without_sections(page: str) -> str:
    """The page up to the load test's heading."""
    return page.partition(HEADING.splitlines()[0] + "\n")[0].rstrip() + "\n"


def with_sections(page: str, kept: dict[str, str]) -> str:
    """The page with these sections at its end."""
    if not kept:
        return page
    return "\n".join([page, HEADING, *(kept[name] for name in sorted(kept))])
