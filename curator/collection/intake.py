"""Code shared by the report endpoints."""

from dataclasses import dataclass

from privet.http_server.bodies import BodyBudget
from privet.protocol.errors import PrivetError, problem_of

from ..access.signing import Signer
from ..metrics import Metrics
from .rejects import Rejects
from .task_cache import TaskCache
from .writer import Writer


@dataclass(frozen=True)
class Intake:
    """The tasks that are known, the writer, where refusals are counted, and who signs receipts."""

    tasks: TaskCache
    writer: Writer
    rejects: Rejects
    metrics: Metrics
    budget: BodyBudget
    signer: Signer | None = None

    def refused(self, task_id: str, error: PrivetError) -> str:
        """Count a refused call in the metrics; return the name of its problem."""
        reason = problem_of(error).name
        self.metrics.reported(reason, task_id if self.tasks.get(task_id) else "")
        return reason
