"""The writer that keeps the reports that wait in the spool, a group at a time."""

from collections.abc import Sequence
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from privet.intake.layout import ReportLayout
from privet.intake.tasks import KnownTask
from privet.intake.writer import GroupWriter, WaitingReport
from privet.protocol.batch import possible
from privet.protocol.errors import PrivetError
from privet.protocol.task import Task

from .batches import StoredReport
from .errors import SpoolFailed
from .spool import Spool

NOT_STORED = "The relay could not store this: send it again later."


class SpoolWriter(GroupWriter[KnownTask, str]):
    """Keeps reports that some holder could have sent; a report's future has its state."""

    def __init__(self, spool: Spool) -> None:
        super().__init__()
        self._spool = spool

    def write(self, reports: Sequence[WaitingReport[KnownTask]]) -> Sequence[str | PrivetError]:
        """For each report its state, see ``Spool.add``, or the error that refuses it."""
        alike = dict[tuple[str, tuple[int, ...]], list[int]]()
        for row, report in enumerate(reports):
            alike.setdefault((report.task.id, report.layout.questions), []).append(row)
        valid = np.ones(len(reports), dtype=np.bool_)
        for rows in alike.values():
            first = reports[rows[0]]
            bodies = [reports[row].body for row in rows]
            valid[rows] = _possible(first.task.task, first.layout, bodies)
        kept = [
            stored_report(own.task.id, own.layout, own.body, own.invitation)
            for own in compress(reports, valid)
        ]
        try:
            states = iter(self._spool.add(kept) if kept else ())
        except SpoolFailed as error:  # whose detail is for the log
            raise type(error)(NOT_STORED) from error
        return [
            next(states) if good else own.layout.fault(own.task.task, own.body)
            for own, good in zip(reports, valid.tolist(), strict=True)
        ]


def stored_report(
    task_id: str, layout: ReportLayout, body: bytes, invitation: bytes | None
) -> StoredReport:
    """The row of a report that came as ``body``, with the hash of its invitation."""
    payload = layout.payload(body)
    return StoredReport(task_id, layout.questions, layout.report_id(body), payload, invitation)


def check_possible(task: Task, layout: ReportLayout, body: bytes) -> None:
    """Raise ``WrongPayload`` for a report that no holder could have sent."""
    if not _possible(task, layout, [body]).all():
        raise layout.fault(task, body)


def _possible(task: Task, layout: ReportLayout, bodies: Sequence[bytes]) -> NDArray[np.bool_]:
    """A mask of the reports that some holder could have sent; all answer the same questions."""
    _, columns = layout.columns(bodies)
    answers = ((question, payloads, None) for question, payloads in columns)
    return possible(task, len(bodies), answers)
