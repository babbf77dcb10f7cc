"""What a holder's own side can refuse or fail at, drawn as a tree; none of it crosses the wire.

PrivetError                  (protocol.errors: what a curator answers arrives as one of those)
└── HolderError
    ├── UnsafeAddress        not a task's address, or one that would be read on the way
    ├── TaskRefused          a task that promises less privacy than it says, or is not open
    ├── BudgetSpent          answering would take the subject past its cap
    ├── CuratorUnreachable   no answer after several attempts; the drawn report is kept
    ├── UnexpectedAnswer     something answered, but not as a curator does
    └── LedgerFailed         the ledger cannot be read or written; nothing was sent
"""

from privet.protocol.errors import PrivetError


class HolderError(PrivetError): ...


class UnsafeAddress(HolderError): ...


class TaskRefused(HolderError): ...


class BudgetSpent(HolderError): ...


class CuratorUnreachable(HolderError): ...


class UnexpectedAnswer(HolderError): ...


class LedgerFailed(HolderError): ...
