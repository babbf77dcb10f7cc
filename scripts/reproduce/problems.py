"""What the papers' experiments are run on, by name: ``PROBLEMS[name](folder, seed, **settings)``.

A problem returns a ``Split`` whose features are in [0, 1] and raises ``FileNotFoundError`` where a
data set is missing.
"""

from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from privet.curator.public_data import PublicData
from privet.protocol.features import Range
from scripts.reproduce.datasets import (
    CLASSIFICATION,
    REGRESSION,
    Floats,
    Split,
    deal,
    designed,
    missing,
    take,
    wines,
)
from scripts.reproduce.lpct_design import LABEL, Design

Problem = Callable[..., Split]

SINE_RANGE = (-5.0, 5.0)
"""Declared range of sin(16 x) plus standard normal noise."""


def design(
    folder: Path,  # noqa: ARG001 - needs no files
    seed: int,
    *,
    gamma: float,
    n_public: int,
    n_private: int = 10_000,
    scaled: str = "known",
    reach: float = 0.0,
) -> Split:
    """LPCT's synthetic design (section 6.1).

    ``scaled`` is what is known of the domain [0, a]², a uniform on [1, 5] (section 6.2.4): the
    ``known`` range, the ``public`` records' own, or nothing, and then the assumed [0, ``reach``]².
    """
    split = designed(Design(gamma, int(n_public), int(n_private)), seed)
    if scaled == "known":
        return split
    if scaled == "public":
        low, high = split.public.X.min(axis=0), split.public.X.max(axis=0)
    else:
        low, high = np.zeros(2), np.full(2, reach / np.random.default_rng([seed, 7]).uniform(1, 5))

    def rescaled(data: PublicData) -> PublicData:
        return PublicData(np.clip((data.X - low) / (high - low), 0.0, 1.0), data.y)

    public, private, test = map(rescaled, (split.public, split.private, split.test))
    return Split(public, private, test, split.label, split.chance)


def data_set(folder: Path, seed: int, *, name: str) -> Split:
    """A random split of a set of the papers' tables."""
    if absent := missing(folder, name):
        raise FileNotFoundError(", ".join(map(str, absent)))
    return deal(folder, name, seed)


def portion(folder: Path, seed: int, *, name: str, share: float, n_public: int) -> Split:
    """LPCT's Figure 10: a share of the private records and some of the public ones, at random."""
    split = data_set(folder, seed, name=name)
    rng = np.random.default_rng([seed, 10])
    private = rng.permutation(len(split.private))[: round(share * len(split.private))]
    public = rng.permutation(len(split.public))[:n_public]
    return Split(take(split.public, public), take(split.private, private), split.test, split.label)


def sine(
    folder: Path,  # noqa: ARG001 - needs no files
    seed: int,
    *,
    n_private: int,
    n_public: int,
    n_test: int = 2000,
) -> Split:
    """LPDT's section 4.1: y = sin(16 x) + N(0, 1), x ~ N(.5, variance .025) kept within [0, 1]."""
    rng = np.random.default_rng([seed, 16])

    def draw(n: int) -> PublicData:
        x = np.clip(rng.normal(0.5, np.sqrt(0.025), n), 0.0, 1.0)
        return PublicData(x[:, None], np.sin(16 * x) + rng.standard_normal(n))

    # without public records the partition knows nothing: two records with nothing to say
    public = (
        draw(n_public) if n_public else PublicData(np.array([[0.0], [1.0]]), np.array([0.0, 0]))
    )
    label = Range(name="y", low=SINE_RANGE[0], high=SINE_RANGE[1])
    return Split(public, draw(n_private), draw(n_test), label)


def mixed_wine(folder: Path, seed: int, *, red: float) -> Split:
    """LPDT's Figure 4: private white wines; a share ``red`` of the public rows are red wines."""
    for name in ("wine_white", "wine_red"):
        if absent := missing(folder, name):
            raise FileNotFoundError(", ".join(map(str, absent)))
    return wines(folder, seed, red)


def noisy_threshold(
    folder: Path,  # noqa: ARG001 - needs no files
    seed: int,
    *,
    n_private: int,
    n_public: int,
    columns: int = 1,
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


PROBLEMS: dict[str, Problem] = {
    "design": design,
    "portion": portion,
    "sine": sine,
    "mixed wine": mixed_wine,
    "noisy threshold": noisy_threshold,
    **{name: partial(data_set, name=name) for name in (*CLASSIFICATION, *REGRESSION)},
}


@lru_cache(maxsize=2)
def split_of(
    problem: str, settings: tuple[tuple[str, float | str], ...], folder: Path, seed: int
) -> Split:
    """The split of a problem, kept for the next method."""
    return PROBLEMS[problem](folder, seed, **dict(settings))
