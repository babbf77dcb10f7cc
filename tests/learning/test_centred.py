"""Numbers reported relative to a centre per cell: every estimator reads them so."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from privet.learning.core.counts import QuestionCounts
from privet.learning.core.model import Model, question_about
from privet.learning.core.public_data import PublicData
from privet.learning.core.public_model import BaseModel
from privet.learning.core.trees import locate
from privet.learning.figures.compare import insight, over_time
from privet.learning.figures.scores import optimism, score_differences
from privet.learning.figures.sentences import around_centres as around_centres_in_words
from privet.learning.methods import Fitting, fit
from privet.learning.public_model.knowledge import residual_centring
from privet.learning.simulation import simulate_question
from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Range
from privet.protocol.label_scale import Centring, LabelScale
from privet.protocol.mechanisms import create_mechanism
from privet.protocol.partition import Partition

from .examples import (
    NUMBER,
    PUBLIC_ALONE,
    REPORTS_ALONE,
    complete,
    linear_model,
    public_rows,
    reports,
    unasked,
)

TREE = complete(2)
CENTRES = np.array([-1.0, 0.5, 3.0, 5.0])
RADIUS = 1.25
COUNTS = np.array([[900, 100], [400, 600], [50, 950], [500, 500]])
ESTIMATORS: dict[str, tuple[str, dict[str, Any]]] = {
    "weighted": ("weighted", {}),
    "reports alone": ("weighted", REPORTS_ALONE),
    "drift": ("drift", {}),
}


def around_centres(label: Range, centres: np.ndarray, seed: int = 1) -> QuestionCounts:
    """The same reports of (cell, level), read around these centres."""
    question = reports(TREE, COUNTS, 2.0, seed, regression=True)
    centring = Centring(centres=tuple(centres.tolist()), radius=RADIUS)
    return replace(question, scale=LabelScale.of(label, 4, centring))


def constant(value: float) -> BaseModel:
    """A public model that predicts the same for everybody."""
    return linear_model(np.zeros((2, 1)), [value], "identity")


def fitted(
    name: str, label: Range, public: PublicData, question: QuestionCounts, mean: float
) -> Model:
    estimator, parameters = ESTIMATORS[name]
    base = constant(mean) if name == "drift" else None
    return fit(estimator, label, public, [question], base=base, **parameters)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_one_centre_for_all_cells_is_a_narrower_range(name: str) -> None:
    """With every centre at 1 the model is that of the range [1 - radius, 1 + radius]."""
    public = public_rows(NUMBER, 80, seed=2)
    narrow = Range(name="y", low=1.0 - RADIUS, high=1.0 + RADIUS)
    centred = fitted(name, NUMBER, public, around_centres(NUMBER, np.full(4, 1.0)), 1.0)
    plain = reports(TREE, COUNTS, 2.0, 1, regression=True)
    twin = fitted(name, narrow, public, plain, 1.0)
    for array in ("values", "public_share", "standard_error"):
        np.testing.assert_allclose(getattr(centred, array), getattr(twin, array), atol=1e-9)
    assert centred.widest == twin.widest


def test_a_centre_shifts_its_cell_and_nothing_else() -> None:
    """Values less their centres and errors are those around one common centre."""
    public = public_rows(NUMBER, 80, seed=3)
    wide = Range(name="y", low=-50.0, high=50.0)
    moved = PublicData(public.X, public.y + CENTRES[locate(TREE, public.X)])
    model = fit("weighted", wide, moved, [around_centres(wide, CENTRES)], **REPORTS_ALONE)
    twin = fit("weighted", wide, public, [around_centres(wide, np.zeros(4))], **REPORTS_ALONE)
    np.testing.assert_allclose(model.values[:, 0] - CENTRES, twin.values[:, 0])
    np.testing.assert_allclose(model.standard_error, twin.standard_error)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_values_are_possible(name: str) -> None:
    """Values lie within the label's range and the radius; intervals state nothing."""
    public = public_rows(NUMBER, 80, seed=4)
    edge = np.array([NUMBER.low, 0.5, 3.0, NUMBER.high])
    model = fitted(name, NUMBER, public, around_centres(NUMBER, edge), 1.0)
    low, high = np.maximum(edge - RADIUS, NUMBER.low), np.minimum(edge + RADIUS, NUMBER.high)
    assert (model.values[:, 0] >= low - 1e-9).all()
    assert (model.values[:, 0] <= high + 1e-9).all()
    assert (model.low == NUMBER.low).all()
    assert (model.high == NUMBER.high).all()
    assert model.widest == 2 * RADIUS


