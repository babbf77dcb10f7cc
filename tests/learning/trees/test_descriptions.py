from hypothesis import given
from hypothesis import strategies as st

from privet.learning.trees.descriptions import describe_path, describe_split
from privet.protocol.features import columns_of
from privet.protocol.partition import Partition
from tests.protocol.examples import FEATURES, SPLITS, encoded
from tests.strategies import eighths, partitions

COLUMNS = columns_of(FEATURES)


def test_splits_read_in_the_features_own_units() -> None:
    """Both sides of a numeric and of a categorical split, as a person would say them."""
    assert describe_split(SPLITS, COLUMNS, 0, left=True) == "age < 40"
    assert describe_split(SPLITS, COLUMNS, 2, left=False) == "age >= 50"
    assert describe_split(SPLITS, COLUMNS, 1, left=True) == "work is not farm"
    assert describe_split(SPLITS, COLUMNS, 1, left=False) == "work is farm"
    assert describe_path(SPLITS, COLUMNS, 2) == ["age >= 40", "age < 50"]
    assert describe_path(Partition.root(4), COLUMNS, 0) == []


def holds(sentence: str, record: dict[str, object]) -> bool:
    """Whether a sentence about age or work is true of a record."""
    if sentence.startswith("work is not "):
        return record["work"] != sentence.removeprefix("work is not ")
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
    """Each sentence of the path holds for a record that lies there."""
    record = {"age": age, "work": work}
    cell = partition.locate_one(encoded(FEATURES, record))
    assert all(holds(s, record) for s in describe_path(partition, COLUMNS, cell))
