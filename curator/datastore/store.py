"""The store: the verbs of all its parts, and its guarantees, the same for SQLite and PostgreSQL.

- A call that returns is durable; one that raises ``StorageFailed`` changed nothing.
- ``take`` counts a report id at most once per task, despite crashes, retries and races with other
  curators on the same database, and only while the task is open.
- Sums are additive, so the order of arrival, the batching and the number of curators that share a
  database do not change what ``sums`` returns.

Every method is synchronous and may be called from any thread. Each part is one file: what it keeps,
its verbs, and their SQL.
"""

from .audit import AuditStore
from .counting import ReportStore
from .expiry import ExpiryStore
from .invitations import InvitationStore
from .models import ModelStore
from .status import StatusStore
from .tasks import TaskStore
from .tokens import TokenStore


class Store(
    TaskStore,
    ReportStore,
    StatusStore,
    InvitationStore,
    ModelStore,
    TokenStore,
    AuditStore,
    ExpiryStore,
):
    """Where tasks, sums, report ids and models are kept; several curators may share it."""

    def check(self) -> None:
        """Write something; raises ``StorageFailed`` if a report could not be written now."""
        with self.writing() as connection:
            self._backend.write_probe(self._backend.cursor_of(connection.connection))
