"""Problems of experiments, by name: ``PROBLEMS[name](folder, seed, **settings)``.

A problem makes a ``Split`` whose features are in [0, 1].
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from privet.learning.core.public_data import PublicData
from privet.protocol.features import Range
from reproduce import blind, second_bench
from reproduce.ablations import Population
from reproduce.coverage import Quadrants
from reproduce.datasets import (
    CLASSIFICATION,
    KNOWN,
    REGRESSION,
    Floats,
    Split,
    classification,
    files_of,
    regression,
    shuffled,
    take,
    wines,
)
from reproduce.disclosure import MADE, Wards, far_numbers, made, of_part, survey
from reproduce.few_disclosed import Few
from reproduce.intervals import Moved
from reproduce.label_shifts import NUMBERS, StatedShare, classes_moved, numbers_moved
from reproduce.lpct_design import LABEL, draw, eta, fine_grid
from reproduce.no_difference import Alike
from reproduce.promises import Promised
from reproduce.remembering import PACKAGED, SHIPPED, packaged, shipped
from reproduce.scored import Judged
from reproduce.sent_falsely import Sent
from reproduce.shapes import Shapes
from reproduce.statements import Collection
from reproduce.waves import Panel

TEST_POINTS = 10_000
SINE_RANGE = (-5.0, 5.0)
"""Declared range of sin(16 x) plus standard normal noise."""
SHIFTS = {
    "as it is": "200 rows at random",
    "scarce": "50 rows at random",
    "volunteers": "the second class 4.5 times rarer",
    "tilted": "e⁴ times likelier at one end of the first principal component than at the other",
    "changed": "the opposite label in the upper 30 % along the first principal component",
}
"""The ways in which public rows are chosen."""
ROWS, SCARCE_ROWS, RARER, TILT, CHANGED = 200, 50, 4.5, 4.0, 0.3
NEW = 0.2
"""The part of different records that is kept for the test of ``unseen``."""
REPEATING = ("diabetes", "employ")
"""Sets of which most rows repeat others, so that most test records are also holders'."""
SIZES = {"anonymity": 100, "diabetes": 200, "employ": 200, "rice": 300, "census": 500}
"""Public records where all records are shuffled."""


@dataclass(frozen=True)
class Problem:
    """A problem: makes a split from a folder, a seed and settings, and names the files it needs.

    ``lacking`` names what else is missing.
    """

    make: Callable[..., Any]
    files: tuple[str, ...] = ()
    lacking: Callable[[], list[str]] = list

    def __call__(self, folder: Path, seed: int, **settings: Any) -> Any:
        return self.make(folder, seed, **settings)


def design(
    _folder: Path,
    seed: int,
    *,
    gamma: float,
    n_public: int,
    n_private: int = 10_000,
    scaled: str = "known",
    reach: float = 0.0,
) -> Split:
    """LPCT's synthetic design (section 6.1), with the same test points in every replication.

    ``scaled`` is what is known of the domain [0, a]², a uniform on [1, 5] (section 6.2.4): the
    ``known`` range, the ``public`` records' own, or nothing, and then the assumed [0, ``reach``]².
    Records beyond it stay beyond [0, 1]².
    """
    grid, _ = fine_grid()
    X = grid[np.random.default_rng(0).permutation(len(grid))[:TEST_POINTS]]
    rng = np.random.default_rng([seed, round(100 * gamma)])
    public, private = draw(int(n_public), gamma, rng), draw(int(n_private), 1.0, rng)
    if scaled == "known":
        return Split(public, private, PublicData(X, np.zeros(len(X))), LABEL, eta(X))
    if scaled == "public":
        low, high = public.X.min(axis=0), public.X.max(axis=0)
    else:
        low, high = np.zeros(2), np.full(2, reach / np.random.default_rng([seed, 7]).uniform(1, 5))

    def rescaled(data: PublicData) -> PublicData:
        return PublicData((data.X - low) / (high - low), data.y)

    test = rescaled(PublicData(X, np.zeros(len(X))))
    return Split(rescaled(public), rescaled(private), test, LABEL, eta(X))


