"""What crosses the wire: the task that is published, the report that comes back, the receipt."""

from privet.protocol.label_scale import Centring
from privet.protocol.report import (
    REPORT_ID_BYTES,
    REPORT_MEDIA_TYPE,
    REPORT_VERSION,
    TASK_ID_BYTES,
    Receipt,
    Report,
    check_questions,
)
from privet.protocol.task import TASK_MEDIA_TYPE, TASK_VERSION, Question, Task, Tree

__all__ = [
    "REPORT_ID_BYTES",
    "REPORT_MEDIA_TYPE",
    "REPORT_VERSION",
    "TASK_ID_BYTES",
    "TASK_MEDIA_TYPE",
    "TASK_VERSION",
    "Centring",
    "Question",
    "Receipt",
    "Report",
    "Task",
    "Tree",
    "check_questions",
]
