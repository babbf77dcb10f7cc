"""What the trials of one plan say together."""

from collections.abc import Mapping, Sequence
from math import isfinite

import numpy as np

from privet.curator.planning.judgement import (
    WORTHWHILE,
    LearningCurve,
    Prospect,
    best_choice,
    chosen_losses,
    mean_figure,
    verdict_on,
)
from privet.curator.planning.losses import Losses
from privet.curator.planning.outlook import Choice, Figure, Outlook, Plan, Requirement, Verdict
from privet.curator.planning.rotations import PARTS, Part
from privet.curator.planning.study import Study, information
from privet.curator.public_data import Floats

MORE_THAN_SHOWN = (
    " So many reports know more than the public records could play in the trials: {what}."
)


def more_than_shown(verdict: Verdict) -> str:
    """What to make of a gain that is at least what is stated."""
    if verdict is Verdict.COLLECT:
        return MORE_THAN_SHOWN.format(what="expect at least that")
    return MORE_THAN_SHOWN.format(what="a gain that takes more records to see is not excluded")


class Summary:
    """The figures of one plan.

    What private reports have to beat is the public model or, for an estimator that starts from
    none, the better of it and the trees of the choices ``silent``, estimated without any report.
    """

    def __init__(
        self, study: Study, silent: Sequence[Choice], holders: int, epsilon: float
    ) -> None:
        self.study, self.holders, self.epsilon = study, holders, epsilon
        self.rows = len(study.public)
        self.most = self.rows - self.rows // PARTS
        self.known = round(self.most / 2)
        sizes = {Part.HALF: self.known // 2, Part.KNOWN: self.known, Part.MOST: self.most}
        losses = [self._best_public(part, silent) for part in sizes]
        self.curve = LearningCurve.of(list(sizes.values()), losses)
        _, self.alone, self.alone_most = losses

    def plan(
        self, losses: Mapping[Choice, Losses], usual: Choice | None, required: Requirement | None
    ) -> Plan:
        """The whole answer."""
        best = self._outlook(best_choice(losses, usual, self.study.everyone), losses)
        others = sorted(
            (self._outlook(choice, losses) for choice in losses if choice != best.choice),
            key=lambda outlook: outlook.strict.value,
        )
        prospect = self.prospect(losses, usual)
        gain, expected = prospect.gain(), self.score(prospect.expected())
        alone = self.score(prospect.public_only())
        verdict = verdict_on(gain, self._worthwhile())
        worth = self.curve.worth(gain.value, self.rows)
        bound = best.information > self.most - self.known
        return Plan(
            score="accuracy" if self.study.classes else "mean squared error",
            public_records=self.rows,
            holders=self.holders,
            epsilon=self.epsilon,
            estimator=self.study.estimator,
            outlooks=(best, *others),
            best=best,
            expected=expected,
            public_only=alone,
            gain=gain,
            worth=worth,
            lower_bound=bound,
            verdict=verdict,
            reason=self._reason(verdict, expected, alone, worth)
            + (more_than_shown(verdict) if bound else ""),
            required=required,
        )

    def prospect(self, losses: Mapping[Choice, Losses], usual: Choice | None) -> Prospect:
        """What a plan over these choices promises."""
        planned = chosen_losses(losses, usual, self.study.rotations)
        return Prospect(
            self.alone, self.alone_most, planned, self.curve, self.known, self.most, self.rows
        )

    def score(self, loss: Figure) -> Figure:
        """A loss as what is reported: the accuracy, or the mean squared error."""
        return Figure(1.0 - loss.value, loss.standard_error) if self.study.classes else loss

    def _best_public(self, part: Part, silent: Sequence[Choice]) -> Floats:
        alone = Choice("", 0, "")
        models = {alone: self.study.public_losses(part)}
        models |= {
            choice: self.study.silent_losses(choice, part, self.epsilon) for choice in silent
        }
        return chosen_losses(models, None, self.study.rotations)

    def _outlook(self, choice: Choice, losses: Mapping[Choice, Losses]) -> Outlook:
        partitions = [
            self.study.partition(number, choice.grower, choice.depth)
            for number in range(len(self.study.rotations))
        ]
        mechanisms = [
            self.study.mechanism(choice.mechanism, self.epsilon, partition)
            for partition in partitions
        ]
        return Outlook(
            choice=choice,
            loss=mean_figure(losses[choice].loss),
            strict=mean_figure(losses[choice].strict),
            cells=float(np.mean([partition.cells for partition in partitions])),
            report_bytes=max(mechanism.report_bytes for mechanism in mechanisms),
            information=float(np.mean([information(m, self.holders) for m in mechanisms])),
        )

    def _worthwhile(self) -> float:
        return WORTHWHILE if self.study.classes else WORTHWHILE * float(self.study.public.y.var())

    def _reason(self, verdict: Verdict, expected: Figure, alone: Figure, worth: float) -> str:
        what = "accuracy" if self.study.classes else "mean squared error"
        told = (
            f"{self.holders} reports at epsilon {self.epsilon:g}: expected {what} "
            f"{expected.value:.4g} ± {expected.standard_error:.2g}, against {alone.value:.4g} from "
            "the public records alone."
        )
        if verdict is Verdict.DO_NOT_COLLECT:
            return (
                f"{told} Private reports add nothing worth asking for: use the public model, "
                "unless people may differ from the public records, which no plan can see."
            )
        if verdict is Verdict.UNCLEAR:
            return (
                f"{told} {self.rows} public records are too few to tell whether that is a gain: "
                "add public records, or plan with more holders or a larger epsilon."
            )
        if not isfinite(worth):
            return f"{told} More public records would not bring that: collect."
        return f"{told} That is what about {worth:.2g} more public records would bring: collect."
