"""The methods by name: ``GROWERS`` divide the space, ``ESTIMATORS`` turn counts into models.

``GROWERS[name](X, y, GrowthSpec(depth=...), classes=...)`` gives a ``Partition``; ``fit`` runs an
estimator by name, and ``Fitting`` runs it on several counts. To add a method, write its file and
its line here, or put a ``Grower`` or an ``Estimator`` into the dictionary at run time. Fitting is
post-processing of reports that are already private, so fitting often, or while reports come in,
costs no privacy.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Classes, Label

from .core.amounts import thousands
from .core.counts import QuestionCounts, facts_about, without_label_question
from .core.estimator import Estimator, Parameter
from .core.grower import Grower
from .core.labels import kind_of
from .core.model import Model, Value
from .core.public_data import Floats, PublicData, class_count
from .core.public_model import BaseModel, from_onnx
from .drift.fit import DRIFT
from .figures.compare import contradicted
from .figures.figure import Reports
from .figures.impossible import impossible
from .figures.selection import selection_factor
from .lpct.cart import cart
from .lpct.grid import grid, grid_depth
from .lpct.histogram import HISTOGRAM
from .lpct.max_edge import max_edge, random_max_edge
from .lpct.pruned import PRUNED
from .lpct.weighted import WEIGHTED
from .public_model.distilled import distilled, distilled_depth, scored
from .public_model.knowledge import Knowledge, public_knowledge

__all__ = [
    "DEFAULT_ESTIMATOR",
    "ESTIMATORS",
    "GROWERS",
    "Estimator",
    "Fitting",
    "Grower",
    "Parameter",
    "fit",
]

GROWERS: dict[str, Grower] = {
    grower.name: grower
    for grower in (
        Grower("max_edge", max_edge),
        Grower("random_max_edge", random_max_edge),
        Grower("cart", cart),
        Grower("grid", grid, grid_depth),
        Grower(
            "distilled",
            distilled,
            distilled_depth,
            uses_public_model=True,
            prepare=scored,
        ),
    )
}
ESTIMATORS: dict[str, Estimator] = {
    estimator.name: estimator for estimator in (WEIGHTED, DRIFT, PRUNED, HISTOGRAM)
}
DEFAULT_ESTIMATOR = DRIFT.name


def starts_from_model(model: Model) -> bool:
    """True if a model is a public model that reports moved, not an average of counts."""
    return model.estimator in ESTIMATORS and ESTIMATORS[model.estimator].takes_base


@dataclass(frozen=True, eq=False)
class Fitting:
    """All of a fit but the reports: an estimator with its parameters, the label, public data.

    ``base`` is a public model that was given, ``knowledge`` what the estimator starts from, and
    ``earlier`` the waves of a panel before the one to fit, the first one first.
    """

    estimator: Estimator
    label: Label
    public: PublicData
    parameters: Mapping[str, Value]
    base: BaseModel | None = None
    knowledge: Knowledge | None = None
    earlier: Sequence[Sequence[QuestionCounts]] = ()
    _kept: dict[tuple[object, ...], Floats] = field(default_factory=dict, init=False, repr=False)
    """The last values without reports, by what is known of the questions without their counts."""

    @classmethod
    def of(
        cls,
        name: str,
        label: Label,
        public: PublicData,
        base: BaseModel | None = None,
        **parameters: object,
    ) -> "Fitting":
        """The estimator ``name``, with a public model if it starts from one; raises as ``fit``."""
        if name not in ESTIMATORS:
            raise InvalidRequest(f"Unknown estimator {name!r}: use one of {', '.join(ESTIMATORS)}.")
        estimator = ESTIMATORS[name]
        if not estimator.serves(label):
            kind = f"{label.slots} classes" if isinstance(label, Classes) else "a numeric label"
            others = _names(lambda other: other.serves(label))
            raise InvalidRequest(f"{name} does not serve {kind}: use another estimator, {others}.")
        values = estimator.checked(parameters)
        if not estimator.takes_base:
            if base is not None:
                others = _names(lambda other: other.takes_base)
                raise InvalidRequest(f"{name} starts from no public model: use {others}.")
            return cls(estimator, label, public, values)
        slots = class_count(label)
        if base is None and public.onnx is not None:
            base = from_onnx(public.onnx, public.X.shape[1], slots)
        knowledge = public_knowledge(public.X, public.y, slots, base, public.register)
        return cls(estimator, label, public, values, base, knowledge)

    def estimate(self, questions: Sequence[QuestionCounts]) -> Model:
        """The estimator's model of these counts: it predicts, and states nothing else yet."""
        given: dict[str, Any] = dict(self.parameters)
        if self.estimator.one_question and not self.estimator.takes_label_question:
            questions, _ = without_label_question(questions)
        if self.knowledge is not None:
            given["knowledge"] = self.knowledge
        if self.estimator.takes_waves and self.earlier:
            given["earlier"] = self.earlier
        return self.estimator.function(self.label, self.public, questions, **given)

    def model(self, questions: Sequence[QuestionCounts]) -> Model:
        """The model of these counts with all that it states.

        Raises ``InvalidRequest`` for a set of questions that the estimator does not take.
        """
        asked, alone = without_label_question(questions)
        if self.estimator.one_question:
            _check_one_question(self.estimator, asked, self.parameters)
        model = self.estimate(questions)
        if alone is not None:  # its answers came in, used or not
            model = replace(model, n=sum(question.n for question in questions))
        facts = dict(model.facts)
        if self.base is not None:
            facts["public model"] = self.base.name
        if self.public.prevalence is not None and self.estimator.takes_base:
            (about,) = asked
            facts["stated prevalence"] = self._prevalence(self.public.prevalence, about, alone)
        facts |= facts_about(questions)
        if self.estimator.takes_waves and self.earlier:
            before = sum(question.n for wave in self.earlier for question in wave)
            facts["earlier waves"] = f"{len(self.earlier)}, of {thousands(before)} reports"
        false = impossible(questions)
        if false is not None:
            facts["false reports"] = f"at least {thousands(false.least)} of {thousands(false.n)}"
            least, most = (np.full_like(model.low, end) for end in model.label.bounds)
            model = replace(model, low=least, high=most)
        return replace(
            model,
            estimator=self.estimator.name,
            parameters=_in_json(self.parameters),
            facts=facts,
            values_without_reports=self._values_without_reports(questions),
            selection=selection_factor(self.label, self.public, model.partition),
        )

    def _values_without_reports(self, questions: Sequence[QuestionCounts]) -> Floats:
        """The same estimator's values without any report, kept for the same questions."""
        unasked = [
            replace(each, sums=np.zeros_like(each.sums), n=0, added=None) for each in questions
        ]
        asked = tuple(
            (each.partition, each.mechanism, each.scale, each.planned) for each in questions
        )
        values = self._kept.get(asked)
        if values is None:
            values = self.estimate(unasked).values
            values.flags.writeable = False
            self._kept.clear()
            self._kept[asked] = values
        return values

    def _prevalence(
        self, stated: Floats, about: QuestionCounts, alone: QuestionCounts | None
    ) -> str:
        """The shares of classes that estimates start from, and which of them reports contradict."""
        names = getattr(self.label, "classes", ())
        said = ", ".join(f"{name} {share:.2%}" for name, share in zip(names, stated, strict=True))
        if about.n == 0:
            return said
        against = [
            f"{names[place]} is {share.low:.2%} to {share.high:.2%}"
            for place, share in contradicted(stated, Reports(kind_of(self.label), about, alone))
        ]
        return f"{said}; by the reports {' and '.join(against)}" if against else said


