"""Scores of a model's cells for people like the holders, from their perturbed reports only.

A score of cell values v is linear in the counts: sum_ks w_ks(v) V_ks / n, with w the loss of v
where the label is s. But v was fitted to these counts, noise included, so that the sum is biased by
the optimism

    o = E sum w(v(V)) (V - E V) = tr(C E w'),   C = Cov V, w' the derivative of w(v(V)),

by Stein's lemma (Efron, 2004, "The estimation of prediction error"). It is found by refits with
noise added to the counts: for g ~ N(0, C),

    o = E sum (w(v(V + a g)) - w(v(V - a g))) g / (2 a),                                        (1)

also where w has steps, as that of the likeliest class, then for V with (1 + a^2) times the noise
(Oliveira, Lei and Tibshirani, 2021, "Unbiased risk estimation in the normal means problem via
coupled bootstrap techniques"). C holds the mechanism's noise and that of sampling, so scores are
about people like the holders and not about those who reported. The error is that of sum w V for
fixed w, and what o varies by, tr(C w' C w'): the mean over (1) of u' C u, u being the difference of
weights over 2 a. That counts what moves in all cells together, which the cells' parts of o do not.
Of accuracy, whose w' are steps, it is sum_k o_k^2 of the cells' parts, and what C's own estimate of
o by a few refits is unsure by is added to both.

Optimism is a number of reports, the same whenever scores are read: reports that come later are
independent of the model. Two models' scores have most of their error in common, so their difference
is known better than each. Within a cell reports tell nothing of the predictions: scores are those
of its values. Squares of a number are not reported, so that only differences of squared errors are
known: they are less the labels' mean square. Of numbers around centres there are none (ADR 0134).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import log

import numpy as np

from privet.protocol.features import Label

from ..core.counts import Estimate, Interval, QuestionCounts, without_label_question
from ..core.labels import kind_of
from ..core.model import Model, question_about
from ..core.public_data import Floats
from .impossible import impossible
from .joint import joined
from .results import Yardsticks

STEP = 0.25
"""a in (1). Smaller ones are more exact, and of accuracy noisier: at 0.5 the optimism of the
default was up to 2.4 times too large, as noise that is added passes for evidence of a shift.
"""
PAIRS = 8
"""Pairs of refits with noise of opposite signs."""
LEAST_SHARE = 1e-3
"""Smaller shares count as this much in a log loss."""
MOST = {"accuracy": 1.0, "Brier score": 1.0, "log loss": -log(LEAST_SHARE)}
"""The scores of classes, and the greatest value that each can have."""
OF_NUMBERS = ("squared error",)

Fit = Callable[[Sequence[QuestionCounts]], Model]


def scores_of(label: Label) -> tuple[str, ...]:
    """The names of a label's scores."""
    return tuple(MOST) if kind_of(label).is_share else OF_NUMBERS


def score_weights(score: str, model: Model, question: QuestionCounts) -> Floats:
    """w: what each count adds to a score of the model's cells, ``(cells, slots)``."""
    values = model.values
    if score == "accuracy":
        weights = np.zeros_like(values)
        weights[np.arange(len(values)), values.argmax(axis=1)] = 1.0
        return weights
    if score == "Brier score":
        return np.asarray(((values**2).sum(axis=1, keepdims=True) + 1.0) / 2.0 - values)
    if score == "log loss":
        return -np.log(np.maximum(values, LEAST_SHARE))
    (ends,) = kind_of(model.label).weights(question)
    return np.asarray(values**2 - 2.0 * values * ends)


def optimism(
    model: Model, questions: Sequence[QuestionCounts], fit: Fit
) -> dict[str, tuple[float, float]] | None:
    """The number of reports by which each score is too good, and the variance of that.

    ``fit`` gives the model of other counts. None without reports about the label in its cells, and
    where a refit has other cells.
    """
    question = question_about(model, questions)
    if question is None:
        return None
    place = next(i for i, one in enumerate(questions) if one.sums is question.sums)
    covariance = question.total_covariance
    eigenvalues, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(eigenvalues, 0.0))[:, None, :]
    rng = np.random.default_rng(0)
    parts: dict[str, list[Floats]] = {score: [] for score in scores_of(model.label)}
    spread = dict.fromkeys(parts, 0.0)
    for _ in range(PAIRS):
        g = np.einsum("kij,kj->ki", root, rng.standard_normal(question.counts.shape))
        pair = []
        for step in (STEP, -STEP):
            others = [*questions]
            others[place] = replace(questions[place], added=step * g)
            pair.append(fit(others))
            if question_about(pair[-1], [question]) is None:
                return None
        for score, of_cells in parts.items():
            up, down = (score_weights(score, one, question) for one in pair)
            u = (up - down) / (2.0 * STEP)
            of_cells.append((u * g).sum(axis=1))
            spread[score] += float(((u[:, None] @ covariance)[:, 0] * u).sum()) / PAIRS
    found = {}
    for score, of_cells in parts.items():
        drawn = np.array(of_cells)
        variance = float(drawn.sum(axis=1).var(ddof=1)) / PAIRS
        of_parts = float((drawn.mean(axis=0) ** 2).sum())
        variance += of_parts if score == "accuracy" else spread[score]
        found[score] = (float(drawn.sum(axis=1).mean()), variance)
    return found


