"""The published vectors of mechanisms hold."""

import json
from typing import Any

import pytest

from privet.protocol.mechanisms import MECHANISMS, create_mechanism
from tests.keeping import keeps
from tests.protocol.mechanisms.laws import as_array, replay
from tests.protocol.vectors import VECTORS

FOLDER = VECTORS / "mechanisms"


def test_every_mechanism_has_vectors() -> None:
    """There is one file per mechanism and no other."""
    assert sorted(path.stem for path in FOLDER.glob("*.json")) == sorted(MECHANISMS)


CASES = [
    pytest.param(path.stem, vector, id=f"{path.stem}-{place}")
    for path in sorted(FOLDER.glob("*.json"))
    for place, vector in enumerate(json.loads(path.read_text())["vectors"])
]


@keeps(
    "privacy: subset: indices increase",
    in_="protocol/mechanisms/subset.py",
    instead_of='sort(np.array(chosen, dtype=f"<u{self._width}"))',
    plant='array(chosen, dtype=f"<u{self._width}")',
)
@keeps(
    "privacy: subset: both outcomes are computed",
    in_="protocol/mechanisms/subset.py",
    instead_of="chosen[-1] = (chosen[-1], category)",
    plant="chosen[0] = (chosen[0], category)",
)
@pytest.mark.parametrize(("name", "vector"), CASES)
def test_vectors_are_read_as_holders_and_curators_do(name: str, vector: dict[str, Any]) -> None:
    """Randomness gives the payload and is used up; payloads are valid, or invalid for a reason."""
    question = {key: vector[key] for key in ("epsilon", "cells", "slots", "regression")}
    mechanism = create_mechanism(
        name, **question, parameters=vector["parameters"], strata=vector.get("strata", ())
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
