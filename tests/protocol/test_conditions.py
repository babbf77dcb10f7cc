"""What a node says of its records, in words."""

import math
from typing import Any

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from privet.protocol.conditions import conditions_at, conditions_in_words, readable_names
from privet.protocol.features import Categorical, Condition, Numeric, Relation, columns_of
from privet.protocol.partition import LEAF, Partition
from tests.protocol.examples import FEATURES, encoded
from tests.strategies import partitions

COLUMNS = columns_of(FEATURES)


def chain(*splits: tuple[int, float]) -> Partition:
    """Splits one below the other, each on the right; the last node is right of all."""
    count = len(splits)
    columns, thresholds = zip(*splits, strict=True)
    inner = [2 * i for i in range(count)]
    feature, threshold = [LEAF] * (2 * count + 1), [0.0] * (2 * count + 1)
    left, right = [LEAF] * (2 * count + 1), [LEAF] * (2 * count + 1)
    for node, column, at in zip(inner, columns, thresholds, strict=True):
        feature[node], threshold[node], left[node], right[node] = column, at, node + 1, node + 2
    return Partition.build(4, feature, threshold, left, right)


def said(partition: Partition, node: int) -> list[str]:
    return [each.in_words for each in conditions_at(partition, COLUMNS, node)]


def bound(low: float, high: float, threshold: float, *, left: bool) -> Condition:
    """What a single split of a number says of one side."""
    feature = Numeric(name="n", low=low, high=high)
    split = Partition.build(1, [0, LEAF, LEAF], [threshold, 0, 0], [1, LEAF, LEAF], [2, LEAF, LEAF])
    (condition,) = conditions_at(split, columns_of([feature]), 1 if left else 2)
    return condition


def test_conditions_in_words() -> None:
    """A text for each feature: both bounds of a number in one, with its unit, and categories by
    name, or by those that it is not where these are fewer; no colon behind a question mark."""
    age = Numeric(name="age", low=0, high=100, prompt="How old are you?", unit="years")
    pay = Numeric(name="pay", low=0, high=100)
    work = Categorical(name="work", categories=("farm", "shop", "sea", "mine", "none"))
    names = readable_names(columns_of([age, pay, work]))

    def text(*said: Condition) -> str:
        return " · ".join(conditions_in_words(said, names))

    assert text(Condition(age, ">=", 28.5), Condition(age, "<", 40.5)) == (
        "How old are you? 28.5 to under 40.5 years"
    )
    ends: tuple[tuple[Relation, str], ...] = (
        ("<", "under 29"),
        ("<=", "29 or less"),
        (">=", "29 or more"),
        (">", "over 29"),
    )
    for relation, said in ends:
        assert text(Condition(pay, relation, 29.0)) == f"pay: {said}"
    assert text(Condition(age, "<=", 11.0), Condition(pay, ">", 2.0)) == (
        "How old are you? 11 years or less · pay: over 2"
    )
    assert text(Condition(work, "is", "sea")) == "work: sea"
    but = [Condition(work, "is not", each) for each in work.categories[:4]]
    assert text(but[0]) == "work: any but farm"
    assert text(*but[:2]) == "work: any but farm or shop"
    assert text(*but[:3]) == "work: mine or none"
    assert text(*but) == "work: none"
    assert text(*but, Condition(work, "is", "sea")) == "work: no possible answer"
    assert text(Condition(pay, ">=", 40.0), Condition(pay, "<", 40.0)) == (
        "pay: no possible answer"
    )


def test_people_read_a_features_question_in_short() -> None:
    """Its name without one, and where two of them look the same."""
    told = "Has a doctor ever told you that you have "
    prompts = {
        "age": "How old are you?",
        "sugar": f"{told}diabetes?",
        "lungs": f"{told}asthma?",
        "low": f"{told}at some time or another low blood pressure?",
        "high": f"{told}now and then high and unstable but low blood pressure?",
        "long": "x" * 100,
        "pay": None,
    }
    features = [Numeric(name=name, low=0, high=1, prompt=of) for name, of in prompts.items()]
    assert readable_names(columns_of(features)) == {
        "age": "How old are you?",
        "sugar": "Has a doctor ever … you have diabetes?",
        "lungs": "Has a doctor ever … that you have asthma?",
        "low": "low",
        "high": "high",
        "long": f"{'x' * 21} … {'x' * 21}",
        "pay": "pay",
    }


