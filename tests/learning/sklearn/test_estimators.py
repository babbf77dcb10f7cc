"""The estimators keep scikit-learn's manners and take a real task's way."""

import json
import pickle
import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from onnxruntime import InferenceSession
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import make_moons
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

from privet.learning.core.grower import Grower
from privet.learning.lpct.grid import grid as grid_grower
from privet.learning.methods import ESTIMATORS, GROWERS
from privet.learning.sklearn import PrivateTreeClassifier, PrivateTreeRegressor
from privet.learning.task_building.settings import TaskSettings
from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Categorical, Numeric, encode_table
from privet.protocol.task import Task
from tests.curator.small_models import OF_PRODUCTION, SMALL, sized

from ..examples import REPORTS_ALONE
from ..onnx_files import stripes

pytestmark = [
    pytest.mark.filterwarnings("ignore:fit was given no public records"),
    pytest.mark.usefixtures("trial_in_this_process"),
]

NEARLY_PUBLIC = 50.0
"""Budget at which the checks that ask for accuracy on two hundred records can be met."""

QUICK: dict[str, Any] = {
    "grower": "max_edge",
    "estimator": "weighted",
    "estimator_parameters": REPORTS_ALONE,
}
"""The default grower and estimator fit a public model each time."""

TWO_QUESTIONS = ({"depth": 3, "epsilon": 1.0}, {"depth": 1, "epsilon": 3.0})


