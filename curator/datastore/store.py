"""The store: the verbs of all its parts, and its guarantees, the same for SQLite and PostgreSQL.

- A call that returns is durable; one that raises ``StorageFailed`` changed nothing.
- ``take`` counts a report id at most once per task, despite crashes, retries and races with other
  curators on the same database, and only while the task is open.
- Sums are additive, so the order of arrival, the batching and the number of curators that share a
  database do not change what ``sums`` returns.

Every method is synchronous and may be called from any thread. Each part is one file: what it keeps,
its verbs, and their SQL.
"""

from abc import abstractmethod

from .audit import AuditStore, SqlAudit
from .counting import SqlReports
from .expiry import ExpiryStore, SqlExpiry
from .invitations import InvitationStore, SqlInvitations
from .models import ModelStore, SqlModels
from .reports import ReportStore
from .status import SqlStatus, StatusStore
from .tasks import SqlTasks, TaskStore
from .tokens import SqlTokens, TokenStore


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
    """Where tasks, sums, report ids and models are kept."""

    @abstractmethod
    def check(self) -> None:
        """Write something; raises ``StorageFailed`` if a report could not be written now."""

    @abstractmethod
    def close(self) -> None:
        """Release connections; the store is not used afterwards."""


class SqlStore(
    SqlTasks,
    SqlReports,
    SqlStatus,
    SqlInvitations,
    SqlModels,
    SqlTokens,
    SqlAudit,
    SqlExpiry,
    Store,
):
    """The store in a database that several curators may share."""

    def check(self) -> None:
        with self.writing() as connection:
            self._backend.write_probe(self._backend.cursor_of(connection.connection))
