"""The kit passes a holder that keeps the protocol, and fails a fault at its clauses alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from privet.conformance.clauses import CLAUSES, Given, Trial, Verdict, judge_all
from privet.conformance.vectors import Vectors
from privet.conformance.wire import Bench, open_bench
from scripts.vectors_archive import write

from .holders import holder, site


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with open_bench() as opened:
        yield opened


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Vectors:
    path = tmp_path_factory.mktemp("vectors") / "vectors.zip"
    write(path)
    return Vectors.read(path)


FAULTS = {
    "ignores the hash": ["task-hash"],
    "answers a bad task": ["task-form"],
    "ignores the signature": ["signature"],
    "spends anything": ["budget"],
    "ignores dates": ["dates"],
    "ignores the server's clock": ["clock"],
    "keeps the invitation": ["invitation"],
    "pads what subset draws": ["report-form"],
    "answers truthfully": ["report-law", "misfit"],
    "sends another category": ["report-law"],
    "is silent on a misfit": ["misfit", "silence"],
    "takes any name": ["names"],
    "refuses what it cannot read": ["silence"],
    "stops at many misfits": ["site-silence"],
    "says so by its exit status": ["site-silence"],
    "redraws for a retry": ["drawn-once", "kept", "conflict"],
    "redraws when run again": ["drawn-once", "kept", "conflict"],
    "redraws at a conflict": ["conflict"],
    "is impatient": ["retry-after"],
    "takes any receipt": ["receipt"],
    "takes held for counted": ["held"],
    "follows redirects": ["redirect"],
    "keeps cookies": ["calls"],
}


def failed(verdicts: list[Verdict]) -> list[str]:
    return [verdict.clause for verdict in verdicts if verdict.kept is False]


@pytest.mark.parametrize(
    "fault", [None, *(pytest.param(fault, marks=pytest.mark.slow) for fault in FAULTS)]
)
def test_a_fault_fails_at_its_clauses_alone(
    bench: Bench, vectors: Vectors, tmp_path: Path, fault: str | None
) -> None:
    """Of a right holder each statistical clause fails with a probability of a millionth."""

    def run(given: Given) -> int:
        return holder(given, *([] if fault is None else [fault]))

    def run_site(given: Given, records: Path) -> int:
        return site(given, records, *([] if fault is None else [fault]))

    bench.wire.scenes.clear()
    trial = Trial(bench, run, tmp_path, reports=40, vectors=vectors, site=run_site)
    verdicts = judge_all(trial)
    assert failed(verdicts) == ([] if fault is None else FAULTS[fault])


def test_every_clause_is_failed_by_some_fault() -> None:
    """But for the vectors', which a program draws that takes its random bytes from the kit."""
    assert {clause for clauses in FAULTS.values() for clause in clauses} == set(CLAUSES) - {
        "vectors"
    }
