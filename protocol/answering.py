"""A holder's whole answer: from a raw record to the report that leaves the device.

No I/O and no role: the device, the simulations and the test vectors all call this one function.
"""

from collections.abc import Mapping
from typing import Any

from protocol.encoding import encode_record, label_level, label_value
from protocol.errors import InvalidRecord
from protocol.mechanisms.base import RandomBytes
from protocol.messages import REPORT_ID_BYTES, Report, Task


def make_report(task: Task, record: Mapping[str, Any], randomness: RandomBytes) -> Report:
    """Privatize one record, label included, into the one report its holder sends.

    ``randomness`` is ``os.urandom`` on a device. Raises ``InvalidRecord`` if the record does not
    fit the task; nothing has been drawn by then.
    """
    features = {name: value for name, value in record.items() if name != task.label.name}
    if task.label.name not in record:
        raise InvalidRecord(f"The label {task.label.name!r} is missing: give it a value.")
    x = encode_record(task.features, features)
    y = label_value(task.label, record[task.label.name])
    report_id = randomness(REPORT_ID_BYTES)
    answers = []
    for question in _asked(task, randomness):
        mechanism = task.mechanisms[question]
        level = label_level(task.label, y, mechanism.levels, randomness)
        cell = task.tree_of(question).locate_one(x)
        category = cell if mechanism.slots == 1 else cell * mechanism.levels + level
        answers.append((question, mechanism.privatize(category, randomness)))
    return Report(task=bytes.fromhex(task.id), id=report_id, answers=tuple(answers))


def _asked(task: Task, randomness: RandomBytes) -> list[int]:
    """All questions, or one drawn by chance alone (64 bits over at most 64)."""
    count = len(task.questions)
    if task.allocation == "all":
        return list(range(count))
    return [int.from_bytes(randomness(8), "big") * count >> 64]
