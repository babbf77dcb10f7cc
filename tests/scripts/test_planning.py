"""What a plan expects, compared with what happens: one plan and its collection."""

from dataclasses import replace

import numpy as np
import pytest

from privet.learning.public_data import PublicData
from scripts.reproduce.datasets import Split
from scripts.reproduce.lpct_design import LABEL, draw, eta
from scripts.reproduce.ours import losses, planned


def split(seed: int) -> Split:
    rng = np.random.default_rng(seed)
    return Split(draw(40, 1.0, rng), draw(500, 1.0, rng), draw(400, 1.0, rng), LABEL)


@pytest.mark.slow
def test_a_plan_is_compared_with_what_happened() -> None:
    """It is covered if it and the outcome agree within 1.96 standard errors of both."""
    scored = {name: scores["score"] for name, _, scores in planned(split(0), 2.0, 0)}
    assert 0.4 < scored["happened"] < 0.8
    uncertain = np.sqrt(scored["happened"] * (1 - scored["happened"]) / 400)
    away = abs(scored["expected"] - scored["happened"]) / np.hypot(
        scored["stated error"], uncertain
    )
    assert scored["covered"] == (away <= 1.96)


def test_known_laws_draw_the_test_labels() -> None:
    """The best guess loses what Bayes' rule does, within 5 standard errors (1e-6)."""
    X = np.random.default_rng(1).random((20_000, 2))
    chance = eta(X)
    of_law = replace(split(0), test=PublicData(X, np.zeros(len(X))), chance=chance)
    lost = losses(np.column_stack([1 - chance, chance]), of_law, 0)
    least = np.minimum(chance, 1 - chance).mean()
    assert lost.mean() == pytest.approx(least, abs=5 * np.sqrt(0.25 / len(X)))
