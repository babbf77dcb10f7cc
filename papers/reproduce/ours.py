"""Privet's defaults and what they are measured against: as methods, like those of the papers."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold

from baselines.trees import ask
from privet import PrivateTreeClassifier, PrivateTreeRegressor, plan
from privet.learning.core.counts import QuestionCounts
from privet.learning.core.growth import GrowthSpec, distinguishable
from privet.learning.core.model import Model
from privet.learning.core.public_data import PublicData
from privet.learning.core.trees import locate
from privet.learning.methods import GROWERS, fit
from privet.learning.public_model.distilled import MAX_DEFAULT_DEPTH, distilled_depth
from privet.learning.public_model.knowledge import public_knowledge
from privet.learning.task_building.label_part import chosen_part
from privet.learning.task_building.settings import TaskSettings
from privet.protocol.features import Classes, Range
from privet.protocol.mechanisms import create_mechanism
from privet.protocol.partition import Partition
from privet.protocol.shuffling import Randomizer, central_epsilon
from reproduce.contestants import Method, Scored, Scores, fitted, scores, value_scores, values_of
from reproduce.datasets import Floats, Split, take

MOST_PUBLIC = 1000
"""Maximum number of public records planned with; of more a sample is taken."""
FOLDS = 5
"""Folds of the public rows in cross-validation."""
SURE = 1.96
DELTA = 1e-6
"""Delta of the central guarantee behind a relay."""
MORE_CELLS = "trusted curator, more cells"
LEAST = 1000
"""Reports that wait for each other at a relay started as docs/relay.md says."""
IN_ONE, AS_SHIPPED = "all in one batch", f"batches of {LEAST}"
OF_ONE_AS_SHIPPED = f"the first in batches of {LEAST}, central"
MOST_LOCAL, FINE = 64.0, 1.01
"""Largest local ε searched, and the precision of the search."""


class Privet:
    """The scikit-learn estimators with their defaults, and the same model's plain tree.

    For classes ``coverage`` is the part of cells with holders whose share of the second class is in
    its 95 % interval, each cell counted once.
    """

    def __call__(self, split: Split, epsilon: float, seed: int) -> Iterator[Scored]:
        estimator = fitted(self.middle(split, epsilon, seed), split)
        model, covered = estimator.model_, Scores()
        if isinstance(split.label, Classes):
            cells = estimator.apply(split.private.X)
            covered = {"coverage": share_covered(model, cells, split.private.y)}
        yield "Privet", {}, scores(estimator, split) | covered
        if model.base is not None:
            plain = model.predict_from(estimator.apply(split.test.X), None).values
            yield "Privet, plain tree", {}, value_scores(plain, split) | covered

    def middle(self, split: Split, epsilon: float, seed: int) -> Any:
        """The estimator; it has no grid."""
        if isinstance(split.label, Classes):
            return PrivateTreeClassifier(epsilon, random_state=seed)
        return PrivateTreeRegressor(epsilon, random_state=seed)


@dataclass(frozen=True)
class WithoutPrivacy:
    """A model of scikit-learn on the public rows alone, on the private ones, or on all."""

    name: str
    classifier: Callable[[], Any]
    regressor: Callable[[], Any]
    rows: str = "public"
    private = False

    def __call__(self, split: Split, epsilon: float, seed: int) -> Iterator[Scored]:  # noqa: ARG002
        model = self.classifier() if isinstance(split.label, Classes) else self.regressor()
        model.set_params(random_state=0)
        parts = {"public": [split.public], "private": [split.private]}.get(
            self.rows, [split.public, split.private]
        )
        X, y = np.vstack([p.X for p in parts]), np.concatenate([p.y for p in parts])
        yield self.name, {}, scores(model.fit(X, y), split)


def public_stack(split: Split, epsilon: float, seed: int) -> Iterator[Scored]:  # noqa: ARG001
    """Privet's public model without any reports."""
    slots = split.label.slots if isinstance(split.label, Classes) else 0
    known = public_knowledge(split.public.X, split.public.y, slots)
    yield "public stack", {}, value_scores(known.model.predict(split.test.X), split)


public_stack.private = False  # type: ignore[attr-defined]


