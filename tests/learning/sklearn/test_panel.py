"""A simulated panel is fitted wave by wave, and keeps scikit-learn's manners."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import check_estimator

from privet.learning.core.amounts import thousands
from privet.learning.drift import fit as drift_fit
from privet.learning.drift.shift import history_with
from privet.learning.sklearn import PrivatePanel, PrivateTreeClassifier, PrivateTreeRegressor

from .test_estimators import NEARLY_PUBLIC, QUICK

pytestmark = pytest.mark.filterwarnings("ignore:fit was given no public records")

PUBLIC = 400
SHARES = np.array([[0.2, 0.6], [0.2, 0.6], [0.2, 0.9]])
"""Of label 1 in each wave and half of the square: one cell changes in the third wave."""


def records(rows: int = 9_000, seed: int = 0) -> tuple[Any, Any, Any, tuple[Any, Any]]:
    """Records, labels and waves, and public records like those of the first wave."""
    rng = np.random.default_rng(seed)
    X, wave = rng.random((rows + PUBLIC, 2)), rng.integers(1, 4, rows + PUBLIC)
    wave[:PUBLIC] = 1
    y = (rng.random(len(X)) < SHARES[wave - 1, (X[:, 0] > 0.5).astype(int)]).astype(int)
    return X[PUBLIC:], y[PUBLIC:], wave[PUBLIC:], (X[:PUBLIC], y[:PUBLIC])


def quick(epsilon: float = 4.0, **options: Any) -> PrivateTreeClassifier:
    own = LogisticRegression()
    return PrivateTreeClassifier(epsilon, grower="cart", depth=1, public_model=own, **options)


def test_a_panel_finds_what_changed_and_predicts_by_wave() -> None:
    """All waves have one task; the change is listed with an interval that holds it, and a wave's
    model starts from the waves before it."""
    X, y, wave, public = records()
    panel = PrivatePanel(quick(random_state=0)).fit(X, y, wave, public=public)
    assert {(e.since, e.wave) for e in panel.changes_} == {(1, 3), (2, 3)}
    (cell,) = {e.cell for e in panel.changes_} - {None}
    for change in panel.changes_:
        assert change.low < (0.3 if change.cell == cell else 0.15) < change.high
    assert "The share of 1 rose from 4" in panel.summary()
    assert "a lifetime epsilon of 4 each" in panel.summary()
    assert [len(line.figures) for line in panel.lines_] == [3, 3]
    ids = {tree.task_.id for tree in panel.trees_}
    assert len(ids) == 1
    assert [tree.n_reports_ for tree in panel.trees_] == np.bincount(wave)[1:].tolist()
    before = [tree.model_.facts.get("earlier waves") for tree in panel.trees_]
    assert before[0] is None
    assert before[2] == f"2, of {thousands(int(np.sum(wave < 3)))} reports"
    right = [[0.9, 0.5]]
    assert panel.predict_proba(right)[0, 1] == pytest.approx(0.9, abs=0.1)
    assert panel.predict_proba(right, wave=1)[0, 1] == pytest.approx(0.6, abs=0.1)
    both = panel.predict_proba(right * 3, wave=[3, 1, 3])
    assert both[:, 1].tolist() == [
        panel.predict_proba(right, wave=each)[0, 1] for each in (3, 1, 3)
    ]
    assert panel.predict(right * 2, wave=[3, 1]).tolist() == [1, 1]
    assert panel.score(X, y, wave) > panel.score(X[wave == 1], y[wave == 1], wave=1)


def test_a_wave_adds_to_what_the_waves_before_it_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is worked out once, however often a fit asks."""
    calls = list[object]()

    def counted(*arguments: Any) -> object:
        calls.append(arguments)
        return history_with(*arguments)

    monkeypatch.setattr(drift_fit, "history_with", counted)
    X, y, wave, public = records(2_000)
    PrivatePanel(quick(random_state=0)).fit(X, y, wave, public=public)
    assert len(calls) == 2


