"""Records to predict for, as they come in JSON: a list of objects, or columns by name."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from privet.protocol.encoding import encode_table
from privet.protocol.errors import InvalidRecord, TooLarge
from privet.protocol.features import Numeric
from privet.protocol.task import Task

MAX_PREDICTED_ROWS = 1_000_000


def encode_records(task: Task, records: Sequence[Mapping[str, Any]]) -> NDArray[np.float64]:
    """Records as an encoded ``(rows, columns)`` matrix; a label in a record is ignored.

    Raises ``InvalidRecord`` for unknown fields and for values that do not fit, naming the row,
    and ``TooLarge`` above ``MAX_PREDICTED_ROWS``.
    """
    names = [feature.name for feature in task.features]
    known = {*names, task.label.name}
    for row, record in enumerate(records):
        if not known.issuperset(record):
            raise InvalidRecord(f"Row {row + 1}: {_unknown(record, known, names)}")
    return encode_columns(task, {name: [r.get(name) for r in records] for name in names})


def encode_columns(task: Task, columns: Mapping[str, Sequence[Any]]) -> NDArray[np.float64]:
    """Columns by name as an encoded matrix, under the same rules as ``encode_records``."""
    features = {feature.name: feature for feature in task.features}
    if unknown := set(columns) - {*features, task.label.name}:
        raise InvalidRecord(_unknown(unknown, set(), list(features)))
    _check_lengths(columns)
    table = {
        name: _as_numbers(values) if isinstance(features[name], Numeric) else values
        for name, values in columns.items()
        if name in features
    }
    return encode_table(task.features, table)


def _check_lengths(columns: Mapping[str, Sequence[Any]]) -> None:
    lengths = {len(values) for values in columns.values()}
    if len(lengths) != 1:
        raise InvalidRecord("The columns must all have the same number of rows.")
    if max(lengths) > MAX_PREDICTED_ROWS:
        raise TooLarge(
            f"{max(lengths)} rows are more than one call takes: "
            f"send at most {MAX_PREDICTED_ROWS} at a time."
        )


def _as_numbers(values: Sequence[Any]) -> Sequence[Any]:
    """Plain numbers as an array, which is encoded at once; anything else as it is."""
    if isinstance(values, np.ndarray) or not set(map(type, values)) <= {int, float}:
        return values
    try:
        return cast("Sequence[Any]", np.array(values, dtype=np.float64))
    except OverflowError:
        return values


def _unknown(found: Any, known: set[str], asked: list[str]) -> str:
    listed = ", ".join(map(repr, sorted(set(found) - known)))
    return f"Unknown fields {listed}: the task asks for {', '.join(sorted(asked))}."