def moons(n: int = 4000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_moons(n, noise=0.2, random_state=seed)
    return X, y


ACCURACY = {"check_classifiers_train", "check_regressors_train"}
"""What asks for accuracy on two hundred records, which epsilon = 1 cannot give."""


def test_settings_of_disclosed_columns_reach_the_task() -> None:
    """Which are disclosed, how many levels hide, and how small a group may be."""
    X, y = moons(600)
    base = PrivateTreeClassifier(2.0, depth=6, random_state=0, **QUICK)

    def task(**settings: Any) -> Task:
        fitted: PrivateTreeClassifier = clone(base).set_params(**settings).fit(X, y)
        return fitted.task_

    every = task(disclosed=["x0", "x1"])
    assert every.disclosed == ("x0", "x1")
    assert min(every.group_sizes) >= 20
    assert len(task(disclosed=["x0", "x1"], smallest_group=1).group_sizes) == 2**6
    assert len(task(disclosed=["x0"], smallest_group=1, hidden_depth=1).group_sizes) == 2**5
    with pytest.warns(UserWarning, match="Nothing is disclosed"):
        assert task(disclosed="x0", smallest_group=500, hidden_depth=1).disclosed == ("x0",)


@pytest.mark.quick("classifier-ample-weighted")
@pytest.mark.parametrize(
    ("estimator", "epsilon", "options", "may_fail"),
    [
        pytest.param(
            PrivateTreeClassifier, NEARLY_PUBLIC, QUICK, set(), id="classifier-ample-weighted"
        ),
        pytest.param(PrivateTreeClassifier, NEARLY_PUBLIC, {}, set(), id="classifier-ample"),
        pytest.param(PrivateTreeClassifier, 1.0, {}, ACCURACY, id="classifier-usual"),
        pytest.param(PrivateTreeRegressor, NEARLY_PUBLIC, {}, set(), id="regressor-ample"),
        pytest.param(PrivateTreeRegressor, 1.0, {}, ACCURACY, id="regressor-usual"),
    ],
)
def test_scikit_learns_own_checks(
    estimator: type[BaseEstimator], epsilon: float, options: dict[str, Any], may_fail: set[str]
) -> None:
    """All of scikit-learn's checks pass at a large budget, and at epsilon = 1 all but accuracy.

    Of numbers a third of the 200 records is asked for the number alone, so that what is learned of
    them needs a public model of production's size.
    """
    made = estimator(epsilon, random_state=0, **options)
    with sized(OF_PRODUCTION if estimator is PrivateTreeRegressor else SMALL):
        results = check_estimator(made, on_fail=None, on_skip=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert set(failed) <= may_fail, failed


@pytest.mark.parametrize("parameters", [{}, {"plain": True}])
@pytest.mark.parametrize(("epsilon", "label_part"), [(0.01, 0.0), (0.001, None)])
def test_reports_without_information_get_no_credit(
    parameters: dict[str, Any], epsilon: float, label_part: float | None
) -> None:
    """They say nothing of cells at epsilon 0.01, nor of all at 0.001, and neither smoothing nor
    trees pass for them."""
    X, y = moons()
    model = PrivateTreeClassifier(
        epsilon, estimator_parameters=parameters, random_state=0, label_part=label_part
    )
    summary = model.fit(X[200:], y[200:], public=(X[:200], y[:200])).summary()
    assert "The reports made no measurable difference" in summary
    assert abs(model.private_score_ - model.public_score_) < 0.01
    assert model.insight_ is not None
    assert model.insight_.moved < 0.01


def test_random_state_says_which_collection_is_simulated() -> None:
    """The same random_state gives the same model, another one another collection.

    Intervals are those of cells, and hold their values.
    """
    X, y = moons()
    model, again, other = (
        PrivateTreeClassifier(2.0, **QUICK, random_state=seed).fit(X, y) for seed in (3, 3, 4)
    )
    values, (low, high) = model.predict_proba(X), model.cell_interval(X)
    of_cell = model.model_.values[model.apply(X)]
    assert ((low <= of_cell) & (of_cell <= high)).all()
    np.testing.assert_array_equal(low, model.model_.low[model.apply(X)])
    np.testing.assert_array_equal(values, again.predict_proba(X))
    assert (values != other.predict_proba(X)).any()


def test_grid_search_and_pipelines_work() -> None:
    """Hyperparameters are plain attributes: search, cross-validation and pipelines use them.

    A search may give numpy's own numbers. Truth values as classes keep their names.
    """
    X, y = moons(1000)
    epsilon: Any = np.float32(4)
    tree = PrivateTreeClassifier(epsilon, **QUICK, random_state=5)
    pipeline = make_pipeline(StandardScaler(), tree)
    depths = {"privatetreeclassifier__depth": np.array([1, 4])}
    search = GridSearchCV(pipeline, depths, cv=3).fit(X, y == 1)
    assert search.best_params_ == {"privatetreeclassifier__depth": 4}
    task = search.best_estimator_[-1].task_
    assert (task.epsilon, task.label.classes) == (4.0, ("False", "True"))
    assert search.predict(X).dtype == np.bool_
    regressor = PrivateTreeRegressor(4.0, **QUICK, random_state=5)
    scores = cross_val_score(regressor, X, y.astype(float), cv=3)
    assert np.isfinite(scores).all()


def test_numbers_are_reported_around_centres_unless_declined() -> None:
    """The regressor asks as a task does by default, where a part states the mean; it says what is
    not stated, and all ways give possible predictions."""
    X, y = moons(400)
    choices: tuple[Any, ...] = (None, None, True, np.bool_(False))
    estimators = ("drift", "weighted", "weighted", "weighted")
    centres, said = (True, False, True, False), ("only the overall mean", "", "no figure is", "")
    for number, centred in enumerate(choices):
        model = PrivateTreeRegressor(
            5.0, depth=2, estimator=estimators[number], centred=centred, random_state=9
        ).fit(X, y.astype(float))
        question, *alone = model.task_.questions
        assert (question.centring is not None) is centres[number]
        assert len(alone) == (estimators[number] == "drift")
        assert (model.insight_ is None) is (number == 2)
        assert said[number] in model.summary()
        assert ("relative to the public model's" in model.summary()) is centres[number]
        low, high = model.cell_interval(X)
        assert ((low >= 0.0) & (low <= model.predict(X)) & (high <= 1.0)).all()
        assert ((low == 0.0) & (high == 1.0)).all() is np.bool_(centres[number])


def test_several_questions_make_one_task() -> None:
    """``questions`` and ``allocation`` are those of a task's settings."""
    X, y = moons()
    model = PrivateTreeClassifier(
        4.0, grower="max_edge", questions=TWO_QUESTIONS, estimator="weighted", random_state=8
    )
    with pytest.raises(ValueError, match="one question"):
        model.fit(X, y)
    assert model.task_.epsilon == 4.0
    assert [tree.depth for tree in model.task_.trees] == [3, 1]


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"grower": "oak"}, "Unknown grower"),
        ({"mechanism": "whisper"}, "Unknown mechanism"),
        ({"estimator": "guess"}, "Unknown estimator"),
        ({"depth": 40}, "depth"),
        ({"public_fraction": 1.5}, "between 0 and 1"),
        ({"label_range": (5, 0)}, "5 to 0: give its low end"),
    ],
)
def test_impossible_hyperparameters_raise_when_fitting(
    parameters: dict[str, Any], says: str
) -> None:
    """Construction checks nothing; ``fit`` says what is wrong as a ValueError."""
    kind = PrivateTreeRegressor if "label_range" in parameters else PrivateTreeClassifier
    model = kind(**parameters)
    with pytest.raises(ValueError, match=says):
        model.fit(*moons(200))