def test_what_later_conditions_imply_is_left_out() -> None:
    """The closer bound stays, whichever comes first, and a category implies that it is no other."""
    assert said(chain((0, 0.25), (1, 0.5), (0, 0.75)), 6) == ["age is at least 50", "work is farm"]
    assert said(chain((0, 0.75), (0, 0.25)), 4) == ["age is at least 50"]
    assert said(chain((0, 0.75), (0, 0.25)), 3) == ["age is at least 50", "age is below 30"]
    both = Partition.build(
        4,
        [1, 2, LEAF, LEAF, LEAF],
        [0.5, 0.5, 0, 0, 0],
        [1, 3, LEAF, LEAF, LEAF],
        [2, 4, LEAF, LEAF, LEAF],
    )
    assert said(both, 4) == ["work is shop"]
    assert said(both, 3) == ["work is none"]
    assert said(both, 1) == ["work is not farm"]
    assert said(both, 0) == []
    # a cell that no record reaches is described by what contradicts itself
    assert said(chain((1, 0.5), (2, 0.5)), 4) == ["work is farm", "work is shop"]
    # a number that can take one value only, and thresholds outside the columns' values
    flat = columns_of([Numeric(name="age", low=5.0, high=5.0)])
    one = Partition.build(1, [0, LEAF, LEAF], [0.5, 0, 0], [1, LEAF, LEAF], [2, LEAF, LEAF])
    assert conditions_at(one, flat, 1) == []
    assert said(chain((0, 0.0), (1, -1.0), (0, 0.5)), 6) == ["age is at least 40"]


def test_conditions_are_said_feature_by_feature() -> None:
    """A number's lower bound first, and the category itself where only one is left."""
    features = (
        Categorical(name="ward", categories=("heart", "medical", "surgical")),
        Numeric(name="age", low=20.0, high=80.0),
    )
    splits = Partition.build(
        4,
        [0, 3, 2, 3, LEAF, LEAF, LEAF, LEAF, LEAF],
        [0.5, 0.791667, 0.5, 0.741667, 0, 0, 0, 0, 0],
        [1, 2, 3, 5, LEAF, LEAF, LEAF, LEAF, LEAF],
        [8, 7, 4, 6, LEAF, LEAF, LEAF, LEAF, LEAF],
    )
    words = [each.in_words for each in conditions_at(splits, columns_of(features), 6)]
    assert words == ["ward is medical", "age is at least 64.5", "age is below 67.5"]
    words = [each.in_words for each in conditions_at(splits, columns_of(features), 2)]
    assert words == ["ward is not heart", "age is below 67.5"]


def test_numbers_are_written_in_full() -> None:
    """Six digits, or from 1e5 on one decimal, left out where it is 0; no noise around 0."""

    def text(cut: float, low: float, high: float) -> str:
        return str(bound(low, high, (cut - low) / (high - low), left=True))

    assert text(19710314.5, 19000101, 20101231) == "n < 19710314.5"
    assert text(123456.04, 0, 999999) == "n <= 123456"
    assert text(123456.0625, 0, 2**20) == "n < 123456.1"
    assert text(-123456.25, -(2**20), 0) == "n < -123456.3"
    assert text(99999.96, 0, 200000) == "n < 100000"
    assert text(1000.0625, 0, 2048) == "n < 1000.06"
    assert text(1234.125, 0, 2048) == "n < 1234.13"
    assert text(2.0**49 + 0.5, 0, 2.0**50) == "n < 562949953421312.5"
    assert text(2.0**60, 0, 2.0**61) == "n < 1152921504606847000"
    assert text(1e-5, 0, 1e-4) == "n < 0.00001"
    assert bound(-37, 85, 37 / 122, left=True).value == 0


def sides(value: float, condition: Condition, other: Condition, *, is_left: bool) -> bool:
    """True if of the conditions left and right exactly that holds which the record is told."""
    record = {"n": value}
    return (holds(condition, record), holds(other, record)) == (is_left, not is_left)


SIZES = st.integers(0, 14).flatmap(lambda size: st.integers(-(10**size), 10**size))


@given(SIZES, SIZES, st.floats(0, 1, exclude_min=True), st.sampled_from([1, 2, 4, 10, 100]))
@example(19000101, 20101231, 0.645161, 2)
@example(-1, 1, math.nextafter(0.5, 1), 1)
def test_a_record_of_whole_numbers_is_told_nothing_false(
    a: int, b: int, part: float, steps: int
) -> None:
    """Of cuts anywhere, halfway between whole numbers, and rounded to single precision."""
    low, width = min(a, b), abs(a - b) or 1
    near = math.floor(part * width * steps) / steps / width
    for threshold in {part, near, float(np.float32(near)), math.nextafter(near, 1)}:
        if not 0 < threshold <= 1:
            continue
        left, right = (bound(low, low + width, threshold, left=side) for side in (True, False))
        cut = math.floor(low + threshold * width)
        feature = left.feature
        for value in {*range(cut - 3, cut + 4), low, low + width, 0}:
            is_left = feature.encode(value)[0] < threshold
            assert sides(value, left, right, is_left=is_left), (threshold, value, left)
            for each in (left, right):
                assert float(str(each).split()[-1]) == each.value


