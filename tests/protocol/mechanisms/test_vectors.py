"""The published vectors hold, and are what the script writes."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet.protocol.mechanisms import MECHANISMS, Mechanism, create_mechanism
from scripts.make_vectors import FOLDER, vectors
from tests.protocol.mechanisms.laws import as_array

CASES = [
    pytest.param(path.stem, vector, id=f"{path.stem}-{place}")
    for path in sorted(Path(FOLDER).glob("*.json"))
    for place, vector in enumerate(json.loads(path.read_text())["vectors"])
]
cases = pytest.mark.parametrize(("name", "vector"), CASES)


def build(name: str, vector: dict[str, Any]) -> Mechanism:
    return create_mechanism(
        name,
        vector["epsilon"],
        vector["cells"],
        vector["slots"],
        vector["parameters"],
        regression=vector["regression"],
    )


@cases
def test_parameters_follow_from_the_question(name: str, vector: dict[str, Any]) -> None:
    """Where the task states none, the rules for default parameters give those of the vector."""
    stated = {} if vector.get("defaults", True) else vector["parameters"]
    assert build(name, {**vector, "parameters": stated}).parameters() == vector["parameters"]


def test_every_mechanism_has_vectors() -> None:
    """There is one file per mechanism and no other."""
    assert sorted(path.stem for path in Path(FOLDER).glob("*.json")) == sorted(MECHANISMS)


@cases
def test_randomness_gives_the_payload(name: str, vector: dict[str, Any]) -> None:
    """Each report's randomness gives its payload and is used up."""
    mechanism = build(name, vector)
    assert mechanism.levels == vector["levels"]
    for report in vector["reports"]:
        source = io.BytesIO(bytes.fromhex(report["randomness"]))
        assert mechanism.privatize(report["category"], source.read).hex() == report["payload"]
        assert source.read() == b""


@cases
def test_payloads_give_the_estimate(name: str, vector: dict[str, Any]) -> None:
    """The payloads are valid and add up to the sums, which give the estimate."""
    mechanism = build(name, vector)
    rows = as_array(mechanism, [bytes.fromhex(r["payload"]) for r in vector["reports"]])
    assert mechanism.valid(rows).all()
    if "sums" in vector:
        sums = mechanism.accumulate(rows)
        assert sums.tolist() == vector["sums"]
        np.testing.assert_allclose(
            mechanism.estimate(sums, vector["n"]), vector["estimate"], rtol=1e-9, atol=1e-9
        )
        misfits = pytest.approx(vector["misfits"], rel=1e-9, abs=1e-9)
        assert mechanism.misfits(sums, vector["n"]) == misfits


@cases
def test_invalid_payloads_are_refused(name: str, vector: dict[str, Any]) -> None:
    """Each invalid payload is refused with the recorded reason."""
    mechanism = build(name, vector)
    assert vector["invalid"]
    for bad in vector["invalid"]:
        payload = bytes.fromhex(bad["payload"])
        assert mechanism.fault(payload) == bad["fault"]
        if len(payload) == mechanism.report_bytes:
            assert not mechanism.valid(as_array(mechanism, [payload]))[0]


@pytest.mark.parametrize("name", MECHANISMS)
def test_files_are_what_the_script_writes(name: str) -> None:
    """Nobody changed a file by hand; the estimates may differ by rounding."""
    written = json.loads((FOLDER / f"{name}.json").read_text())
    fresh = json.loads(json.dumps(vectors(name)))
    for one, other in zip(written.pop("vectors"), fresh.pop("vectors"), strict=True):
        if "estimate" in one:
            np.testing.assert_allclose(
                one.pop("estimate"), other.pop("estimate"), rtol=1e-9, atol=1e-9
            )
        assert one == other
    assert written == fresh
