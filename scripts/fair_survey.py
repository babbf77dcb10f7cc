"""Fair's survey on extramarital affairs: the demonstration's population.

6366 women answered a magazine's questionnaire in 1974 (Fair, "A theory of extramarital affairs",
Journal of Political Economy 86, 1978). The author publishes the answers, and statsmodels ships them
with his permission; fair_survey.csv.gz has them in this project's words. The label is whether any
affair was reported.

One fixed shuffle gives a fifth of the rows to the final test. From the others 600 volunteers are
drawn as the curator's public data, and those who had an affair volunteer four times less often: so
such samples go wrong. Everybody else is a holder.
"""

import csv
import gzip
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

TABLE = Path(__file__).with_name("fair_survey.csv.gz")
LABEL = "affair"
SHUFFLE_SEED = 1974
VOLUNTEERS = 600
RELUCTANCE = 4
"""Factor by which a person with an affair volunteers less often."""
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
"""The questionnaire's coding of its answers, so that none depends on the public records."""

DESCRIBED = {
    "marriage_rating": {
        "prompt": "How do you rate your marriage?",
        "description": "1 is very poor, 5 very good.",
    },
    "age": {"prompt": "How old are you?", "unit": "years"},
    "years_married": {"prompt": "For how long have you been married?", "unit": "years"},
    "children": {"prompt": "How many children do you have?"},
    "religiosity": {
        "prompt": "How religious are you?",
        "description": "1 is not at all, 4 strongly.",
    },
    "education_years": {
        "prompt": "How many years of education do you have?",
        "description": "12 with a finished school.",
    },
    "occupation": {"prompt": "What is your occupation?"},
    "husband_occupation": {"prompt": "What is your husband's occupation?"},
    LABEL: {"prompt": "Have you had an affair while married?"},
}
"""Information for people who answer."""


@dataclass(frozen=True)
class Population:
    """The survey's records by the part they play; each record carries its label."""

    public: Sequence[Record]
    holders: Sequence[Record]
    test: Sequence[Record]


def load() -> Population:
    """The fixed split: 600 public records, 4493 holders, 1273 test records."""
    records = _records()
    rng = np.random.default_rng(SHUFFLE_SEED)
    shuffled = [records[i] for i in rng.permutation(len(records))]
    test, others = shuffled[: len(records) // 5], shuffled[len(records) // 5 :]
    weights = np.array([1.0 / RELUCTANCE if has_affair(record) else 1.0 for record in others])
    drawn = rng.choice(len(others), VOLUNTEERS, replace=False, p=weights / weights.sum())
    public, chosen = [others[i] for i in drawn], frozenset(drawn.tolist())
    holders = [record for i, record in enumerate(others) if i not in chosen]
    return Population(public, holders, test)


def has_affair(record: Mapping[str, float | str]) -> bool:
    return record[LABEL] == "yes"


def settings(epsilon: float, holders: int, **chosen: Any) -> dict[str, Any]:
    """The task's settings for a curator."""
    return {
        "name": "Fair's survey",
        "label": LABEL,
        "features": DECLARED,
        "describe": DESCRIBED,
        "epsilon": epsilon,
        "holders": holders,
        **chosen,
    }


def without_label(record: Mapping[str, float | str]) -> Record:
    """The record of the example prediction."""
    return {name: value for name, value in record.items() if name != LABEL}


def as_csv(records: Sequence[Record]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(records[0]))
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue().encode()


def _records() -> list[Record]:
    with gzip.open(TABLE, "rt", encoding="utf-8", newline="") as table:
        return [_record(row) for row in csv.DictReader(table)]


def _record(row: Mapping[str, str]) -> Record:
    record: Record = {name: float(answer) for name, answer in row.items()}
    for name in ("occupation", "husband_occupation"):
        record[name] = OCCUPATIONS[int(row[name])]
    record[LABEL] = "yes" if record.pop("affairs") != 0.0 else "no"
    return record
