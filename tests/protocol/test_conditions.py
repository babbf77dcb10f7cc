"""What a node says of its records, in words."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from privet.protocol.conditions import Condition, conditions_at
from privet.protocol.features import Numeric, columns_of
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


def test_what_later_conditions_imply_is_left_out() -> None:
    """The closer bound stays, whichever comes first, and a category implies that it is no other."""
    assert said(chain((0, 0.25), (1, 0.5), (0, 0.75)), 6) == ["work is farm", "age is at least 50"]
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
    assert said(both, 3) == ["work is not farm", "work is not shop"]
    assert said(both, 0) == []


def test_splits_that_send_all_records_one_way_say_nothing() -> None:
    """Thresholds outside the columns' values, and a number that can take one value only."""
    assert said(chain((0, 0.0), (1, -1.0), (0, 0.5)), 6) == ["age is at least 40"]
    assert said(chain((0, 1.5), (0, 0.5)), 1) == []
    flat = columns_of([Numeric(name="age", low=5.0, high=5.0)])
    assert (
        conditions_at(
            Partition.build(1, [0, -1, -1], [0.5, 0, 0], [1, -1, -1], [2, -1, -1]), flat, 1
        )
        == []
    )


def holds(condition: Condition, record: dict[str, Any]) -> bool:
    value, bound = record[condition.feature.name], condition.value
    match condition.relation:
        case "is":
            return bool(value == bound)
        case "is not":
            return bool(value != bound)
        case "<":
            return bool(value < bound)
    return bool(value >= bound)


AGES = (-5, 20, 25, 29, 30, 33.5, 40, 50, 55, 60, 99)
RECORDS = [{"age": age, "work": work} for age in AGES for work in ("farm", "shop", "none")]


@given(partitions(4, st.sampled_from([-1.0, 0.0, 0.125, 0.25, 0.5, 0.75, 1.0, 1.5])))
def test_conditions_tell_a_cell_from_all_others(partition: Partition) -> None:
    """All hold for each record of the cell, also for numbers beyond the range, and for no other."""
    cells = [partition.locate_one(encoded(FEATURES, record)) for record in RECORDS]
    for cell in set(cells):
        found = conditions_at(partition, COLUMNS, int(partition.leaves[cell]))
        for record, own in zip(RECORDS, cells, strict=True):
            assert all(holds(each, record) for each in found) is (own == cell)
        bounds = [(each.feature.name, each.relation) for each in found if each.relation != "is not"]
        assert len(bounds) == len(set(bounds))
