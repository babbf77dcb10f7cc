"""Displays draw what the picture shows, and say what is missing."""

import numpy as np
import pytest

from privet import PrivateTreeClassifier, TreeDisplay
from privet.learning.core.model import FittedModel
from privet.learning.export.formats import write_json
from privet.protocol.errors import InvalidRequest


@pytest.fixture(scope="module")
def estimator() -> PrivateTreeClassifier:
    """Two cells of one feature, of which the second one's label is yes."""
    X = np.repeat([[0.0], [1.0]], 200, axis=0)
    y = np.repeat(["no", "yes"], 200)
    model = PrivateTreeClassifier(4.0, grower="cart", depth=1, estimator="weighted", random_state=0)
    model.fit(X, y, public=(X[::4], y[::4]))
    return model


def test_a_task_shows_its_cells(estimator: PrivateTreeClassifier) -> None:
    """Without a model the rows have masses only."""
    display = TreeDisplay.from_task(estimator.task_)
    cells = [row for row in display.layout.rows if row.cell is not None]
    assert [(cell.mass, cell.value) for cell in cells] == [(0.5, None), (0.5, None)]
    assert "x0: under 0.5" in display._repr_html_()


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


def test_estimators_show_their_tree_once_fitted(estimator: PrivateTreeClassifier) -> None:
    """HTML has scikit-learn's box, and one picture if the estimator is fitted."""
    unfitted = PrivateTreeClassifier()._repr_mimebundle_()["text/html"]
    shown = estimator._repr_mimebundle_()["text/html"]
    assert 'role="img"' not in unfitted
    assert "PrivateTreeClassifier" in unfitted
    assert shown.count('role="img"') == 1
    assert "x0: under 0.5" in shown
