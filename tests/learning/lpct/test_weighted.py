"""LPCT's eq. 8 and its two ends."""

import numpy as np
import pytest

from privet.learning.core.counts import public_counts
from privet.learning.core.public_data import PublicData
from privet.learning.core.trees import locate
from privet.learning.methods import fit
from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Classes, Range

from ..examples import BINARY, NUMBER, PUBLIC_ALONE, REPORTS_ALONE, complete, public_rows, reports

COUNTS = np.random.default_rng(0).integers(100, 900, size=(8, 2))


def test_reports_alone_and_public_records_alone_are_the_ends() -> None:
    """λ = 0 is eq. 7; a huge λ gives nearly the values of an infinite one."""
    partition, public = complete(2), public_rows(BINARY, 400, seed=6)
    question = reports(partition, COUNTS[:4], epsilon=2.0, seed=7)
    private = fit("weighted", BINARY, public, [question], **REPORTS_ALONE)
    known = fit("weighted", BINARY, public, [question], **PUBLIC_ALONE)
    ratio = question.counts / question.counts.sum(axis=1, keepdims=True)
    heaviest = fit("weighted", BINARY, public, [question], weight=1e9)
    np.testing.assert_allclose(private.values, np.clip(ratio, 0.0, 1.0))
    np.testing.assert_allclose(heaviest.values, known.values, atol=1e-4)
    assert (private.public_share == 0).all()
    assert (known.public_share == 1).all()
    np.testing.assert_allclose(heaviest.public_share, 1.0, atol=1e-4)


@pytest.mark.parametrize("weight", [1e13, 1e100, 1e200, "1e300"])
def test_a_weight_of_any_size_gives_numbers(weight: object) -> None:
    """Where a weight is too large to be squared, public records alone count."""
    partition, public = complete(2), public_rows(BINARY, 400, seed=6)
    question = reports(partition, COUNTS[:4], epsilon=2.0, seed=7)
    known = fit("weighted", BINARY, public, [question], **PUBLIC_ALONE)
    heavy = fit("weighted", BINARY, public, [question], weight=weight)
    for name in ("values", "low", "high", "public_share"):
        np.testing.assert_array_equal(getattr(heavy, name), getattr(known, name))


@pytest.mark.parametrize("counts", ["automatic", "unbiased", "clipped"])
@pytest.mark.parametrize("label", [BINARY, NUMBER], ids=["classes", "number"])
def test_negative_counts_are_none_where_they_are_clipped(
    label: Classes | Range, counts: str
) -> None:
    """Eq. 8 on clipped counts for numbers, or where asked; intervals are the unbiased counts'."""
    numeric = isinstance(label, Range)
    low, high = (label.low, label.high) if isinstance(label, Range) else (0.0, 1.0)
    partition, public = complete(5), public_rows(label, 200, seed=11)
    truth = np.random.default_rng(12).integers(0, 9, size=(32, 2))
    question = reports(partition, truth, epsilon=0.5, seed=13, regression=numeric)
    model = fit("weighted", label, public, [question], weight=40.0, counts=counts)
    plain = fit("weighted", label, public, [question], weight=40.0, counts="unbiased")
    clips = counts == "clipped" or (counts == "automatic" and numeric)
    private = np.maximum(question.counts, 0.0) if clips else question.counts
    total = private + 40.0 * public_counts(label, public, partition)
    clear = total.sum(axis=1) > 0.0
    share = np.clip(total[:, 1] / total.sum(axis=1), 0.0, 1.0)[clear]
    wanted = low + share * (high - low)
    assert (question.counts < 0.0).any()
    np.testing.assert_allclose(model.values[clear, -1], wanted)
    if not numeric:  # also where the mass is negative
        np.testing.assert_array_equal(model.values.argmax(axis=1), total.argmax(axis=1))
    np.testing.assert_array_equal(model.low, np.minimum(plain.low, model.values))
    np.testing.assert_array_equal(model.high, np.maximum(plain.high, model.values))


def test_empty_cells_of_public_data_are_undecided() -> None:
    """Eq. 8's 0/0: the first class, with an interval that excludes nothing."""
    partition, public = complete(4), public_rows(BINARY, 3, seed=10)
    model = fit(
        "weighted",
        BINARY,
        public,
        [reports(partition, np.zeros((16, 2)), 1.0, seed=1)],
        **PUBLIC_ALONE,
    )
    empty = public_counts(BINARY, public, partition).sum(axis=1) == 0
    np.testing.assert_array_equal(model.values[empty], 0.5)
    assert (model.low[empty] == 0).all()
    assert (model.high[empty] == 1).all()


def test_unknown_names_and_values_are_refused_with_what_is_possible() -> None:
    """An unknown estimator or parameter, or a faulty value, is an InvalidRequest that helps."""
    public = public_rows(BINARY, 10, seed=14)
    questions = [reports(complete(1), np.full((2, 2), 5), epsilon=1.0, seed=15)]
    with pytest.raises(InvalidRequest, match="use one of weighted"):
        fit("best", BINARY, public, questions)
    with pytest.raises(InvalidRequest, match="its parameters are weight"):
        fit("weighted", BINARY, public, questions, heaviness=2)
    for faulty in (-1.0, "heavy", float("nan"), True):
        with pytest.raises(InvalidRequest, match="weight is"):
            fit("weighted", BINARY, public, questions, weight=faulty)


def test_public_records_that_agree_leave_doubt() -> None:
    """Intervals of an infinite λ are wide in cells of few records of one class, else narrow."""
    partition = complete(1)
    X = np.repeat([[0.1, 0.5], [0.9, 0.5]], [3, 300], axis=0)
    public = PublicData(X, np.repeat([0.0, 1.0], [3, 300]))
    question = reports(partition, np.full((2, 2), 50), 1.0, seed=30)
    model = fit("weighted", BINARY, public, [question], **PUBLIC_ALONE)
    few, many = locate(partition, np.array([[0.1, 0.5], [0.9, 0.5]]))
    np.testing.assert_allclose(model.values[[few, many]], np.eye(2))
    assert model.high[few, 1] > 0.3
    assert 0.0 < model.high[many, 0] < 0.03
