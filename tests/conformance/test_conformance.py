"""The kit passes a holder that keeps the protocol, and fails a fault at its clauses alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from privet.conformance.clauses import CLAUSES, Trial, Verdict, judge_all
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
    "answers a bad task": ["task-form", "task-size"],
    "asks once for a task": ["fetch"],
    "keeps what it has not drawn": ["fetch"],
    "ignores the signature": ["signature"],
    "spends anything": ["budget"],
    "knows no year": ["year"],
    "ignores dates": ["dates", "turns"],
    "knows no lifetime": ["turns"],
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
    "says that all is well": ["site-status"],
    "redraws for a retry": ["turns", "drawn-once", "kept", "held", "refused", "conflict"],
    "redraws when run again": ["turns", "drawn-once", "kept", "held", "refused", "conflict"],
    "redraws at a conflict": ["refused", "conflict"],
    "takes a refusal for kept": ["refused"],
    "is impatient": ["retry-after"],
    "takes any receipt": ["receipt"],
    "takes held for counted": ["held"],
    "follows redirects": ["redirect"],
    "keeps cookies": ["calls"],
}


APART = (
    ("ignores the hash", "ignores dates", "keeps the invitation", "is impatient", "takes any name"),
    ("ignores the signature", "spends anything", "knows no year", "takes any receipt"),
    (
        "knows no lifetime",
        "ignores the server's clock",
        "pads what subset draws",
        "takes held for counted",
    ),
    ("answers a bad task", "takes a refusal for kept", "stops at many misfits", "keeps cookies"),
    (
        "asks once for a task",
        "sends another category",
        "follows redirects",
        "says that all is well",
    ),
    ("keeps what it has not drawn", "refuses what it cannot read", "redraws at a conflict"),
    ("answers truthfully", "says so by its exit status"),
    ("is silent on a misfit",),
    ("redraws for a retry",),
    ("redraws when run again",),
)
"""All faults, in holders that have some whose clauses are different ones."""


def failed(verdicts: list[Verdict]) -> list[str]:
    return [verdict.clause for verdict in verdicts if verdict.kept is False]


@pytest.mark.quick("no fault")
@pytest.mark.parametrize("faults", [(), *APART], ids=lambda faults: ", ".join(faults) or "no fault")
def test_a_fault_fails_at_its_clauses_alone(
    bench: Bench, vectors: Vectors, tmp_path: Path, faults: tuple[str, ...]
) -> None:
    """Of a right holder each statistical clause fails with a probability of a millionth."""
    bench.wire.scenes.clear()
    trial = Trial(
        bench,
        lambda given: holder(given, *faults),
        tmp_path,
        reports=40 if faults else 15,
        vectors=vectors,
        site=lambda given, records: site(given, records, *faults),
    )
    expected = sorted(clause for fault in faults for clause in FAULTS[fault])
    assert sorted(failed(judge_all(trial))) == expected
    assert len(set(expected)) == len(expected)


def test_every_fault_is_planted_once() -> None:
    assert sorted(fault for faults in APART for fault in faults) == sorted(FAULTS)


def test_every_clause_is_failed_by_some_fault() -> None:
    """But for the vectors', which a program draws that takes its random bytes from the kit."""
    assert {clause for clauses in FAULTS.values() for clause in clauses} == set(CLAUSES) - {
        "vectors"
    }
