"""The declaration of an estimator: a pure function, what it serves, and its parameters."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Classes, Range

from ..counts import Label
from ..model import Model, Value

Fit = Callable[..., Model]
"""``fit(label, public, questions, **parameters) -> Model``; with ``base`` if it takes one."""


@dataclass(frozen=True)
class Parameter:
    """One parameter: its default (which gives its type), help, and what it may be."""

    default: Value
    help: str
    low: float = -math.inf
    high: float = math.inf
    choices: tuple[str, ...] = ()

    def checked(self, name: str, value: object) -> Value:
        """``value`` as the parameter's type; raises ``InvalidRequest`` if it cannot be one."""
        if isinstance(self.default, bool):
            return self._truth(name, value)
        if isinstance(self.default, str):
            return self._choice(name, value)
        return self._number(name, value)

    def _truth(self, name: str, value: object) -> bool:
        if isinstance(value, bool):
            return value
        if str(value).lower() in ("true", "1", "yes", "false", "0", "no"):
            return str(value).lower() in ("true", "1", "yes")
        raise InvalidRequest(f"{name} is {value!r}: it must be true or false.")

    def _choice(self, name: str, value: object) -> str:
        if not isinstance(value, str) or (self.choices and value not in self.choices):
            raise InvalidRequest(f"{name} is {value!r}: use one of {', '.join(self.choices)}.")
        return value

    def _number(self, name: str, value: object) -> float | int:
        whole = isinstance(self.default, int)
        try:
            number = float(str(value))
        except ValueError:
            number = math.nan
        if math.isnan(number) or (whole and not number.is_integer()):
            kind = "a whole number" if whole else "a number"
            raise InvalidRequest(f"{name} is {value!r}: it must be {kind}.")
        if not self.low <= number <= self.high:
            raise InvalidRequest(
                f"{name} is {number:g}: it must be between {self.low:g} and {self.high:g}."
            )
        return int(number) if whole else number


@dataclass(frozen=True)
class Estimator:
    """A named way to fit a model.

    ``labels`` are the kinds of label it serves, and ``max_classes`` how many classes at most.
    ``one_question``: it takes tasks with one question, which asks for the label.
    ``takes_base``: it can start from a public model. ``needs_reports``: the curator
    does not fit it before the first report.
    """

    name: str
    summary: str
    function: Fit
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    labels: tuple[type, ...] = (Classes, Range)
    max_classes: float = math.inf
    one_question: bool = True
    takes_base: bool = False
    needs_reports: bool = True

    def serves(self, label: Label) -> bool:
        """Whether it can estimate this label."""
        few_enough = not isinstance(label, Classes) or label.slots <= self.max_classes
        return isinstance(label, self.labels) and few_enough

    def checked(self, parameters: Mapping[str, object]) -> dict[str, Value]:
        """All parameters with defaults filled in; raises ``InvalidRequest`` for a faulty one."""
        unknown = sorted(set(parameters) - set(self.parameters))
        if unknown:
            known = ", ".join(self.parameters) or "none"
            raise InvalidRequest(
                f"{self.name} has no parameter {', '.join(unknown)}: its parameters are {known}."
            )
        values = {name: spec.default for name, spec in self.parameters.items()} | dict(parameters)
        return {name: self.parameters[name].checked(name, value) for name, value in values.items()}
