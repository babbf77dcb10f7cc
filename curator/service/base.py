"""What the use cases share."""

import secrets
from collections import OrderedDict
from collections.abc import Callable, Sequence

from privet.learning.estimators import QuestionCounts
from privet.protocol.results import Results
from privet.protocol.task import Task

from ..datastore.audit import RESTORED
from ..datastore.models import ModelInfo
from ..datastore.reports import QuestionSums
from ..datastore.store import Store
from ..models.cache import ModelCache

STEPS_KEY = "steps_key"
"""Name of the fact that holds the key for drawing when strangers see a step."""
MAX_PREDICT_ROWS = 20_000
"""Rows of one prediction; with more than 20 classes fewer, in proportion."""


class UseCases:
    """Use cases over one store and a clock."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self.store = store
        self.clock = clock
        self.max_rows = MAX_PREDICT_ROWS
        self.models = ModelCache(store)
        self._results: OrderedDict[tuple[str, int, int], Results] = OrderedDict()
        self._steps_key = store.note_first(STEPS_KEY, secrets.token_hex())
        restored = store.fact(RESTORED)
        self.restored = None if restored is None else float(restored)
        """Time of the backup from which the database was restored, Unix time."""

    def question_counts(self, task_id: str) -> list[QuestionCounts]:
        """Debiased counts of the reports so far, one entry per question."""
        stored = self.store.task(task_id)
        return counts_of(stored.task, self.store.sums(task_id), stored.planned)

    def _document(self, task_id: str, number: int) -> tuple[ModelInfo, bytes]:
        info = self.models.info(task_id, number)
        return info, self.store.model(task_id, info.number)


def counts_of(
    task: Task, sums: Sequence[QuestionSums], planned: float | None
) -> list[QuestionCounts]:
    return [
        QuestionCounts.of(task, number, question.vector, question.n, planned)
        for number, question in enumerate(sums)
    ]