def test_public_labels_alone_are_not_cut_at_the_radius() -> None:
    """An infinite λ averages public labels as they are, whatever holders can report."""
    public = public_rows(NUMBER, 80, seed=5)
    centred = fit("weighted", NUMBER, public, [around_centres(NUMBER, CENTRES)], **PUBLIC_ALONE)
    plain = fit(
        "weighted",
        NUMBER,
        public,
        [replace(around_centres(NUMBER, CENTRES), scale=None)],
        **PUBLIC_ALONE,
    )
    np.testing.assert_array_equal(centred.values, plain.values)


def test_no_reports_leave_the_public_model_also_where_it_is_beyond_the_radius() -> None:
    """A public model that predicts 6 where the centre is -1 is kept: only reports correct it."""
    public = public_rows(NUMBER, 80, seed=6)
    nothing = unasked(around_centres(NUMBER, CENTRES))
    model = fit("drift", NUMBER, public, [nothing], base=constant(6.0))
    X = np.random.default_rng(7).random((50, 2))
    np.testing.assert_allclose(model.predict(X).values, 6.0, atol=1e-9)


def collected(
    tree: Partition, X: np.ndarray, y: np.ndarray, scale: LabelScale | None, seed: int
) -> QuestionCounts:
    """Reports of holders with records (X, y), on ``scale``."""
    mechanism = create_mechanism("subset", 4.0, tree.cells, 2, regression=True)
    sums = simulate_question(
        tree,
        mechanism,
        label=NUMBER if scale is None else scale.label,
        X=X,
        y=y,
        copies=np.ones(len(y), dtype=np.int64),
        rng=np.random.default_rng(seed),
        scale=scale,
    )
    return QuestionCounts(tree, mechanism, sums, len(y), scale=scale)


def test_cell_means_are_unbiased_and_less_noisy_by_the_square_of_the_radius() -> None:
    """Means of 200 collections against the truth, and their variances around centres and without.

    Each mean within 4.9 standard errors (false alarm 1e-6 each, of 8). Counts that add up to the
    label's sum have the variance of t times the width squared: the ratio of variances is near
    (2 radius / 8)^2 = 0.098, as the mechanism's noise is the same and that of rounding t depends on
    where t lies; a ratio of two chi-squares of 199 degrees leaves 0.05 to 0.2 once in 600 000.
    """
    tree, rng = complete(2), np.random.default_rng(9)
    X = rng.random((2000, 2))
    cells = locate(tree, X)
    y = CENTRES[cells] + 0.3 + rng.uniform(-0.9, 0.9, len(X))
    y = y.clip(NUMBER.low, NUMBER.high)
    size = np.bincount(cells)
    truth = np.bincount(cells, y) / size
    variances = []
    for centring in (Centring(centres=tuple(CENTRES.tolist()), radius=RADIUS), None):
        scale = LabelScale.of(NUMBER, 4, centring)
        drawn = np.array(
            [_means(collected(tree, X, y, scale, seed=run), scale, size) for run in range(200)]
        )
        error = drawn.std(axis=0, ddof=1) / np.sqrt(len(drawn))
        assert (np.abs(drawn.mean(axis=0) - truth) < 4.9 * error).all()
        variances.append(drawn.var(axis=0, ddof=1))
    assert ((variances[0] / variances[1] > 0.05) & (variances[0] / variances[1] < 0.2)).all()


