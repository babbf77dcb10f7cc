"""The mechanisms by the name that a published task gives them."""

from protocol.mechanisms.base import Mechanism
from protocol.mechanisms.grr import GeneralizedResponse
from protocol.mechanisms.laplace import Laplace
from protocol.mechanisms.projective import ProjectiveResponse
from protocol.mechanisms.randomized_response import RandomizedResponse
from protocol.mechanisms.subset import SubsetSelection
from protocol.mechanisms.unary import OptimizedUnary, SymmetricUnary

MECHANISMS: dict[str, type[Mechanism]] = {
    mechanism.name: mechanism
    for mechanism in (
        SubsetSelection,
        ProjectiveResponse,
        GeneralizedResponse,
        SymmetricUnary,
        OptimizedUnary,
        Laplace,
        RandomizedResponse,
    )
}
"""Name on the wire -> class; ``MECHANISMS[name].create(...)`` builds one."""
