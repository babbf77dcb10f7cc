"""Fair's survey on extramarital affairs (1978), as the repository's demonstration divides it.

``scripts/fair_survey.py`` has its source. One fixed shuffle gives a fifth of the rows to the test.
From the others 600 volunteers are drawn as public rows, and those who had an affair volunteer four
times less often. Everybody else is a holder.
"""

import gzip
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import csv

from reproduce import ROOT

TABLE = ROOT.parent / "scripts" / "fair_survey.csv.gz"
SHUFFLE_SEED, VOLUNTEERS, RELUCTANCE = 1974, 600, 4
OCCUPATIONS = {
    1: "student",
    2: "farming or unskilled",
    3: "white-collar",
    4: "teaching or skilled",
    5: "managerial",
    6: "professional",
}


class Survey(NamedTuple):
    """The survey's rows by the part they play; the last column, ``label``, is 1 for an affair."""

    public: pa.Table
    holders: pa.Table
    test: pa.Table


def load() -> Survey:
    """The fixed split: 600 public rows, 4493 holders, 1273 test rows."""
    with gzip.open(TABLE) as stream:
        table = csv.read_csv(stream)
    columns = {name: table[name].to_numpy() for name in table.column_names}
    affair = columns.pop("affairs") != 0.0
    for name in ("occupation", "husband_occupation"):
        columns[name] = np.array([OCCUPATIONS[code] for code in columns[name].tolist()])
    rows = pa.table(columns | {"label": affair.astype(np.float64)})
    rng = np.random.default_rng(SHUFFLE_SEED)
    order = rng.permutation(len(affair))
    test, others = order[: len(order) // 5], order[len(order) // 5 :]
    weights = np.where(affair[others], 1.0 / RELUCTANCE, 1.0)
    drawn = rng.choice(len(others), VOLUNTEERS, replace=False, p=weights / weights.sum())
    parts = (others[drawn], np.delete(others, drawn), test)
    return Survey(*(rows.take(part) for part in parts))
