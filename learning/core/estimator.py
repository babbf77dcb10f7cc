"""The declaration of an estimator: a pure function, what it serves, and its parameters."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Classes, Label, Range
from privet.protocol.wire import first_fault

from .model import Model, Value

Fit = Callable[..., Model]
"""``fit(label, public, questions, **parameters) -> Model``; with ``knowledge`` of the public
model if it starts from one."""


@dataclass(frozen=True)
class Parameter:
    """One parameter: its default (which gives its type), help, and what it may be."""

    default: Value
    help: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()

    def checked(self, name: str, value: object) -> Value:
        """``value``, or what a text says, as the parameter's type.

        Raises ``InvalidRequest`` if it cannot be one.
        """
        numeric = not self.choices and type(self.default) in {int, float}
        if isinstance(value, bool) and numeric:  # pydantic takes True for 1
            raise InvalidRequest(f"{name} is {value}: give a number.")
        try:
            checked: Value = self._adapter.validate_python(value)
        except ValidationError as error:
            raise InvalidRequest(f"{name} is {value!r}. {first_fault(error)}") from None
        return checked

    @cached_property
    def _adapter(self) -> TypeAdapter[Value]:
        kind: Any = Literal[self.choices] if self.choices else type(self.default)
        checked: Any = Annotated[kind, Field(ge=self.low, le=self.high)]
        return TypeAdapter(checked)


@dataclass(frozen=True)
class Estimator:
    """A named way to fit a model.

    ``labels`` are the kinds of label it serves, and ``max_classes`` how many classes at most.
    ``one_question``: it takes tasks with one question, which asks for the label, beside which
    some holders may be asked for the label alone; with ``takes_label_question`` it uses that.
    ``takes_base``: it starts from a public model. ``takes_waves``: the waves of a panel before
    this one count too. ``asks``: what the questions of a task that it takes ask for, in this order;
    None if anything. ``without_reports``: the parameters, if any,
    with which only public data count.
    """

    name: str
    summary: str
    function: Fit
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    labels: tuple[type, ...] = (Classes, Range)
    max_classes: float = math.inf
    one_question: bool = True
    takes_label_question: bool = False
    takes_base: bool = False
    takes_waves: bool = False
    asks: tuple[str, ...] | None = None
    without_reports: Mapping[str, Value] | None = None

    def serves(self, label: Label) -> bool:
        """True if it can estimate this label."""
        few_enough = not isinstance(label, Classes) or label.slots <= self.max_classes
        return isinstance(label, self.labels) and few_enough

    def takes(self, label: Label, asked: Sequence[str]) -> bool:
        """True if it serves a label in a task whose questions ask for this."""
        return self.serves(label) and self.asks in (None, tuple(asked))

    def needs_reports(self, parameters: Mapping[str, object]) -> bool:
        """True if reports count with these parameters; raises as ``checked`` does."""
        values = self.checked(parameters)
        return self.without_reports is None or any(
            values[name] != value for name, value in self.without_reports.items()
        )

    def checked(self, parameters: Mapping[str, object]) -> dict[str, Value]:
        """All parameters with defaults filled in; raises ``InvalidRequest`` for a faulty one."""
        unknown = sorted(set(parameters) - set(self.parameters))
        if unknown:
            names = ", ".join(self.parameters) or "none"
            raise InvalidRequest(
                f"{self.name} has no parameter {', '.join(unknown)}: its parameters are {names}."
            )
        values = {name: spec.default for name, spec in self.parameters.items()} | dict(parameters)
        return {name: self.parameters[name].checked(name, value) for name, value in values.items()}