def portion(folder: Path, seed: int, *, name: str, share: float, n_public: int) -> Split:
    """LPCT's Figure 10: a share of the private records and some of the public ones, at random."""
    split = classification(folder, seed, name=name)
    rng = np.random.default_rng([seed, 10])
    private = rng.permutation(len(split.private))[: round(share * len(split.private))]
    public = rng.permutation(len(split.public))[:n_public]
    return Split(take(split.public, public), take(split.private, private), split.test, split.label)


def sine(
    _folder: Path,
    seed: int,
    *,
    n_private: int,
    n_public: int,
    n_test: int = 2000,
    law: str = "normal",
) -> Split:
    """LPDT's section 4.1: y = sin(16 x) + N(0, 1), x ~ N(.5, variance .025) kept within [0, 1].

    In the authors' script the ``law`` of x is uniform.
    """
    rng = np.random.default_rng([seed, 16])

    def draw(n: int) -> PublicData:
        if law == "uniform":
            x = rng.random(n)
        else:
            x = np.clip(rng.normal(0.5, np.sqrt(0.025), n), 0.0, 1.0)
        return PublicData(x[:, None], np.sin(16 * x) + rng.standard_normal(n))

    # without public records the partition knows nothing: two records with nothing to say
    public = (
        draw(n_public) if n_public else PublicData(np.array([[0.0], [1.0]]), np.array([0.0, 0]))
    )
    label = Range(name="y", low=SINE_RANGE[0], high=SINE_RANGE[1])
    return Split(public, draw(n_private), draw(n_test), label)


def noisy_threshold(
    _folder: Path, seed: int, *, n_private: int, n_public: int, columns: int = 1
) -> Split:
    """For semi-private learning: y = 1{x_1 >= .3}, wrong for a tenth of the records."""
    rng = np.random.default_rng([seed, 19])

    def draw(n: int) -> tuple[Floats, Floats]:
        X = rng.random((n, columns))
        return X, ((X[:, 0] >= 0.3) ^ (rng.random(n) < 0.1)).astype(np.float64)

    test, _ = draw(20_000)
    chance = np.where(test[:, 0] >= 0.3, 0.9, 0.1)
    public, private = PublicData(*draw(int(n_public))), PublicData(*draw(int(n_private)))
    return Split(public, private, PublicData(test, np.zeros(len(test))), LABEL, chance)


