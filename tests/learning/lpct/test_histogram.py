"""Private histograms, and LPDT's ratio."""

import numpy as np
import pytest

from privet.learning.core.counts import QuestionCounts
from privet.learning.core.trees import locate
from privet.learning.methods import fit
from privet.learning.simulation import simulate_question, simulate_sums
from privet.protocol.errors import InvalidRequest
from privet.protocol.mechanisms import create_mechanism

from ..examples import BINARY, NUMBER, REPORTS_ALONE, complete, public_rows, reports

PUBLIC = public_rows(BINARY, 20, seed=0)
SHARES = np.linspace(0.1, 0.9, 16)


def two_halves(
    epsilon: float, seed: int, per_cell: int = 500, mechanism: str = "laplace"
) -> list[QuestionCounts]:
    """Half the holders report their cell, the other half their labelled cell."""
    rng = np.random.default_rng(seed)
    tree = complete(4)
    cells = np.full((16, 1), per_cell)
    ones = rng.binomial(per_cell, SHARES)
    labelled = np.stack([per_cell - ones, ones], axis=1)
    masses = create_mechanism(mechanism, epsilon, 16, 1)
    sums = simulate_sums(masses, cells, rng)
    return [
        QuestionCounts(tree, masses, sums, int(cells.sum())),
        reports(tree, labelled, epsilon, seed, mechanism),
    ]


def test_the_classifier_is_the_sign_of_t() -> None:
    """Class 1 is predicted where V / n_1 - U / (2 n_0) is positive, also where U is negative."""
    masses, labelled = two_halves(0.3, seed=1, per_cell=40)
    t = labelled.counts[:, 1] / labelled.n - masses.counts[:, 0] / masses.n / 2
    model = fit("histogram", BINARY, PUBLIC, [masses, labelled])
    assert (masses.counts < 0).any()
    np.testing.assert_array_equal(model.values.argmax(axis=1), t > 0)
    assert model.n == masses.n + labelled.n


def test_the_regression_form_is_the_ratio() -> None:
    """With plenty of reports the value is the mean label of the cell."""
    model = fit("histogram", NUMBER, PUBLIC, two_halves(8.0, seed=2, per_cell=20_000))
    np.testing.assert_allclose(model.values[:, 0], -2.0 + 8.0 * SHARES, atol=0.3)


def test_adjusted_cells_without_mass_predict_zero() -> None:
    """A mass not clear of its noise gives class 0, or the number 0; the others stay as they are."""
    questions = two_halves(1.0, seed=3, per_cell=60)
    plain = fit("histogram", BINARY, PUBLIC, questions)
    model = fit("histogram", BINARY, PUBLIC, questions, threshold=1.0)
    changed = (model.values != plain.values).any(axis=1)
    assert changed.any()
    np.testing.assert_array_equal(model.values[changed, 0], 1.0)
    number = fit("histogram", NUMBER, PUBLIC, questions, threshold=1e5)
    np.testing.assert_allclose(number.values, 0.0, atol=1e-12)
    assert (number.low <= number.values).all()


def test_histograms_need_both_halves() -> None:
    """Another set of questions is refused."""
    questions = two_halves(1.0, seed=4)
    for wrong in (questions[:1], questions[::-1], [questions[1], questions[1]]):
        with pytest.raises(InvalidRequest, match="allocation one"):
            fit("histogram", BINARY, PUBLIC, wrong)


@pytest.mark.parametrize("mechanism", ["randomized_response", "subset", "laplace"])
def test_reports_alone_give_the_mean_label(mechanism: str) -> None:
    """LPDT's estimate with its own mechanism, and with joint coding, finds the cells' means."""
    tree, rng = complete(2), np.random.default_rng(5)
    randomizer = create_mechanism(mechanism, 8.0, 4, 2, regression=True)
    shares, n = np.array([0.2, 0.4, 0.6, 0.8]), 200_000
    X = rng.random((n, 2))
    y = -2.0 + 8.0 * shares[locate(tree, X)]
    copies = np.ones(n, dtype=np.int64)
    sums = simulate_question(tree, randomizer, label=NUMBER, X=X, y=y, copies=copies, rng=rng)
    question = QuestionCounts(tree, randomizer, sums, n)
    model = fit("weighted", NUMBER, public_rows(NUMBER, 10, 1), [question], **REPORTS_ALONE)
    np.testing.assert_allclose(model.values[:, 0], -2.0 + 8.0 * shares, atol=0.3)
