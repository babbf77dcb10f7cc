"""What a task publishes about features and label, read off public data or declared."""

import pickle
from typing import Any, get_args

import numpy as np
import pytest

from privet.learning.task_building.categorical import TooVaried
from privet.learning.task_building.schema import INFER, infer_features, infer_label, with_headline
from privet.learning.task_building.settings import TaskSettings
from privet.protocol.errors import InvalidPublicData
from privet.protocol.features import Categorical, Classes, Feature, Kind, Numeric
from privet.protocol.values import ColumnValues

YES_NO = np.array([0.0, 1.0, 1.0, 0.0])


def settings(**more: Any) -> TaskSettings:
    return TaskSettings.model_validate({"name": "t", "label": "y", "epsilon": 1.0, **more})


def feature(values: ColumnValues, **declared: Any) -> Any:
    given = settings(features={"x": declared}) if declared else settings()
    rows = len(values)
    return infer_features({"x": values, "y": np.resize(YES_NO, rows)}, given)[0]


def label(values: ColumnValues, **more: Any) -> Any:
    return infer_label({"y": values}, settings(**more))


def numeric(low: float, high: float, missing: float | None = None) -> Numeric:
    return Numeric(name="x", low=low, high=high, missing=missing)


def categorical(*names: str, missing: str | None = None, unknown: str | None = None) -> Categorical:
    return Categorical(name="x", categories=names, missing=missing, unknown=unknown)


A_NUMBER = np.array([3.0, -1.0, 2.0])
CODES = np.array([2.0, 10.0, 2.0, 10.0])
A_TO_C = {"categories": ["a", "b", "c"]}


@pytest.mark.parametrize(
    ("values", "declared", "expected"),
    [
        (A_NUMBER, {}, numeric(-1.0, 3.0)),
        (A_NUMBER, {"low": -5, "high": 5, "missing": 0}, numeric(-5.0, 5.0, 0.0)),
        (np.array([1.0, np.nan, 2.0, 9.0]), {}, numeric(1.0, 9.0, 2.0)),
        (["b", "a", "b", "a"], {}, categorical("a", "b")),
        (["10", "9", "10", "9"], {}, categorical("9", "10")),
        (["a", None, "b", "a", "b"], {}, categorical("a", "b", "(missing)", missing="(missing)")),
        (["a", "a", "b"], {}, categorical("a", "b", unknown="a")),
        (["a", "a", "b"], A_TO_C, categorical("a", "b", "c")),
        ([True, False, True, False], {}, categorical("False", "True")),
        (CODES, {"kind": "categorical"}, categorical("2", "10")),
    ],
)
def test_features_are_read_off_public_data_or_declared(
    values: ColumnValues, declared: dict[str, Any], expected: Numeric | Categorical
) -> None:
    """A range is that of the public data (LPCT section 4.3), and categories are sorted.

    The median stands in for missing numbers, a category of its own for missing texts. A category
    seen once says that others exist, for which the commonest stands in.
    """
    assert feature(values, **declared) == expected


def test_ignored_columns_are_left_out() -> None:
    """The label and the ignored columns are no features."""
    columns = {"id": np.arange(4.0), "x": np.arange(4.0), "y": YES_NO}
    found = infer_features(columns, settings(ignore=["id"]))
    assert [f.name for f in found] == ["x"]


@pytest.mark.parametrize(
    ("values", "declared", "advice"),
    [
        (np.array([1.0, np.inf]), {}, "Row 2 of the column 'x' is inf"),
        (np.array([1.0, np.inf]), {"kind": "categorical"}, "Row 2 of the column 'x' is inf"),
        (np.array([np.nan, np.nan]), {}, "has no values"),
        ([None, None], {}, "has no values"),
        ([*(f"note {i}" for i in range(30)), *[None] * 270], {}, "30 different texts in 30 rows"),
        ([f"name {i}" for i in range(50)], {}, r"50 different texts.*\(ignore=\['x'\]\)"),
        ([f"2030-01-{i:02}" for i in range(1, 31)], {}, "dates or durations.*days since"),
        (["a", "b"], {"kind": "numeric"}, "'a': it must be a number"),
        (np.array([1.0, 2.0]), {"unknown": "a"}, "not categories"),
        (["a", "b"], {"low": 1}, "not a range"),
        (np.array([1.0, 2.0]), {"low": 3}, "low"),
        (np.array([1.0, 2.0]), {"missing": "a"}, "missing"),
        (["a", "b"], {"unknown": "c"}, "replacement"),
        (["a", "b"], {"categories": ["a", "a"]}, "different"),
    ],
)
def test_impossible_features_are_refused(
    values: ColumnValues, declared: dict[str, Any], advice: str
) -> None:
    """Every refusal names the column and says what to do."""
    with pytest.raises(InvalidPublicData, match=advice) as refused:
        feature(values, **declared)
    assert "'x'" in refused.value.detail


def test_all_ids_are_named_at_once() -> None:
    """With the parameter that leaves them out, as Python takes it."""
    ids = {name: [f"{name} {i}" for i in range(50)] for name in ("id", "second name")}
    with pytest.raises(InvalidPublicData, match=r"\(ignore=\['id', 'second name'\]\)"):
        infer_features({**ids, "x": np.arange(50.0), "y": YES_NO * 13}, settings())


