"""The estimators keep scikit-learn's manners and take a real task's way."""

import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from onnxruntime import InferenceSession
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import make_moons
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from privet.learning.estimators import DEFAULT_ESTIMATOR, ESTIMATORS
from privet.learning.partitions import GROWERS, Grower
from privet.learning.partitions.grid import grid as grid_grower
from privet.learning.sklearn import PrivateTreeClassifier, PrivateTreeRegressor
from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Categorical, Classes, Numeric, encode_table
from tests.learning.onnx_files import stripes

pytestmark = pytest.mark.filterwarnings("ignore:fit was given no public records")

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
    with pytest.warns(UserWarning, match=r"the 'kind' of 1 records, such as 'unheard-of'.*'a'"):
        model = PrivateTreeClassifier(random_state=0).fit(odd, y, public=(table, y))
    size, kind = model.task_.features
    assert isinstance(kind, Categorical)
    assert kind.unknown == kind.missing == "a"
    assert size.missing == table["size"].median()
    usual = odd.fillna({"kind": "a", "size": table["size"].median()}).replace("unheard-of", "a")
    with pytest.warns(UserWarning, match="unheard-of"):
        values = model.predict_proba(odd)
    np.testing.assert_array_equal(values, model.predict_proba(usual))


def test_numbers_may_be_missing_without_any_text() -> None:
    """NaN counts as the public median in arrays, in frames of numbers and beside texts alike."""
    rng = np.random.default_rng(41)
    X = rng.normal(size=(80, 2))
    y = (X[:, 0] > 0).astype(int)
    holey = X.copy()
    holey[::7, 0] = np.nan
    filled = np.where(np.isnan(holey), np.median(X, axis=0), holey)
    frame = pd.DataFrame(holey, columns=["a", "b"])
    forms = {
        "array": (X, holey, filled),
        "numbers": (pd.DataFrame(X, columns=["a", "b"]), frame, None),
        "texts": (pd.DataFrame(X, columns=["a", "b"]).assign(t="x"), frame.assign(t="x"), None),
    }
    found = {}
    for name, (known, given, same) in forms.items():
        model = PrivateTreeClassifier(4.0, depth=2, **QUICK, random_state=0)
        model.fit(given, y, public=(known, y))
        found[name] = model.predict_proba(given)
        if same is not None:
            np.testing.assert_array_equal(found[name], model.predict_proba(same))
    np.testing.assert_array_equal(found["array"], found["numbers"])
    np.testing.assert_array_equal(found["array"], found["texts"])


def test_truth_values_are_numbers_and_dates_are_refused() -> None:
    """Truth values beside texts are 0 and 1, in exports too; a date says what to do with it."""
    rng = np.random.default_rng(42)
    frame = pd.DataFrame({"paid": rng.random(200) < 0.5, "kind": rng.choice(["a", "b"], 200)})
    y = np.where(frame["paid"], "late", "early")
    model = PrivateTreeClassifier(8.0, depth=2, **QUICK, random_state=0)
    model.fit(frame[50:], y[50:], public=(frame[:50], y[:50]))
    paid, _ = model.task_.features
    assert isinstance(paid, Numeric)
    as_objects = frame.astype({"paid": object})
    np.testing.assert_array_equal(model.predict_proba(frame), model.predict_proba(as_objects))
    frame["when"] = pd.Timestamp("2026-11-22")
    with pytest.raises(ValueError, match=r"'when' holds dates.*days since"):
        model.fit(frame[50:], y[50:], public=(frame[:50], y[:50]))


def test_exports_speak_the_users_words() -> None:
    """ONNX and JSON name features and classes as the data do, and predict as the estimator does."""
    rng = np.random.default_rng(43)
    frame = pd.DataFrame({"age": rng.integers(18, 80, 300), "job": rng.choice(["a", "b"], 300)})
    answer = pd.Series(np.where(frame["age"] > 50, "yes", "no"), name="answer")
    model = PrivateTreeClassifier(4.0, depth=3, **QUICK, random_state=0)
    model.fit(frame[50:], answer[50:], public=(frame[:50], answer[:50]))
    session = InferenceSession(model.to_onnx())
    columns = {
        "feature age": frame[["age"]].to_numpy(np.float64),
        "feature job": frame[["job"]].to_numpy(),
    }
    label, values = session.run(["label", "values"], columns)
    np.testing.assert_array_equal(label, model.predict(frame))
    np.testing.assert_allclose(values, model.predict_proba(frame), atol=1e-6)
    document = json.loads(model.to_json())
    assert document["model"]["label"] == {
        "kind": "classes",
        "name": "answer",
        "classes": ["no", "yes"],
    }
    assert [feature["name"] for feature in document["features"]] == ["age", "job"]


def test_truth_values_as_classes_keep_their_names() -> None:
    """Classes False and True are so called in the task, and predicted as truth values."""
    X, y = moons(300)
    model = PrivateTreeClassifier(4.0, depth=2, **QUICK, random_state=0).fit(X, y == 1)
    assert isinstance(model.task_.label, Classes)
    assert model.task_.label.classes == ("False", "True")
    assert model.predict(X).dtype == np.bool_


def test_playing_the_public_records_is_not_silent() -> None:
    """Without ``public`` a warning says how many rows play them, and an attribute which."""
    X, y = moons(400)
    model = PrivateTreeClassifier(1.0, **QUICK, random_state=0)
    with pytest.warns(UserWarning, match="so 40 of the 400 records"):
        model.fit(X, y)
    assert model.public_indices_ is not None
    assert len(np.unique(model.public_indices_)) == 40
    assert model.n_reports_ == 360
    model.fit(X, y, public=(X[:40], y[:40]))
    assert model.public_indices_ is None


