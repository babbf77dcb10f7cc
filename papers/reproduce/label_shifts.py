"""Public records whose labels are not the holders': what the average's member for them gains.

Classes are of made populations in four columns, whose classes' odds differ (``CLASSES_MOVED``);
numbers are of made populations and of sets, and of these all labels or some have moved, the upper
third is four times as likely among public records, or high and low are swapped in a part of the
space (``NUMBERS_MOVED``). Compared on the same people are ``drift`` without that member and, for
classes, with it, with a fifth of the holders asked for the label alone, with the classes'
prevalence stated, with numbers in four times the cells that reports distinguish, and everybody's
shares, or mean, by randomized response.

The error of classes is the mean squared distance of the predicted probabilities from the true
ones, in 1e-4; that of numbers is the squared error in % of the label's variance.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import softmax

from baselines.trees import ask
from privet.learning.core.counts import QuestionCounts, without_label_question
from privet.learning.core.labels import kind_of
from privet.learning.core.model import to_model
from privet.learning.core.public_data import PublicData, class_count
from privet.learning.drift.prior import Expected
from privet.learning.drift.shift import estimate_shift
from privet.learning.figures.compare import contradicted
from privet.learning.figures.figure import Reports
from privet.learning.public_model.distilled import CENTRED_DEEPER, distilled_depth
from privet.learning.public_model.knowledge import Knowledge, public_knowledge
from privet.learning.simulation import simulate_counts, simulate_sums
from privet.learning.task_building.build import TaskBuilder
from privet.learning.task_building.settings import TaskSettings
from privet.protocol.features import Classes, Label, Numeric, Range
from privet.protocol.mechanisms import SubsetSelection
from privet.protocol.partition import Partition
from reproduce.ablations import changed
from reproduce.contestants import Scored
from reproduce.coverage import grid
from reproduce.datasets import Floats, regression
from reproduce.shapes import drawn

ROWS, HOLDERS, POINTS, MADE, COLUMNS, LABEL_PART = 400, 20_000, 4000, 120_000, 4, 0.2
SIX = (0.4, 0.25, 0.15, 0.1, 0.06, 0.04)
CLASSES_MOVED: dict[str, tuple[Sequence[float], Sequence[float]]] = {
    "6 classes, even in public": (SIX, (1 / 6,) * 6),
    "6 classes, fair": (SIX, ()),
    "40 %, public 70 %": ((0.6, 0.4), (0.3, 0.7)),
    "40 %, fair": ((0.6, 0.4), ()),
    "1.8 %, half of public": ((0.982, 0.018), (0.5, 0.5)),
    "1.8 %, public 7 %": ((0.982, 0.018), (0.93, 0.07)),
    "1.8 %, fair": ((0.982, 0.018), ()),
}
"""Shares of the classes among the holders, and among public records; none are the same."""
NUMBERS = ("made, noisy", "made, smooth", "abalone", "ccpp")
FOURFOLD = "upper third fourfold"
NUMBERS_MOVED = ("fair", "all moved", FOURFOLD, "30 % moved", "swapped in 40 %")
WITHOUT, WITH, PART, FINER = "without", "with", "with label_part .2", "with four times the cells"
STATED, TOO_HIGH = "prevalence stated", "prevalence stated 1.7 times as high"
PUBLIC, RANDOMIZED = "public model", "randomized response"
CONTRADICTED = tuple(
    f"{what}, {when}"
    for what in ("true", "twice as high")
    for when in ("one look", "any of 12 looks")
)
LOOKS = np.linspace(0.05, 1.0, 12)


@dataclass(frozen=True, eq=False)
class LabelsMoved:
    """Public records, holders, and points with their probabilities or numbers, ``(points, S)``.

    ``ratio`` is each class's share among the holders over that in public records.
    """

    label: Label
    public: PublicData
    holders: PublicData
    X: Floats
    truth: Floats
    ratio: Floats | float = 1.0


def classes_moved(_folder: Path, seed: int, *, of: str, holders: int = HOLDERS) -> LabelsMoved:
    """A made population with linear log-odds, and public records that are drawn class by class."""
    shares, wanted = CLASSES_MOVED[of]
    slots, rng = len(shares), np.random.default_rng([seed, 5, list(CLASSES_MOVED).index(of)])
    X, slope = rng.random((MADE, COLUMNS)), rng.normal(0.0, 2.4, (COLUMNS, slots))
    logits = (X - 0.5) @ slope
    for _ in range(100):  # until the shares are these
        logits = logits + np.log(shares) - np.log(softmax(logits, axis=1).mean(axis=0))
    p = softmax(logits, axis=1)
    y = drawn(p, rng)
    weights = np.ones(MADE // 3)
    if wanted:
        count = np.bincount(y[: len(weights)].astype(int), minlength=slots)
        weights = (np.array(wanted) / np.maximum(count, 1))[y[: len(weights)].astype(int)]
    rows = rng.choice(len(weights), ROWS, replace=False, p=weights / weights.sum())
    people, points = np.split(rng.permutation(np.arange(MADE // 3, MADE)), [holders])
    points = points[:POINTS]
    label = Classes(name="y", classes=tuple(map(str, range(slots))))
    of_public = np.bincount(y[rows].astype(int), minlength=slots) / ROWS
    ratio = np.array(shares) / np.maximum(of_public, 1e-3)
    public, asked = (PublicData(X[some], y[some]) for some in (rows, people))
    return LabelsMoved(label, public, asked, X[points], p[points], ratio)


def numbers_moved(
    folder: Path, seed: int, *, name: str, kind: str, holders: int = HOLDERS
) -> LabelsMoved:
    """A set's rows, or a made population's, of which 400 or a fifth are public.

    Public rows are the same for all kinds but one, so that one public model serves them.
    """
    rng = np.random.default_rng([seed, 51, NUMBERS.index(name), int(kind == FOURFOLD)])
    if name.startswith("made"):
        X = rng.random((MADE // 2, COLUMNS))
        slope, pace, phase = rng.normal(size=4), rng.uniform(1.0, 6.0, 4), rng.uniform(0.0, 6.3, 4)
        mean = (X - 0.5) @ slope + np.sin(X * pace + phase) @ rng.normal(0.0, 0.5, 4)
        noise = rng.standard_normal(len(X))
        y = (mean - mean.mean()) / mean.std() + (2.5 if name == "made, noisy" else 0.5) * noise
        y = np.exp(0.25 * y) if name == "made, noisy" else y  # skewed, as incomes are
    else:
        split = regression(folder, seed, name=name)
        parts = (split.public, split.private, split.test)
        X, y = (np.concatenate([getattr(part, a) for part in parts]) for a in ("X", "y"))
        X = np.clip(X, 0.0, 1.0)
    weights = np.where((kind == FOURFOLD) & (y > np.quantile(y, 2 / 3)), 4.0, 1.0)
    count = min(ROWS, len(y) // 5)
    rows = rng.choice(len(y), count, replace=False, p=weights / weights.sum())
    rest = rng.permutation(np.setdiff1d(np.arange(len(y)), rows))
    spread = float(np.quantile(y, 0.95) - np.quantile(y, 0.05))
    moved: Floats | float = {"all moved": 0.25, "30 % moved": 0.5}.get(kind, 0.0) * spread
    _, axes = np.linalg.eigh(np.cov(X.T))
    along = X @ axes[:, -1]
    if kind == "30 % moved":
        moved = moved * (along > np.quantile(along, 0.7))
    if kind == "swapped in 40 %":
        moved = np.where(along > np.quantile(along, 0.6), 2.0 * (y.mean() - y), 0.0)
    later = y + moved
    low, high = float(min(y.min(), later.min())), float(max(y.max(), later.max()))
    tested = max(1000, len(rest) * 3 // 20)
    people, points = rest[tested:][:holders], rest[:tested][:POINTS]
    public, asked = PublicData(X[rows], y[rows]), PublicData(X[people], later[people])
    label = Range(name="y", low=low, high=high)
    return LabelsMoved(label, public, asked, X[points], later[points, None])


def follow(of: LabelsMoved, epsilon: float, seed: int) -> Iterator[Scored]:
    """The errors of all that are compared."""
    numeric, rng = isinstance(of.label, Range), np.random.default_rng([seed, round(10 * epsilon)])
    knowledge = public_knowledge(of.public.X, of.public.y, class_count(of.label))
    features = tuple(Numeric(name=f"x{at}", low=0.0, high=1.0) for at in range(of.X.shape[1]))
    holders, reports = len(of.holders), []
    finer = distilled_depth(holders, epsilon) + CENTRED_DEEPER
    for part, depth in ((0.0, None), (LABEL_PART, None), *([(0.0, finer)] if numeric else [])):
        settings = TaskSettings(
            name="s", label="y", epsilon=epsilon, holders=holders, label_part=part, depth=depth
        )
        task = TaskBuilder(features, of.label, of.public).task(settings)
        reports.append(simulate_counts(task, of.holders.X, of.holders.y, rng))
    with changed(label_shift=False):
        without = predicted(of, knowledge, reports[0])
    values = {
        PUBLIC: knowledge.model.predict(of.X),
        WITHOUT: without,
        PART: predicted(of, knowledge, reports[1]),
    }
    if numeric:
        values[FINER] = predicted(of, knowledge, reports[2])
    else:
        values[WITH] = predicted(of, knowledge, reports[0])
        high = np.append(np.ones(len(of.truth[0]) - 1), 5 / 3) * of.ratio
        values[STATED] = predicted(of, knowledge, reports[0], of.ratio)
        values[TOO_HIGH] = predicted(of, knowledge, reports[0], high)
    root = Partition.root(of.X.shape[1])
    alone = ask("subset", epsilon, of.label, root, of.holders.X, of.holders.y, rng)
    shares = np.clip(alone.counts[0], 0.0, None)
    shares = shares / max(float(shares.sum()), 1e-300)
    if isinstance(of.label, Range):
        shares = np.array([of.label.low + of.label.span * shares[1]])
    values[RANDOMIZED] = np.tile(shares, (len(of.X), 1))
    unit = 100.0 / float(of.truth.var()) if numeric else 1e4
    for name, found in values.items():
        yield name, {}, {"score": unit * float(((found - of.truth) ** 2).sum(axis=1).mean())}


def predicted(
    of: LabelsMoved,
    knowledge: Knowledge,
    questions: Sequence[QuestionCounts],
    ratio: Floats | float = 1.0,
) -> Floats:
    """``drift``'s values at the points."""
    (question,), alone = without_label_question(questions)
    means, points = knowledge.cell_means(question.partition)
    if isinstance(of.label, Range):
        scale = question.scale_of(of.label)
        t = scale.to_unit(np.arange(len(means)), means[:, 0])
        expected = Expected.numbers(t, means[:, 0] / scale.width, points, len(of.public))
        base_values = scale.from_unit(expected.q[:, 1:])
    else:
        expected = Expected.classes(means, points, len(of.public), ratio)
        base_values = expected.of_public
    found = estimate_shift(question, expected, alone)
    model = to_model(of.label, question, found, base=knowledge.model, base_values=base_values)
    return model.predict(of.X).values


