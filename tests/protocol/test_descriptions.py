from hypothesis import given
from hypothesis import strategies as st

from privet.protocol import Partition, describe_cell, describe_path, describe_split, encode_record
from privet.protocol.encoding import columns_of
from tests.protocol.examples import FEATURES, SPLITS
from tests.strategies import eighths, partitions

COLUMNS = columns_of(FEATURES)


def test_splits_read_in_the_features_own_units() -> None:
    """Both sides of a numeric and of a categorical split, as a person would say them."""
    assert describe_split(SPLITS, COLUMNS, 0, left=True) == "age < 40"
    assert describe_split(SPLITS, COLUMNS, 2, left=False) == "age >= 50"
    assert describe_split(SPLITS, COLUMNS, 1, left=True) == "work is not farm"
    assert describe_split(SPLITS, COLUMNS, 1, left=False) == "work is farm"


def test_a_path_lists_every_split_and_a_cell_only_what_counts() -> None:
    """Two bounds on one feature become one interval; the root is described by nothing."""
    assert describe_path(SPLITS, COLUMNS, 2) == ["age >= 40", "age < 50"]
    assert describe_cell(SPLITS, COLUMNS, 2) == ["40 <= age < 50"]
    assert describe_cell(SPLITS, COLUMNS, 1) == ["age < 40", "work is farm"]
    assert describe_path(Partition.root(4), COLUMNS, 0) == []
    assert describe_cell(Partition.root(4), COLUMNS, 0) == []


def holds(sentence: str, record: dict[str, object]) -> bool:
    """Whether a sentence about age or work is true of a record."""
    if sentence.startswith("work is not "):
        return record["work"] not in sentence.removeprefix("work is not ").split(", ")
    if sentence.startswith("work is "):
        return record["work"] == sentence.removeprefix("work is ")
    return bool(eval(sentence, {"__builtins__": {}}, {"age": record["age"]}))


@given(
    partitions(4, eighths),
    st.floats(20, 60).map(lambda age: round(age, 1)),
    st.sampled_from(["farm", "shop", "none"]),
)
def test_the_words_are_true_of_every_record_in_the_cell(
    partition: Partition, age: float, work: str
) -> None:
    """Each sentence of the path and of the cell holds for a record that lies there."""
    record = {"age": age, "work": work}
    cell = partition.locate_one(encode_record(FEATURES, record))
    for words in (describe_path, describe_cell):
        assert all(holds(sentence, record) for sentence in words(partition, COLUMNS, cell))
