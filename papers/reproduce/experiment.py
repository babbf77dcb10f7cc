"""Experiments: jobs to run, and the presentation of their scores."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Literal

import pandas as pd

from reproduce import ROOT
from reproduce.methods import METHODS

Setting = float | str
Key = tuple[Setting, ...]
Numbers = Mapping[Key, float]
PUBLISHED = ROOT / "published"
EXPECTED = ROOT / "expected"
DRAWN = {
    "LPCT-prune": "LPCT-prune, published",
    "LPDT": "LPCT-P",
    "PHIST": "PHIST cubes",
}
"""Our names of series in LPCT's drawings. What Figure 10 calls LPDT is LPCT at λ = 0 by the
authors' notebook, and PHIST has disjoint cubes in their code."""


@dataclass(frozen=True)
class Job:
    """One method on one problem at one ε."""

    problem: str
    method: str
    epsilon: float
    settings: tuple[tuple[str, Setting], ...] = ()


@dataclass(frozen=True)
class Experiment:
    """A figure or table.

    Scores are grouped by ``panels``, ``line`` and ``x``, which are columns of the scores:
    ``series`` (the published name), ``problem``, ``epsilon``, settings of the problem or parameters
    of the method. In each group the point of all other parameters is taken at which the mean of the
    first of ``measures`` is ``best``. Each panel is a table of its own, or axes; lines go across
    and x goes down. ``series`` are those shown, in order. ``published`` is keyed by ``key``.
    With ``relative`` all numbers are divided by that series'. With ``errors`` every measure has its
    standard error, and not only a single one. ``notes`` adds what follows from the table.
    """

    name: str
    title: str
    jobs: tuple[Job, ...]
    series: tuple[str, ...]
    x: str
    line: tuple[str, ...] = ("series",)
    panels: tuple[str, ...] = ()
    replications: int = 20
    best: Literal["max", "min"] = "max"
    kind: Literal["figure", "table"] = "table"
    measures: tuple[str, ...] = ("score",)
    log_x: bool = False
    errors: bool = False
    relative: str = ""
    published: Numbers = field(default_factory=dict)
    reference: str = "published"
    notes: Callable[["Experiment", pd.DataFrame], str] | None = None

    @property
    def key(self) -> list[str]:
        """The columns that tell the means apart."""
        return [*self.panels, *self.line, self.x]


def jobs(
    problem: str | Iterable[str],
    methods: Iterable[str],
    epsilons: Iterable[float],
    **settings: Iterable[Setting],
) -> tuple[Job, ...]:
    """All combinations; every setting is a list of values. Without privacy ε is 0."""
    problems = (problem,) if isinstance(problem, str) else tuple(problem)
    combinations = (
        Job(
            name,
            method,
            epsilon if getattr(METHODS[method], "private", True) else 0.0,
            tuple(zip(settings, values, strict=True)),
        )
        for name in problems
        for values in product(*settings.values())
        for epsilon in epsilons
        for method in methods
    )
    return tuple(dict.fromkeys(combinations))


def printed(name: str, index: Sequence[str] = ("problem",), **chosen: Setting) -> Numbers:
    """The numbers of ``published/NAME.csv`` where its columns have ``chosen`` values.

    Keyed by the method's column and by ``index``.
    """
    table = pd.read_csv(PUBLISHED / f"{name}.csv")
    for column, value in chosen.items():
        table = table[table[column] == value].drop(columns=column)
    table = table.set_index(list(index))
    return {
        (method, place): float(value)
        for method, column in table.items()
        for place, value in column.dropna().items()
    }


def drawn(figure: str, key: Sequence[str]) -> Numbers:
    """The points of LPCT's drawn figures whose names begin with ``figure``, the first of a setting.

    ``key`` ends with the x axis.
    """
    table = points(key[-1])
    table = table[table["figure"].str.startswith(figure)].drop_duplicates(list(key))
    drawn_at = table.set_index(list(key))["accuracy"]
    return {place: float(value) for place, value in drawn_at.items()}


def points(x: str = "") -> pd.DataFrame:
    """All points of LPCT's drawings, under our names of series; ``x`` names their x axis.

    ε = 1000 is the protocol's largest, 64. Sizes are the design's where no axis has them.
    """
    table = pd.read_csv(PUBLISHED / "lpct-figures-drawn.csv").replace({"series": DRAWN})
    sizes = {"epsilon": table["epsilon"], "n_private": 10_000, "n_public": 50}
    for name, size in sizes.items():
        table[name] = table["value"].where(table["x"] == name, size)
    table["epsilon"] = table["epsilon"].clip(upper=64.0)
    return table if x in sizes or not x else table.assign(**{x: table["value"]})
