"""What public rows say of equal records: remembered there, and nowhere else."""

import numpy as np
import pytest

from privet.learning.core.public_model import BaseModel
from privet.learning.public_model.own_rows import MOST_ROWS, PRIOR, TOLERANCE, agreement, remembered
from privet.learning.public_model.stacking import constant, stacked

ROWS = 60


def some_rows(columns: int = 5) -> np.ndarray:
    """Rows of which ten come twice, in coarse and continuous columns, with zeros and ones."""
    rng = np.random.default_rng(0)
    X = rng.random((ROWS, columns))
    X[:, 0] = rng.integers(2, size=ROWS)
    X[:, 1] = np.round(X[:, 1], 1)
    X[-10:] = X[:10]
    return X.astype(np.float32).astype(float)


@pytest.mark.parametrize("columns", [5, 40])
@pytest.mark.parametrize("r", [0.2, 1.0])
def test_labels_are_remembered_at_their_rows_and_nowhere_else(columns: int, r: float) -> None:
    """A row goes r of the way from the stack to the mean label of its equals."""
    X = some_rows(columns)
    y = np.random.default_rng(1).random((ROWS, 3))
    stack = constant((np.arange(ROWS) % 3).astype(np.float64), columns, 3)
    tree = remembered(X, y, stack, r)
    assert tree is not None
    model = BaseModel("", (*stack.components, tree), (1.0, 1.0))
    before = stack.predict(X)
    mean = y.copy()
    mean[:10] = mean[-10:] = (y[:10] + y[-10:]) / 2.0
    np.testing.assert_allclose(model.predict(X), before + r * (mean - before), atol=1e-6)
    other = X.copy()
    other[np.arange(ROWS), columns - 1 - np.arange(ROWS) % 3] += 3.0 * TOLERANCE
    np.testing.assert_array_equal(tree.predict(other.astype(np.float32)), 0.0)


def test_agreement_is_how_far_labels_of_equal_rows_should_be_followed() -> None:
    """Labels of pairs have .8 of their variance in common, which predictions know nothing of.

    Or all of it, but for the noise. Without pairs it is the prior's.
    """
    rng = np.random.default_rng(2)
    X = rng.random((2000, 2))
    common, *own = rng.standard_normal((3, 2000, 2))
    pairs = np.vstack([np.sqrt(0.8) * common + np.sqrt(0.2) * each for each in own])
    twice, nothing = np.vstack([X, X]), np.zeros((4000, 2))
    assert agreement(twice, pairs, nothing) == pytest.approx(0.8, abs=0.06)
    assert agreement(twice, pairs, np.sqrt(0.8) * np.vstack([common, common])) < 0.08
    assert agreement(X, common, nothing[:2000]) == PRIOR
    assert agreement(X, common, common) == 0.0


def test_a_stack_knows_holders_who_are_its_public_rows() -> None:
    """Labels that follow from no column: right at public rows, and at others unsure."""
    rng = np.random.default_rng(3)
    X, y = rng.random((80, 4)), rng.integers(2, size=80).astype(float)
    model = stacked(X, y, 2)
    assert model.name.endswith("own rows")
    found = model.predict(X)
    assert (found.argmax(axis=1) == y).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-5)
    assert ((found >= 0.0) & (found <= 1.0)).all()
    assert np.abs(model.predict(rng.random((500, 4)))[:, 1] - 0.5).mean() < 0.2


def test_of_many_rows_none_are_remembered() -> None:
    """Their tree would be large, and holders seldom have them."""
    X = np.random.default_rng(4).random((MOST_ROWS + 1, 2))
    y = np.zeros((len(X), 1))
    assert remembered(X, y, constant(y[:, 0], 2, 0), PRIOR) is None
    assert remembered(X[:50], y[:50], constant(y[:, 0], 2, 0), 0.0) is None
