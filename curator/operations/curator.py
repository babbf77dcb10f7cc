"""The resources that the use cases share."""

import secrets
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from cryptography.fernet import Fernet

from privet.learning.core.counts import QuestionCounts
from privet.learning.figures.results import Comparison

from ..access.audit import Audit
from ..access.signing import Signer
from ..access.tokens import Tokens
from ..datastore.audit import RESTORED
from ..datastore.status import Collected
from ..datastore.store import Store
from ..metrics import Metrics
from ..workers import Workers
from .model_cache import ModelCache

COUNTS = "counts of the reports so far"
"""The results that only readers see, in words for an error."""
STEPS_KEY = "steps_key"
"""Name of the fact that holds the key for drawing when strangers see a step."""
SESSION_KEY = "session_key"
"""Name of the fact that holds the key of sessions."""
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
        self.results: OrderedDict[tuple[str, int, int], tuple[Comparison, ...] | None] = (
            OrderedDict()
        )
        self.steps_key = self.store.facts.set_once(STEPS_KEY, secrets.token_hex())
        session_key = Fernet.generate_key().decode()
        self.session_key = self.store.facts.set_once(SESSION_KEY, session_key)
        """Seals what sessions' cookies hold; drawn once for all processes."""
        restored = self.store.facts.read(RESTORED)
        self.restored = None if restored is None else float(restored)
        """Time of the backup from which the database was restored, Unix time."""

    @property
    def audit(self) -> Audit:
        return self.tokens.audit


def counts_of(collected: Collected) -> list[QuestionCounts]:
    stored = collected.stored
    return [
        QuestionCounts.of(stored.task, number, question.vector, question.n, stored.planned)
        for number, question in enumerate(collected.sums)
    ]
