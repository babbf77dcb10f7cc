"""Numbers and categories that may stand for no answer are asked about, and others seldom."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from privet.learning.task_building.build import build_task
from privet.learning.task_building.no_answers import far_numbers
from privet.learning.task_building.renaming import prepared
from privet.learning.task_building.review import propose, review
from privet.learning.task_building.settings import TaskSettings
from privet.learning.task_building.table import read_table
from privet.protocol.features import Numeric, Range

Floats = NDArray[np.float64]
SETTINGS = TaskSettings(name="t", label="y", epsilon=1.0)


def costs(rows: int = 300, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).gamma(9.0, 7.0, rows).round(1)


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([*costs(), *[9999.0] * 12], {"9999": 12}),
        ([*costs(), *[-99.0] * 12], {"-99": 12}),
        ([*costs(), *[-1.0, -2.0] * 3], {"-2": 3, "-1": 3}),
        ([*costs(), *[998.0] * 4, *[999.0] * 9], {"998": 4, "999": 9}),
        ([*[1.0, 2.0, 3.0, 4.0, 5.0] * 20, *[9.0] * 4], {"9": 4}),
        ([*costs(), 18791.2], {"18791.2": 1}),
        ([*costs(), 1e300], {"1e+300": 1}),
    ],
)
def test_what_is_far_from_all_others_is_found(values: list[float], found: dict[str, int]) -> None:
    assert far_numbers(np.array(values)) == found


HONEST: dict[str, tuple[Callable[[np.random.Generator, int], Floats], float]] = {
    "normal": (lambda rng, n: rng.normal(size=n), 0.0),
    "log-normal": (lambda rng, n: np.exp(rng.normal(3.0, 1.0, n)), 0.02),
    "zeros": (lambda rng, n: np.exp(rng.normal(3.0, 1.0, n)) * (rng.random(n) < 0.4), 0.04),
    "counts": (lambda rng, n: rng.poisson(0.3, n).astype(float), 0.0),
    "many counts": (lambda rng, n: rng.negative_binomial(1, 0.1, n).astype(float), 0.01),
    "years": (lambda rng, n: rng.integers(1940, 2010, n).astype(float), 0.0),
    "a scale": (lambda rng, n: rng.integers(1, 6, n).astype(float), 0.0),
    "ages": (lambda rng, n: np.clip(rng.gamma(6.0, 8.0, n), 0.0, 104.0).round(), 0.0),
    "coded": (lambda rng, n: rng.integers(-1, 2, n).astype(float), 0.0),
    "long tails": (lambda rng, n: rng.pareto(2.0, n), 0.1),
    "both signs": (lambda rng, n: rng.normal(0.0, 3.0, n).round(), 0.0),
}


@pytest.mark.parametrize("kind", HONEST)
def test_honest_columns_are_seldom_asked_about(kind: str) -> None:
    """In 300 columns of 50 to 3 000 rows; a tail that is asked about takes one answer."""
    make, most = HONEST[kind]
    asked = sum(
        bool(far_numbers(make(np.random.default_rng(seed), rows)))
        for seed in range(100)
        for rows in (50, 300, 3000)
    )
    assert asked <= most * 300


def table_of(values: list[object]) -> bytes:
    lines = [f"{row % 7},{value}" for row, value in enumerate(values)]
    return "\n".join(["x,y", *lines]).encode()


def test_a_code_in_the_label_is_refused_or_left_out() -> None:
    """Once it is said to be no answer, its rows are none, and no range has it."""
    table = read_table(table_of([*costs(), *[9999] * 12]))
    (remark,) = review(table, SETTINGS)
    assert remark.startswith("'y' has 9999 in 12 rows far from its other numbers")
    said = SETTINGS.model_copy(update={"rename": {"y": {"9999": ""}}})
    assert review(table, said) == []
    left = prepared(table, said)
    assert isinstance(left["y"], np.ndarray)
    assert [len(left[name]) for name in ("x", "y")] == [300, 300]
    task, _ = build_task(said, table)
    assert isinstance(task.label, Range)
    assert task.label.high == costs().max()
    declared = SETTINGS.model_copy(update={"label_range": (0.0, 9999.0)})
    assert review(table, declared) == []


def test_a_code_in_a_feature_is_a_missing_value() -> None:
    lines = [f"{value},{row % 2}" for row, value in enumerate([*costs(), *[-99] * 12])]
    table = read_table("\n".join(["x,y", *lines]).encode())
    (proposal, _) = propose(table)
    assert proposal.blanks == {"-99": 12}
    assert isinstance(proposal.feature, Numeric)
    assert proposal.feature.low == costs().min()
    said = SETTINGS.model_copy(update={"rename": {"x": {"-99": ""}}})
    values = prepared(table, said)["x"]
    assert isinstance(values, np.ndarray)
    assert int(np.isnan(values).sum()) == 12


@pytest.mark.parametrize(
    ("values", "said", "merges"),
    [
        (["yes", "no"] * 40 + ["see remark"], "has 'see remark' in one row", []),
        (["yes", "no"] * 40 + ["yess"], "has 'yess' in 1 and 'yes' in 40 rows", [("yess", "yes")]),
        (
            ["1 - very bad", "2", "3", "4", "5 - very good"] * 9,
            "words at the ends of a scale: rename '1 - very bad' to 1 and '5 - very good' to 5",
            [("1 - very bad", "1"), ("5 - very good", "5")],
        ),
        (
            ["0", "01. Feb", "05. Mrz", ">5"] * 9,
            "dates that a spreadsheet made of its ranges: rename '01. Feb' to '1-2'",
            [("01. Feb", "1-2"), ("05. Mrz", "3-5")],
        ),
        (
            ["9-May", "10-19", "20-29"] * 9,
            "dates that a spreadsheet made of its ranges: rename '9-May' to '5-9'",
            [("9-May", "5-9")],
        ),
        (
            ["Oct-19", "20-29", "30-39"] * 9,
            "dates that a spreadsheet made of its ranges: rename 'Oct-19' to '10-19'",
            [("Oct-19", "10-19")],
        ),
        (["5-Sep", "10-14", "15-19"] * 9, "rename '5-Sep' to '5-9'", [("5-Sep", "5-9")]),
        (["F", "Female", "M", "Male"] * 9, "has 'F' in 9", [("F", "Female"), ("M", "Male")]),
    ],
)
def test_categories_that_are_none_are_asked_about(
    values: list[object], said: str, merges: list[tuple[str, str]]
) -> None:
    table = read_table(table_of(values))
    assert any(said in remark for remark in review(table, SETTINGS))
    (_, proposal) = propose(table)
    assert [(each.old, each.new) for each in proposal.merges] == merges
    assert bool(merges or proposal.blanks)


@pytest.mark.parametrize(
    "values",
    [
        ["A", "AB", "B", "0"] * 9,
        ["Jan-20", "Feb-20", "Mar-20"] * 9,
        [*["north", "south"] * 40, *["east"] * 3, "west"],
        ["1 kg", "2 kg", "3 kg"] * 9,
        [*range(10)] * 9,
    ],
)
def test_other_categories_are_not(values: list[object]) -> None:
    (_, proposal) = propose(read_table(table_of(values)))
    assert not proposal.merges
    assert not proposal.blanks