def test_a_summary_says_whether_reports_mattered() -> None:
    """They do where public labels are wrong, and do not where a few say little at tiny epsilon."""
    X, y = moons(20_000)
    misled = PrivateTreeClassifier(4.0, depth=4, **QUICK, random_state=0)
    misled.fit(X[200:], y[200:], public=(X[:200], 1 - y[:200]))
    assert misled.private_score_ > misled.public_score_ + 0.2
    assert "improved the model" in misled.summary()
    assert "differ" in misled.summary()
    idle = PrivateTreeClassifier(0.01, depth=4, **QUICK, random_state=0)
    idle.fit(X[200:400], y[200:400], public=(X[:200], y[:200]))
    assert "no difference that shows" in idle.summary()
    assert misled.public_share_ < idle.public_share_ <= 1.0


def test_scores_without_reports_are_those_of_the_public_model() -> None:
    """For the default estimator that is the public model itself, on all private records."""
    X, y = moons(700)
    public = X[:100], y[:100]
    model = PrivateTreeClassifier(0.5, depth=2, random_state=0)
    model.fit(X[100:], y[100:], public=public)
    base = model.model_.base
    assert base is not None
    encoded = encode_table(model.task_.features, {"x0": X[100:, 0], "x1": X[100:, 1]})
    assert model.public_score_ == np.mean(base.predict(encoded).argmax(axis=1) == y[100:])
    assert model.private_score_ == model.score(X[100:], y[100:])
    numbers = PrivateTreeRegressor(0.5, depth=2, label_range=(-1.0, 2.0), random_state=0)
    numbers.fit(X[100:], y[100:], public=public)
    assert numbers.private_score_ == pytest.approx(numbers.score(X[100:], y[100:]))


def test_the_tree_can_be_read() -> None:
    """Cells, depth, importances, text and drawing are those of the one split that matters."""
    rng = np.random.default_rng(44)
    X = pd.DataFrame({"noise": rng.random(4000), "age": rng.random(4000) * 60 + 20})
    y = np.where(X["age"] > 50, "old", "<young>")
    model = PrivateTreeClassifier(8.0, grower="cart", depth=2, estimator="private", random_state=0)
    model.fit(X[400:], y[400:], public=(X[:400], y[:400]))
    assert model.get_depth() <= 2
    assert set(model.apply(X)) == set(range(model.get_n_leaves()))
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert model.feature_importances_[1] > 0.9
    text = model.export_text()
    assert "|--- age < " in text
    assert text.count("[") == model.get_n_leaves()
    drawing = ElementTree.fromstring(model.to_svg())
    titles = [title.text for title in drawing.iter("{http://www.w3.org/2000/svg}title")]
    assert len(titles) == 2 * model.get_n_leaves()  # every node's, and the picture's own
    assert any("; old 0." in str(title) for title in titles)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))


def test_one_cell_has_no_importances() -> None:
    """A tree without splits explains nothing."""
    X, y = moons(100)
    model = PrivateTreeClassifier(1.0, depth=0, **QUICK, random_state=0).fit(X, y)
    assert (model.get_depth(), model.get_n_leaves()) == (0, 1)
    np.testing.assert_array_equal(model.feature_importances_, [0.0, 0.0])
    assert model.export_text().startswith("|--- ")


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"sample_weight": [1.0]}, TypeError, "second private value"),
        ({"weights": [1.0]}, TypeError, "unexpected argument 'weights'"),
        ({"public": pd.DataFrame({"a": [1]})}, ValueError, r"a DataFrame: give a pair \(X, y\)"),
        ({"public": (1, 2, 3)}, ValueError, r"give a pair \(X, y\)"),
    ],
)
def test_what_fit_does_not_take_is_refused_with_the_reason(
    arguments: dict[str, Any], error: type[Exception], says: str
) -> None:
    """Both estimators say what to give instead."""
    X, y = moons(100)
    for estimator in (PrivateTreeClassifier(), PrivateTreeRegressor()):
        with pytest.raises(error, match=says):
            estimator.fit(X, y, **arguments)


def test_a_range_the_wrong_way_round_is_refused() -> None:
    """The message says which end comes first."""
    X, y = moons(100)
    with pytest.raises(ValueError, match="5 to 0: give its low end"):
        PrivateTreeRegressor(label_range=(5, 0)).fit(X, y)


def test_what_a_program_registers_is_known_in_other_processes() -> None:
    """A grower and an estimator of one's own work in a search over several processes."""
    own = {"halving": Grower("halving", grid_grower), "mine": replace(ESTIMATORS["private"])}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(GROWERS, "halving", own["halving"])
        patch.setitem(ESTIMATORS, "mine", own["mine"])
        X, y = moons(300)
        tree = PrivateTreeClassifier(4.0, grower="halving", depth=2, estimator="mine")
        scores = cross_val_score(tree, X, y, cv=2, n_jobs=2, error_score="raise")
        assert np.isfinite(scores).all()
        state = pickle.dumps(tree)
    assert "halving" not in GROWERS
    try:
        again = pickle.loads(state)
        assert again.fit(X, y).task_.trees[0].depth == 2
    finally:
        del GROWERS["halving"], ESTIMATORS["mine"]
