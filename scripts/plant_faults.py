"""Plant faults in lines that keep a promise of the docs, and check that a test notices each.

A fault stands above the test that notices it, as ``@keeps`` of ``tests/keeping.py``: the page and
its promise, a file, a piece of code that occurs once in it, and the faulty code. The tree that is
changed is a copy of the last commit.

    python -m scripts.plant_faults [WORDS OF A PROMISE]
"""

import ast
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
SECONDS, TEST_SECONDS = 300, 120
"""Time for all cases of a test, and for one: one that waits for ever notices the fault."""
SUCCESS, TESTS_FAILED = 0, 1
"""Exit statuses of pytest."""


@dataclass(frozen=True)
class Fault:
    """A fault, its place, and the test that should notice it."""

    promise: str
    in_: str
    instead_of: str
    plant: str
    test: str

    def stale(self, tree: Path = ROOT) -> str | None:
        """The reason why the fault cannot be planted any more; None if it can."""
        page, file = self.promise.partition(": ")[0], tree / self.in_
        times = file.read_text(encoding="utf-8").count(self.instead_of) if file.is_file() else 0
        module, *_, name = self.test.split("::")
        if times != 1:
            return f"{self.in_} has {self.instead_of!r} {times} times"
        if not (tree / f"docs/{page}.md").is_file():
            return f"there is no page docs/{page}.md"
        if not (Path(module).name.startswith("test_") and name.startswith("test_")):
            return f"{self.test} is no test"
        return None

    def noticed(self, tree: Path) -> bool:
        """True if the test, which passes in ``tree``, fails with the fault."""
        file = tree / self.in_
        whole = file.read_text(encoding="utf-8")
        if _status(tree, self.test) != SUCCESS:
            raise AssertionError(f"{self.test} fails without a fault")
        file.write_text(whole.replace(self.instead_of, self.plant), encoding="utf-8")
        try:
            return _status(tree, self.test) == TESTS_FAILED
        finally:
            file.write_text(whole, encoding="utf-8")


def faults(tree: Path = ROOT) -> Iterator[Fault]:
    """All faults above tests; raises ``ValueError`` for arguments that are no plain strings."""
    for path in sorted((tree / "tests").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "@keeps(" in text:
            yield from _faults_in(ast.parse(text), path.relative_to(tree).as_posix())


def _faults_in(node: ast.Module | ast.ClassDef, place: str) -> Iterator[Fault]:
    """The faults above the tests of a module or class whose pytest id is ``place``."""
    for part in node.body:
        if isinstance(part, ast.ClassDef):
            yield from _faults_in(part, f"{place}::{part.name}")
        elif isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef):
            for call in part.decorator_list:
                match call:
                    case ast.Call(func=ast.Name("keeps"), args=[promise], keywords=keywords):
                        how = {str(word.arg): ast.literal_eval(word.value) for word in keywords}
                        yield Fault(ast.literal_eval(promise), **how, test=f"{place}::{part.name}")


def _status(tree: Path, test: str) -> int:
    """The exit status of pytest, which writes no bytecode: files change within a second."""
    options = ["-q", "-x", "-p", "no:cacheprovider", f"--timeout={TEST_SECONDS}"]
    command = [sys.executable, "-B", "-m", "pytest", *options, test]
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
            outcome = each.stale() or ("noticed" if each.noticed(tree) else "UNNOTICED")
            unnoticed += outcome != "noticed"
            print(f"{outcome}: {each.promise}", flush=True)
    print(f"{len(chosen)} faults, {unnoticed} stale or unnoticed")
    return int(unnoticed > 0)


if __name__ == "__main__":
    sys.exit(main())
