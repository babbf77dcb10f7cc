"""The limits on what callers send to a curator, which are the same everywhere.

``deploy/nginx.conf`` has them too, so no setting changes them.
"""

from dataclasses import dataclass

MIB = 2**20


@dataclass(frozen=True)
class Limits:
    """Sizes of bodies and batches; above them the answer is 413."""

    public_bytes: int = 256 * MIB
    """An upload of public data."""
    batch_bytes: int = 64 * MIB
    """A batch of reports."""
    batch_reports: int = 1_000_000
    request_bytes: int = 8 * MIB
    """A prediction's body; those of most other calls are smaller."""


LIMITS = Limits()