STRIPED = np.random.default_rng(5).random((2000, 1))
PARITY = (np.floor(64 * STRIPED[:, 0]) % 2).astype(int)


@pytest.mark.parametrize("number", [False, True])
def test_a_public_model_of_ones_own(number: bool) -> None:
    """Cells and predictions start from an estimator that is fitted to the encoded public rows.

    Nearest neighbours see all stripes in 1 500 public rows, of classes or in a number's units; the
    given estimator is left alone.
    """
    own = KNeighborsRegressor(3) if number else KNeighborsClassifier(3)
    given: dict[str, Any] = {"public_model": own, "random_state": 0}
    model = PrivateTreeClassifier(0.1, **given)
    if number:
        model = PrivateTreeRegressor(0.1, **given, label_range=(0.0, 100.0))
    y = 100.0 * PARITY if number else PARITY
    model.fit(STRIPED[:100], y[:100], public=(STRIPED[100:1600], y[100:1600]))
    assert not hasattr(own, "n_features_in_")
    assert model.score(STRIPED[1600:], y[1600:]) > (0.7 if number else 0.9)
    assert type(own).__name__ in str(model.model_.facts["public model"])
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
    far, furthest = table.assign(size=700.0), table.assign(size=table["size"].max())
    np.testing.assert_array_equal(model.predict_proba(far), model.predict_proba(furthest))


def test_numbers_may_be_missing_without_any_text() -> None:
    """NaN counts as the public median in arrays, in frames of numbers and beside texts alike."""
    rng = np.random.default_rng(41)
    X = rng.normal(size=(80, 2))
    y = (X[:, 0] > 0).astype(int)
    holey = X.copy()
    holey[::7, 0] = np.nan
    filled = np.where(np.isnan(holey), np.median(X, axis=0), holey)
    frames = [pd.DataFrame(rows, columns=["a", "b"]) for rows in (X, holey)]
    forms = [(X, holey), frames, [frame.assign(t="x") for frame in frames]]
    values = []
    for public, private in forms:
        model = PrivateTreeClassifier(4.0, depth=2, **QUICK, random_state=0)
        model.fit(private, y, public=(public, y))
        values.append(model.predict_proba(private))
        np.testing.assert_array_equal(values[-1], values[0])
        if private is holey:
            np.testing.assert_array_equal(values[-1], model.predict_proba(filled))


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


def test_tasks_and_exports_speak_the_users_words() -> None:
    """A DataFrame's texts are categories. Task, ONNX and JSON name features and classes as the data
    do, and exports predict as the estimator does."""
    rng = np.random.default_rng(43)
    frame = pd.DataFrame({"age": rng.integers(18, 80, 300), "job": rng.choice(["a", "b"], 300)})
    answer = pd.Series(np.where(frame["age"] > 50, "yes", "no"), name="answer")
    model = PrivateTreeClassifier(4.0, depth=3, **QUICK, random_state=0)
    model.fit(frame[50:], answer[50:], public=(frame[:50], answer[:50]))
    assert list(model.feature_names_in_) == ["age", "job"]
    _, job = model.task_.features
    assert isinstance(job, Categorical)
    assert job.categories == ("a", "b")
    session = InferenceSession(model.to_onnx())
    columns = {
        "feature age": frame[["age"]].to_numpy(np.float64),
        "feature job": frame[["job"]].to_numpy(),
    }
    label, values = session.run(["label", "values"], columns)
    np.testing.assert_array_equal(label, model.predict(frame))
    np.testing.assert_allclose(values, model.predict_proba(frame), atol=1e-6)
    document = json.loads(model.to_json())
    expected = {"kind": "classes", "name": "answer", "classes": ["no", "yes"]}
    assert document["model"]["label"] == expected
    assert [feature["name"] for feature in document["features"]] == ["age", "job"]


