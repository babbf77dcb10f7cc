"""The planner itself: which trials to run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from privet.curator.estimation import DEFAULT_ESTIMATOR, ESTIMATORS
from privet.curator.estimation.counts import Label
from privet.curator.partitioning import DEFAULT_GROWER, GROWERS
from privet.curator.partitioning.distilled import distilled_depth
from privet.curator.planning.inverse import EPSILONS, HOLDER_STEPS, most_trials, search
from privet.curator.planning.judgement import best_choice
from privet.curator.planning.losses import Losses
from privet.curator.planning.outlook import Choice, Plan, Requirement
from privet.curator.planning.rotations import PARTS
from privet.curator.planning.study import Study
from privet.curator.planning.summary import Summary
from privet.curator.public_data import PublicData
from privet.curator.publishing.build import encode_public
from privet.curator.publishing.schema import infer_features, infer_label
from privet.curator.publishing.settings import TaskSettings
from privet.protocol.errors import InvalidRequest, InvalidTask
from privet.protocol.features import Range
from privet.protocol.limits import MAX_REPORT_BYTES
from privet.protocol.mechanisms import MECHANISMS

DEPTHS = (1, 2, 3, 4, 6, 8, 10)
MOST_RECORDS = 1e9
GRID_COLUMNS = 4
"""Columns up to which a grid has parts to speak of."""

Progress = Callable[[int, int], None]


def plan(
    label: Label,
    public: PublicData,
    *,
    holders: int,
    epsilon: float,
    growers: Sequence[str] | None = None,
    depths: Sequence[int] | None = None,
    mechanisms: Sequence[str] | None = None,
    estimator: str | None = None,
    wanted: float | None = None,
    max_report_bytes: int = MAX_REPORT_BYTES,
    centred: bool | None = None,
    seed: int = 0,
    progress: Progress = lambda _done, _total: None,
) -> Plan:
    """Try growers and depths with the first mechanism, then all mechanisms on the best of them.

    ``wanted`` asks what it would take to reach that accuracy (or mean squared error). Mechanisms
    whose answers are longer than ``max_report_bytes`` are left out; ``centred`` is the setting of
    that name. ``progress`` is told (done, total) steps. Raises ``InvalidRequest`` for unknown
    names, and ``InvalidPublicData`` for too few public records.
    """
    estimator = estimator or DEFAULT_ESTIMATOR
    names = tuple(mechanisms or MECHANISMS)
    kinds = tuple(growers or _usual_growers(public.X.shape[1]))
    _check(holders, kinds, names, estimator)
    around = isinstance(label, Range) and centred is not False
    asked = Asked(kinds, depths, names[0], ESTIMATORS[estimator].takes_base, around)
    choices, usual = asked.choices(holders, epsilon), asked.usual(holders, epsilon)
    silent = [] if asked.takes_base else choices
    steps = 3 + 3 * len(silent) + len(choices) + len(names) - 1
    if wanted is not None:
        amounts = most_trials(HOLDER_STEPS) + most_trials(EPSILONS)
        steps += amounts * len(asked.depths_for(holders, epsilon, kinds[0]))
    counter = Counter(steps * PARTS, progress)
    study = Study.of(label, public, estimator, seed, centred=centred, advance=counter)
    summary = Summary(study, silent, holders, epsilon)
    losses = {choice: study.losses(choice, holders, epsilon) for choice in choices}
    leader = best_choice(losses, usual, study.everyone)
    others = [Choice(leader.grower, leader.depth, name) for name in names[1:]]
    losses |= _with_mechanisms(study, others, holders, epsilon, max_report_bytes)
    required = None
    if wanted is not None:
        best = best_choice(losses, usual, study.everyone)
        required = _requirement(summary, asked, best, wanted)
    counter.finish()
    return summary.plan(losses, usual, required)


def plan_table(
    columns: Mapping[str, Sequence[Any]], settings: TaskSettings, **options: Any
) -> Plan:
    """``plan`` for public columns by name, with the features and label that a task would publish.

    Label, declared features, epsilon, holders, the longest answer and centring are the settings';
    ``options`` are those of ``plan``. Errors are also those of reading the columns.
    """
    label = infer_label(columns, settings)
    public = encode_public(infer_features(columns, settings), label, columns)
    longest = settings.max_report_bytes or MAX_REPORT_BYTES
    return plan(
        label,
        public,
        holders=settings.holders,
        epsilon=settings.epsilon,
        max_report_bytes=longest,
        centred=settings.centred,
        **options,
    )


@dataclass(frozen=True)
class Asked:
    """Which choices a plan compares.

    ``takes_base``: the estimator starts from a public model. ``centred``: the public model's own
    cells have numbers told around their centres.
    """

    growers: tuple[str, ...]
    depths: Sequence[int] | None
    mechanism: str
    takes_base: bool
    centred: bool

    def choices(self, holders: int, epsilon: float) -> list[Choice]:
        """All growers with all depths."""
        return [
            Choice(grower, depth, self.mechanism)
            for grower in self.growers
            for depth in self.depths_for(holders, epsilon, grower)
        ]

    def usual(self, holders: int, epsilon: float) -> Choice | None:
        """What would be published without a plan, which others must surely beat, if asked for."""
        depth = distilled_depth(holders, epsilon, centred=self.centred)
        usual = Choice(DEFAULT_GROWER, depth, self.mechanism)
        return usual if self.takes_base and usual in self.choices(holders, epsilon) else None

    def depths_for(self, holders: int, epsilon: float, grower: str) -> Sequence[int]:
        """The depths asked for, or the usual ones and the grower's own."""
        if self.depths is not None:
            return self.depths
        if not GROWERS[grower].uses_public_model:
            return DEPTHS
        return sorted({*DEPTHS, distilled_depth(holders, epsilon, centred=self.centred)})


class Counter:
    """Steps done of those announced."""

    def __init__(self, total: int, progress: Progress) -> None:
        self._done, self._total, self._progress = 0, total, progress

    def __call__(self) -> None:
        """One more step."""
        self._done = min(self._done + 1, self._total)
        self._progress(self._done, self._total)

    def finish(self) -> None:
        """Some announced steps were not needed."""
        if self._done < self._total:
            self._progress(self._total, self._total)


def _requirement(summary: Summary, asked: Asked, best: Choice, wanted: float) -> Requirement:
    study, holders, epsilon = summary.study, summary.holders, summary.epsilon
    only = replace(asked, growers=(best.grower,), mechanism=best.mechanism)

    def expected(holders: float, epsilon: float) -> float:
        people = max(1, round(holders))
        choices = only.choices(people, epsilon)
        losses = {choice: study.losses(choice, people, epsilon) for choice in choices}
        return summary.prospect(losses, only.usual(people, epsilon)).expected().value

    loss = 1.0 - wanted if study.classes else wanted
    numbers = [max(1.0, float(round(holders * step))) for step in HOLDER_STEPS]
    people, with_most = search(numbers, lambda n: expected(n, epsilon), loss)
    budget, with_largest = search(EPSILONS, lambda e: expected(holders, e), loss)
    records = summary.curve.needed(loss)
    return Requirement(
        wanted=wanted,
        holders=None if people is None else round(people),
        epsilon=budget,
        public_records=ceil(records) if records < MOST_RECORDS else None,
        most_holders=1.0 - with_most if study.classes else with_most,
        most_epsilon=1.0 - with_largest if study.classes else with_largest,
    )


def _with_mechanisms(
    study: Study, choices: Sequence[Choice], holders: int, epsilon: float, longest: int
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
        if mechanism.report_bytes <= longest:
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
