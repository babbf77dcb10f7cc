"""The audit log: who did what, in the database and, as it happens, in the logs.

Entries are written after the action they record. An entry names tokens, people, tasks and models,
never a token itself, an invitation or a network address. Its log line has its number and hash:
where logs are kept on another machine, they show what is later missing or changed in the database.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from privet.protocol.errors import StorageFailed

from ..datastore.audit import AuditEntry
from ..datastore.store import Store

log = logging.getLogger(__name__)
events = logging.getLogger("privet.audit")
HOUR = 3_600.0
NOBODY = ""
"""Whoever acts without a good token: a stranger, the curator itself, or an operator's command."""


@dataclass(eq=False)
class Audit:
    """The audit log of one store."""

    store: Store
    clock: Callable[[], float]

    def add_entry(self, actor: str, action: str, subject: str = "", **detail: Any) -> None:
        """Note that the token or person ``actor`` did ``action``.

        What is done stays done if the database does not take the entry: the log has it then, and
        says so. A token is kept with its entry or not at all.
        """
        self._write(AuditEntry(self.clock(), actor, action, subject, detail))

    def add_refusal(self, reason: str) -> None:
        """Note a failed sign-in; those of an hour with nothing between are counted in one entry."""
        entry = AuditEntry(self.clock(), NOBODY, "sign-in failed", "", {"reason": reason})
        self._write(entry, join_since=entry.at // HOUR * HOUR)

    def _write(self, entry: AuditEntry, join_since: float | None = None) -> None:
        kept = entry
        try:
            kept = self.store.audit.add(entry, join_since)
        except StorageFailed as error:
            log.warning("%s is not in the audit log: %s", entry.action, error.__cause__ or error)
        self.log(replace(entry, no=kept.no, hash=kept.hash))

    def log(self, kept: AuditEntry) -> None:
        """Log an entry that is in the database, for those who keep logs elsewhere."""
        about = {"actor": kept.actor, "subject": kept.subject, "detail": dict(kept.detail)}
        events.info(kept.action, extra={**about, "no": kept.no, "hash": kept.hash})