def _means(question: QuestionCounts, scale: LabelScale, size: np.ndarray) -> np.ndarray:
    """Unbiased cell means of holders whose number per cell is known.

    The contrast of the slots, not slot 1 alone, so that the mass plays no part.
    """
    contrast = (question.counts[:, 1] - question.counts[:, 0]) / size
    return np.asarray(scale.low + scale.width * (1.0 + contrast) / 2.0)


def test_the_radius_is_three_root_mean_squares_of_public_residuals() -> None:
    """Centres are the means, clipped to the range; the radius has a floor and a ceiling."""
    tree = complete(1)
    X = np.array([[0.2, 0.5], [0.7, 0.5]] * 10)
    y = np.array([0.0, 2.0] * 10)
    for means, centres, radius in [
        ([0.1, 1.9], (0.1, 1.9), 0.3),
        ([0.0, 2.0], (0.0, 2.0), 0.08),
        ([-9.0, 9.0], (-2.0, 6.0), 8.0),
    ]:
        centring = residual_centring(NUMBER, PublicData(X, y), tree, np.array(means))
        assert centring is not None
        assert centring.centres == centres
        assert centring.radius == pytest.approx(radius)
        assert centring.fault(NUMBER, 2) is None
    assert residual_centring(NUMBER, PublicData(X[:9], y[:9]), tree, np.zeros(2)) is None


def asked_in_parts(mean: float, seed: int) -> list[QuestionCounts]:
    """Reports around centres, and of 3 000 others, asked for the number alone, with this mean."""
    t = (mean - NUMBER.low) / NUMBER.span
    root = Partition.root(2)
    counts = np.round(3_000 * np.array([[1.0 - t, t]])).astype(int)
    return [
        around_centres(NUMBER, CENTRES, seed),
        reports(root, counts, 6.0, seed, regression=True),
    ]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_of_cells_around_centres_nothing_is_stated(name: str) -> None:
    """No interval, difference or score; the mean is that of those who were asked for it alone,
    whatever the cells say, or is not stated."""
    public, counts = public_rows(NUMBER, 80, seed=2), asked_in_parts(4.0, 1)
    of_cells, alone = counts
    estimator, parameters = ESTIMATORS[name]
    base = constant(1.0) if name == "drift" else None
    fitting = Fitting.of(estimator, NUMBER, public, base, **parameters)
    model = fitting.model(counts)
    assert not model.states_cells
    assert question_about(model, counts) is None
    assert optimism(model, counts, fitting.estimate) is None
    scored = replace(model, optimism={"squared error": (10.0, 4.0)})
    assert score_differences(scored.without_reports(), scored, counts) == {}
    found = insight(NUMBER, public, counts, model)
    (row,), (figure,) = found.overall, found.figures
    assert (found.differences, found.seen_in_a_cell) == ((), None)
    assert figure.reports == alone.n
    assert row.low <= 4.0 <= row.high
    assert row.high - row.low < 0.6
    moved = replace(of_cells, sums=np.roll(of_cells.sums, 1))
    assert insight(NUMBER, public, [moved, alone], model).overall == found.overall
    assert around_centres_in_words(alone=True) in found.sentence
    without = fitting.model([of_cells])
    with pytest.raises(InvalidRequest, match="nobody is asked for the number alone"):
        insight(NUMBER, public, [of_cells], without)


def test_waves_around_centres_are_compared_by_those_asked_for_the_mean_alone() -> None:
    """And not at all where nobody was."""
    waves = {wave: asked_in_parts(mean, wave) for wave, mean in ((1, 1.0), (2, 4.0))}
    over = over_time(NUMBER, waves, 2)
    (change,), (line,) = over.changes, over.lines
    assert (change.cell, over.in_cells) == (None, ())
    assert change.low <= 3.0 <= change.high
    for figure, mean in zip(line.figures, (1.0, 4.0), strict=True):
        assert figure.low <= mean <= figure.high
    assert over.sentence.endswith(around_centres_in_words(alone=True))
    cells = over_time(NUMBER, {wave: of[:1] for wave, of in waves.items()}, 2)
    assert (cells.lines, cells.changes) == ((), ())
    assert cells.sentence.endswith(around_centres_in_words(alone=False))
