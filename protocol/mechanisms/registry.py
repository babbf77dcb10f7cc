"""The mechanisms by the name that a published task gives them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from ..errors import InvalidTask
from .base import Mechanism
from .grr import GeneralizedResponse
from .label_response import LabelResponse
from .laplace import Laplace
from .projective import ProjectiveResponse
from .randomized_response import RandomizedResponse
from .stratified import StratifiedMechanism
from .subset import SubsetSelection

MECHANISMS: dict[str, type[Mechanism]] = {
    "subset": SubsetSelection,
    "projective": ProjectiveResponse,
    "grr": GeneralizedResponse,
    "laplace": Laplace,
    "randomized_response": RandomizedResponse,
}
"""Name on the wire -> class. Everything that lists or builds mechanisms reads this dict."""

NUMERIC_FORMS: dict[str, type[Mechanism]] = {"randomized_response": LabelResponse}
"""The class that serves a numeric label under the same name, where it is another one."""


def create_mechanism(
    name: str,
    epsilon: float,
    cells: int,
    slots: int,
    parameters: Mapping[str, Any] | None = None,
    *,
    regression: bool = False,
    strata: Sequence[int] = (),
) -> Mechanism:
    """The mechanism that a task names, for ``cells x slots`` categories at ``epsilon``.

    ``strata``, if any, is the stratum of each cell, from 0 without gaps: the mechanism then
    hides which cell of its stratum it is, and the answer. ``parameters`` are for as many cells
    as the largest stratum has.

    Raises InvalidTask for an unknown name, for a parameter that the mechanism does not know, and
    as ``Mechanism.create`` does.
    """
    if name not in MECHANISMS:
        raise InvalidTask(
            f"Unknown mechanism {name[:50]!r}: this version knows {', '.join(sorted(MECHANISMS))}."
        )
    mechanism = MECHANISMS[name]
    if regression:
        mechanism = NUMERIC_FORMS.get(name, mechanism)
    known, parameters = mechanism.parameter_names, parameters or {}
    if unknown := sorted(set(parameters) - set(known)):
        takes = f"takes {', '.join(known)}" if known else "takes no parameters"
        raise InvalidTask(f"mechanism {name} {takes}; leave out {', '.join(unknown)}")
    hidden = max(Counter(strata).values(), default=cells)
    built = _kept(mechanism.create(epsilon, hidden, slots, regression=regression, **parameters))
    return StratifiedMechanism.around(built, tuple(strata)) if strata else built


@lru_cache(maxsize=32)
def _kept(mechanism: Mechanism) -> Mechanism:
    """The equal one that was made before, if any, which knows its exact probabilities already."""
    return mechanism
