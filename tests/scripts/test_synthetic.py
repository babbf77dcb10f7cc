"""The reproduction of LPCT's synthetic experiment, in small."""

import numpy as np
import pytest

from privet.curator.partitioning import grid_partition
from scripts.pages import read
from scripts.reproduce.lpct_design import CellAccuracy, Design, bayes_accuracy, draw, eta
from scripts.reproduce.synthetic import EXPECTED, replicate, summarize, table

QUICK = Design(0.5, 50, 1000)


def test_the_design_is_the_papers() -> None:
    """Bayes accuracy is the authors' .7861, probabilities lie in [0.1, 0.9], Q agrees with P."""
    assert bayes_accuracy() == pytest.approx(0.7861, abs=5e-5)
    X = np.random.default_rng(0).random((10_000, 2))
    assert eta(X).min() >= 0.1
    assert eta(X).max() <= 0.9
    np.testing.assert_array_equal(np.sign(eta(X) - 0.5), np.sign(eta(X, 5.0) - 0.5))


def test_labels_follow_eta() -> None:
    """Labels are drawn from eta: the mean residual is within 4.9 standard errors at 1e-6."""
    data = draw(50_000, 1.0, np.random.default_rng(1))
    residual = data.y - eta(data.X)
    assert abs(residual.mean()) < 4.9 * residual.std() / np.sqrt(len(residual))


def test_accuracies_are_integrals_over_cells() -> None:
    """Labels by the sign of eta reach nearly Bayes on fine cells; all labels wrong, the rest."""
    partition = grid_partition(2, 100)
    truth = CellAccuracy.of(partition)
    best = truth.if_one > truth.if_zero
    assert truth.accuracy(best) == pytest.approx(bayes_accuracy(), abs=0.002)
    assert truth.accuracy(best) + truth.accuracy(~best) == pytest.approx(1.0)


def test_a_replication_depends_on_its_number_only() -> None:
    """Two runs of a replication agree, another number does not, and the table can be written."""
    first, again, other = (
        replicate(QUICK, (2.0,), ("subset",), seed=1, number=number) for number in (0, 0, 1)
    )
    assert first == again
    assert first != other
    rows = summarize(QUICK, [first, other])
    assert {row["method"] for row in rows} == {"weighted", "private", "public"}
    assert len(table(rows).splitlines()) == 3


def test_kept_figures_are_near_the_authors() -> None:
    """The committed figures with the paper's mechanism agree with the authors' code.

    Within 4.9 standard errors of the difference at 1e-6, theirs being .004 at most.
    """
    authors = {"0.5": 0.6481, "2": 0.6602, "8": 0.6928}
    rows = [
        row
        for row in read(EXPECTED["0.5"])
        if row["mechanism"] == "laplace" and row["method"] == "weighted"
    ]
    assert {row["epsilon"] for row in rows} == set(authors)
    for row in rows:
        error = np.hypot(float(row["standard_error"]), 0.004)
        assert abs(float(row["mean"]) - authors[str(row["epsilon"])]) < 4.9 * error