def test_the_first_wave_is_fitted_as_if_it_were_alone() -> None:
    """Exactly."""
    X, y, wave, public = records(2_000)
    tree = quick(random_state=0)
    first = PrivatePanel(tree).fit(X, y, wave, public=public).trees_[0]
    alone = clone(tree).fit(X[wave == 1], y[wave == 1], public=public)
    assert (first.model_.values == alone.model_.values).all()
    assert first.model_.facts == alone.model_.facts


def test_numbers_over_time_and_tables() -> None:
    """A numeric label, a table with a column of waves, and holders who repeat: their lifetime is
    what all waves cost."""
    X, y, wave, public = records(3_000)
    table = pd.DataFrame(X, columns=["a", "b"]).assign(wave=wave)
    own = LinearRegression()
    tree = PrivateTreeRegressor(4.0, grower="cart", depth=1, public_model=own, random_state=0)
    panel = PrivatePanel(tree, mode="repeat").fit(
        table[["a", "b"]],
        y.astype(float),
        table["wave"],
        public=(pd.DataFrame(public[0], columns=["a", "b"]), public[1].astype(float)),
    )
    assert panel.lifetime_ == 12.0
    assert not hasattr(panel, "predict_proba")
    rows = table[["a", "b"]].iloc[:4]
    assert panel.predict(rows, wave=wave[:4]).shape == (4,)
    assert panel.feature_names_in_.tolist() == ["a", "b"]


def test_cross_validation_routes_the_waves() -> None:
    """Waves are handed on like any metadata, to fit and to score."""
    X, y, wave, _ = records(1_200)
    with sklearn.config_context(enable_metadata_routing=True):
        panel = PrivatePanel(quick(random_state=0))
        panel.set_fit_request(wave=True, public=False).set_score_request(wave=True)
        scores = cross_val_score(panel, X, y, cv=2, params={"wave": wave})
    assert scores.min() > 0.5
    assert clone(panel).set_params(tree__epsilon=8.0).tree.epsilon == 8.0


@pytest.mark.parametrize(
    ("wave", "says"),
    [
        ([0, 1, 2, 3] * 10, "from 1, without gaps"),
        ([1, 3] * 20, "from 1, without gaps"),
        ([1] * 40, "from 2 to 64 waves"),
        ([1.5, 2.0] * 20, "number of each row's wave"),
        (["a", "b"] * 20, "number of each row's wave"),
        ([1, 2] * 10, "inconsistent numbers of samples"),
        ([1] + [2] * 39, "Wave 1 has 1 private records"),
    ],
)
def test_waves_that_are_none_are_refused(wave: list[Any], says: str) -> None:
    X, y, _, public = records(40)
    with pytest.raises(ValueError, match=says):
        PrivatePanel(quick()).fit(X, y, wave, public=public)


def test_impossible_panels_are_refused() -> None:
    X, y, wave, public = records(40)
    with pytest.raises(ValueError, match="choose among rotate, repeat"):
        PrivatePanel(quick(), mode="turn").fit(X, y, wave, public=public)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="disclose nothing"):
        PrivatePanel(quick(disclosed=["x0"]), mode="repeat").fit(X, y, wave, public=public)
    X, y, wave, public = records(300)
    panel = PrivatePanel(quick()).fit(X, y, wave, public=public)
    for strange in (0, 4, "2", [1] * 299 + [4]):
        with pytest.raises(ValueError, match="numbered from 1 to 3"):
            panel.predict(X, wave=strange)


class InTurn(PrivatePanel):
    """A panel whose rows answer in turn: scikit-learn's checks know no waves."""

    def fit(self, X: Any, y: Any, **others: Any) -> Any:  # type: ignore[override]
        rows = (*np.asarray(X).shape, 0)[0]
        return super().fit(X, y, 1 + np.arange(rows) % 2, **others)


@pytest.mark.slow
def test_scikit_learns_own_checks() -> None:
    """All of them pass at a large budget."""
    for tree in (PrivateTreeClassifier(NEARLY_PUBLIC, random_state=0, **QUICK),):
        results = check_estimator(InTurn(tree), on_fail=None, on_skip=None)
        failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
        assert failed == {}
