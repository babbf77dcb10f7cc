"""``privet conformance`` as a user calls it, on the two holders of this project and on none."""

import json
import sys
from pathlib import Path

import pytest

from privet.curator.cli import main
from privet.curator.conformance.clauses import CLAUSES
from scripts.vectors_archive import write

ROOT = Path(__file__).parents[3]
HOLDER = f"{sys.executable} -m privet.client answer {{url}} --record - --yes --ledger {{state}}"
SCRIPT = f"node {ROOT / 'scripts' / 'holder.js'}"


ITS_OWN_TESTS = {"task-form", "report-law", "misfit", "vectors"}
"""Clauses of many runs, to which its tests hold the holder in Python without a new process each."""


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "vectors.zip"
    write(path)
    return path


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_holder_in_python_passes(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """All clauses but those that its own tests hold it to."""
    monkeypatch.chdir(ROOT)
    clauses = [name for name in CLAUSES if name not in ITS_OWN_TESTS]
    asked = ["conformance", "--holder", HOLDER, *(f"--clause={name}" for name in clauses)]
    assert main([*asked, "--json"]) == 0
    verdicts = json.loads(capfd.readouterr().out)
    assert [(v["clause"], v["kept"]) for v in verdicts] == [(name, True) for name in clauses]


@pytest.mark.needs("node")
@pytest.mark.timeout(900)
def test_the_holder_in_javascript_passes(archive: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Every clause, and every report of the vectors."""
    asked = ["conformance", "--holder", SCRIPT, "--vectors", str(archive), "--reports", "20"]
    assert main([*asked, "--draw", f"{SCRIPT} --draw"]) == 0
    assert f"{len(CLAUSES)} pass, 0 fail, 0 not tried" in capfd.readouterr().out


def test_a_program_that_sends_nothing_fails(capfd: pytest.CaptureFixture[str]) -> None:
    """Shown as failed, with what was found; what needs more than was given is not tried."""
    clauses = [f"--clause={name}" for name in ("task-hash", "receipt", "task-form")]
    holder = f"{sys.executable} -c 'raise SystemExit(1)'"
    assert main(["conformance", "--holder", holder, *clauses]) == 1
    shown = capfd.readouterr().out
    assert "sent no report" in shown
    assert "needs --vectors" in shown
    assert "1 pass, 1 fail, 1 not tried" in shown


def test_what_cannot_be_tried_is_said(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["conformance", "--holder", "true", "--clause", "nothing"]) == 1
    assert "There is no clause 'nothing'" in capfd.readouterr().err
    assert main(["conformance", "--holder", "no-such-program", "--clause", "task-hash"]) == 1
    assert "cannot be run" in capfd.readouterr().err
    assert main(["conformance", "--holder", " ", "--clause", "task-hash"]) == 1
    assert "Give the command" in capfd.readouterr().err
