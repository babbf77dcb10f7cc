"""The estimators keep scikit-learn's manners and take a real task's way."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import make_moons
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from privet.curator.estimation import DEFAULT_ESTIMATOR
from privet.curator.sklearn_api import PrivateTreeClassifier, PrivateTreeRegressor
from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Categorical
from tests.curator.onnx_files import stripes

NEARLY_PUBLIC = 50.0
"""Budget at which the checks that ask for accuracy on two hundred records can be met."""

QUICK: dict[str, Any] = {"grower": "max_edge", "estimator": "averaged"}
"""The default grower and estimator fit several public models, which takes seconds each time."""

TWO_QUESTIONS = ({"depth": 3, "epsilon": 1.0}, {"depth": 1, "epsilon": 3.0})


def moons(n: int = 4000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_moons(n, noise=0.2, random_state=seed)
    return X, y


scikit_learns_checks: pytest.MarkDecorator = parametrize_with_checks(
    [
        PrivateTreeClassifier(NEARLY_PUBLIC, **QUICK, random_state=0),
        PrivateTreeRegressor(NEARLY_PUBLIC, estimator="averaged", random_state=0),
    ]
)


@scikit_learns_checks
def test_scikit_learns_own_checks(
    estimator: BaseEstimator, check: Callable[[BaseEstimator], None]
) -> None:
    """All of scikit-learn's checks pass, those of accuracy on 200 records among them."""
    check(estimator)


@pytest.mark.parametrize("estimator", [PrivateTreeClassifier, PrivateTreeRegressor])
def test_default_budget_passes_every_check_but_accuracy(
    estimator: type[PrivateTreeClassifier | PrivateTreeRegressor],
) -> None:
    """At epsilon = 1 only the check of accuracy on a small training set cannot be met."""
    results = check_estimator(
        estimator(estimator="averaged", random_state=0), on_fail=None, on_skip=None
    )
    failed = {result["check_name"] for result in results if result["status"] == "failed"}
    assert failed <= {"check_classifiers_train", "check_regressors_train"}


def test_learns_from_private_records() -> None:
    """At a large budget many private records beat the few public ones they come with."""
    X, y = moons(20_000)
    public = X[:40], y[:40]
    model = PrivateTreeClassifier(
        4.0,
        depth=6,
        estimator="weighted",
        estimator_parameters={"weight": 1.0},
        random_state=1,
    ).fit(X[40:10_000], y[40:10_000], public=public)
    alone = clone(model).set_params(estimator="public", estimator_parameters=None)
    alone.fit(X[40:10_000], y[40:10_000], public=public)
    test = X[10_000:], y[10_000:]
    assert model.score(*test) > alone.score(*test) + 0.02
    assert model.score(*test) > 0.9


def test_probabilities_and_intervals_belong_together() -> None:
    """Probabilities add up to 1, lie in their intervals, and decide the predicted class."""
    X, y = moons()
    names = np.array(["no", "yes"])[y]
    model = PrivateTreeClassifier(2.0, **QUICK, random_state=2).fit(X, names)
    values = model.predict_proba(X)
    low, high = model.predict_interval(X)
    np.testing.assert_allclose(values.sum(axis=1), 1.0)
    assert ((low <= values) & (values <= high)).all()
    np.testing.assert_array_equal(model.predict(X), model.classes_[values.argmax(axis=1)])


