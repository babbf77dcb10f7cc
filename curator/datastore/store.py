"""The store: its parts, and its guarantees, the same for SQLite and PostgreSQL.

- A call that returns is durable; one that raises ``StorageFailed`` changed nothing.
- ``reports.take`` counts a report id at most once per task, despite crashes, retries and races with
  other curators on the same database, and only while the task is open.
- Sums are additive, so the order of arrival, the batching and the number of curators that share a
  database do not change what ``standing.collected`` returns.

Every method is synchronous and may be called from any thread. Each part is one file: what it keeps,
its verbs, and their SQL.
"""

from sqlalchemy import Engine

from .audit import AuditStore, FactStore
from .counting import ReportStore
from .database import Database
from .expiry import ExpiryStore
from .invitations import InvitationStore
from .models import ModelStore
from .status import StatusStore
from .tasks import TaskStore
from .tokens import TokenStore


class Store:
    """The store of tasks, sums, report ids and models; several curators may share one."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.tasks = TaskStore(database)
        self.reports = ReportStore(database)
        self.standing = StatusStore(database)
        self.invitations = InvitationStore(database)
        self.models = ModelStore(database)
        self.tokens = TokenStore(database)
        self.audit = AuditStore(database)
        self.facts = FactStore(database)
        self.expiry = ExpiryStore(database)

    @property
    def engine(self) -> Engine:
        return self.database.engine

    def close(self) -> None:
        self.database.close()

    def check(self) -> None:
        """Write something; raises ``StorageFailed`` if a report could not be written now."""
        with self.database.writing() as connection:
            backend = self.database.backend
            backend.write_probe(backend.cursor_of(connection.connection))
