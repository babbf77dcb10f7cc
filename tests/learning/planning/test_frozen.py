"""Code that moves leaves every figure and sentence of a plan as it was."""

import json

import pytest

from ..frozen import differences
from .frozen import CASES, FILE, document


@pytest.mark.parametrize("name", CASES)
def test_plans_say_what_they_said(name: str) -> None:
    """Where they are meant to change, ``python -m tests.learning.planning.frozen`` writes anew."""
    kept = json.loads(FILE.read_text(encoding="utf-8"))[name]
    assert list(differences(kept, document(CASES[name]))) == []
