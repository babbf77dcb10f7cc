"""The planner itself: which trials to run, and what they say together."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from math import isfinite
from typing import Any

import numpy as np

from curator.estimation import ESTIMATORS
from curator.estimation.evidence import Label
from curator.growth import GROWERS
from curator.inference import infer_features, infer_label
from curator.planning.judgement import (
    WORTHWHILE,
    Floats,
    LearningCurve,
    Measured,
    chosen_losses,
    mean_figure,
    verdict_on,
)
from curator.planning.outlook import Choice, Figure, Outlook, Plan, Requirement, Verdict
from curator.planning.study import PARTS, Losses, Study, information
from curator.public_data import PublicData
from curator.publishing import encode_public
from curator.task_settings import TaskSettings
from curator.tasks import default_estimator
from protocol.errors import InvalidRequest, InvalidTask
from protocol.limits import MAX_REPORT_BYTES
from protocol.mechanisms import MECHANISMS

DEPTHS = (1, 2, 3, 4, 6, 8, 10)
GRID_COLUMNS = 4
"""Columns up to which a grid has parts to speak of."""
HOLDER_STEPS = tuple(10.0 ** (step / 2) for step in range(-4, 7))
EPSILONS = (0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)

MORE_THAN_SHOWN = (
    " So many reports know more than the public records could play in the trials: "
    "expect at least that."
)

Progress = Callable[[int, int], None]


def plan(
    label: Label,
    public: PublicData,
    *,
    holders: int,
    epsilon: float,
    growers: Sequence[str] | None = None,
    depths: Sequence[int] = DEPTHS,
    mechanisms: Sequence[str] | None = None,
    estimator: str | None = None,
    wanted: float | None = None,
    seed: int = 0,
    progress: Progress = lambda _done, _total: None,
) -> Plan:
    """Try growers and depths with the first mechanism, then all mechanisms on the best of them.

    ``wanted`` asks what it would take to reach that accuracy (or mean squared error). ``progress``
    is told (done, total) steps. Raises ``InvalidRequest`` for unknown names, and
    ``InvalidPublicData`` for too few public records.
    """
    estimator = default_estimator() if estimator is None else estimator
    names = tuple(mechanisms or MECHANISMS)
    kinds = tuple(growers or _usual_growers(public.X.shape[1]))
    _check(holders, kinds, names, estimator)
    choices = [Choice(grower, depth, names[0]) for grower, depth in product(kinds, depths)]
    silent = () if ESTIMATORS[estimator].takes_base else tuple(choices)
    steps = len(choices) + 2 * len(silent) + len(names) - 1
    steps += (len(HOLDER_STEPS) + len(EPSILONS)) * len(depths) if wanted is not None else 0
    study = Study.of(label, public, estimator, seed, _counter(steps * PARTS, progress))
    losses = {choice: study.losses(choice, holders, epsilon) for choice in choices}
    leader = min(losses, key=lambda choice: float(losses[choice].strict.mean()))
    others = [Choice(leader.grower, leader.depth, name) for name in names[1:]]
    losses |= _with_mechanisms(study, others, holders, epsilon)
    return Summary(study, losses, silent, holders, epsilon).plan(wanted, depths)


def plan_table(
    columns: Mapping[str, Sequence[Any]], settings: TaskSettings, **options: Any
) -> Plan:
    """``plan`` for public columns by name, with the features and label that a task would publish.

    Label, declared features, epsilon and holders are the settings'; ``options`` are those of
    ``plan``. Errors are also those of reading the columns.
    """
    label = infer_label(columns, settings)
    public = encode_public(infer_features(columns, settings), label, columns)
    return plan(label, public, holders=settings.holders, epsilon=settings.epsilon, **options)


class Summary:
    """What the trials of one plan say together.

    What private reports have to beat is the better of the quick public model and the trees of the
    choices ``silent``, estimated without any report.
    """

    def __init__(
        self,
        study: Study,
        losses: Mapping[Choice, Losses],
        silent: Sequence[Choice],
        holders: int,
        epsilon: float,
    ) -> None:
        self.study, self.losses = study, dict(losses)
        self.holders, self.epsilon = holders, epsilon
        self.rows = len(study.public)
        self.most = self.rows - self.rows // PARTS
        self.known = round(self.most / 2)
        self.alone, self.alone_most = (self._best_public(rows, silent) for rows in ("known", "all"))
        self.curve = self._learning_curve()
        best_first = sorted(
            self.losses, key=lambda choice: float(self.losses[choice].strict.mean())
        )
        self.outlooks = [self._outlook(choice) for choice in best_first]

    def plan(self, wanted: float | None, depths: Sequence[int]) -> Plan:
        """The whole answer."""
        honest = chosen_losses(list(self.losses.values()), self.study.rotations)
        gain = self._gain(honest)
        alone = mean_figure(self.alone_most)
        expected = Figure(max(alone.value - gain.value, 0.0), mean_figure(honest).standard_error)
        verdict = verdict_on(gain, self._worthwhile())
        worth = self.curve.worth(gain.value, self.rows)
        people = self.most - self.known
        bound = verdict is Verdict.COLLECT and self.outlooks[0].information > people
        return Plan(
            score="accuracy" if self.study.classes else "mean squared error",
            public_records=self.rows,
            holders=self.holders,
            epsilon=self.epsilon,
            estimator=self.study.estimator,
            outlooks=tuple(self.outlooks),
            best=self.outlooks[0],
            expected=self._score(expected),
            public_only=self._score(alone),
            gain=gain,
            worth=worth,
            lower_bound=bound,
            verdict=verdict,
            reason=self._reason(verdict, self._score(expected), self._score(alone), worth)
            + (MORE_THAN_SHOWN if bound else ""),
            required=None if wanted is None else self._requirement(wanted, depths),
        )

    def _best_public(self, rows: str, silent: Sequence[Choice]) -> Floats:
        models = [self.study.public_losses(rows)]
        models += [self.study.silent_losses(choice, rows, self.epsilon) for choice in silent]
        return chosen_losses(models, self.study.rotations)

    def _learning_curve(self) -> LearningCurve:
        sizes = {"half": self.known / 2, "known": self.known, "all": self.most}
        losses = [float(self.study.public_losses(rows).loss.mean()) for rows in sizes]
        return LearningCurve.of([round(size) for size in sizes.values()], losses)

    def _outlook(self, choice: Choice) -> Outlook:
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
            loss=mean_figure(self.losses[choice].loss),
            cells=float(np.mean([partition.cells for partition in partitions])),
            report_bytes=max(mechanism.report_bytes for mechanism in mechanisms),
            information=float(np.mean([information(m, self.holders) for m in mechanisms])),
        )

    def _gain(self, planned: Floats) -> Figure:
        measured = Measured(self.alone, self.alone_most, planned, self.known, self.most)
        return measured.gain(self.curve)

    def _score(self, loss: Figure) -> Figure:
        return Figure(1.0 - loss.value, loss.standard_error) if self.study.classes else loss

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
            return f"{told} Private reports add nothing worth asking for: use the public model."
        if verdict is Verdict.UNCLEAR:
            return (
                f"{told} {self.rows} public records are too few to tell whether that is a gain: "
                "add public records, or plan with more holders or a larger epsilon."
            )
        if not isfinite(worth):
            return f"{told} More public records would not bring that: collect."
        return f"{told} That is what about {worth:.2g} more public records would bring."

    def _requirement(self, wanted: float, depths: Sequence[int]) -> Requirement:
        best = self.outlooks[0].choice
        choices = [Choice(best.grower, depth, best.mechanism) for depth in depths]
        loss = 1.0 - wanted if self.study.classes else wanted
        numbers = [max(1, round(self.holders * step)) for step in HOLDER_STEPS]
        by_holders = [self._expected(choices, n, self.epsilon) for n in numbers]
        by_epsilon = [self._expected(choices, self.holders, epsilon) for epsilon in EPSILONS]
        holders = first_reaching(numbers, by_holders, loss)
        return Requirement(
            wanted,
            None if holders is None else round(holders),
            first_reaching(EPSILONS, by_epsilon, loss),
        )

    def _expected(self, choices: Sequence[Choice], holders: int, epsilon: float) -> float:
        losses = [self.study.losses(choice, holders, epsilon) for choice in choices]
        gain = self._gain(chosen_losses(losses, self.study.rotations))
        return float(self.alone_most.mean()) - gain.value


def first_reaching(
    amounts: Sequence[float], losses: Sequence[float], wanted: float
) -> float | None:
    """The least amount whose loss is at most ``wanted``, between the tried ones on a log scale.

    More never hurts: the losses are first replaced by the least so far. None if none is reached.
    """
    falling = np.minimum.accumulate(losses)
    if falling[-1] > wanted:
        return None
    at = int(np.argmax(falling <= wanted))
    if at == 0 or falling[at - 1] == falling[at]:
        return float(amounts[at])
    share = (falling[at - 1] - wanted) / (falling[at - 1] - falling[at])
    low, high = np.log(amounts[at - 1]), np.log(amounts[at])
    return float(np.exp(low + share * (high - low)))


def _with_mechanisms(
    study: Study, choices: Sequence[Choice], holders: int, epsilon: float
) -> dict[Choice, Losses]:
    """The losses of those choices whose mechanism serves this label at a size that can be sent."""
    losses = {}
    for choice in choices:
        try:
            mechanism = study.mechanism(
                choice.mechanism, epsilon, study.partition(0, choice.grower, choice.depth)
            )
        except InvalidTask:
            continue
        if mechanism.report_bytes <= MAX_REPORT_BYTES:
            losses[choice] = study.losses(choice, holders, epsilon)
    return losses


def _usual_growers(columns: int) -> list[str]:
    return [
        name
        for name in GROWERS
        if name != "random_max_edge" and (name != "grid" or columns <= GRID_COLUMNS)
    ]


def _check(holders: int, growers: Sequence[str], mechanisms: Sequence[str], estimator: str) -> None:
    for what, names, known in (
        ("grower", growers, GROWERS),
        ("mechanism", mechanisms, MECHANISMS),
        ("estimator", [estimator], ESTIMATORS),
    ):
        unknown = [name for name in names if name not in known]
        if unknown:
            listed = ", ".join(sorted(known))
            raise InvalidRequest(f"Unknown {what} {unknown[0]!r}: choose among {listed}.")
    if holders < 1:
        raise InvalidRequest(f"{holders} holders cannot be planned for: give at least 1.")


def _counter(total: int, progress: Progress) -> Callable[[], None]:
    done = 0

    def advance() -> None:
        nonlocal done
        done += 1
        progress(min(done, total), total)

    return advance
