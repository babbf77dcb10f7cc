"""Code shared by the report endpoints."""

from dataclasses import dataclass
from http import HTTPStatus

from privet.http_server.bodies import BodyBudget
from privet.intake.layout import ReportLayout
from privet.intake.tasks import TaskCache
from privet.protocol.errors import PrivetError, StorageFailed, TaskNotFound, problem_of

from ..access.signing import Signer
from ..metrics import Metrics
from .rejects import Rejects
from .task_cache import CachedTask
from .writer import Writer


@dataclass(frozen=True)
class Intake:
    """The tasks that are known, the writer, where refusals are counted, and who signs receipts."""

    tasks: TaskCache[CachedTask]
    writer: Writer
    rejects: Rejects
    metrics: Metrics
    budget: BodyBudget
    signer: Signer | None = None

    async def take(
        self, task: CachedTask, layout: ReportLayout, body: bytes, invitation: bytes | None
    ) -> HTTPStatus:
        """Count a single report, or say that it has been counted."""
        counted = await self.writer.put(task, layout, body, invitation)
        return HTTPStatus.CREATED if counted else HTTPStatus.OK

    def refused(self, task_id: str, error: PrivetError) -> None:
        """Count a refused single report."""
        reason = self.refused_call(task_id, error)
        if isinstance(error, TaskNotFound):
            self.tasks.forget(task_id)
        elif not isinstance(error, StorageFailed):
            self.rejects.add(task_id, reason)

    def refused_call(self, task_id: str, error: PrivetError) -> str:
        """Count a refused call in the metrics; return the name of its problem."""
        reason = problem_of(error).name
        self.metrics.reported(reason, task_id if self.tasks.get(task_id) else "")
        return reason
