"""Hypothesis strategies for features, labels, records, partitions and tasks."""

from typing import Any, Literal

from hypothesis import strategies as st

from privet.protocol.features import Categorical, Classes, Label, Numeric, Range, columns_of
from privet.protocol.label_scale import Centring
from privet.protocol.partition import LEAF, Partition, Tree
from privet.protocol.task import Question, Task

names = st.text("abXY09äπ語'-_", min_size=1, max_size=5)
plain = st.floats(-1e9, 1e9).map(lambda number: number + 0.0)


def points(columns: int) -> st.SearchStrategy[list[list[float]]]:
    """Up to 20 points of the unit cube, often on thresholds."""
    number = st.sampled_from([0.0, 0.125, 0.25, 0.5, 0.75, 1.0]) | st.floats(0, 1)
    return st.lists(st.lists(number, min_size=columns, max_size=columns), max_size=20)


@st.composite
def numerics(draw: st.DrawFn, name: str) -> Numeric:
    """A numeric feature, sometimes of width zero, sometimes with a missing-value rule."""
    low, high = sorted([draw(plain), draw(plain)])
    return Numeric(name=name, low=low, high=high, missing=draw(st.none() | plain))


@st.composite
def categoricals(draw: st.DrawFn, name: str) -> Categorical:
    """A categorical feature with up to four categories and every combination of rules."""
    categories = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    stand_in = st.none() | st.sampled_from(categories)
    return Categorical(
        name=name, categories=tuple(categories), missing=draw(stand_in), unknown=draw(stand_in)
    )


@st.composite
def feature_lists(draw: st.DrawFn) -> tuple[Numeric | Categorical, ...]:
    """One to four features with different names."""
    count = draw(st.integers(1, 4))
    one_of_both = (numerics(f"feature {i}") | categoricals(f"feature {i}") for i in range(count))
    return tuple(draw(feature) for feature in one_of_both)


labels = st.one_of(
    st.lists(names, min_size=2, max_size=4, unique=True).map(
        lambda classes: Classes(name="label", classes=tuple(classes))
    ),
    st.tuples(plain, st.floats(1e-3, 1e9)).map(
        lambda ends: Range(name="label", low=ends[0], high=ends[0] + ends[1])
    ),
)


eighths = st.sampled_from([0.125, 0.25, 0.5, 0.75])
any_threshold = eighths | st.floats(0, 1)


@st.composite
def partitions(
    draw: st.DrawFn,
    columns: int,
    thresholds: st.SearchStrategy[float] = any_threshold,
    max_splits: int = 8,
) -> Partition:
    """Any binary tree, grown by splitting a random leaf again and again."""
    feature, threshold, left, right = [LEAF], [0.0], [LEAF], [LEAF]
    for _ in range(draw(st.integers(0, max_splits))):
        leaf = draw(st.sampled_from([n for n, child in enumerate(left) if child == LEAF]))
        feature[leaf] = draw(st.integers(0, columns - 1))
        threshold[leaf] = draw(thresholds)
        for side in (left, right) if draw(st.booleans()) else (right, left):
            side[leaf] = len(feature)
            feature.append(LEAF)
            threshold.append(0.0)
            left.append(LEAF)
            right.append(LEAF)
    return Partition.build(columns, feature, threshold, left, right)


def values_of(feature: Numeric | Categorical) -> st.SearchStrategy[Any]:
    """Raw values that the task accepts for a feature, in the forms they come in."""
    missing = [None, "", float("nan")] if feature.missing is not None else []
    if isinstance(feature, Numeric):
        usual: st.SearchStrategy[Any] = plain | st.integers(-(10**6), 10**6) | plain.map(str)
    else:
        usual = st.sampled_from(feature.categories)
        if feature.unknown is not None:
            usual |= names
    return usual | st.sampled_from(missing) if missing else usual


@st.composite
def centrings(draw: st.DrawFn, label: Range, cells: int) -> Centring:
    """Any centres within the label's range, and a radius of an eighth of it or more."""
    shares = draw(st.lists(st.floats(0, 1), min_size=cells, max_size=cells))
    width = label.high - label.low
    return Centring(
        centres=tuple(min(label.low + share * width, label.high) for share in shares),
        radius=width * draw(st.sampled_from([0.125, 0.5, 1.0])),
    )


@st.composite
def questions_about(draw: st.DrawFn, index: int, tree: Partition, label: Label) -> Question:
    """A question about one partition; a single cell says nothing alone, so its label is asked."""
    either: list[Literal["label", "cell"]] = ["label", "cell"]
    asks = draw(st.sampled_from(either)) if tree.cells > 1 else "label"
    centring = None
    if isinstance(label, Range) and asks == "label" and draw(st.booleans()):
        centring = draw(centrings(label, tree.cells))
    return Question(
        partition=index,
        mechanism="subset",
        epsilon=draw(st.sampled_from([0.5, 1.0, 3.0])),
        asks=asks,
        centring=centring,
    )


def allocations(questions: int) -> st.SearchStrategy[dict[str, Any]]:
    """Who answers which of so many questions: all, or one by equal or unequal parts."""
    parts = st.lists(st.integers(1, 2**16), min_size=questions, max_size=questions).map(tuple)
    return st.one_of(
        st.sampled_from(["all", "one"]).map(lambda name: {"allocation": name}),
        parts.map(lambda drawn: {"allocation": "one", "parts": drawn}),
    )


@st.composite
def tasks(draw: st.DrawFn) -> Task:
    """Any task of up to three questions over up to two partitions, with the default mechanism."""
    features, label = draw(feature_lists()), draw(labels)
    width = len(columns_of(features))
    trees = draw(st.lists(partitions(width), min_size=1, max_size=2))
    asked = draw(st.lists(st.integers(0, len(trees) - 1), min_size=1, max_size=3))
    questions = [draw(questions_about(index, trees[index], label)) for index in asked]
    return Task(
        name="any",
        features=features,
        label=label,
        partitions=tuple(map(Tree.of, trees)),
        questions=tuple(questions),
        **draw(allocations(len(questions))),
    )


@st.composite
def records(draw: st.DrawFn, task: Task) -> dict[str, Any]:
    """A whole record that fits ``task``, label included."""
    record = {feature.name: draw(values_of(feature)) for feature in task.features}
    if isinstance(task.label, Classes):
        record[task.label.name] = draw(st.sampled_from(task.label.classes))
    else:
        record[task.label.name] = draw(plain)
    return record
