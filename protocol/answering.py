"""A holder's whole answer: from a raw record to the report that leaves the device.

No I/O and no role: the device, the simulations and the test vectors all call this one function.
"""

from collections.abc import Mapping
from typing import Any

from privet.protocol.encoding import Matrix, encode_record, label_level, label_value
from privet.protocol.errors import InvalidRecord
from privet.protocol.mechanisms.base import RandomBytes
from privet.protocol.report import REPORT_ID_BYTES, Report
from privet.protocol.task import Task


def make_report(task: Task, record: Mapping[str, Any], randomness: RandomBytes) -> Report:
    """Privatize one record, label included, into the one report its holder sends.

    ``randomness`` is ``os.urandom`` on a device. Raises ``InvalidRecord`` if the record does not
    fit the task; nothing has been drawn by then. Draws the report's id, then the question if each
    holder answers one, then for each answered question what the label and the mechanism need: as
    many bytes whatever the record is.
    """
    x, y = encode_whole(task, record)
    report_id = randomness(REPORT_ID_BYTES)
    answers = tuple(
        (question, _answer(task, question, x, y, randomness))
        for question in _asked(task, randomness)
    )
    return Report(task=bytes.fromhex(task.id), id=report_id, answers=answers)


def encode_whole(task: Task, record: Mapping[str, Any]) -> tuple[Matrix, float]:
    """A record's features as a vector and its label as a number; raises ``InvalidRecord``."""
    if task.label.name not in record:
        raise InvalidRecord(f"The label {task.label.name!r} is missing: give it a value.")
    features = {name: value for name, value in record.items() if name != task.label.name}
    x = encode_record(task.features, features)
    return x, label_value(task.label, record[task.label.name])


def _answer(task: Task, question: int, x: Matrix, y: float, randomness: RandomBytes) -> bytes:
    mechanism = task.mechanisms[question]
    cell = task.tree_of(question).locate_one(x)
    if task.questions[question].asks == "cell":
        return mechanism.privatize(cell, randomness)
    scale = task.scales[question]
    span = None if scale is None else scale.span(cell)
    level = label_level(task.label, y, mechanism.levels, randomness, span)
    return mechanism.privatize(cell * mechanism.levels + level, randomness)


def _asked(task: Task, randomness: RandomBytes) -> list[int]:
    """All questions, or one drawn by chance alone (64 bits over at most 64)."""
    count = len(task.questions)
    if task.allocation == "all":
        return list(range(count))
    return [int.from_bytes(randomness(8), "big") * count >> 64]
