"""The resources that the use cases share."""

import secrets
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from privet.learning.core.counts import QuestionCounts
from privet.learning.figures.compare import Comparison

from ..access.audit import Audit
from ..access.signing import Signer
from ..access.tokens import Tokens
from ..datastore.audit import RESTORED
from ..datastore.status import Collected
from ..datastore.store import Store
from ..metrics import Metrics
from ..workers import Workers
from .model_cache import ModelCache

STEPS_KEY = "steps_key"
"""Name of the fact that holds the key for drawing when strangers see a step."""
MAX_PREDICT_ROWS = 20_000
"""Rows of one prediction; with more than 20 classes fewer, in proportion."""


@dataclass(eq=False)
class Curator:
    """One store, a clock, and what else the use cases share."""

    store: Store
    clock: Callable[[], float]
    tokens: Tokens
    metrics: Metrics
    workers: Workers
    """Worker processes of fits and new tasks, which only some may ask for."""
    predictors: Workers
    """Worker threads of large predictions."""
    exporters: Workers
    """Worker processes of exports, and the places of these and of comparisons."""
    guard_models: bool = False
    """True if only readers may see models."""
    max_rows: int = MAX_PREDICT_ROWS
    signer: Signer | None = None
    """Signs tasks, if any."""

    def __post_init__(self) -> None:
        self.models = ModelCache(self.store)
        self.results: OrderedDict[tuple[str, int, int], tuple[Comparison, ...]] = OrderedDict()
        self.steps_key = self.store.facts.set_once(STEPS_KEY, secrets.token_hex())
        restored = self.store.facts.read(RESTORED)
        self.restored = None if restored is None else float(restored)
        """Time of the backup from which the database was restored, Unix time."""

    @property
    def audit(self) -> Audit:
        return self.tokens.audit

    def question_counts(self, task_id: str) -> list[QuestionCounts]:
        """Debiased counts of the reports so far, one entry per question."""
        return counts_of(self.store.standing.collected(task_id))


def counts_of(collected: Collected) -> list[QuestionCounts]:
    stored = collected.stored
    return [
        QuestionCounts.of(stored.task, number, question.vector, question.n, stored.planned)
        for number, question in enumerate(collected.sums)
    ]
