"""Fair's survey on extramarital affairs: the demonstration's population.

6366 women answered a magazine's questionnaire in 1974 (Fair, "A theory of extramarital affairs",
Journal of Political Economy 86, 1978); statsmodels ships the answers, public domain. The label is
whether any affair was reported. One fixed shuffle gives a tenth of the rows to the curator as its
public data, seven tenths to holders, one each, and a fifth to the final test.
"""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

LABEL = "affair"
SHUFFLE_SEED = 1974
Record = dict[str, float | str]

OCCUPATIONS = {
    1: "student",
    2: "farming or unskilled",
    3: "white-collar",
    4: "teaching or skilled",
    5: "managerial",
    6: "professional",
}


DECLARED = {
    "occupation": {"categories": list(OCCUPATIONS.values())},
    "husband_occupation": {"categories": list(OCCUPATIONS.values())},
}
"""What the questionnaire says about its answers, so that none depends on the public tenth."""


@dataclass(frozen=True)
class Population:
    """The survey's records by the part they play; each record carries its label."""

    public: Sequence[Record]
    holders: Sequence[Record]
    test: Sequence[Record]


def load() -> Population:
    """The fixed split: 636 public records, 4456 holders, 1274 test records."""
    records = _records()
    order = np.random.default_rng(SHUFFLE_SEED).permutation(len(records))
    shuffled = [records[i] for i in order]
    public, test = len(records) // 10, len(records) - len(records) // 10 - len(records) * 7 // 10
    return Population(shuffled[:public], shuffled[public:-test], shuffled[-test:])


def settings(epsilon: float, holders: int, **chosen: str) -> dict[str, Any]:
    """The task's settings for a curator."""
    return {
        "name": "Fair's survey",
        "label": LABEL,
        "features": DECLARED,
        "epsilon": epsilon,
        "holders": holders,
        **chosen,
    }


def without_label(record: Mapping[str, float | str]) -> Record:
    """What a prediction is asked for."""
    return {name: value for name, value in record.items() if name != LABEL}


def as_csv(records: Sequence[Record]) -> bytes:
    """The records as a CSV file with a header."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(records[0]))
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue().encode()


def _records() -> list[Record]:
    from statsmodels.datasets import fair

    rows = fair.load_pandas().data.to_dict("records")
    return [_record(row) for row in rows]


def _record(row: Mapping[str, float]) -> Record:
    return {
        "marriage_rating": row["rate_marriage"],
        "age": row["age"],
        "years_married": row["yrs_married"],
        "children": row["children"],
        "religiosity": row["religious"],
        "education_years": row["educ"],
        "occupation": OCCUPATIONS[int(row["occupation"])],
        "husband_occupation": OCCUPATIONS[int(row["occupation_husb"])],
        LABEL: "yes" if row["affairs"] > 0 else "no",
    }
