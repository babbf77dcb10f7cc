"""``privet-conformance`` as a user calls it, on the two holders of this project and on none."""

import shutil
import sys
import tarfile
from pathlib import Path

import pytest

from privet.conformance.clauses import CLAUSES, Trial, judge_all
from privet.conformance.wire import open_bench
from scripts import holder_package
from scripts.vectors_archive import write
from tests.curator.cli.conftest import Cli

from .forked import forked_holders

ROOT = Path(__file__).parents[2]
HOLDER = f"{sys.executable} -m privet.client answer {{url}} --record - --yes --ledger {{state}}"
SITE = (
    f"{sys.executable} -m privet.client answer {{url}} --csv {{records}} --subject-column subject "
    "--yes --ledger {state}"
)
ITS_OWN_TESTS = {"task-form", "report-law", "misfit", "vectors"}
"""Clauses of many runs, to which its tests hold the holder in Python without a new process each."""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_holder_in_python_passes(tmp_path: Path) -> None:
    """All clauses but those that its own tests hold it to."""
    with forked_holders() as (holder, site), open_bench() as bench:
        trial = Trial(bench, holder, tmp_path, site=site)
        verdicts = judge_all(trial, [name for name in CLAUSES if name not in ITS_OWN_TESTS])
    assert [v.clause for v in verdicts if v.kept is not True] == []
    assert len(verdicts) == len(CLAUSES) - len(ITS_OWN_TESTS)


@pytest.mark.slow
def test_the_command_for_the_holder_in_python(run: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """One clause by the command that docs/conformance.md gives."""
    monkeypatch.chdir(ROOT)
    verdicts = run.json(
        "--holder", HOLDER, "--site", SITE, "--clause=task-hash", "--clause=site-status"
    )
    assert [(v["clause"], v["kept"]) for v in verdicts] == [
        ("task-hash", True),
        ("site-status", True),
    ]


@pytest.mark.needs("node", "npm")
@pytest.mark.timeout(900)
def test_the_holder_in_javascript_passes(run: Cli, tmp_path: Path) -> None:
    """The packed package: every clause, and every report of the vectors."""
    tools = tmp_path / "tools"
    tools.mkdir()
    holder_package.install(tools)
    with tarfile.open(holder_package.pack(tools, tmp_path)) as archive:
        archive.extractall(tmp_path, filter="data")
    place = tmp_path / "node_modules" / "@privet" / "holder"
    place.parent.mkdir(parents=True)
    (tmp_path / "package").rename(place)
    shutil.copy(ROOT / "holder-js" / "conformance.js", tmp_path / "conformance.mjs")
    script = f"node {tmp_path / 'conformance.mjs'}"
    write(tmp_path / "vectors.zip")
    given = ("--vectors", str(tmp_path / "vectors.zip"), "--draw", f"{script} --draw")
    tried = run("--holder", script, *given, "--reports", "20")
    assert tried.code == 0
    site = sum("site" in clause.needs for clause in CLAUSES.values())  # it answers for none
    assert f"{len(CLAUSES) - site} pass, 0 fail, {site} not tried" in tried.out


def test_a_program_that_sends_nothing_fails(run: Cli) -> None:
    """Shown as failed, with what was found; what needs more than was given is not tried."""
    clauses = [f"--clause={name}" for name in ("task-hash", "receipt", "task-form")]
    holder = f"{sys.executable} -c 'raise SystemExit(1)'"
    tried = run("--holder", holder, *clauses)
    assert tried.code == 1
    for words in ("sent no report", "needs --vectors", "1 pass, 1 fail, 1 not tried"):
        assert words in tried.out


def test_what_cannot_be_tried_is_said(run: Cli) -> None:
    for holder, clause, said in (
        ("true", "nothing", "There is no clause 'nothing'"),
        ("no-such-program", "task-hash", "cannot be run"),
        (" ", "task-hash", "Give the command"),
    ):
        refused = run("--holder", holder, "--clause", clause)
        assert refused.code == 1
        assert said in refused.err
