"""A column of numbers as a feature.

Its range is that of the public data (LPCT section 4.3). Where public values are missing, the task
publishes their median as a replacement.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.protocol.errors import InvalidPublicData
from privet.protocol.features import Numeric
from privet.protocol.spellings import spelled_number
from privet.protocol.values import ColumnValues, is_missing

from .settings import FeatureSettings


def infer_numeric(name: str, values: ColumnValues, declared: FeatureSettings) -> Numeric:
    """The numeric feature of a column; raises ``InvalidPublicData`` for one without numbers."""
    if declared.categories is not None or declared.unknown is not None:
        raise InvalidPublicData(
            f"The feature {name!r} is numeric: declare low, high and missing, not categories."
        )
    found = numbers(name, values)
    present = found[~np.isnan(found)]
    if not present.size and (declared.low is None or declared.high is None):
        raise InvalidPublicData(
            f"The column {name!r} has no values: ignore it, or declare its low and high."
        )
    missing = declared.missing
    if missing is None and present.size < len(values):
        missing = float(np.median(present)) if present.size else None
    return Numeric(
        name=name,
        low=float(present.min()) if declared.low is None else declared.low,
        high=float(present.max()) if declared.high is None else declared.high,
        missing=missing,  # type: ignore[arg-type]  # pydantic refuses a text
    )


def numbers(name: str, values: ColumnValues) -> NDArray[np.float64]:
    """A column's finite numbers, NaN where one is missing; raises ``InvalidPublicData`` that names
    the row of any other value."""
    if not isinstance(values, np.ndarray):
        values = [_as_number(name, row, value) for row, value in enumerate(values)]
    array = np.asarray(values, dtype=np.float64)
    infinite = np.flatnonzero(np.isinf(array))
    if infinite.size:
        row = int(infinite[0])
        raise InvalidPublicData(
            f"Row {row + 1} of the column {name!r} is {array[row]}: "
            "give a finite number or leave it empty."
        )
    return array


def _as_number(name: str, row: int, value: Any) -> float:
    if is_missing(value):
        return float("nan")
    try:
        return spelled_number(value)
    except ValueError:
        raise InvalidPublicData(
            f"Row {row + 1} of the column {name!r} is {value!r}: it must be a number."
        ) from None
