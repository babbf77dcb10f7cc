"""Records to predict for are encoded as the public table is."""

import numpy as np
import pytest

from privet.learning.task_building.build import build_task
from privet.learning.task_building.encode import encode_records
from privet.learning.task_building.encoded_table import as_csv, encoded_table
from privet.learning.task_building.settings import TaskSettings
from privet.learning.task_building.table import read_table
from privet.protocol.errors import InvalidRecord
from tests.curator import samples


def test_records_are_encoded_as_the_public_table_is() -> None:
    """A column per number and per category; an unknown field is refused with its row."""
    settings = TaskSettings(name="t", label="label", epsilon=1.0, grower="cart", depth=1)
    columns = read_table(samples.survey(30))
    task, public = build_task(settings, columns)
    table = encoded_table(columns, settings)
    jobs = ["job=farmer", "job=nurse", "job=smith"]
    assert table.column_names == ["age", "hours", *jobs, "member=False", "member=True", "label"]
    *encoded, labels = (column.to_numpy() for column in table.columns)
    np.testing.assert_array_equal(np.stack(encoded, axis=1), public.X)
    np.testing.assert_array_equal(labels, public.y)
    assert read_table(as_csv(table)).keys() == set(table.column_names)
    records = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    np.testing.assert_array_equal(encode_records(task, records), public.X)
    with pytest.raises(InvalidRecord, match="Row 2: Unknown fields 'shoe'"):
        encode_records(task, [records[0], {**records[1], "shoe": 1}])
