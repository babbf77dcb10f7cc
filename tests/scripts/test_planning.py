"""Promises compared with outcomes: one plan, its collection, and the table."""

from pathlib import Path

import numpy as np
import pytest

from scripts.pages import read, write
from scripts.reproduce.datasets import Split
from scripts.reproduce.lpct_design import LABEL, draw
from scripts.reproduce.planning import ONE, Case, key, markdown, outcome, row


def split(seed: int) -> Split:
    rng = np.random.default_rng(seed)
    return Split(draw(40, 1.0, rng), draw(500, 1.0, rng), draw(400, 1.0, rng), LABEL)


def test_a_promise_is_compared_with_what_happened(tmp_path: Path) -> None:
    """The row holds promise and outcome as measured, survives its file, and makes a table."""
    found = outcome(split(0), 2.0, 0)
    assert (found.public, found.private) == (40, 500)
    assert found.plan.holders == 500
    assert 0.4 < found.happened < 0.8
    assert found.uncertain == pytest.approx(np.sqrt(found.happened * (1 - found.happened) / 400))
    both = np.hypot(found.plan.expected.standard_error, found.uncertain)
    away = abs(found.plan.expected.value - found.happened) / both
    assert found.covered == (away <= 1.96)

    means = row(Case("synthetic", ONE, split), 2.0, [found])
    write(tmp_path / "planning.csv", [means])
    (again,) = read(tmp_path / "planning.csv")
    assert key(again) == ("synthetic", ONE, 2.0)
    table = markdown([again])
    assert f"{found.plan.expected.value:.3f} ± {found.plan.expected.standard_error:.3f}" in table
    assert f"{found.happened:.3f} ± 0.000" in table
    assert f"{int(found.covered)} of 1" in table.splitlines()[-1]
