"""What a task publishes about features and label, read off public data or declared."""

from typing import Any

import numpy as np
import pytest

from privet.learning.task_building.schema import infer_features, infer_label
from privet.learning.task_building.settings import TaskSettings
from privet.protocol.errors import InvalidPublicData
from privet.protocol.features import Categorical, ColumnValues, Numeric, Range

YES_NO = np.array([0.0, 1.0, 1.0, 0.0])


def settings(**more: Any) -> TaskSettings:
    return TaskSettings.model_validate({"name": "t", "label": "y", "epsilon": 1.0, **more})


def feature(values: ColumnValues, **declared: Any) -> Any:
    given = settings(features={"x": declared}) if declared else settings()
    rows = len(values)
    return infer_features({"x": values, "y": np.resize(YES_NO, rows)}, given)[0]


def label(values: ColumnValues, **more: Any) -> Any:
    return infer_label({"y": values}, settings(**more))


def test_a_numeric_range_is_that_of_the_public_data() -> None:
    """LPCT section 4.3: the published range is the least and greatest public value."""
    assert feature(np.array([3.0, -1.0, 2.0])) == Numeric(name="x", low=-1.0, high=3.0)


def test_declared_ranges_and_stand_ins_win() -> None:
    """What is declared is published as it is."""
    declared = feature(np.array([3.0, -1.0]), low=-5, high=5, missing=0)
    assert declared == Numeric(name="x", low=-5.0, high=5.0, missing=0.0)


def test_missing_numbers_are_stood_in_for_by_the_median() -> None:
    """A column with missing values publishes its median as the rule for holders, too."""
    assert feature(np.array([1.0, np.nan, 2.0, 9.0])).missing == 2.0


def test_texts_become_sorted_categories() -> None:
    """Texts are sorted alphabetically, numbers written as texts numerically."""
    assert feature(["b", "a", "b", "a"]) == Categorical(name="x", categories=("a", "b"))
    assert feature(["10", "9", "10", "9"], kind="categorical").categories == ("9", "10")


def test_missing_texts_are_a_category_of_their_own() -> None:
    """A text column with missing values gets one more category, which stands in for them."""
    found = feature(["a", None, "b", "a", "b"])
    assert found.categories == ("a", "b", "(missing)")
    assert found.missing == "(missing)"


def test_a_category_seen_once_says_that_others_exist() -> None:
    """Then the commonest stands in for unlisted ones; otherwise they are refused."""
    assert feature(["a", "a", "b"]).unknown == "a"
    assert feature(["a", "a", "b", "b"]).unknown is None
    assert feature(["a", "a", "b"], categories=["a", "b", "c"]).unknown is None


def test_truth_values_and_numbers_can_be_categories() -> None:
    """Truth values are the categories 0 and 1; numbers become categories when declared so."""
    assert feature([True, False, True, False]).categories == ("0", "1")
    assert feature(np.array([2.0, 10.0, 2.0, 10.0]), kind="categorical").categories == ("2", "10")


def test_ignored_columns_are_left_out() -> None:
    """The label and the ignored columns are no features."""
    columns = {"id": np.arange(4.0), "x": np.arange(4.0), "y": YES_NO}
    found = infer_features(columns, settings(ignore=["id"]))
    assert [f.name for f in found] == ["x"]


@pytest.mark.parametrize(
    ("values", "declared", "advice"),
    [
        (np.array([1.0, np.inf]), {}, "Row 2 of the column 'x' is inf"),
        (np.array([np.nan, np.nan]), {}, "has no values"),
        ([None, None], {}, "has no values"),
        ([f"name {i}" for i in range(50)], {}, "50 different texts"),
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


def test_labels_that_are_classes() -> None:
    """Texts, truth values and few whole numbers are classes, in order."""
    assert label(["b", "a", "b"]).classes == ("a", "b")
    assert label([True, False]).classes == ("0", "1")
    assert label(np.array([10.0, 9.0, 10.0])).classes == ("9", "10")
    assert label(np.arange(30.0), label_type="classes").slots == 30
    assert label(["a", "b"], classes=["c", "b", "a"]).classes == ("c", "b", "a")


def test_labels_that_are_numbers() -> None:
    """Many or fractional numbers are a range, and so is whatever is declared to be one."""
    assert label(np.arange(11.0)) == Range(name="y", low=0.0, high=10.0)
    assert label(np.array([0.5, 1.0])) == Range(name="y", low=0.5, high=1.0)
    assert label(YES_NO, label_type="range") == Range(name="y", low=0.0, high=1.0)
    assert label(YES_NO, label_range=[-1, 2]) == Range(name="y", low=-1.0, high=2.0)


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
