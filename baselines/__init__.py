"""The methods that LPCT (Ma and Yang, 2024) and LPDT (Ma et al., 2023) compare, for measuring.

scikit-learn estimators whose ``fit(X, y, public)`` plays all holders. Nothing of the service
imports them.
"""

from .deconvolution import DeconvolutionRegressor
from .gradient import PSGDClassifier
from .histogram import APHISTRegressor, PHISTClassifier, PHISTRegressor
from .linear import PGLMClassifier
from .semi_private import SemiPrivateClassifier
from .trees import (
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
