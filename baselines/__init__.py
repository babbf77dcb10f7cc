"""The methods that LPCT (Ma and Yang, 2024) and LPDT (Ma et al., 2023) compare, for measuring.

scikit-learn estimators whose ``fit(X, y, public)`` plays all holders. Nothing of the service
imports them.
"""

from privet.baselines.histogram import APHISTRegressor, PHISTClassifier, PHISTRegressor
from privet.baselines.trees import (
    LPCTClassifier,
    LPCTPruneClassifier,
    LPDTClassifier,
    LPDTRegressor,
    NonPrivateTreeClassifier,
    NonPrivateTreeRegressor,
)

__all__ = [
    "APHISTRegressor",
    "LPCTClassifier",
    "LPCTPruneClassifier",
    "LPDTClassifier",
    "LPDTRegressor",
    "NonPrivateTreeClassifier",
    "NonPrivateTreeRegressor",
    "PHISTClassifier",
    "PHISTRegressor",
]
