"""The resources that the use cases share."""

import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cryptography.fernet import Fernet

from privet.learning.core.counts import QuestionCounts
from privet.learning.figures.compare import Insight

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
OUTCOMES_KEPT = 64
OutcomeKey = tuple[str, int | None, int | None]
"""A task, its serving model and its reports; None where it has no models, and before it settles."""


class KeptInsights:
    """Insights of tasks that have ended: anybody may ask for them, and they change no more.

    The oldest of more than ``OUTCOMES_KEPT`` is forgotten.
    """

    def __init__(self) -> None:
        self._kept = dict[OutcomeKey, Insight | None]()
        self._lock = threading.Lock()

    def known(self) -> Mapping[OutcomeKey, Insight | None]:
        """All that is kept now."""
        with self._lock:
            return self._kept.copy()

    def keep(self, key: OutcomeKey, outcome: Insight | None) -> Insight | None:
        """The outcome that was kept first."""
        with self._lock:
            first = self._kept.setdefault(key, outcome)
            while len(self._kept) > OUTCOMES_KEPT:
                del self._kept[next(iter(self._kept))]
            return first


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
        self.outcomes = KeptInsights()
        self.steps_key = self.store.facts.set_once(STEPS_KEY, secrets.token_hex())
        session_key = Fernet.generate_key().decode()
        self.session_key = self.store.facts.set_once(SESSION_KEY, session_key)
        """Seals what sessions' cookies hold; drawn once for all processes."""
        restored = self.store.facts.read(RESTORED)
        self.restored = None if restored is None else float(restored)
        """Time of the backup from which the database was restored, or that when holders were asked
        again, Unix time."""

    @property
    def audit(self) -> Audit:
        return self.tokens.audit


def counts_of(collected: Collected) -> list[QuestionCounts]:
    stored = collected.stored
    return [
        QuestionCounts.of(
            stored.task, number, question.vector, question.n, stored.planned, question.events
        )
        for number, question in enumerate(collected.sums)
    ]