def holds(condition: Condition, record: dict[str, Any]) -> bool:
    value, bound = record[condition.feature.name], condition.value
    match condition.relation:
        case "is":
            return bool(value == bound)
        case "is not":
            return bool(value != bound)
        case "<":
            return bool(value < bound)
        case "<=":
            return bool(value <= bound)
        case ">":
            return bool(value > bound)
    return bool(value >= bound)


AGES = (-5, 20, 25, 29, 30, 33.5, 40, 50, 55, 60, 99)
RECORDS = [{"age": age, "work": work} for age in AGES for work in ("farm", "shop", "none")]


@given(partitions(4, st.sampled_from([-1.0, 0.0, 0.125, 0.25, 0.5, 0.75, 1.0, 1.5])))
def test_conditions_tell_a_cell_from_all_others(partition: Partition) -> None:
    """All hold for each record of the cell, also for numbers beyond the range, and for no other.

    Of a number there is one bound a side, and of three categories never that it is not two of them.
    """
    cells = [partition.locate_one(encoded(FEATURES, record)) for record in RECORDS]
    for cell in set(cells):
        found = conditions_at(partition, COLUMNS, int(partition.leaves[cell]))
        for record, own in zip(RECORDS, cells, strict=True):
            assert all(holds(each, record) for each in found) is (own == cell)
        bounds = [(each.feature.name, each.relation) for each in found if each.relation != "is not"]
        assert len(bounds) == len(set(bounds))
        assert [each.relation for each in found].count("is not") <= 1


def meets(words: str, answers: tuple[str, ...], value: float | str) -> bool:
    """True if a value is among the answers that are named, by the words alone."""
    if isinstance(value, str):
        but = words.removeprefix("any but ")
        names = [name for part in but.split(" or ") for name in part.split(", ")]
        assert set(names) <= set(answers)
        return (value in names) == (but == words)
    lower, to, upper = words.partition(" to ")
    if to:
        begins = value > float(lower[5:]) if lower.startswith("over ") else value >= float(lower)
        ends = value < float(upper[6:]) if upper.startswith("under ") else value <= float(upper)
        return begins and ends
    match words.split():
        case "under", bound:
            return value < float(bound)
        case "over", bound:
            return value > float(bound)
        case bound, "or", "less":
            return value <= float(bound)
        case bound, "or", "more":
            return value >= float(bound)
    raise AssertionError(words)


WHOLE: tuple[Numeric | Categorical, ...] = (
    Numeric(name="mark", low=1.0, high=5.0),
    Numeric(name="age", low=18.0, high=98.0),
    Categorical(name="region", categories=("north", "east", "south", "west")),
)
OF_WHOLE = columns_of(WHOLE)
MARKS = (1, 2, 2.5, 3, 3.5, 3.7, 4, 5)
YEARS = (18, 29, 29.5, 30, 38, 43.2, 44, 58, 77.9, 78, 98, 120)
PEOPLE = [
    {"mark": mark, "age": age, "region": region}
    for mark in MARKS
    for age in YEARS
    for region in ("north", "east", "south", "west")
]
ENCODED = [encoded(WHOLE, record) for record in PEOPLE]


@given(partitions(6, st.sampled_from([0.0, 0.125, 0.14375, 0.25, 0.375, 0.5, 0.625, 0.75, 1.0])))
def test_words_tell_a_group_from_all_others(partition: Partition) -> None:
    """Whoever reads them finds the same people in it as the tree does, also by fractions, which
    everybody may answer, and beyond the range."""
    names = readable_names(OF_WHOLE)
    cells = [partition.locate_one(each) for each in ENCODED]
    for cell in set(cells):
        found = conditions_at(partition, OF_WHOLE, int(partition.leaves[cell]))
        texts = dict(each.split(": ") for each in conditions_in_words(found, names))
        for record, own in zip(PEOPLE, cells, strict=True):
            inside = all(
                meets(words, getattr(feature, "categories", ()), record[feature.name])
                for feature in WHOLE
                if (words := texts.get(feature.name)) is not None
            )
            assert inside is (own == cell), (record, texts)
