"""Scores that are read from perturbed reports, beside those that the same models truly have.

Holders in even cells have a random law. A model is fitted to some of the reports, and its scores
are read when as many as planned are in, and at every one of many looks since it was fitted.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from privet.learning.core.counts import QuestionCounts
from privet.learning.core.model import Model
from privet.learning.core.public_data import PublicData
from privet.learning.figures.scores import MOST, known_scores, optimism, score_weights
from privet.learning.methods import Fitting
from privet.learning.simulation import simulate_sums
from privet.protocol.mechanisms import SubsetSelection
from reproduce.contestants import Point, Scored
from reproduce.coverage import grid
from reproduce.statements import EVERY, ONE, label_of

ROWS, LOOKS, FIRST = 300, 12, 0.25
"""Public records; looks, and at what part of the planned reports the model is fitted."""
ONCE, ANY = "one look", f"at any of {LOOKS} looks"
MISSED = tuple(
    f"{score}, {when}" for score in MOST for when in (ONCE, f"{ONE}, {ANY}", f"{EVERY}, {ANY}")
)
READ = FORMER, NOW, TRUE = ("as it was read before", "as it is read", "true")
SCORED: tuple[tuple[float, tuple[tuple[str, float | str], ...]], ...] = tuple(
    (
        epsilon,
        (("estimator", name), ("classes", classes), ("depth", depth), ("holders", holders)),
    )
    for name, classes, depth, epsilon, holders in (
        ("weighted", 2, 6, 1.0, 20_000),
        ("weighted", 3, 3, 2.0, 4_000),
        ("drift", 2, 4, 1.0, 20_000),
        ("drift", 2, 6, 4.0, 20_000),
        ("drift", 5, 3, 0.5, 20_000),
        ("drift", 3, 3, 2.0, 2_000),
    )
)
"""Epsilon, and the settings of a ``Judged``."""


@dataclass(frozen=True)
class Judged:
    """Models of an ``estimator`` for ``holders`` of some classes in ``2**depth`` cells."""

    estimator: str
    classes: int
    depth: int
    holders: int

    def __str__(self) -> str:
        what = "reports alone" if self.estimator == "weighted" else self.estimator
        return f"{what}, {2**self.depth} cells, {self.classes} classes, {self.holders} holders"


def judge(of: Judged, epsilon: float, seed: int) -> Iterator[Scored]:
    """True for each score that is not in its interval; and the accuracy by former and new ways."""
    rng = np.random.default_rng([seed, of.depth, of.classes, of.holders])
    label, public = label_of(of.classes), some_public(of.classes)
    tree = grid(public, of.depth)
    mechanism = SubsetSelection.create(epsilon, tree.cells, of.classes)
    law = rng.dirichlet(np.ones(tree.cells))[:, None] * rng.dirichlet(
        np.full(of.classes, 2.0), tree.cells
    )
    weight = {"weight": 0.0} if of.estimator == "weighted" else {}
    fitting = Fitting.of(of.estimator, label, public, None, **weight)

    def scored(asked: QuestionCounts) -> Model:
        model = fitting.estimate([asked])
        return replace(model, optimism=optimism(model, [asked], fitting.estimate))

    def missed(model: Model, asked: QuestionCounts) -> list[bool]:
        known = known_scores(model, [asked])
        truth = {score: float((score_weights(score, model, asked) * law).sum()) for score in MOST}
        return [not known[score].low <= truth[score] <= known[score].high for score in MOST]

    sums, n = np.zeros(mechanism.sum_size, np.int64), 0
    early: Model | None = None
    ever = {name: np.zeros(len(MOST), dtype=bool) for name in (ONE, EVERY)}
    for until in np.unique((of.holders * np.geomspace(FIRST, 1.0, LOOKS)).round().astype(int)):
        arrived = rng.multinomial(until - n, law.ravel()).reshape(law.shape)
        sums, n = sums + simulate_sums(mechanism, arrived, rng), int(until)
        asked = QuestionCounts(tree, mechanism, sums, n)
        early = scored(asked) if early is None else early
        for name, planned in ((ONE, None), (EVERY, of.holders)):
            ever[name] |= missed(early, replace(asked, planned=planned))
    last = scored(asked)
    setting: Point = {"collection": f"{of}, ε = {epsilon:g}"}
    for place, (score, at_last) in enumerate(zip(MOST, missed(last, asked), strict=True)):
        yield f"{score}, {ONCE}", setting, {"score": float(at_last)}
        for name, of_scores in ever.items():
            yield f"{score}, {name}, {ANY}", setting, {"score": float(of_scores[place])}
    weights = score_weights("accuracy", last, asked)
    for name, value in (
        (FORMER, asked.mean(weights).value),
        (NOW, known_scores(last, [asked])["accuracy"].value),
        (TRUE, float((weights * law).sum())),
    ):
        yield name, setting, {"score": value}


@cache
def some_public(classes: int) -> PublicData:
    """Public records that know little: of two classes they lean up, of more they are random."""
    rng = np.random.default_rng(classes)
    X = rng.random((ROWS, 2))
    y = (rng.random(ROWS) < 0.2 + 0.6 * X[:, 0]).astype(float)
    return PublicData(X, y if classes == 2 else rng.integers(classes, size=ROWS).astype(float))
