"""What cannot be fitted is refused with what to do."""

import numpy as np
import pytest

from baselines import (
    DeconvolutionRegressor,
    HistOfTreeClassifier,
    LPCTClassifier,
    LPDTRegressor,
    NonPrivateTreeClassifier,
    PGLMClassifier,
    PHISTClassifier,
    PSGDClassifier,
    PublishedLPDTRegressor,
)
from baselines.base import Baseline


@pytest.mark.parametrize(
    ("model", "columns", "message"),
    [
        (DeconvolutionRegressor(bandwidth=0.0), 2, "choose a positive number"),
        (LPCTClassifier(partition="oblique"), 2, "use one of max_edge, random, cart"),
        (LPCTClassifier(0.0), 2, "epsilon is 0.0: choose a positive number"),
        (LPCTClassifier(weight=-1.0), 2, "weight is -1"),
        (HistOfTreeClassifier(disclosed=[-1]), 3, "give the numbers of columns, 0 to 2"),
        (HistOfTreeClassifier(disclosed=[0, 3]), 3, "give the numbers of columns, 0 to 2"),
        (HistOfTreeClassifier(disclosed=[0], bins=4), 20, "use fewer parts"),
        (LPCTClassifier(public_fraction=1.0), 2, "must lie between 0 and 1"),
        (LPDTRegressor(label_range=(1.0, 1.0)), 2, "set label_range"),
        (NonPrivateTreeClassifier("mine"), 2, "use all, private or public"),
        (PGLMClassifier(delta=1.0), 2, "between 0 and 1"),
        (PHISTClassifier(bins=0), 8, "at least 1 bin"),
        (PHISTClassifier(bins=9, windows=True), 8, "too large: use fewer bins"),
        (PHISTClassifier(0.0), 8, "choose a positive number"),
        (PHISTClassifier(bins=1, windows=False), 65, "65 columns is too large"),  # numpy has 64
        (PSGDClassifier(hidden=0), 2, "at least 1 unit"),
        (PublishedLPDTRegressor(share=1.0), 2, "between 0 and 1"),
    ],
)
def test_errors_say_what_to_do(model: Baseline, columns: int, message: str) -> None:
    """Bad parameters, and tables that are too wide, are a ValueError that says what to change."""
    X = np.random.default_rng(0).random((200, columns))
    with pytest.raises(ValueError, match=message):
        model.fit(X, X[:, 0] > 0.5)