def test_stand_ins_for_public_records_are_announced() -> None:
    """Without ``public`` a warning says how many rows stand in for it, and an attribute which."""
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
    assert misled.private_score_ == pytest.approx(misled.score(X[200:], y[200:]), abs=0.03)
    assert "differ" in misled.summary()
    assert "at one look" in misled.summary()
    for epsilon, is_certain in ((1.0, False), (0.01, True)):
        idle = PrivateTreeClassifier(epsilon, depth=4, random_state=0)
        idle.fit(X[200:400], y[200:400], public=(X[:200], y[:200]))
        assert "made no measurable difference" in idle.summary()
        said = re.search(r"and one of ([\d.]+) or more", idle.summary())
        error = re.search(r"standard error ([\d.]+)", idle.summary())
        assert error is not None
        assert (said is None) == (float(error[1]) == 0) == is_certain
        if said is not None:
            least = (2.0 + 0.84) * float(error[1])
            assert float(said[1]) == pytest.approx(least, rel=0.1, abs=0.002)
    assert misled.public_share_ < idle.public_share_ <= 1.0


@pytest.mark.parametrize(
    ("disclosed", "collections", "most"),
    [
        ([], 2, 1),
        pytest.param([], 8, 2, marks=pytest.mark.slow),
        pytest.param(["x0", "x1"], 8, 2, marks=pytest.mark.slow),
    ],
)
def test_a_summary_of_noise_does_not_praise_it(
    disclosed: list[str], collections: int, most: int
) -> None:
    """Labels by coin, at an epsilon that lets reports learn them by heart, in 8 collections.

    Said by chance in one of 40; in both of 2, or 3 of 8, with probability 1e-3.
    """
    praised = 0
    for seed in range(collections):
        rng = np.random.default_rng(seed)
        X, y = rng.random((3200, 2)), rng.integers(2, size=3200)
        model = PrivateTreeClassifier(8.0, disclosed=disclosed, random_state=seed)
        model.fit(X[200:], y[200:], public=(X[:200], y[:200]))
        praised += "improved the model" in model.summary()
    assert praised <= most


def test_scores_without_reports_are_those_of_the_public_model() -> None:
    """For the default estimator that is the public model itself, on all private records."""
    X, y = moons(700)
    public = X[:100], y[:100]
    model = PrivateTreeClassifier(0.5, depth=2, random_state=0)
    model.fit(X[100:], y[100:], public=public)
    base = model.model_.base
    assert base is not None
    encoded = encode_table(model.task_.features, {"x0": X[100:, 0], "x1": X[100:, 1]})
    hits = np.mean(base.predict(encoded).argmax(axis=1) == y[100:])
    assert model.public_score_ == pytest.approx(hits)


def test_the_tree_can_be_read() -> None:
    """Cells, depth, importances, text and drawing are those of the one split that matters.

    A tree without splits explains nothing.
    """
    rng = np.random.default_rng(44)
    X = pd.DataFrame({"noise": rng.random(4000), "age": rng.random(4000) * 60 + 20})
    y = np.where(X["age"] > 50, "old", "<young>")
    model = PrivateTreeClassifier(8.0, grower="cart", depth=2, estimator="weighted", random_state=0)
    model.fit(X[400:], y[400:], public=(X[:400], y[:400]))
    assert model.get_depth() <= 2
    assert set(model.apply(X)) == set(range(model.get_n_leaves()))
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert model.feature_importances_[1] > 0.9
    text = model.export_text()
    assert "|--- age: under " in text
    assert text.count("|--- old ") == model.get_n_leaves()
    drawing = ElementTree.fromstring(model.to_svg())
    titles = [title.text for title in drawing.iter("{http://www.w3.org/2000/svg}title")]
    assert len(titles) == 2 * model.get_n_leaves()  # every node's, and the picture's own
    assert any(re.search(r"; old [\d.]+\u00a0%", str(title)) for title in titles)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))
    whole = clone(model).set_params(depth=0).fit(X[400:], y[400:], public=(X[:400], y[:400]))
    assert (whole.get_depth(), whole.get_n_leaves()) == (0, 1)
    np.testing.assert_array_equal(whole.feature_importances_, [0.0, 0.0])
    assert whole.export_text().startswith("|--- ")


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


