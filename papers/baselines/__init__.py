"""The methods that LPCT (Ma and Yang, 2024) and LPDT (Ma et al., 2023) compare, and those for
disclosed columns, for measuring.

scikit-learn estimators whose ``fit(X, y, public)`` simulates all holders. No other package imports
them.
"""

from .deconvolution import DeconvolutionRegressor
from .disclosed_columns import HistOfTreeClassifier, HistOfTreeRegressor
from .gradient import PSGDClassifier
from .histogram import APHISTRegressor, PHISTClassifier, PHISTRegressor
from .label_privacy import RandomizedLabelsClassifier, RandomizedLabelsRegressor
from .linear import PGLMClassifier
from .semi_private import SemiPrivateClassifier
from .trees import (
    LPCTClassifier,
    LPCTPruneClassifier,
    LPDTClassifier,
    LPDTRegressor,
    NonPrivateTreeClassifier,
    NonPrivateTreeRegressor,
    PublishedLPDTRegressor,
)

__all__ = [
    "APHISTRegressor",
    "DeconvolutionRegressor",
    "HistOfTreeClassifier",
    "HistOfTreeRegressor",
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
    "PublishedLPDTRegressor",
    "RandomizedLabelsClassifier",
    "RandomizedLabelsRegressor",
    "SemiPrivateClassifier",
]