@dataclass(frozen=True)
class CrossValidated:
    """The one of ``models`` with the least Brier score, or squared error, in ``FOLDS`` folds of the
    public rows: what a user would take without reports."""

    name: str
    models: Sequence[Method]
    private = False

    def __call__(self, split: Split, epsilon: float, seed: int) -> Iterator[Scored]:
        folds = [*self.folds(split)]

        def loss(model: Method) -> float:
            each = (scored for fold in folds for _, _, scored in model(fold, epsilon, seed))
            return sum(scored.get("brier", scored["score"]) for scored in each)

        ((_, _, scored),) = min(self.models, key=loss)(split, epsilon, seed)
        yield self.name, {}, scored

    def folds(self, split: Split) -> Iterator[Split]:
        """Splits of the public rows; of a class with a single row it is never tested."""
        rows, y = np.arange(len(split.public)), split.public.y
        tested = rows
        folds: KFold | StratifiedKFold = KFold(FOLDS, shuffle=True, random_state=0)
        if isinstance(split.label, Classes):
            _, of_class, counts = np.unique(y, return_inverse=True, return_counts=True)
            tested = rows[counts[of_class] > 1]
            most = int(np.clip(counts[counts > 1].min(), 2, FOLDS))
            folds = StratifiedKFold(most, shuffle=True, random_state=0)
        for _, some in folds.split(tested, y[tested]):
            test = take(split.public, tested[some])
            train = take(split.public, np.setdiff1d(rows, tested[some]))
            yield replace(split, public=train, test=test, chance=None)


def share_covered(model: Model, cells: NDArray[np.int64], y: Floats) -> float:
    """The part of cells with holders whose share of the second class is in its interval.

    ``cells`` and labels ``y`` are the holders', ``(holders,)`` each.
    """
    holders = np.bincount(cells, minlength=model.partition.cells)
    share = np.bincount(cells, y == 1, len(holders)) / np.maximum(holders, 1)
    inside = (model.low[:, 1] <= share + 1e-9) & (share - 1e-9 <= model.high[:, 1])
    return float(inside[holders > 0].mean())


def references(split: Split, epsilon: float, seed: int) -> Iterator[Scored]:
    """Estimates for everybody by reports alone, and by a trusted curator.

    The latter is ``drift`` on cells grown as Privet's are, counted exactly and given central
    Laplace noise of the same ε.
    """
    rng = np.random.default_rng([seed, round(1000 * epsilon)])
    public, depth = split.public, distilled_depth(len(split.private), epsilon)
    spec = GrowthSpec(depth=depth, min_leaf=1)
    cells = GROWERS["distilled"](public.X, public.y, spec, classes=2)
    X, y = split.private.X, split.private.y
    counts = ask("subset", epsilon, split.label, cells, X, y, rng).counts.sum(axis=0)
    share = float(np.clip(counts[1] / counts.sum(), 0.0, 1.0))
    everybody = np.tile([1.0 - share, share], (len(split.test), 1))
    yield "base rate reported", {}, value_scores(everybody, split)
    model = trusted(split, cells, epsilon, rng)
    covered = share_covered(model, locate(cells, X).astype(np.int64), y)
    values = model.predict(split.test.X).values
    yield "trusted curator", {}, value_scores(values, split) | {"coverage": covered}


def trusted(split: Split, cells: Partition, epsilon: float, rng: np.random.Generator) -> Model:
    """The model of a curator who counts everybody in ``cells`` and adds central noise."""
    counts = ask_centrally(split.private, cells, epsilon, rng)
    return fit("drift", split.label, split.public, [counts])


def central_depth(holders: int, epsilon: float) -> int:
    """The depth by Privet's rule, with the variance of central noise."""
    per_holder = 8.0 / epsilon**2 / holders
    return int(np.clip(distinguishable(holders, per_holder), 1, MAX_DEFAULT_DEPTH))


def with_more_cells(split: Split, epsilon: float, seed: int) -> Iterator[Scored]:
    """A trusted curator's scores, in as many cells as central noise lets be told apart."""
    rng = np.random.default_rng([seed, round(1000 * epsilon), 1])
    spec = GrowthSpec(depth=central_depth(len(split.private), epsilon), min_leaf=1)
    cells = GROWERS["distilled"](split.public.X, split.public.y, spec, classes=2)
    values = trusted(split, cells, epsilon, rng).predict(split.test.X).values
    yield MORE_CELLS, {}, value_scores(values, split)


def behind_a_relay(split: Split, epsilon: float, seed: int) -> Iterator[Scored]:  # noqa: ARG001
    """The largest local ε whose shuffled reports are (epsilon, ``DELTA``)-private, to 1 %.

    Against those who see all reports to a question in one batch, as where ``smallest_batch`` is
    all; and those who see batches of ``LEAST``, as ``--least`` makes them. Then the central ε of
    the first in such batches.
    """
    in_one = largest_local(lambda local: central(split, local) <= epsilon, epsilon)
    yield IN_ONE, {}, {"score": in_one}
    shipped = largest_local(lambda local: central(split, local, LEAST) <= epsilon, epsilon)
    yield AS_SHIPPED, {}, {"score": shipped}
    yield OF_ONE_AS_SHIPPED, {}, {"score": central(split, in_one, LEAST)}