def test_random_state_says_which_collection_is_simulated() -> None:
    """The same random_state gives the same model, another one another collection."""
    X, y = moons()
    first, again, other = (
        PrivateTreeClassifier(1.0, **QUICK, random_state=seed).fit(X, y).predict_proba(X)
        for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_grid_search_and_pipelines_work() -> None:
    """Hyperparameters are plain attributes: search, cross-validation and pipelines use them."""
    X, y = moons(1000)
    tree = PrivateTreeClassifier(4.0, **QUICK, random_state=5)
    pipeline = make_pipeline(StandardScaler(), tree)
    search = GridSearchCV(pipeline, {"privatetreeclassifier__depth": [1, 4]}, cv=3).fit(X, y)
    assert search.best_params_ == {"privatetreeclassifier__depth": 4}
    regressor = PrivateTreeRegressor(4.0, **QUICK, random_state=5)
    scores = cross_val_score(regressor, X, y.astype(float), cv=3)
    assert np.isfinite(scores).all()


def test_numbers_are_told_around_centres_unless_told_otherwise() -> None:
    """The regressor asks as a task does by default, and both ways give possible predictions."""
    X, y = moons(400)
    choices: tuple[Any, ...] = (None, True, np.bool_(False))
    for centred, expected in zip(choices, (True, True, False), strict=True):
        model = PrivateTreeRegressor(
            4.0, depth=2, estimator="averaged", centred=centred, random_state=9
        ).fit(X, y.astype(float))
        (question,) = model.task_.questions
        assert (question.centring is not None) is expected
        low, high = model.predict_interval(X)
        assert ((low >= 0.0) & (low <= model.predict(X)) & (high <= 1.0)).all()


def test_text_columns_are_categorical() -> None:
    """A DataFrame's text columns become categories; ranges and categories are the public ones."""
    rng = np.random.default_rng(6)
    job = rng.choice(["farmer", "miller", "smith"], 3000)
    frame = pd.DataFrame({"job": job, "age": rng.integers(18, 80, 3000)})
    y = (job == "smith").astype(int)
    public = frame[:100], y[:100]
    model = PrivateTreeClassifier(3.0, depth=3, **QUICK, random_state=7).fit(
        frame, y, public=public
    )
    assert list(model.feature_names_in_) == ["job", "age"]
    (job_feature, _) = model.task_.features
    assert isinstance(job_feature, Categorical)
    assert job_feature.categories == ("farmer", "miller", "smith")
    assert model.score(frame, y) > 0.95


def test_several_questions_make_one_task() -> None:
    """``questions`` and ``allocation`` are those of a task's settings."""
    X, y = moons()
    model = PrivateTreeClassifier(
        4.0, grower="max_edge", questions=TWO_QUESTIONS, estimator="public", random_state=8
    )
    with pytest.raises(ValueError, match="one question"):
        model.fit(X, y)
    assert model.task_.epsilon == 4.0
    assert [tree.depth for tree in model.task_.trees] == [3, 1]


def test_regressor_clips_to_the_declared_range() -> None:
    """Predictions and intervals stay within the label range, declared or public."""
    rng = np.random.default_rng(9)
    X = rng.random((3000, 2))
    y = 10 * X[:, 0] + rng.normal(size=3000)
    model = PrivateTreeRegressor(4.0, depth=4, label_range=(2.0, 6.0), **QUICK, random_state=10)
    values = model.fit(X, y).predict(X)
    low, high = model.predict_interval(X)
    assert values.min() >= 2.0
    assert values.max() <= 6.0
    assert ((low <= values) & (values <= high)).all()
    assert np.corrcoef(values, X[:, 0])[0, 1] > 0.8


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"grower": "oak"}, "Unknown grower"),
        ({"mechanism": "whisper"}, "Unknown mechanism"),
        ({"estimator": "guess"}, "Unknown estimator"),
        ({"depth": 40}, "depth"),
        ({"public_fraction": 1.5}, "between 0 and 1"),
    ],
)
def test_impossible_hyperparameters_raise_when_fitting(
    parameters: dict[str, Any], says: str
) -> None:
    """Construction checks nothing; ``fit`` says what is wrong as a ValueError."""
    X, y = moons(200)
    with pytest.raises(ValueError, match=says):
        PrivateTreeClassifier(**parameters).fit(X, y)


@pytest.mark.slow
def test_default_estimator_is_the_curators() -> None:
    """Without a choice the curator's own default is fitted, and it learns."""
    X, y = moons(1000)
    model = PrivateTreeClassifier(2.0, depth=4, random_state=11).fit(X, y, public=(X[:30], y[:30]))
    assert model.model_.estimator == DEFAULT_ESTIMATOR
    assert model.score(X, y) > 0.8