def shifted(folder: Path, seed: int, *, name: str, shift: str, part: float = 1.0) -> Split:
    """Public data that mislead: rows taken from the holders' part as ``SHIFTS`` says.

    Of the shuffled rows 80 % are holders, of whom ``part`` report, and 20 % test rows. The first
    principal component is that of all rows.
    """
    split, rng = shuffled(folder, seed, name=name, public=0), np.random.default_rng([seed, 1])
    pool = split.private
    every = np.vstack([pool.X, split.test.X])
    _, axes = np.linalg.eigh(np.cov(every.T))
    place = ((pool.X - every.mean(axis=0)) @ axes[:, -1]).argsort().argsort() / len(pool)
    chance = np.ones(len(pool))
    if shift == "volunteers":
        chance = np.where(pool.y == 1, 1.0 / RARER, 1.0)
    elif shift == "tilted":
        chance = np.exp(TILT * place)
    rows = min(SCARCE_ROWS if shift == "scarce" else ROWS, len(pool) // 4)
    chosen = rng.choice(len(pool), rows, replace=False, p=chance / chance.sum())
    y = pool.y[chosen]
    if shift == "changed":
        y = np.where(place[chosen] > 1.0 - CHANGED, 1.0 - y, y)
    rest = np.setdiff1d(np.arange(len(pool)), chosen)
    public = PublicData(pool.X[chosen], y)
    return of_part(replace(split, public=public, private=take(pool, rest)), part, seed)


def unseen(folder: Path, seed: int, *, name: str) -> Split:
    """Tested on all rows of a fifth of the different records, of which no other row is one."""
    split = classification(folder, seed, name=name)
    parts = (split.public, split.private, split.test)
    _, record = np.unique(np.vstack([part.X for part in parts]), axis=0, return_inverse=True)
    new = np.random.default_rng([seed, 29]).random(record.max() + 1) < NEW
    is_new = np.split(new[record.ravel()], np.cumsum([len(part) for part in parts])[:-1])
    public, private, _ = (
        take(part, np.flatnonzero(~mask)) for part, mask in zip(parts, is_new, strict=True)
    )
    tested = [take(part, np.flatnonzero(mask)) for part, mask in zip(parts, is_new, strict=True)]
    X, y = (np.concatenate([getattr(part, a) for part in tested]) for a in ("X", "y"))
    return replace(split, public=public, private=private, test=PublicData(X, y))


PROBLEMS: dict[str, Problem] = {
    "design": Problem(design),
    "synthetic, one population": Problem(partial(design, gamma=1.0, n_public=300)),
    "sine": Problem(sine),
    "noisy threshold": Problem(noisy_threshold),
    "random laws": Problem(lambda _folder, _seed, **settings: Shapes(**settings)),
    "16 cells": Problem(lambda _folder, _seed, **settings: Population(**settings)),
    "collection": Problem(lambda _folder, _seed, **settings: Collection(**settings)),
    **{name: Problem(partial(shipped, name=name)) for name in SHIPPED},
    **{
        name: Problem(partial(packaged, name=name), lacking=blind.package_absent)
        for name in PACKAGED
    },
    "alike": Problem(lambda _folder, _seed, **settings: Alike(**settings)),
    "promised": Problem(lambda _folder, _seed, **settings: Promised(**settings)),
    "judged": Problem(lambda _folder, _seed, **settings: Judged(**settings)),
    "sent": Problem(lambda _folder, _seed, **settings: Sent(**settings)),
    "few disclosed": Problem(lambda _folder, _seed, **settings: Few(**settings)),
    "moved": Problem(lambda _folder, _seed, **settings: Moved(**settings)),
    "classes moved": Problem(classes_moved),
    "stated share": Problem(lambda _folder, _seed, **settings: StatedShare(**settings)),
    **{
        f"numbers moved, {name}": Problem(
            partial(numbers_moved, name=name), () if name.startswith("made") else files_of(name)
        )
        for name in NUMBERS
    },
    "panel": Problem(lambda _folder, _seed, **settings: Panel(**settings)),
    "quadrants": Problem(lambda _folder, _seed, **settings: Quadrants(**settings)),
    "survey": Problem(survey),
    "made, far numbers": Problem(far_numbers),
    "eight wards": Problem(lambda _folder, _seed, **settings: Wards(**settings)),
    **{f"made, {kind}": Problem(partial(made, kind=kind)) for kind in MADE},
    **{
        f"{name}, {shift}": Problem(partial(shifted, name=name, shift=shift), files_of(name))
        for name in set(KNOWN) & set(CLASSIFICATION)
        for shift in ("volunteers", "changed")
    },
    **{
        f"{name}, {public}": Problem(
            partial(blind.blind, name=name, public=public), lacking=blind.absent
        )
        for name in blind.SETS
        for public in (blind.FAIR, blind.NATURAL)
    },
    **{
        f"{name}, {public}": Problem(
            partial(second_bench.second, name=name, public=public), lacking=second_bench.absent
        )
        for name in second_bench.NAMES
        for public in (blind.FAIR, blind.NATURAL)
    },
    **{
        f"{name}, unseen": Problem(partial(unseen, name=name), files_of(name)) for name in REPEATING
    },
    "portion of diabetes": Problem(partial(portion, name="diabetes"), files_of("diabetes")),
    "mixed wine": Problem(wines, (*files_of("wine_white"), *files_of("wine_red"))),
    **{
        name: Problem(partial(classification, name=name), files_of(name)) for name in CLASSIFICATION
    },
    **{name: Problem(partial(regression, name=name), files_of(name)) for name in REGRESSION},
    **{
        f"{name}, shifted": Problem(partial(shifted, name=name), files_of(name))
        for name in CLASSIFICATION
    },
    **{
        f"{name}, one population": Problem(
            partial(shuffled, name=name, public=rows), files_of(name)
        )
        for name, rows in SIZES.items()
    },
}


@lru_cache(maxsize=2)
def split_of(
    problem: str, settings: tuple[tuple[str, float | str], ...], folder: Path, seed: int
) -> Any:
    """The split of a problem, kept for the next method."""
    return PROBLEMS[problem](folder, seed, **dict(settings))
