"""A pytest plugin: other orders than that of the files, since no test may depend on those before.

``--order 17`` draws one, the same with every worker. Each file comes in two parts with others
between them, so that what it sets up for itself is set up twice. ``--order reverse`` begins with
the last test. ``--twice`` runs all tests and then all again, in one process. Otherwise those come
first that have more time than others, so that none of them begins when all else is done; then those
that start most processes: workers that are done take from the end of what others have, so that one
worker keeps what it has started.
"""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from random import Random

import pytest

FIRST = {"curator", "end_to_end", "relay", "scripts"}
"""The folders whose tests start most processes."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what to do with the order."""
    group = parser.getgroup("order")
    group.addoption("--order", metavar="SEED", help="a number to draw it with, or: reverse")
    group.addoption("--twice", action="store_true", help="all tests, and then all again")


def pytest_report_header(config: pytest.Config) -> list[str]:
    """The order, so that a failure can be repeated."""
    order = config.getoption("order")
    return [f"order: {order}"] if order else []


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """The order once more at the end of a run that failed."""
    order = config.getoption("order")
    if order and {"failed", "error"} & terminalreporter.stats.keys():
        terminalreporter.write_line(f"In the order of --order {order}.")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the chosen tests into the order that was asked for."""
    order = config.getoption("order")
    if order == "reverse":
        items.reverse()
    elif order:
        items[:] = drawn(items, order)
    else:
        items.sort(key=lambda item: (-seconds_given(item), FIRST.isdisjoint(item.path.parts)))
    if config.getoption("twice"):
        if hasattr(config, "workerinput"):
            raise pytest.UsageError("--twice is for one process: add -p no:xdist")
        items += items


def seconds_given(item: pytest.Item) -> float:
    """The seconds that a test's own mark gives it, or 0."""
    mark = item.get_closest_marker("timeout")
    return float(mark.args[0]) if mark else 0.0


def drawn(items: Iterable[pytest.Item], seed: str) -> list[pytest.Item]:
    """Files' halves in a random order, and the tests of each half in another."""
    random = Random(seed)
    halves: dict[tuple[Path, bool], list[pytest.Item]] = defaultdict(list)
    for item in items:
        halves[item.path, random.random() < 1 / 2].append(item)
    groups = list(halves.values())
    random.shuffle(groups)
    for group in groups:
        random.shuffle(group)
    return [item for group in groups for item in group]
