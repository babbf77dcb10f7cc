"""Local randomizers: one file each, the holder's half and the curator's half together.

``base`` is the contract, ``frequency_oracle`` and ``vector_pair`` are the two families,
``registry`` finds a mechanism by its name, ``comparison`` chooses one.
"""

from privet.protocol.mechanisms.base import Mechanism
from privet.protocol.mechanisms.comparison import AUTO, Row, choose, compare
from privet.protocol.mechanisms.grr import GeneralizedResponse
from privet.protocol.mechanisms.label_response import LabelResponse
from privet.protocol.mechanisms.laplace import Laplace
from privet.protocol.mechanisms.projective import ProjectiveResponse
from privet.protocol.mechanisms.randomized_response import RandomizedResponse
from privet.protocol.mechanisms.registry import MECHANISMS, create_mechanism
from privet.protocol.mechanisms.subset import SubsetSelection
from privet.protocol.mechanisms.unary import OptimizedUnary, SymmetricUnary

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
