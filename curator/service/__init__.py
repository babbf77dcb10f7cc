"""The curator's use cases, over a store and a clock.

Every method is synchronous and may take long; web code calls it from other threads. Errors are
those of ``privet.protocol.errors``; a call that raises has changed nothing. Long computations are
functions at the end of each file, which ``run`` may execute in a worker process.
"""

from .fitting import Change, FittingCases
from .prediction import ExplainedPredictions, PredictionCases, predict_rows
from .publication import Publication
from .reading import ReadingCases
from .registries import with_registries
from .tasks import STEP, TaskCases

__all__ = [
    "STEP",
    "Change",
    "Curator",
    "ExplainedPredictions",
    "Publication",
    "predict_rows",
    "with_registries",
]


class Curator(TaskCases, FittingCases, ReadingCases, PredictionCases):
    """The use cases over one store."""