@dataclass(frozen=True)
class StatedShare:
    """``classes`` of which the last has a ``share`` of the holders, and others equal ones."""

    classes: int
    share: float

    def __str__(self) -> str:
        return f"{self.classes} classes, one of {self.share:.0%}"


def contradict(of: StatedShare, epsilon: float, seed: int) -> Iterator[Scored]:
    """1 where 20 000 reports contradict the true prevalence, or one that is twice as high."""
    rng, cells = np.random.default_rng([seed, of.classes, round(1000 * of.share)]), 8
    X = rng.random((ROWS, 3))
    tree = grid(PublicData(X, X[:, 0]), 3)
    mechanism = SubsetSelection.create(epsilon, cells, of.classes)
    stated = {}
    for name, share in (("true", of.share), ("twice as high", 2.0 * of.share)):
        rest = np.full(of.classes - 1, (1.0 - share) / (of.classes - 1))
        stated[name] = np.append(rest, share)
    law = np.tile(stated["true"] / cells, (cells, 1))
    ends = np.rint(HOLDERS * LOOKS).astype(int)
    sums, there = simulate_sums(mechanism, np.zeros((cells, of.classes), dtype=np.int64), rng), 0
    seen = dict.fromkeys(CONTRADICTED, False)
    kind = kind_of(Classes(name="y", classes=tuple(map(str, range(of.classes)))))
    for end in ends:
        counts = rng.multinomial(end - there, law.ravel()).reshape(law.shape)
        sums, there = sums + simulate_sums(mechanism, counts, rng), int(end)
        for name, shares in stated.items():
            look = QuestionCounts(tree, mechanism, sums, there, planned=float(HOLDERS))
            seen[f"{name}, any of 12 looks"] |= bool(contradicted(shares, Reports(kind, look)))
    once = QuestionCounts(tree, mechanism, sums, there)
    for name, shares in stated.items():
        seen[f"{name}, one look"] = bool(contradicted(shares, Reports(kind, once)))
    for name, what in seen.items():
        yield name, {"collection": str(of)}, {"score": float(what)}
