"""Code that moves leaves every figure and sentence as it was."""

import pytest

from .frozen import CASES, differences, read, results_of


@pytest.mark.parametrize("name", CASES)
def test_frozen_counts_give_the_figures_and_sentences_that_they_gave(name: str) -> None:
    """Where they are meant to change, ``python -m tests.learning.frozen`` writes them anew."""
    kept = read()[name]
    assert list(differences(kept["results"], results_of(CASES[name], kept))) == []