def known_scores(model: Model, questions: Sequence[QuestionCounts]) -> dict[str, Interval]:
    """The scores of the model's cells for people like the holders, by name.

    None of a number, nor where the optimism is not known, there are no reports about the label in
    the cells, or reports cannot all be honest.
    """
    question = _judging(questions, model)
    _, alone = without_label_question(questions)
    return {} if question is None else _scores(model, question, alone)


def score_differences(
    first: Model, second: Model, questions: Sequence[QuestionCounts]
) -> dict[str, Interval]:
    """The scores of the second model's cells less those of the first one's, by name.

    None unless both have the same cells, and where ``known_scores`` has none but for numbers on
    their whole range.
    """
    question = _judging(questions, first, second)
    return {} if question is None else _differences(first, second, question)


def yardsticks(model: Model, questions: Sequence[QuestionCounts]) -> Yardsticks | None:
    """The yardsticks of the accuracy of a model's cells; None where ``known_scores`` has none.

    Of the classes' intervals the one that begins lowest counts, so a model is said to beat one
    class for everybody only if it beats each, and wrongly no more often than for a class fixed
    beforehand; but the class that the model itself has for everybody, if it has one.
    """
    label, score = model.label, "accuracy"
    question, (_, alone) = _judging(questions, model), without_label_question(questions)
    if question is None or score not in _scores(model, question, alone):  # of a number
        return None
    if model.values_without_reports is None:  # as an earlier version fitted it
        return None
    fixed = dict.fromkeys(MOST, (0.0, 0.0))
    before = replace(model.without_reports(), optimism=fixed)
    more = {}
    for slot, name in enumerate(kind_of(label).names):
        one = np.broadcast_to(np.eye(label.slots)[slot], model.values.shape)
        more[name] = _differences(replace(before, values=one), model, question)[score]
    always = min(more, key=lambda name: (more[name].low < more[name].high, more[name].low))
    return Yardsticks(
        _scores(replace(model, optimism=fixed), question, alone)[score].value,
        _differences(before, model, question)[score],
        always,
        more[always],
    )


def _judging(questions: Sequence[QuestionCounts], *models: Model) -> QuestionCounts | None:
    """The reports that score all these models; None without, and where no score is known."""
    question = question_about(models[0], questions)
    if question is None or any(question_about(each, [question]) is None for each in models[1:]):
        return None
    known = all(each.optimism is not None for each in models) and impossible(questions) is None
    return question if known else None


def _scores(
    model: Model, question: QuestionCounts, alone: QuestionCounts | None
) -> dict[str, Interval]:
    known, found = model.optimism or {}, {}
    for score, most in MOST.items():
        if score in known:
            weights = score_weights(score, model, question)
            found[score] = _corrected(question, weights, *known[score], alone).interval(0.0, most)
    return found


def _differences(first: Model, second: Model, question: QuestionCounts) -> dict[str, Interval]:
    found = {}
    for score in scores_of(first.label):
        before, after = (score_weights(score, one, question) for one in (first, second))
        if np.array_equal(before, after):
            found[score] = Interval(0.0, 0.0, 0.0)
            continue
        (bias, variance), (other_bias, other_variance) = (
            one.optimism[score] for one in (first, second) if one.optimism
        )
        # both rest on the same noise: the difference has at most the sum of both deviations
        deviation, bias = variance**0.5 + other_variance**0.5, other_bias - bias
        difference = _corrected(question, after - before, bias, deviation**2)
        most = MOST.get(score, np.inf)
        found[score] = difference.interval(-most, most)
    return found


def _corrected(
    question: QuestionCounts,
    weights: Floats,
    bias: float,
    variance: float,
    alone: QuestionCounts | None = None,
) -> Estimate:
    """The mean of ``weights`` for the population, less an optimism.

    Where all cells have the same weights, as if all predict one class, those asked for the label
    ``alone`` count too, as in the share of that class.
    """
    likely = question.plausible / question.plausible.sum()
    centre = float((likely * weights).sum())
    spread = float((likely * (weights - centre) ** 2).sum())
    mean, people = question.mean(weights - centre), question.holders
    found = Estimate(centre + mean.value, mean.variance, question.factor)
    if alone is not None and (weights == weights[0]).all() and np.ptp(weights[0]) > 0.0:
        found, _ = joined(found, people, alone, weights[0])
        people += alone.holders
    total = found.variance + spread / people + variance / question.holders**2
    return Estimate(found.value - bias / question.holders, total, found.factor)
