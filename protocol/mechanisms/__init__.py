"""Local randomizers: one file each, the holder's half and the curator's half together."""

from privet.protocol.mechanisms.base import Mechanism
from privet.protocol.mechanisms.comparison import (
    AUTO,
    CHOICES,
    Row,
    choose,
    compare,
    create_mechanism,
)
from privet.protocol.mechanisms.grr import GeneralizedResponse
from privet.protocol.mechanisms.laplace import Laplace
from privet.protocol.mechanisms.projective import ProjectiveResponse
from privet.protocol.mechanisms.randomized_response import RandomizedResponse
from privet.protocol.mechanisms.registry import MECHANISMS
from privet.protocol.mechanisms.subset import SubsetSelection
from privet.protocol.mechanisms.unary import OptimizedUnary, SymmetricUnary

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
