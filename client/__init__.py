"""Where a raw value lives and dies: the holder's side of Privet.

``Holder`` (asynchronous) and ``BlockingHolder`` fetch a task, check it, explain it, perturb one
record with the operating system's randomness and send the one report. ``ReportClient`` is the
wire; a ``Ledger`` remembers what was drawn and what it cost. ``HolderError`` and its classes are
what this side refuses; what the curator refuses arrives as a class of ``privet.protocol.errors``.
"""

from privet.client.blocking import BlockingHolder
from privet.client.explanation import Explanation
from privet.client.holder import Holder
from privet.client.ledger import DEFAULT_CAP, Answer, Ledger, MemoryLedger
from privet.client.sqlite_ledger import SqliteLedger
from privet.transport.curator_client import ReportClient
from privet.transport.errors import (
    BudgetSpent,
    CuratorUnreachable,
    HolderError,
    LedgerFailed,
    TaskRefused,
    UnexpectedAnswer,
    UnsafeAddress,
)
from privet.transport.offer import Offer
from privet.transport.retry import Retry

__all__ = [
    "DEFAULT_CAP",
    "Answer",
    "BlockingHolder",
    "BudgetSpent",
    "CuratorUnreachable",
    "Explanation",
    "Holder",
    "HolderError",
    "Ledger",
    "LedgerFailed",
    "MemoryLedger",
    "Offer",
    "ReportClient",
    "Retry",
    "SqliteLedger",
    "TaskRefused",
    "UnexpectedAnswer",
    "UnsafeAddress",
]
