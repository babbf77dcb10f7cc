"""Local randomizers: one file each, the holder's half and the curator's half together.

``base`` is the contract, ``frequency_oracle`` and ``vector_pair`` are the two families,
``registry`` finds a mechanism by its name, ``comparison`` chooses one.
"""

from .base import Mechanism
from .comparison import AUTO, Row, choose, compare
from .grr import GeneralizedResponse
from .label_response import LabelResponse
from .laplace import Laplace
from .projective import ProjectiveResponse
from .randomized_response import RandomizedResponse
from .registry import MECHANISMS, create_mechanism
from .subset import SubsetSelection
from .unary import OptimizedUnary, SymmetricUnary

__all__ = [
    "AUTO",
    "MECHANISMS",
    "GeneralizedResponse",
    "LabelResponse",
    "Laplace",
    "Mechanism",
    "OptimizedUnary",
    "ProjectiveResponse",
    "RandomizedResponse",
    "Row",
    "SubsetSelection",
    "SymmetricUnary",
    "choose",
    "compare",
    "create_mechanism",
]
