"""The part of the holders who are asked for the label alone, where it is left open.

A figure of all holders adds up the noise of all cells. A part f of them, asked for the label alone,
gives it with the variance v + s of one who is asked that, v by noise and s by chance, over n f. So
joined with the others' (``figures.joint``) the error of an estimate of the people asked is never
more than 1 / sqrt(f) times that of a survey which asks everybody that alone, 1.69 times at
``LEAST``. Textbook randomized response does not let a record be outside the task, for which v pays
at a small epsilon; where many cells leave the others little to add, f is as much more as keeps a
share of one half within ``WIDEST`` times the textbook's interval, up to ``MOST``. Predictions lose
nothing that 20 splits of four sets show; with a half one of 32 rows does (docs/accuracy.md).
"""

from math import exp

import numpy as np

from privet.protocol.mechanisms import create_mechanism

from ..figures.joint import best
from ..methods import GROWERS
from .settings import TaskSettings

LEAST, MOST = 0.35, 0.5
"""The parts by default."""
WIDEST = 1.7
CHANCE = 0.25
"""The variance of one holder's figure, of a share of one half."""
NEGLIGIBLE = 0.01
"""The noise of cells, relative to the chance of who is asked, for which there is no part."""
REPORTS = 1_000_000
"""The reports for which a variance is evaluated; times their number it hardly depends on it."""


def chosen_part(settings: TaskSettings, cells: int, slots: int, *, centred: bool = False) -> float:
    """The part for a task whose first question hides so many ``cells``, each of so many ``slots``.

    0 where the methods of the papers grow the tree, of several questions, of one cell, and at an
    epsilon so large that all cells together have hardly any noise: of the other categories each is
    said with exp(-epsilon) times the probability of the true one. Where columns are disclosed,
    ``cells`` are those of the largest stratum; if they are one, nobody can be asked for less, and
    if figures of all are within ``WIDEST`` without a part, by either ratio, there is none.
    Of ``centred`` numbers, whose mean the part alone states, neither method nor epsilon matters.
    """
    if settings.disclosed and cells == 1:
        return 0.0
    if settings.label_part is not None:
        return settings.label_part
    (of, *others) = settings.by_question()
    one = not others and of.asks_label and (centred or GROWERS[of.grower].uses_public_model)
    if not one or cells == 1:
        return 0.0
    if cells * slots <= NEGLIGIBLE * exp(of.epsilon):
        return LEAST if centred else 0.0
    most = WIDEST**2 * textbook_variance(of.epsilon, slots)
    alone, rest = (noise_of_one(of.epsilon, size, slots) for size in (1, cells))
    if settings.disclosed and not centred:
        of_people = (rest + CHANCE) / (alone + CHANCE)
        if rest <= most and of_people <= WIDEST**2:
            return 0.0
    parts = (part / 100.0 for part in range(round(100.0 * LEAST), round(100.0 * MOST)))
    return next((part for part in parts if noise_of_part(alone, rest, part, CHANCE) <= most), MOST)


def noise_of_one(epsilon: float, cells: int, slots: int, share: float = 0.5) -> float:
    """The variance by noise of one report's ``share`` of a class, in a task of so many cells.

    The other classes are equally frequent, and holders are spread evenly over the cells.
    """
    law = np.array([share, *[(1.0 - share) / (slots - 1)] * (slots - 1)])
    weights = np.tile(np.eye(slots)[0] - share, (cells, 1))
    at = np.tile(REPORTS * law / cells, (cells, 1))
    mechanism = create_mechanism("subset", epsilon, cells, slots)
    return mechanism.linear_variance(weights, REPORTS, at) / REPORTS


def noise_of_part(alone: float, rest: float, part: float, chance: float) -> float:
    """The variance by noise of a figure, times the number of reports, with a ``part`` asked alone.

    By those of one report ``alone`` and of one of the ``rest``; ``chance`` is the variance of one
    holder's figure.
    """
    return best(alone / part, rest / (1.0 - part), part, chance)[1]


def textbook_variance(epsilon: float, slots: int, share: float = 0.5) -> float:
    """The variance of one report's ``share`` of a class by randomized response (Warner, 1965),
    which all holders answer with one of so many classes; the chance of who is asked is in it."""
    true = exp(epsilon) / (exp(epsilon) + slots - 1)
    false = (1.0 - true) / (slots - 1)
    said = share * true + (1.0 - share) * false
    return said * (1.0 - said) / (true - false) ** 2
