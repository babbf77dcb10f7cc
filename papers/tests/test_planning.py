"""What a plan expects, compared with what happens."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from privet.learning.core.public_data import PublicData
from reproduce import ours
from reproduce.datasets import Split
from reproduce.lpct_design import LABEL, draw, eta
from tests.small_models import small_public_models

__all__ = ["small_public_models"]

PUBLIC, PRIVATE, TEST = (draw(n, 1.0, np.random.default_rng(n)) for n in (40, 500, 400))
SPLIT = Split(PUBLIC, PRIVATE, TEST, LABEL)


@pytest.mark.parametrize(("expected", "covered"), [(0.57, 1.0), (0.58, 0.0), (0.42, 0.0)])
def test_a_plan_is_covered_within_the_errors_of_both(
    expected: float, covered: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1.96 hypot(.03, .025) = .077 from .5, where half of 400 test records are predicted right."""
    split = replace(SPLIT, test=PublicData(TEST.X, np.arange(400.0) % 2.0))
    plan = SimpleNamespace(expected=SimpleNamespace(value=expected, standard_error=0.03))
    model = SimpleNamespace(predict_proba=lambda X: np.tile([0.9, 0.1], (len(X), 1)))
    monkeypatch.setattr(ours, "plan", lambda *_, **__: plan)
    monkeypatch.setattr(ours, "fitted", lambda *_: model)
    scored = {name: scores["score"] for name, _, scores in ours.planned(split, 2.0, 0)}
    assert (scored["happened"], scored["covered"]) == (0.5, covered)


def test_known_laws_draw_the_test_labels() -> None:
    """The best guess loses what Bayes' rule does, within 5 standard errors (1e-6)."""
    X = np.random.default_rng(1).random((20_000, 2))
    chance = eta(X)
    of_law = replace(SPLIT, test=PublicData(X, np.zeros(len(X))), chance=chance)
    lost = ours.losses(np.column_stack([1 - chance, chance]), of_law, 0)
    least = np.minimum(chance, 1 - chance).mean()
    assert lost.mean() == pytest.approx(least, abs=5 * np.sqrt(0.25 / len(X)))