@pytest.mark.parametrize("estimator", [PrivateTreeClassifier, PrivateTreeRegressor])
def test_settings_of_a_task_have_its_defaults_and_its_help(
    estimator: type[PrivateTreeClassifier | PrivateTreeRegressor],
) -> None:
    """Parameters of the same name; epsilon, which has no default in a task, is 1 here."""
    shared = estimator(public_fraction=0.5).get_params().keys() & TaskSettings.model_fields.keys()
    assert {"grower", "depth", "mechanism", "hidden_depth", "questions"} < shared
    plain = {"name": "n", "label": "l", "epsilon": 1.0}
    given = {name: getattr(estimator(), name) for name in shared}
    given |= {"prevalence": {}}  # None here: scikit-learn's own checks take no dict for a default
    whole = TaskSettings.model_validate({**plain, **given})
    assert whole == TaskSettings.model_validate(plain)
    text = " ".join((PrivateTreeClassifier.__doc__ or "").split())
    for name in shared - {"centred", "label_range"}:  # of the regressor only
        assert str(TaskSettings.model_fields[name].description) in text


def test_a_stated_prevalence_is_where_estimates_start() -> None:
    """By class as labels have it; half of the public records are cases, of the holders few."""
    rng = np.random.default_rng(0)
    X = rng.random((4000, 2))
    y = (rng.random(4000) < 0.03 * (X[:, 0] > 0.5)).astype(int)
    rows = np.concatenate([np.flatnonzero(y == of)[:30] for of in (0, 1)])
    public, p = (X[rows], y[rows]), float(y.mean())

    def share(prevalence: dict[Any, float] | None) -> float:
        model = PrivateTreeClassifier(0.2, prevalence=prevalence, depth=1, random_state=1)
        return float(clone(model).fit(X, y, public=public).predict_proba(X)[:, 1].mean())

    assert abs(share({np.int64(1): np.float64(p)}) - p) < 0.02 < abs(share(None) - p)
    with pytest.raises(ValueError, match="'cases', which is no class"):
        share({"cases": p})


