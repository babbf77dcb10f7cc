"""Local randomizers: one file each, the holder's half and the curator's half together."""

from protocol.mechanisms.base import Mechanism
from protocol.mechanisms.laplace import Laplace
from protocol.mechanisms.randomized_response import RandomizedResponse
from protocol.mechanisms.subset import SubsetSelection

MECHANISMS: dict[str, type[Mechanism]] = {
    mechanism.name: mechanism for mechanism in (SubsetSelection, Laplace, RandomizedResponse)
}
"""Name on the wire -> class; ``MECHANISMS[name].create(...)`` builds one."""

__all__ = ["MECHANISMS", "Laplace", "Mechanism", "RandomizedResponse", "SubsetSelection"]
