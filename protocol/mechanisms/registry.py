"""The mechanisms by the name that a published task gives them."""

from privet.protocol.mechanisms.base import Mechanism
from privet.protocol.mechanisms.grr import GeneralizedResponse
from privet.protocol.mechanisms.laplace import Laplace
from privet.protocol.mechanisms.projective import ProjectiveResponse
from privet.protocol.mechanisms.randomized_response import RandomizedResponse
from privet.protocol.mechanisms.subset import SubsetSelection
from privet.protocol.mechanisms.unary import OptimizedUnary, SymmetricUnary

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
