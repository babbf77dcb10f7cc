"""Columns that a collector knows of everybody, and what showing them gains.

Of each set ``KNOWN`` names about the half of the columns that a collector would plausibly know. The
made populations have random laws (``shapes.Law``) in five columns, of which the first three are
known.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa

from privet.baselines import HistOfTreeClassifier
from privet.learning.core.public_data import PublicData
from privet.learning.methods import fit
from privet.learning.simulation import simulate_counts
from privet.learning.task_building.build import build_encoded
from privet.learning.task_building.settings import DEFAULT_SMALLEST_GROUP, TaskSettings
from privet.protocol.features import Classes, Numeric
from scripts import fair_survey
from scripts.reproduce.contestants import Scored, Tuned, value_scores
from scripts.reproduce.datasets import CLASSES, Split, encode_tables, take
from scripts.reproduce.shapes import COLUMNS, Law, drawn, of_public

LARGEST_HISTOGRAM = 2**10
"""Hidden cells of HistOfTree: far more than reports can tell apart."""
DEPTHS, BINS = (1, 2, 3, 4, 5), (1, 2, 3)
MADE = {"fair": ("faithful", 2), "flipped": ("changed", 2), "useless": ("useless", 5)}
"""The kinds of public labels, of ``shapes.KINDS``, with their numbers of classes."""
MADE_PUBLIC, MADE_HOLDERS, MADE_POINTS, MADE_KNOWN = 300, 4000, 3000, (0, 1, 2)
PARTS = (1.0, 1 / 2, 1 / 5, 1 / 10, 1 / 30)
"""Fractions of the holders who report."""
HIDDEN, HALF, LABEL = "Privet, all hidden", "Privet, half disclosed", "Privet, label only"
ALONE, FINEST = "Privet, label only, groups of 1", 10


@dataclass(frozen=True)
class Privet:
    """The default tree and estimator, with none of the columns disclosed, the known half, or all.

    With ``alone`` strata need no group, and the tree has ``FINEST`` levels.
    """

    name: str
    disclosed: Literal["none", "known", "all"]
    alone: bool = False

    def __call__(self, split: Split, epsilon: float, seed: int) -> Iterator[Scored]:
        names = [f"x{place}" for place in range(split.public.X.shape[1])]
        known = [names[place] for place in split.known]
        settings = TaskSettings(
            name="simulation",
            label=split.label.name,
            epsilon=epsilon,
            disclosed=tuple({"none": [], "known": known, "all": names}[self.disclosed]),
            holders=len(split.private),
            smallest_group=1 if self.alone else DEFAULT_SMALLEST_GROUP,
            depth=FINEST if self.alone else None,
        )
        features = tuple(Numeric(name=name, low=0.0, high=1.0) for name in names)
        task = build_encoded(settings, features, split.label, split.public)
        rng = np.random.default_rng([seed, round(1000 * epsilon)])
        reports = simulate_counts(task, split.private.X, split.private.y, rng)
        model = fit("drift", split.label, split.public, reports)
        yield self.name, {}, value_scores(model.predict(split.test.X).values, split)


def hist_of_tree(split: Split, epsilon: float, seed: int) -> Iterator[Scored]:
    """HistOfTree with the known columns disclosed, at every depth and number of bins that fits."""
    hidden = split.public.X.shape[1] - len(split.known)
    grid = {"depth": DEPTHS, "bins": [k for k in BINS if k**hidden <= LARGEST_HISTOGRAM]}
    tuned = Tuned("HistOfTree", HistOfTreeClassifier, grid, {"disclosed": split.known})
    return tuned(split, epsilon, seed)


def of_part(split: Split, part: float, seed: int) -> Split:
    """The split with a random part of the holders; the parts of one seed are nested."""
    order = np.random.default_rng([seed, 28]).permutation(len(split.private))
    return replace(split, private=take(split.private, order[: round(part * len(order))]))


def survey(_folder: Path, seed: int, *, part: float = 1.0) -> Split:
    """Fair's survey in its one split, so that seeds only draw reports, and which holders report."""
    return of_part(_survey(), part, seed)


@cache
def _survey() -> Split:
    population = fair_survey.load()
    public, rest = (
        pa.Table.from_pylist(
            [
                fair_survey.without_label(record) | {"label": float(fair_survey.has_affair(record))}
                for record in records
            ]
        )
        for records in (population.public, [*population.holders, *population.test])
    )
    public_data, others, known = encode_tables("survey", public, rest)
    holders, test = np.split(np.arange(len(others)), [len(population.holders)])
    return Split(public_data, take(others, holders), take(others, test), CLASSES, known=known)


def made(_folder: Path, seed: int, *, kind: str, part: float = 1.0) -> Split:
    """Holders of a random law, and public records by one of ``MADE``."""
    labels, classes = MADE[kind]
    rng = np.random.default_rng([seed, classes, 5])
    law = Law.drawn(classes, rng)
    rows = (MADE_PUBLIC, MADE_HOLDERS, MADE_POINTS)
    X, private, points = (rng.random((n, COLUMNS)) for n in rows)
    split = Split(
        PublicData(X, drawn(of_public(labels, law(X), X, rng), rng)),
        PublicData(private, drawn(law(private), rng)),
        PublicData(points, np.zeros(len(points))),
        Classes(name="label", classes=tuple(map(str, range(classes)))),
        law(points),
        MADE_KNOWN,
    )
    return of_part(split, part, seed)
