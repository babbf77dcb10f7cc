"""Plant faults in lines that keep a promise of the pages, and see that a test notices each.

``scripts/faults.toml`` has them: the promise, the page that makes it, a piece of code that occurs
once in its file, what it is replaced by, and the tests that notice. The tree that is changed is a
copy of the last commit.

    python -m scripts.plant_faults [WORDS OF A PROMISE]
"""

import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
TABLE = Path(__file__).with_name("faults.toml")
SECONDS, TEST_SECONDS = 300, 120
"""Time for all tests of a fault, and for one: one that waits for ever notices the fault."""
SUCCESS, TESTS_FAILED = 0, 1
"""Exit statuses of pytest."""


@dataclass(frozen=True)
class Fault:
    """A fault, its place, and the tests that should notice it."""

    promise: str
    page: str
    file: str
    code: str
    fault: str
    tests: tuple[str, ...]

    @property
    def stale(self) -> str | None:
        """The reason why the fault cannot be planted any more; None if it can."""
        file = ROOT / self.file
        times = file.read_text(encoding="utf-8").count(self.code) if file.exists() else 0
        missing = [test for test in self.tests if not _is_there(test)]
        if times != 1:
            return f"{self.file} has {self.code.strip()!r} {times} times"
        return f"there is no {missing[0]}" if missing else None

    def noticed(self, tree: Path) -> bool:
        """True if the tests, which pass in ``tree``, fail with the fault."""
        file = tree / self.file
        whole = file.read_text(encoding="utf-8")
        if _status(tree, self.tests) != SUCCESS:
            raise AssertionError(f"{' '.join(self.tests)} fails without a fault")
        file.write_text(whole.replace(self.code, self.fault), encoding="utf-8")
        try:
            return _status(tree, self.tests) == TESTS_FAILED
        finally:
            file.write_text(whole, encoding="utf-8")


def _is_there(test: str) -> bool:
    """True for a file of tests, or for a test or class in one."""
    name, _, rest = test.partition("::")
    wanted = rest.rpartition("::")[2].partition("[")[0]
    file = ROOT / name
    found = (
        re.search(rf"(def|class) {wanted}\b", file.read_text("utf-8")) if file.exists() else None
    )
    return found is not None


def faults() -> Iterator[Fault]:
    """All faults of the table."""
    for fields in tomllib.loads(TABLE.read_text(encoding="utf-8"))["fault"]:
        yield Fault(**{**fields, "tests": tuple(fields["tests"])})


def _status(tree: Path, tests: tuple[str, ...]) -> int:
    """The exit status of pytest, which writes no bytecode: files change within a second."""
    options = ["-q", "-x", "-p", "no:cacheprovider", f"--timeout={TEST_SECONDS}"]
    command = [sys.executable, "-B", "-m", "pytest", *options, *tests]
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        command, cwd=tree, env=environment, capture_output=True, timeout=SECONDS, check=False
    )
    return done.returncode


def main() -> int:
    """Plant the faults whose promises have all given words, one by one; 1 if any goes unnoticed."""
    chosen = [each for each in faults() if all(word in each.promise for word in sys.argv[1:])]
    unnoticed = 0
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, stdout=-1, check=True)
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        for each in chosen:
            outcome = each.stale or ("noticed" if each.noticed(tree) else "UNNOTICED")
            unnoticed += outcome != "noticed"
            print(f"{outcome}: {each.promise}", flush=True)
    print(f"{len(chosen)} faults, {unnoticed} stale or unnoticed")
    return int(unnoticed > 0)


if __name__ == "__main__":
    sys.exit(main())
