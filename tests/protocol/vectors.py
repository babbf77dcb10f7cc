"""The published test vectors, as their files have them."""

import json
from pathlib import Path
from typing import Any

from privet.protocol.task import Task

VECTORS = Path(__file__).parent.parent / "vectors"
MESSAGES = VECTORS / "messages"


def cases(file: str, *, success: bool = True) -> list[Any]:
    """The good or the bad cases of a file of messages."""
    loaded = json.loads((MESSAGES / file).read_text(encoding="utf-8"))
    return [case for case in loaded if case.get("success", True) is success]


TASKS = {case["name"]: Task.checked(case["fields"]) for case in cases("tasks.json")}
CLASSIFY = TASKS["classes, one question"]
CENTRED = TASKS["a number around a centre per cell"]
DISCLOSING = TASKS["age and ward disclosed, classes"]


def first_record(task: Task) -> dict[str, Any]:
    """The record of the first answer to a task."""
    records = (case["record"] for case in cases("answers.json") if case["task"] == task.id)
    return dict(next(records))
