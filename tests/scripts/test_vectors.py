"""The published vectors and examples are what the scripts write: nobody edits them by hand."""

import json

import numpy as np
import pytest

from privet.protocol.mechanisms import MECHANISMS
from scripts import make_message_vectors, make_vectors
from tests.protocol.test_docs import TEXT


def test_messages() -> None:
    """Every file, and no other."""
    built = json.loads(json.dumps(make_message_vectors.build()))
    folder = make_message_vectors.FOLDER
    assert {path.name: json.loads(path.read_bytes()) for path in folder.iterdir()} == built


def test_signatures() -> None:
    """Good ones and bad ones."""
    written = json.loads(make_message_vectors.SIGNATURES.read_bytes())
    assert written == make_message_vectors.signatures()


@pytest.mark.parametrize("name", MECHANISMS)
def test_mechanisms(name: str) -> None:
    """Estimates may differ by rounding."""
    written = json.loads((make_vectors.FOLDER / f"{name}.json").read_text())
    fresh = json.loads(json.dumps(make_vectors.vectors(name)))
    for one, other in zip(written.pop("vectors"), fresh.pop("vectors"), strict=True):
        if "estimate" in one:
            np.testing.assert_allclose(
                one.pop("estimate"), other.pop("estimate"), rtol=1e-9, atol=1e-9
            )
        assert one == other
    assert written == fresh


def test_examples() -> None:
    """Of every message and of every mechanism, byte by byte."""
    assert make_message_vectors.example() in TEXT
    assert make_vectors.examples() in make_vectors.PAGE.read_text(encoding="utf-8")