def fit(
    name: str,
    label: Label,
    public: PublicData,
    questions: Sequence[QuestionCounts],
    base: BaseModel | None = None,
    **parameters: object,
) -> Model:
    """Fit the estimator ``name`` on encoded public data and the counts of a task's questions.

    ``base`` is a public model of the caller's own, for estimators that start from one; without it
    they use the one that came with the public data, if any, or else make their own.
    Raises ``InvalidRequest`` for an unknown name or parameter, and for a label, a set of questions
    or a ``base`` that this estimator does not take.
    """
    return Fitting.of(name, label, public, base, **parameters).model(questions)


def kept_parameters(name: str, given: Mapping[str, object]) -> dict[str, Value]:
    """All parameters of a known estimator as its models keep them; raises as ``fit``."""
    return _in_json(ESTIMATORS[name].checked(given))


def _in_json(parameters: Mapping[str, Value]) -> dict[str, Value]:
    """Parameters by name; an infinite one by its own, as JSON has no such number."""
    return {
        name: str(value) if isinstance(value, float) and math.isinf(value) else value
        for name, value in parameters.items()
    }


def _check_one_question(
    estimator: Estimator, questions: Sequence[QuestionCounts], values: Mapping[str, Value]
) -> None:
    if len(questions) != 1:
        raise InvalidRequest(
            f"{estimator.name} needs a task with one question, not {len(questions)}: use "
            f"{_names(_takes_several)}, whichever the questions were made for, or create a task "
            "with one question."
        )
    if questions[0].mechanism.slots == 1 and estimator.needs_reports(values):
        raise InvalidRequest(
            f"{estimator.name} needs a question that asks for the label, and this one asks for the "
            "cell only: create the task with a question about the label, or with the questions "
            f"of {_names(_takes_several)}."
        )


def _takes_several(estimator: Estimator) -> bool:
    return not estimator.one_question


def _names(wanted: Callable[[Estimator], bool]) -> str:
    return ", ".join(other.name for other in ESTIMATORS.values() if wanted(other))
