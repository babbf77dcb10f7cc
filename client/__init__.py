"""Where a raw value lives and dies: the holder's side of Privet.

``Holder`` (asynchronous) and ``BlockingHolder`` fetch a task, check it, explain it, perturb one
record with the operating system's randomness and send the one report. ``CuratorClient`` is the
wire; a ``Ledger`` remembers what was drawn and what it cost. ``HolderError`` and its classes are
what this side refuses; what the curator refuses arrives as a class of ``protocol.errors``.
"""

from client.blocking import BlockingHolder
from client.errors import (
    BudgetSpent,
    CuratorUnreachable,
    HolderError,
    LedgerFailed,
    TaskRefused,
    UnexpectedAnswer,
    UnsafeAddress,
)
from client.explanation import Explanation
from client.holder import Holder
from client.http import CuratorClient
from client.ledger import DEFAULT_CAP, Answer, Ledger, MemoryLedger
from client.offer import Offer
from client.retry import Retry
from client.sqlite_ledger import SqliteLedger

__all__ = [
    "DEFAULT_CAP",
    "Answer",
    "BlockingHolder",
    "BudgetSpent",
    "CuratorClient",
    "CuratorUnreachable",
    "Explanation",
    "Holder",
    "HolderError",
    "Ledger",
    "LedgerFailed",
    "MemoryLedger",
    "Offer",
    "Retry",
    "SqliteLedger",
    "TaskRefused",
    "UnexpectedAnswer",
    "UnsafeAddress",
]