@pytest.mark.parametrize(
    ("more", "advice"),
    [
        ({"ignore": ["z"]}, "no column 'z'"),
        ({"features": {"z": {}}}, "no column 'z'"),
        ({"features": {"y": {}}}, "cannot be a feature"),
        ({"ignore": ["x"]}, "add features"),
    ],
)
def test_settings_must_name_columns_that_exist(more: dict[str, Any], advice: str) -> None:
    """A setting for a column that is not there is an error, not ignored."""
    with pytest.raises(InvalidPublicData, match=advice):
        infer_features({"x": np.arange(4.0), "y": YES_NO}, settings(**more))


@pytest.mark.parametrize(
    ("values", "more", "expected"),
    [
        (["b", "a", "b"], {}, ("a", "b")),
        ([True, False], {}, ("False", "True")),
        (["true", "FALSE"], {"classes": [False, True]}, ("False", "True")),
        (np.array([10.0, 9.0, 10.0]), {}, ("9", "10")),
        (np.arange(12.0), {"label_type": "classes"}, tuple(map(str, range(12)))),
        (["a", "b"], {"classes": ["c", "b", "a"]}, ("c", "b", "a")),
        (np.arange(11.0), {}, (0.0, 10.0)),
        (np.array([0.5, 1.0]), {}, (0.5, 1.0)),
        (YES_NO, {"label_type": "range"}, (0.0, 1.0)),
        (YES_NO, {"label_range": [-1, 2]}, (-1.0, 2.0)),
    ],
)
def test_labels_are_classes_or_numbers(
    values: ColumnValues, more: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    """Texts, truth values and few whole numbers are classes, in order; other numbers a range."""
    found = label(values, **more)
    assert (found.classes if isinstance(found, Classes) else (found.low, found.high)) == expected


@pytest.mark.parametrize(
    ("values", "more", "advice"),
    [
        (["a", "a"], {}, "one class only"),
        (np.array([1.0, 1.0]), {}, "one class only"),
        (np.array([1.0, np.nan]), {}, "Row 2 has no label"),
        (["a", None], {}, "Row 2 has no label"),
        (np.array([1.0, np.inf]), {}, "Row 2"),
        (np.array([1.5, 1.5]), {}, "one value"),
        (["a", "b"], {"classes": ["a", "c"]}, "leave out"),
        (["a", "b"], {"label_type": "range"}, "must be a number"),
        ([f"{i}" for i in range(1001)], {}, "limit is 1000"),
    ],
)
def test_impossible_labels_are_refused(
    values: ColumnValues, more: dict[str, Any], advice: str
) -> None:
    """A label nothing can be learnt from is refused with what to do."""
    with pytest.raises(InvalidPublicData, match=advice):
        label(values, **more)


def test_all_columns_that_cannot_be_asked_for_are_named_at_once() -> None:
    """Empty ones, ids and dates, in one setting to copy; the reason of each follows."""
    columns: dict[str, ColumnValues] = {
        "id": [f"name {i}" for i in range(50)],
        "fax": [None] * 50,
        "when": [f"2030-{1 + i // 25:02}-{1 + i % 25:02}" for i in range(50)],
        "age": np.arange(50.0),
        "y": ["a", "b"] * 25,
    }
    settings = TaskSettings(name="t", label="y", epsilon=1.0)
    with pytest.raises(InvalidPublicData, match="3 columns cannot be asked for") as raised:
        infer_features(columns, settings)
    for said in (
        "(ignore=['id', 'fax', 'when'])",
        "'id' has 50 different texts",
        "'fax' has no values",
        "(years=['when'])",
    ):
        assert said in raised.value.detail
    left = settings.model_copy(update={"ignore": ("id", "fax", "when")})
    assert [each.name for each in infer_features(columns, left)] == ["age"]


def test_a_refusal_leaves_a_worker_process() -> None:
    """With its sentence: one that cannot be pickled would be a failure of the server's."""
    raised = TooVaried("id", "The column 'id' has 50 different texts.")
    again = pickle.loads(pickle.dumps(raised))
    assert (type(again), again.column, again.detail) == (TooVaried, "id", raised.detail)


def test_every_kind_of_feature_is_read_and_inferred() -> None:
    """The registry's names are those of its classes, and public data can become each."""
    kinds = {each.model_fields["kind"].default for each in get_args(get_args(Feature)[0])}
    assert kinds == set(get_args(Kind)) == set(INFER)


@pytest.mark.parametrize(
    ("classes", "chosen", "headline"),
    [
        (("no", "yes"), None, None),
        (("yes", "no"), None, "yes"),
        (("Ja", "Nein"), None, "Ja"),
        (("a", "b"), None, None),
        (("a", "b"), "a", "a"),
        (("a", "b"), "b", None),
        (("yes", "no"), "no", None),
        (("a", "b", "yes"), None, None),
        (("a", "b", "c"), "b", "b"),
    ],
)
def test_the_headline_is_the_chosen_class_or_yes(
    classes: tuple[str, ...], chosen: str | None, headline: str | None
) -> None:
    """Left out where it is the last of two, as it is by default."""
    assert with_headline("y", classes, chosen).headline == headline


def test_a_headline_that_is_no_class_is_refused() -> None:
    with pytest.raises(InvalidPublicData, match="no class of 'y': the classes are 'a', 'b'"):
        with_headline("y", ("a", "b"), "c")
    with pytest.raises(InvalidPublicData, match="is a number and has no headline"):
        infer_label({"y": np.arange(12.0)}, settings(label_type="range", headline="1"))
