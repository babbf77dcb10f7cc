"""Displays draw what the picture shows, and say what is missing."""

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from privet import PrivateTreeClassifier, PrivateTreeRegressor, TreeDisplay
from privet.learning.export.formats import write_json
from privet.learning.model import FittedModel
from privet.protocol.errors import InvalidRequest


@pytest.fixture
def plt() -> Iterator[Any]:
    """matplotlib without a window."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    yield pyplot
    pyplot.close("all")


@pytest.fixture(scope="module")
def estimator() -> PrivateTreeClassifier:
    """Two cells of one feature, of which the second one's label is yes."""
    X = np.repeat([[0.0], [1.0]], 200, axis=0)
    y = np.repeat(["no", "yes"], 200)
    model = PrivateTreeClassifier(4.0, grower="cart", depth=1, estimator="private", random_state=0)
    model.fit(X, y, public=(X[::4], y[::4]))
    return model


def words(display: TreeDisplay) -> list[str]:
    return [label.get_text() for label in display.ax_.get_yticklabels()]


@pytest.mark.slow
def test_an_estimator_draws_its_tree(estimator: PrivateTreeClassifier, plt: Any) -> None:
    """A row per node from the top, and the cells' points at their values, in the given axes."""
    _, ax = plt.subplots()
    display = TreeDisplay.from_estimator(estimator).plot(ax)
    assert display.ax_ is ax
    assert len(plt.get_fignums()) == 1
    assert words(display) == ["all (100%)", "    x0 < 0.5 (50%)", "    x0 >= 0.5 (50%)"]
    assert display.ax_.get_xlabel() == "share of yes"
    points = sorted(
        (float(y), float(x))
        for line in display.ax_.get_lines()
        if line.get_marker() == "o" and line.get_fillstyle() == "full"
        for x, y in zip(*line.get_data(), strict=True)
    )
    np.testing.assert_allclose(points, list(enumerate(estimator.model_.values[:, 1], start=1)))
    assert display.figure_ is display.ax_.figure


@pytest.mark.slow
def test_the_axis_says_what_cells_have(estimator: PrivateTreeClassifier, plt: Any) -> None:
    """Rows name one of three classes; a number's axis is its mean; a task has masses only."""
    X, y = np.repeat([[0.0], [1.0], [2.0]], 100, axis=0), np.repeat(["a", "b", "c"], 100)
    options: dict[str, Any] = {"grower": "cart", "depth": 2, "estimator": "private"}
    classes = PrivateTreeClassifier(8.0, random_state=0, **options)
    display = classes.fit(X, y, public=(X[::4], y[::4])).plot()
    assert {word[-3:] for word in words(display) if ":" in word} == {": a", ": b", ": c"}
    assert display.ax_.get_xlabel() == "share"
    number = PrivateTreeRegressor(8.0, random_state=0, **options)
    number.fit(X, X[:, 0], public=(X[::4], X[::4, 0]))
    assert number.plot().ax_.get_xlabel() == "mean of the label"
    cells = TreeDisplay.from_task(estimator.task_)
    assert cells.plot().ax_.get_xlabel() == "part of the mass"
    assert [bar.get_width() for bar in cells.ax_.patches] == [0.5, 0.5]
    assert "x0 &lt; 0.5" in cells._repr_html_()


def test_an_exported_model_draws_its_tree(estimator: PrivateTreeClassifier) -> None:
    """A display made from the curator's JSON shows the model's values."""
    fitted = FittedModel(estimator.task_.id, 3, 0.0, estimator.model_)
    display = TreeDisplay.from_export(write_json(estimator.task_, fitted))
    assert display.title == "Model 3 of label"
    values = [node.value for node in display.layout.nodes if node.value is not None]
    assert [value.value for value in values] == estimator.model_.values[:, 1].tolist()
    before = estimator.model_.without_reports().values
    assert [value.public for value in values] == before[:, 1].tolist()


@pytest.mark.parametrize("document", [b"{}", b"[]", b"not JSON", b'{"features": 1}'])
def test_what_is_no_export_is_refused(document: bytes) -> None:
    """Another document is refused with advice to export in JSON."""
    with pytest.raises(InvalidRequest, match="export it with format='json'"):
        TreeDisplay.from_export(document)


def test_without_matplotlib_it_says_what_to_install(
    estimator: PrivateTreeClassifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    """plot() says to install matplotlib; a notebook's picture needs none."""
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        estimator.plot()
    assert "<svg" in TreeDisplay.from_estimator(estimator)._repr_html_()


def test_estimators_show_their_tree_once_fitted(estimator: PrivateTreeClassifier) -> None:
    """HTML has scikit-learn's box, and one picture if the estimator is fitted."""
    unfitted = PrivateTreeClassifier()._repr_mimebundle_()["text/html"]
    shown = estimator._repr_mimebundle_()["text/html"]
    assert 'role="img"' not in unfitted
    assert "PrivateTreeClassifier" in unfitted
    assert shown.count('role="img"') == 1
    assert "x0 &lt; 0.5" in shown
