"""The published vectors hold, and are what the script writes."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet.protocol.mechanisms import MECHANISMS, create_mechanism
from scripts.make_vectors import FOLDER, vectors
from tests.protocol.mechanisms.laws import as_array, replay


def test_every_mechanism_has_vectors() -> None:
    """There is one file per mechanism and no other."""
    assert sorted(path.stem for path in Path(FOLDER).glob("*.json")) == sorted(MECHANISMS)


CASES = [
    pytest.param(path.stem, vector, id=f"{path.stem}-{place}")
    for path in sorted(Path(FOLDER).glob("*.json"))
    for place, vector in enumerate(json.loads(path.read_text())["vectors"])
]


@pytest.mark.parametrize(("name", "vector"), CASES)
def test_vectors_are_read_as_holders_and_curators_do(name: str, vector: dict[str, Any]) -> None:
    """Randomness gives the payload and is used up; payloads are valid, or invalid for a reason."""
    question = {key: vector[key] for key in ("epsilon", "cells", "slots", "regression")}
    mechanism = create_mechanism(
        name, **question, parameters=vector["parameters"], shown=vector.get("shown", ())
    )
    for report in vector["reports"]:
        source = replay([bytes.fromhex(report["randomness"])])
        assert mechanism.privatize(report["category"], source).hex() == report["payload"]
        with pytest.raises(AssertionError, match="more randomness"):
            source(1)
    payloads = [bytes.fromhex(report["payload"]) for report in vector["reports"]]
    assert mechanism.valid(as_array(mechanism, payloads)).all()
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
