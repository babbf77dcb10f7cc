"""Local randomizers: one file each, the holder's half and the curator's half together."""

from protocol.mechanisms.base import Mechanism
from protocol.mechanisms.grr import GeneralizedResponse
from protocol.mechanisms.laplace import Laplace
from protocol.mechanisms.menu import AUTO, CHOICES, Row, choose, compare, create_mechanism
from protocol.mechanisms.projective import ProjectiveResponse
from protocol.mechanisms.randomized_response import RandomizedResponse
from protocol.mechanisms.registry import MECHANISMS
from protocol.mechanisms.subset import SubsetSelection
from protocol.mechanisms.unary import OptimizedUnary, SymmetricUnary

__all__ = [
    "AUTO",
    "CHOICES",
    "MECHANISMS",
    "GeneralizedResponse",
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
