"""Documents of the wizard, as its script makes them of what the page proposes."""

import json
from collections.abc import Mapping
from typing import Any

from privet.curator.dashboard.study import ALONE, Column, Study
from privet.learning.task_building.review import propose
from privet.learning.task_building.table import read_table

ASKER = {
    "name": "A clinic",
    "contact": "survey@clinic.example",
    "purpose": "To learn who comes back.",
    "link": "https://clinic.example/survey",
}
FIELDS = {"name": "by form", "label": "label", "epsilon": "1", "holders": "300", "asker": ASKER}


def study_of(public: bytes, fields: Mapping[str, Any] = FIELDS) -> dict[str, Any]:
    """The document of a file, with what somebody fills in, by field."""
    columns = [Column.proposed(each) for each in propose(read_table(public))]
    given: dict[str, Any] = {"holders": "10000", "epsilon": "1", "waves": [{}] * 12}
    proposed = Study(columns=columns, **given)
    return changed(proposed.model_dump(mode="json"), fields)


def question_alone(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The document of a question without a file."""
    given: dict[str, Any] = {"label": ALONE, "epsilon": "1", "holders": "10000"}
    made = Study(columns=[Column.of_question()], waves=[{}] * 12, **given)
    return changed(made.model_dump(mode="json"), {"asker": ASKER, **fields})


def changed(study: dict[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """The document with other values in some fields; 0 and 1 stay as they are without words."""
    study = json.loads(json.dumps(study))
    for name, value in fields.items():
        *path, last = (int(part) if part.isdecimal() else part for part in name.split("."))
        part: Any = study
        for key in path:
            part = part[key]
        part[last] = value
    for place, column in enumerate(study["columns"]):
        if f"columns.{place}.as_is" not in fields and column["found"]["words"]:
            column["as_is"] = not any(column["means"])
    return study


def as_file(study: Mapping[str, Any]) -> tuple[str, str, str]:
    """The document as the form sends it."""
    return ("study.json", json.dumps(study), "application/json")


def form_of(public: bytes, fields: Mapping[str, Any] = FIELDS) -> dict[str, Any]:
    """A request with the whole form, to be published without a plan."""
    files = {"public": ("a.csv", public), "study": as_file(study_of(public, fields))}
    return {"files": files, "data": {"unplanned": "on"}}
