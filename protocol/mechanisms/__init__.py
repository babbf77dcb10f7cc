"""Local randomizers: one file each, the holder's half and the curator's half together.

``base`` is the contract, ``frequency_oracle`` and ``vector_pair`` are the two families,
``payloads`` has the forms of messages, ``registry`` finds a mechanism by its name.
"""

from .base import Mechanism
from .grr import GeneralizedResponse
from .label_response import LabelResponse
from .laplace import Laplace
from .projective import ProjectiveResponse
from .randomized_response import RandomizedResponse
from .registry import MECHANISMS, create_mechanism
from .stratified import StratifiedMechanism
from .subset import SubsetSelection

__all__ = [
    "MECHANISMS",
    "GeneralizedResponse",
    "LabelResponse",
    "Laplace",
    "Mechanism",
    "ProjectiveResponse",
    "RandomizedResponse",
    "StratifiedMechanism",
    "SubsetSelection",
    "create_mechanism",
]
