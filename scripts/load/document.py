"""The load test's part of docs/performance.md: one marked section per kind of run.

The rest of that page is written by ``python -m bench --write-docs``, which keeps these sections.
"""

import re
from pathlib import Path

HEADING = """## Load test

Each table is written by one command, which ends with status 1 if a report was lost or counted
twice:

```
make load ARGS="--write-docs"
make load ARGS="--through-relay --holders 100000 --write-docs"
make load ARGS="--mode relay --holders 10000000 --write-docs"
make load ARGS="--mode relay --through-relay --holders 10000000 --write-docs"
```

Simulated holders, each with a record, an id and random bytes of the operating system of its own,
privatize in worker processes first. The arithmetic is done on columns of 512 holders, bit for bit
what the holder's own code gives for the same random bytes (`tests/scripts/test_load_holders.py`).
Then the sender, the curator, and the relay where there is one, share the machine. The ids that were
sent are held against the curator's checksum. Accuracies are those of the model that the curator
fits to what it counted, and of the same model from exact simulations of as many other holders.
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
