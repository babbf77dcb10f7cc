"""The questions that the contract tests ask of every mechanism."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from privet.protocol.mechanisms import MECHANISMS, Mechanism, create_mechanism


@dataclass(frozen=True)
class Case:
    """Arguments of ``create_mechanism``."""

    name: str
    epsilon: float
    cells: int
    slots: int
    regression: bool = False
    parameters: dict[str, Any] = field(default_factory=dict, hash=False)
    strata: tuple[int, ...] = ()

    def build(self) -> Mechanism:
        return create_mechanism(
            self.name,
            self.epsilon,
            self.cells,
            self.slots,
            self.parameters,
            regression=self.regression,
            strata=self.strata,
        )

    def __str__(self) -> str:
        kind = "-regression" if self.regression else ""
        extra = "".join(f"-{key}{value}" for key, value in self.parameters.items())
        extra += f"-strata{max(self.strata) + 1}" if self.strata else ""
        return f"{self.name}-{self.epsilon:g}-{self.cells}x{self.slots}{kind}{extra}"


FINITE = ("subset", "projective", "grr", "randomized_response")
"""Mechanisms whose report takes few values for few categories, so that all can be gone through."""

COARSE = {"resolution": 1}
"""With a large epsilon this leaves the lattice mechanisms few values too."""

SHAPES = ((1, 2), (2, 1), (1, 3), (3, 1), (2, 2), (5, 1), (3, 2))
EPSILONS = (0.001, 1.0, 50.0)
ENDS = ((2, 1), (1, 3), (3, 2))
"""Shapes of which the ends of ε are gone through quickly too."""

ENUMERABLE = [
    *(Case(name, e, *shape) for name in FINITE for shape in SHAPES for e in EPSILONS),
    *(Case("subset", 1.0, 3, 2, parameters={"k": k}) for k in (1, 3, 4, 5)),
    *(
        Case(name, 1.0, *shape, regression=True)
        for name in ("subset", "projective", "grr")
        for shape in ((1, 5), (2, 3))
    ),
    *(
        Case("projective", 1.0, 3, 1, parameters=p)
        for p in (
            {"order": 2, "dimension": 3},
            {"order": 3, "dimension": 3},
            {"order": 5, "dimension": 2},
        )
    ),
    *(
        Case("laplace", e, *shape, parameters=COARSE)
        for e, shape in (
            (8.0, (1, 2)),
            (8.0, (2, 1)),
            (30.0, (1, 2)),
            (30.0, (2, 1)),
            (30.0, (1, 3)),
            (60.0, (1, 3)),
            (50.0, (2, 2)),
        )
    ),
    Case("laplace", 50.0, 2, 2, regression=True, parameters=COARSE),
    Case("laplace", 60.0, 1, 2, regression=True, parameters={"resolution": 2}),
    *(
        Case("randomized_response", e, cells, 2, regression=True, parameters=p)
        for e, cells in ((4.0, 1), (25.0, 1), (8.0, 3), (50.0, 3))
        for p in (COARSE, {"resolution": 2})
    ),
]
"""Every report of every category can be gone through."""

LONG = [
    Case("laplace", 50.0, 2, 2, parameters=COARSE),
    Case("laplace", 50.0, 2, 2, regression=True, parameters=COARSE),
    *(case for case in ENUMERABLE if (case.name, case.epsilon) == ("laplace", 8.0)),
    Case("laplace", 30.0, 1, 3, parameters=COARSE),
    *(
        case
        for case in ENUMERABLE
        if not case.parameters
        if case.epsilon != 1.0 and (case.cells, case.slots) not in ENDS
    ),
]
"""Those of more than ten thousand payloads of which another one is gone through quickly, and most
shapes at the ends of ε."""

USUAL = [
    *(Case(name, e, 3, 2) for name in MECHANISMS for e in (0.5, 2.0)),
    *(Case(name, 1.0, 4, 1) for name in MECHANISMS),
    *(Case(name, 1.0, 2, 3) for name in MECHANISMS),
    *(Case(name, 1.0, 3, 2, regression=True) for name in MECHANISMS),
]
"""Ordinary questions with the default parameters."""

EXTREME = [
    Case(name, e, cells, slots, regression)
    for name in MECHANISMS
    for e in (0.001, 0.02, 50.0, 64.0)
    for cells, slots, regression in ((1, 2, False), (256, 2, False), (2, 2, True))
]
"""The ends of what can be asked."""


def quick_and(slow: Sequence[Case], cases: Sequence[Case]) -> list[Any]:
    """The cases as parameters of a test; those in ``slow`` are for `make test-all`."""
    return [pytest.param(c, marks=pytest.mark.slow if c in slow else (), id=str(c)) for c in cases]