def test_a_pickle_brings_along_what_a_program_registered() -> None:
    """A grower and an estimator of one's own are registered again where they are unknown."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(GROWERS, "halving", Grower("halving", grid_grower))
        patch.setitem(ESTIMATORS, "mine", replace(ESTIMATORS["weighted"]))
        own = PrivateTreeClassifier(4.0, grower="halving", depth=2, estimator="mine")
        state = pickle.dumps(own)
    assert "halving" not in GROWERS
    try:
        again = pickle.loads(state)
        assert again.fit(*moons(300)).task_.trees[0].depth == 2
    finally:
        del GROWERS["halving"], ESTIMATORS["mine"]


class Exported:
    """A table of another library, which only hands out Arrow's columns, as polars' does."""

    def __init__(self, table: pa.Table) -> None:
        self.table, self.shape, self.columns = table, table.shape, table.column_names

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return len(self.table)


@pytest.mark.parametrize("of", [pa.table, lambda frame: Exported(pa.table(frame))])
def test_arrow_tables_are_taken_as_frames_are(of: Callable[[pd.DataFrame], Any]) -> None:
    """Texts, truth values, numbers and gaps give the same predictions, and plans."""
    rng = np.random.default_rng(51)
    frame = pd.DataFrame({"size": rng.normal(size=80), "kind": ["a", "b", None, "b"] * 20})
    frame["new"], frame.loc[2, "size"] = frame["size"] > 1.0, np.nan
    y = (frame["size"] > 0).to_numpy()
    known = PrivateTreeClassifier(**QUICK, random_state=0).fit(frame, y, public=(frame, y))
    model = PrivateTreeClassifier(**QUICK, random_state=0).fit(
        of(frame), pa.array(y), public=(of(frame), y)
    )
    assert model.task_ == known.task_
    np.testing.assert_array_equal(model.predict_proba(of(frame)), known.predict_proba(frame))
    halved = PrivateTreeClassifier(**QUICK, random_state=0)
    with pytest.warns(UserWarning, match="drawn at random"):
        assert len(halved.fit(of(frame), y).predict(of(frame))) == 80
    with pytest.raises(ValueError, match="'day' holds dates or durations: turn it into a number"):
        model.fit(of(frame.assign(day=pd.Timestamp("2030-01-01"))), y)


def test_records_as_programs_have_them() -> None:
    """Decimals are numbers as in scikit-learn; any column may be called ``label``; labels are told
    apart by all their digits; a record without a label, or with infinity, is named."""
    rows = 60
    frame = pd.DataFrame(
        {
            "label": [Decimal(row % 7) / 2 for row in range(rows)],
            "label of the task": ["a", "b", "e\u0301"] * 20,
        }
    )
    frame.loc[3, "label"] = None
    ids = np.array([2**53, 2**53 + 1])[np.arange(rows) % 2]
    y, public = pd.Series(ids, name="label"), (frame, ids)
    fitted = PrivateTreeClassifier(depth=1, **QUICK, random_state=0).fit(frame, y, public=public)
    label, of_task = fitted.task_.features
    assert isinstance(label, Numeric)
    assert (label.low, label.high) == (0.0, 3.0)
    assert isinstance(of_task, Categorical)
    assert of_task.categories == ("a", "b", "\u00e9")
    assert fitted.classes_.tolist() == [2**53, 2**53 + 1]
    assert fitted.task_.label.model_dump()["classes"] == ("9007199254740992", "9007199254740993")
    assert set(fitted.predict(frame)) <= {*fitted.classes_}
    texts = pd.Series(["yes", "no"] * 30)
    for absent in (np.nan, None, pd.NA):
        texts[7] = absent
        with pytest.raises(ValueError, match=r"Input y contains NaN: 1 of 60 .* first in row 7"):
            PrivateTreeClassifier().fit(frame, texts.astype(object), public=public)
    frame["label"] = [float("inf"), *map(float, range(rows - 1))]
    with pytest.raises(ValueError, match="inf"):
        PrivateTreeClassifier().fit(frame, ids, public=public)


def test_what_is_wrong_with_public_records_is_said_of_them() -> None:
    """Not of the private ones; and a difference between both is pointed out."""
    X, y = np.random.default_rng(52).normal(size=(200, 2)), np.arange(200) % 2
    fit = PrivateTreeClassifier(**QUICK, random_state=0).fit
    for X_public, y_public, said in [
        (X, np.where(np.arange(200) == 3, np.nan, 1.0), "Input y contains NaN"),
        (X[:, :1], y, "1 features"),
        (np.full_like(X, np.nan), y, "'x0' has no values"),
    ]:
        with pytest.raises(ValueError, match=f"The public records: .*{said}"):
            fit(X, y, public=(X_public, y_public))
    with pytest.warns(UserWarning, match="'x0' of 100% of the records lies outside.*transform"):
        fit(X, y, public=(X + np.array([50.0, 0.0]), y))
    far, numbers = X.copy(), X[:, 0].copy()
    far[4:8, 1], numbers[3] = -99.0, 18791.0
    with pytest.warns(UserWarning, match="'x1' of the public records is -99 in 4 of 200 rows"):
        fit(X, y, public=(far, y))
    regressor = PrivateTreeRegressor(grower="cart", estimator="weighted")
    with pytest.warns(UserWarning, match="'label' of the public records is 18791 in 1 of 200"):
        regressor.fit(X, X[:, 0], public=(X, numbers))
    with warnings.catch_warnings():  # right as they are, and declared
        warnings.simplefilter("error")
        regressor.fit(X, X[:, 0], public=(X, X[:, 0]))
        regressor.set_params(label_range=(-5.0, 20000.0)).fit(X, X[:, 0], public=(X, numbers))
    with pytest.warns(UserWarning, match="No public record is of class 2"):
        fit(X, np.arange(200) % 3, public=(X, y))
    with pytest.raises(ValueError, match="'l' holds a list"):
        fit(pd.DataFrame({"x": X[:, 0], "l": [[1, 2]] * 200}), y)
