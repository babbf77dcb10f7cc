"""Errors raised locally by a holder; none crosses the wire.

PrivetError                  base of all errors of a holder's calls
├── HolderError              this holder's own refusal; a missing package is one too
│   ├── TaskRefused          a task that gives less privacy than it claims, or is not signed
│   ├── BudgetSpent          answering would take the subject past a cap
│   ├── WrongClock           this device's clock or the server's is wrong: set it
│   └── LedgerFailed         the ledger cannot be read or written; nothing was sent
├── OutOfTurn                a panel asks this subject in another wave; a TaskNotOpen too
├── TransportError           (http_client.errors) unsafe address, no answer, not a curator's answer
└── InvalidRequest, ...      (protocol.errors) what the curator answered
"""

from privet.protocol.errors import PrivetError, TaskNotOpen


class HolderError(PrivetError): ...


class TaskRefused(HolderError): ...


class BudgetSpent(HolderError): ...


class WrongClock(HolderError): ...


class LedgerFailed(HolderError): ...


class OutOfTurn(TaskNotOpen): ...
