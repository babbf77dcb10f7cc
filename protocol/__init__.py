"""What holders and curator agree on, and all that crosses the wire between them.

A curator publishes a ``Task``: the ``features`` and the ``label`` of a record, one or more
``Partition`` trees over the encoded features, and the ``Question`` list that says which
``Mechanism`` perturbs the answer at which epsilon. A holder turns its record into one ``Report``
with ``make_report`` and gets a ``Receipt``. The curator adds the payloads up and never sees more.
Whatever goes wrong on the way is a ``PrivetError`` with a problem type of its own. Nothing here
does I/O, reads a clock or knows which side it is on; docs/protocol.md is the specification.
"""

from privet.protocol.answering import make_report
from privet.protocol.descriptions import describe_cell, describe_path, describe_split
from privet.protocol.encoding import Column, encode_record, encode_table, label_level, label_value
from privet.protocol.errors import ERRORS_BY_URI, PROBLEMS, PrivetError, ProblemType, problem_of
from privet.protocol.features import Categorical, Classes, Feature, Label, Numeric, Range
from privet.protocol.label_scale import Scale
from privet.protocol.lifecycle import MOVES, Move, State, after
from privet.protocol.mechanisms import MECHANISMS
from privet.protocol.mechanisms.base import Mechanism, RandomBytes
from privet.protocol.messages import (
    REPORT_MEDIA_TYPE,
    TASK_MEDIA_TYPE,
    Centring,
    Question,
    Receipt,
    Report,
    Task,
    Tree,
)
from privet.protocol.partition import Partition

__all__ = [
    "ERRORS_BY_URI",
    "MECHANISMS",
    "MOVES",
    "PROBLEMS",
    "REPORT_MEDIA_TYPE",
    "TASK_MEDIA_TYPE",
    "Categorical",
    "Centring",
    "Classes",
    "Column",
    "Feature",
    "Label",
    "Mechanism",
    "Move",
    "Numeric",
    "Partition",
    "PrivetError",
    "ProblemType",
    "Question",
    "RandomBytes",
    "Range",
    "Receipt",
    "Report",
    "Scale",
    "State",
    "Task",
    "Tree",
    "after",
    "describe_cell",
    "describe_path",
    "describe_split",
    "encode_record",
    "encode_table",
    "label_level",
    "label_value",
    "make_report",
    "problem_of",
]
