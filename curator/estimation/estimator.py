"""What an estimator is: a pure function of public data and reports, with declared parameters."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from privet.curator.estimation.counts import Label, QuestionCounts
from privet.curator.estimation.model import Model, Value
from privet.curator.public_data import PublicData
from privet.curator.public_model.base import BaseModel
from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Classes, Range

Fit = Callable[..., Model]
"""``fit(label, public, evidence, **parameters) -> Model``"""


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
    """A named way to fit a model; ``labels`` are the kinds of label it can estimate."""

    name: str
    summary: str
    function: Fit
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    labels: tuple[type, ...] = (Classes, Range)
    takes_base: bool = False

    def fit(
        self,
        label: Label,
        public: PublicData,
        evidence: Sequence[QuestionCounts],
        base: BaseModel | None = None,
        **parameters: object,
    ) -> Model:
        """Fit on encoded public data and one ``QuestionCounts`` per question.

        ``base`` is a public model of the caller's own, for estimators that start from one.
        Raises ``InvalidRequest`` for an unknown or impossible parameter, and for a label or a set
        of questions that this estimator does not serve.
        """
        if not isinstance(label, self.labels):
            kind = "classes" if isinstance(label, Classes) else "a numeric label"
            raise InvalidRequest(f"{self.name} does not serve {kind}: choose another estimator.")
        given: dict[str, Any] = dict(self.checked(parameters))
        if base is not None:
            if not self.takes_base:
                raise InvalidRequest(f"{self.name} starts from no public model: use drift.")
            given["base"] = base
        return self.function(label, public, evidence, **given)

    def checked(self, parameters: Mapping[str, object]) -> dict[str, Value]:
        """All parameters with defaults filled in; raises ``InvalidRequest`` for a faulty one."""
        unknown = sorted(set(parameters) - set(self.parameters))
        if unknown:
            known = ", ".join(self.parameters) or "none"
            raise InvalidRequest(
                f"{self.name} has no parameter {', '.join(unknown)}: its parameters are {known}."
            )
        given = {name: spec.default for name, spec in self.parameters.items()} | dict(parameters)
        return {name: self.parameters[name].checked(name, value) for name, value in given.items()}


def only_question(name: str, evidence: Sequence[QuestionCounts]) -> QuestionCounts:
    """The evidence of a task with one question; raises ``InvalidRequest`` for any other."""
    if len(evidence) != 1:
        raise InvalidRequest(
            f"{name} needs a task with one question, not {len(evidence)}: "
            "fit pruned, averaged, drift or histogram, whichever the questions were made for."
        )
    return evidence[0]


def two_classes(name: str, label: Label) -> None:
    """Raise ``InvalidRequest`` unless the label has two classes."""
    if not isinstance(label, Classes) or label.slots != 2:
        raise InvalidRequest(
            f"{name} tells two classes apart: use averaged or drift for this label."
        )
