"""The holder's side of Privet, the only code that sees a raw record.

``Holder`` (asynchronous) and ``BlockingHolder`` fetch a task, check it, explain it, perturb one
record with the operating system's randomness and send the one report. ``ReportClient`` is the
wire; a ``Ledger`` remembers what was drawn and what it cost. Every error is a ``PrivetError``:
``HolderError`` where this side refuses, ``TransportError`` where no curator answers, and a class of
``privet.protocol.errors`` where the record does not fit or the curator refuses.
"""

from privet.http_client.errors import (
    CuratorUnreachable,
    TransportError,
    UnexpectedResponse,
    UnsafeAddress,
)
from privet.http_client.report_client import Offer, ReportClient, Retry
from privet.protocol.lifecycle import ReportState

from .blocking import BlockingHolder
from .errors import BudgetSpent, HolderError, LedgerFailed, TaskRefused, WrongClock
from .explanation import Explanation
from .holder import Holder
from .ledger import (
    UNLIMITED,
    Caps,
    Ledger,
    MemoryLedger,
    SqliteLedger,
    StoredAnswer,
)
from .opening import OpenedRecord, validate

__all__ = [
    "UNLIMITED",
    "BlockingHolder",
    "BudgetSpent",
    "Caps",
    "CuratorUnreachable",
    "Explanation",
    "Holder",
    "HolderError",
    "Ledger",
    "LedgerFailed",
    "MemoryLedger",
    "Offer",
    "OpenedRecord",
    "ReportClient",
    "ReportState",
    "Retry",
    "SqliteLedger",
    "StoredAnswer",
    "TaskRefused",
    "TransportError",
    "UnexpectedResponse",
    "UnsafeAddress",
    "WrongClock",
    "validate",
]
