"""A pytest plugin: what tests need besides Python, and what a run left out.

A test marked ``needs("node")`` belongs to `make test-all`, and is skipped where the program is not
installed. Of a test marked ``quick("cart-*")`` only those cases belong to `make test`. The run ends
with one block that says what was left out and how to run it.
"""

import functools
import re
import shutil
import subprocess
from collections import Counter, defaultdict
from fnmatch import filter as filter_names
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.watched import namespace

PACKAGES = {
    "Rscript": "r-base-core r-cran-httr2 r-cran-jsonlite r-cran-knitr",
    "chromium": "chromium",
    "curl": "curl",
    "docker": "docker.io",
    "docker compose": "docker.io docker-compose",
    "git": "git",
    "ip": "iproute2",
    "kubectl": "kubernetes-client",
    "make": "make",
    "nginx": "nginx-light libnginx-mod-stream",
    "node": "nodejs",
    "npm": "npm",
    "openssl": "openssl",
    "pgbouncer": "pgbouncer",
    "prometheus": "prometheus",
    "prometheus-alertmanager": "prometheus-alertmanager",
    "promtool": "prometheus",
    "systemd-analyze": "systemd",
    "unshare": "util-linux",
}
"""The programs that tests may need, and the packages of Debian 13 that have them; those of 12 have
an older Compose, which is missed still."""
OLDEST_NODE = 18
LEFT = pytest.StashKey[int]()


@functools.cache
def missing(program: str) -> bool:
    """True if the program is not installed, or cannot do what tests ask of it."""
    path = shutil.which(program.split(maxsplit=1)[0])
    if path is None:
        return True
    asked = {
        "docker": ["info"],
        "docker compose": ["compose", "version"],
        "unshare": [*namespace()[1:], "true"],
    }.get(program)
    if asked:
        return subprocess.run([path, *asked], capture_output=True, check=False).returncode != 0
    if program == "nginx":
        return not Path("/usr/share/nginx/modules/ngx_stream_module.so").exists()
    if program == "Rscript":
        code = "library(httr2); library(jsonlite); library(knitr)"
        return subprocess.run([path, "-e", code], capture_output=True, check=False).returncode != 0
    if program == "node":
        said = subprocess.run([path, "--version"], capture_output=True, text=True, check=True)
        return int(said.stdout.removeprefix("v").split(".")[0]) < OLDEST_NODE
    return False


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what makes a run fail that left out more than is known."""
    parser.addoption(
        "--may-skip", metavar="REASON", help="fail unless every skip's reason matches this pattern"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave what needs programs to `make test-all`, and skip it where they are missing."""
    leave_all_but_the_quick(items)
    for item in items:
        programs = [str(name) for mark in item.iter_markers("needs") for name in mark.args]
        if programs:
            item.add_marker("slow")
        if unknown := set(programs) - PACKAGES.keys():
            raise pytest.UsageError(f"{item.nodeid} needs {unknown}, which no package here has")
        for program in programs if config.getoption("markexpr") != "not slow" else ():
            unavailable = pytest.mark.skipif(missing(program), reason=f"needs {program}")
            item.add_marker(unavailable)


def leave_all_but_the_quick(items: list[pytest.Item]) -> None:
    """Mark as slow what a test's ``quick`` does not name; each name must be a case's."""
    cases: dict[str, list[str]] = defaultdict(list)
    chosen: dict[str, tuple[str, ...]] = {}
    for item in items:
        for mark in item.iter_markers("quick"):
            test, _, case = item.nodeid.partition("[")
            cases[test].append(case.removesuffix("]"))
            chosen[test] = mark.args
            if not any(fnmatch(cases[test][-1], pattern) for pattern in mark.args):
                item.add_marker("slow")
    for test, found in cases.items():
        unmatched = [pattern for pattern in chosen[test] if not filter_names(found, pattern)]
        # who names a case on the command line collects no others
        if len(found) > 1 and unmatched:
            raise pytest.UsageError(f"{test} has no cases {unmatched}")


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Count what the choice of marks leaves to the other target."""
    if items:
        stash = items[0].config.stash
        stash[LEFT] = stash.get(LEFT, 0) + len(items)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tell the count to the process that reports; there, fail for what may not be skipped."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left"] = session.config.stash.get(LEFT, 0)
    elif unexpected(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def unexpected(config: pytest.Config) -> list[str]:
    """Reasons of skips that ``--may-skip`` does not know."""
    allowed = config.getoption("may_skip")
    if allowed is None:
        return []
    return [reason for reason in reasons(config) if not re.fullmatch(allowed, reason)]


def reasons(config: pytest.Config) -> list[str]:
    """Why tests were skipped."""
    stats = config.pluginmanager.getplugin("terminalreporter").stats
    return [report.longrepr[2].removeprefix("Skipped: ") for report in stats.get("skipped", [])]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    """Every worker selects from all tests: any one's count is the run's."""
    stash = node.config.stash  # type: ignore[attr-defined]
    stash[LEFT] = getattr(node, "workeroutput", {}).get("left", 0)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """What this run left out, and the command that runs it."""
    why = reasons(config)
    wanting = Counter(found[1] for reason in why if (found := re.search("needs (.+)", reason)))
    other = {"not slow": "test-all", "slow": "test"}.get(config.getoption("markexpr"))
    if not (wanting or other):
        return
    terminalreporter.section("left out")
    if other:
        left = config.stash.get(LEFT, 0)
        terminalreporter.write_line(f"Left to others: {left}; `make {other}` runs them.")
    for program, count in wanting.most_common():
        terminalreporter.write_line(f"Skipped for want of {program}: {count}.")
    packages = " ".join(
        sorted({word for program in wanting for word in PACKAGES.get(program, "").split()})
    )
    if packages:
        terminalreporter.write_line(f"`apt-get install {packages}` lets `make test-all` run them.")
    for reason in unexpected(config):
        terminalreporter.write_line(f"Failed, since this was skipped: {reason}.")
