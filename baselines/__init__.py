"""The methods that LPCT (Ma and Yang, 2024) and LPDT (Ma et al., 2023) compare, for measuring.

scikit-learn estimators whose ``fit(X, y, public)`` plays all holders. Nothing of the service
imports them.
"""

from privet.baselines.deconvolution import DeconvolutionRegressor
from privet.baselines.gradient import PSGDClassifier
from privet.baselines.histogram import APHISTRegressor, PHISTClassifier, PHISTRegressor
from privet.baselines.linear import PGLMClassifier
from privet.baselines.semi_private import SemiPrivateClassifier
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
    "DeconvolutionRegressor",
    "LPCTClassifier",
    "LPCTPruneClassifier",
    "LPDTClassifier",
    "LPDTRegressor",
    "NonPrivateTreeClassifier",
    "NonPrivateTreeRegressor",
    "PGLMClassifier",
    "PHISTClassifier",
    "PHISTRegressor",
    "PSGDClassifier",
    "SemiPrivateClassifier",
]
