"""Errors of the relay itself.

PrivetError
└── RelayError
    ├── CannotServe       it cannot start: a package is missing
    ├── CuratorDown       its curator does not answer, so nothing can be checked; also Overloaded
    └── SpoolFailed       the spool cannot be read or written; also StorageFailed
        └── SpoolFull     there is no room left for it

Those that are also an error of the protocol reach holders as that one, who then keep their answer
and send it again; ``status`` is the HTTP status where it is not that error's.
"""

from typing import ClassVar

from privet.protocol.errors import Overloaded, PrivetError, StorageFailed


class RelayError(PrivetError):
    status: ClassVar[int | None] = None


class CannotServe(RelayError): ...


class CuratorDown(RelayError, Overloaded):
    """Bad Gateway."""

    status = 502


class SpoolFailed(RelayError, StorageFailed): ...


class SpoolFull(SpoolFailed):
    """Insufficient Storage."""

    status = 507


RELAY_FAILURES = (CuratorDown.status, SpoolFull.status)
"""HTTP statuses that no error of the protocol has."""