def test_one_class_is_refused() -> None:
    """Nothing can be learned from records of one class."""
    with pytest.raises(ValueError, match="one class"):
        PrivateTreeClassifier().fit([[0.0], [1.0]], [1, 1])


def test_numbers_of_numpy_are_numbers() -> None:
    """A search over parameters gives numpy's own types."""
    X, y = moons(200)
    depth: Any = np.int64(2)
    epsilon: Any = np.float32(2)
    model = PrivateTreeClassifier(
        epsilon, depth=depth, min_leaf=depth, **QUICK, random_state=0
    ).fit(X, y)
    assert model.task_.epsilon == 2.0
    assert model.task_.trees[0].depth == 2


STRIPED = np.random.default_rng(5).random((2000, 1))
PARITY = (np.floor(64 * STRIPED[:, 0]) % 2).astype(int)


def test_a_public_model_of_ones_own() -> None:
    """Cells and predictions start from a classifier that is fitted to the encoded public rows.

    Nearest neighbours see all stripes in 1 500 public rows; the given estimator is left alone.
    """
    own = KNeighborsClassifier(3)
    model = PrivateTreeClassifier(0.1, public_model=own, random_state=0)
    model.fit(STRIPED[:100], PARITY[:100], public=(STRIPED[100:1600], PARITY[100:1600]))
    assert not hasattr(own, "classes_")
    assert model.score(STRIPED[1600:], PARITY[1600:]) > 0.9
    assert "KNeighborsClassifier" in str(model.model_.facts["public model"])
    assert clone(model).public_model is not own
    with pytest.raises(InvalidRequest, match="skl2onnx"):
        model.model_.to_document()


def test_a_public_model_in_a_file() -> None:
    """The bytes of an ONNX file serve too; the fitted estimator can be copied."""
    model = PrivateTreeClassifier(0.1, public_model=stripes(1), random_state=0)
    whole = np.vstack([STRIPED, [[0.0], [1.0]]])
    labels = np.concatenate([PARITY, [0, 1]])
    model.fit(whole[:100], labels[:100], public=(whole[-40:], labels[-40:]))
    again = pickle.loads(pickle.dumps(model))
    assert again.score(STRIPED, PARITY) > 0.98
    assert model.model_.to_document()["base"]["components"][0]["kind"] == "onnx"


def test_a_public_model_for_numbers() -> None:
    """A regressor is fitted to the public rows, in the label's units."""
    X = STRIPED
    y = 100.0 * PARITY
    model = PrivateTreeRegressor(
        0.1, public_model=KNeighborsRegressor(3), label_range=(0.0, 100.0), random_state=0
    )
    model.fit(X[:100], y[:100], public=(X[100:1600], y[100:1600]))
    assert model.score(X[1600:], y[1600:]) > 0.7


@pytest.mark.parametrize("wrong", [KNeighborsRegressor(), "a path", b"no file", LinearSVC()])
def test_an_unfit_public_model_is_refused(wrong: object) -> None:
    """What gives no probabilities is refused with what to give."""
    X, y = moons(200)
    model = PrivateTreeClassifier(1.0, public_model=wrong, random_state=0)
    with pytest.raises(ValueError, match=r"public.model"):
        model.fit(X, y)


def test_records_may_have_texts_and_gaps_that_no_public_record_has() -> None:
    """A rare category and missing values are reported as the public records' mode or median."""
    rng = np.random.default_rng(40)
    table = pd.DataFrame({"size": rng.normal(size=60), "kind": ["a", "a", "b"] * 20})
    y = (table["size"] > 0).to_numpy()
    odd = table.copy()
    odd.loc[0, "kind"], odd.loc[1, "kind"], odd.loc[2, "size"] = "unheard-of", None, np.nan
    model = PrivateTreeClassifier(random_state=0).fit(odd, y, public=(table, y))
    size, kind = model.task_.features
    assert isinstance(kind, Categorical)
    assert kind.unknown == kind.missing == "a"
    assert size.missing == table["size"].median()
    usual = odd.fillna({"kind": "a", "size": table["size"].median()}).replace("unheard-of", "a")
    np.testing.assert_array_equal(model.predict_proba(odd), model.predict_proba(usual))