def largest_local(keeps: Callable[[float], bool], least: float) -> float:
    """The largest local ε from ``least`` on that ``keeps`` a guarantee, to 1 %."""
    low, high = least, MOST_LOCAL
    while high / low > FINE:
        middle = sqrt(low * high)
        low, high = (middle, high) if keeps(middle) else (low, middle)
    return low


def central(split: Split, local: float, least: int = 0) -> float:
    """The central ε of the default's reports at a ``local`` one: the worse of its questions.

    A report hides among those to the same question: all of them, or ``least`` where there are so
    many; where there are fewer, nothing is stated beyond the local ε.
    """
    assert isinstance(split.label, Classes)
    cells, slots = 2 ** distilled_depth(len(split.private), local), split.label.slots
    settings = TaskSettings.model_validate({"name": "relay", "label": "y", "epsilon": local})
    part = chosen_part(settings, cells, slots)
    of_each = []
    for share, size in ((1.0 - part, cells), (part, 1)):
        reports = round(share * len(split.private))
        together = (least if reports >= least else 1) if least else reports
        mechanism = create_mechanism("subset", local, size, slots)
        report = Randomizer.of(mechanism.worst_ratio(), mechanism.variation)
        of_each += [central_epsilon(report, together, DELTA)] if share else []
    return max(of_each)


def ask_centrally(
    private: PublicData, partition: Partition, epsilon: float, rng: np.random.Generator
) -> QuestionCounts:
    """The holders' counts with central noise, read like those of a local mechanism."""
    cells = locate(partition, private.X).astype(np.int64)
    index = cells * 2 + private.y.astype(np.int64)
    counts = np.bincount(index, minlength=2 * partition.cells).reshape(-1, 2)
    noisy = counts + rng.laplace(scale=2.0 / epsilon, size=counts.shape)
    local = create_mechanism("laplace", epsilon, partition.cells, 2)
    sums = np.zeros(local.sum_size, dtype=np.int64)
    return CentralCounts(partition, local, sums, len(cells), noisy)


@dataclass(frozen=True, eq=False)
class CentralCounts(QuestionCounts):
    """Counts with independent Laplace noise of scale 2 / epsilon, as ``noisy``; n is known."""

    noisy: Floats

    @property
    def counts(self) -> Floats:
        """The noisy counts, ``(cells, slots)``."""
        return self.noisy

    @property
    def noise(self) -> Floats:
        """8 / epsilon^2 on the diagonal."""
        variance = 8.0 / self.mechanism.epsilon**2
        return np.tile(variance * np.eye(2), (self.partition.cells, 1, 1))


def planned(split: Split, epsilon: float, seed: int) -> Iterator[Scored]:
    """The forecast of a plan from the public records, beside the outcome on the test records.

    The ``stated error`` is the plan's own standard error. A plan is ``covered`` if it and the
    outcome agree within 1.96 standard errors of both, the test records' included.
    """
    some = np.random.default_rng(seed).permutation(len(split.public))[:MOST_PUBLIC]
    split = replace(split, public=take(split.public, some))
    columns = {f"x{place}": column for place, column in enumerate(split.public.X.T)}
    label: dict[str, Any] = {"classes": ["0", "1"]}
    if isinstance(split.label, Range):
        label = {"label_type": "range", "label_range": [split.label.low, split.label.high]}
    expected = plan(
        {**columns, "y": split.public.y},
        label="y",
        epsilon=epsilon,
        holders=len(split.private),
        simulation_seed=seed,
        **label,
    ).expected
    if expected is None:
        raise ValueError("there are no public records to expect a score from")
    values = values_of(fitted(Privet().middle(split, epsilon, seed), split), split.test.X)
    lost = losses(values, split, seed)
    happened = lost.mean() if isinstance(split.label, Range) else 1.0 - lost.mean()
    both = np.hypot(expected.standard_error, lost.std() / np.sqrt(len(lost)))
    ((_, _, without),) = public_stack(split, epsilon, seed)
    for name, value in {
        "expected": expected.value,
        "stated error": expected.standard_error,
        "happened": float(happened),
        "covered": float(abs(expected.value - happened) <= SURE * both),
        "public alone": without["score"],
    }.items():
        yield name, {}, {"score": float(value)}


def losses(values: Floats, split: Split, seed: int) -> Floats:
    """The loss of each test record: 1 for the wrong class, or the squared error, ``(rows,)``.

    Where the law of the labels is known, test labels are drawn.
    """
    if isinstance(split.label, Range):
        return np.asarray((values[:, 0] - split.test.y) ** 2)
    y = split.test.y
    if split.chance is not None:
        y = (np.random.default_rng([seed, 5]).random(len(y)) < split.chance).astype(np.float64)
    return np.asarray(values.argmax(axis=1) != y, dtype=np.float64)
