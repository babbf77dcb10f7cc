"""What false reports are found to do, beside all that they can do in a tiny task."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations_with_replacement
from typing import Any, cast

import numpy as np
import pytest

from privet.learning.core.counts import QuestionCounts
from privet.learning.core.model import Model
from privet.learning.figures.false_reports import if_false, worst_found
from privet.learning.figures.figure import Reports
from privet.learning.methods import Fitting, fit
from privet.learning.public_model.knowledge import public_knowledge
from privet.learning.simulation import simulate_sums
from privet.protocol.mechanisms import create_mechanism
from privet.protocol.mechanisms.base import Sums
from privet.protocol.mechanisms.stratified import StratifiedMechanism
from privet.protocol.results import Comparison

from ..examples import BINARY, REPORTS_ALONE, complete, linear_model, public_rows, reports

PUBLIC = public_rows(BINARY, 100, seed=1)
BASE = linear_model([[0, 3], [0, 0]], [0, -1.5])
Refit = Callable[[Sequence[QuestionCounts]], Model]


def fitting_of(estimator: str) -> Fitting:
    own: dict[str, Any] = {"base": BASE} if estimator == "drift" else REPORTS_ALONE
    return Fitting.of(estimator, BINARY, PUBLIC, **own)


def worst_of_all(refit: Refit, question: QuestionCounts, k: int) -> float:
    """The most that a value moves by any ``k`` payloads in place of typical reports."""
    mechanism = question.mechanism
    bodies = np.arange(256**mechanism.report_bytes, dtype=np.uint32)[:, None].view(np.uint8)
    bodies = bodies[:, : mechanism.report_bytes]
    each = [mechanism.accumulate(body[None, :]) for body in bodies[mechanism.valid(bodies)]]
    kinds = np.unique(each, axis=0)
    typical = question.sums * (1.0 - k / question.n)
    values, moved = refit([question]).values, 0.0
    for chosen in combinations_with_replacement(range(len(kinds)), k):
        sums = cast("Sums", typical + kinds[list(chosen)].sum(axis=0))
        again = refit([replace(question, sums=sums)]).values
        moved = max(moved, float(np.abs(again - values).max()))
    return moved


@pytest.mark.quick("0-subset-1.0-drift", "1-grr-2.0-weighted")
@pytest.mark.parametrize("estimator", ["drift", "weighted"])
@pytest.mark.parametrize(("mechanism", "epsilon"), [("grr", 2.0), ("subset", 1.0)])
@pytest.mark.parametrize("seed", range(2))
def test_the_worst_found_is_nearly_the_worst_there_is(
    estimator: str, mechanism: str, epsilon: float, seed: int
) -> None:
    """Of one payload among 60 reports, and of all multisets of three, none moves a value a tenth
    further. Nor does the search claim more than there is.
    """
    counts = np.array([[18, 12], [9, 21]])
    question, fitting = (
        reports(complete(1), counts, epsilon, seed, mechanism),
        fitting_of(estimator),
    )
    model = fitting.model([question])
    for k in (1, 3):
        worst = worst_of_all(fitting.estimate, question, k)
        (found,) = worst_found(model, [question], fitting.estimate, k)
        assert 0.9 * worst <= found <= worst * (1 + 1e-9)


def test_false_reports_take_the_place_of_others_in_small_strata_too() -> None:
    """Two reports in each of 32: however few are replaced, as many stay as there were."""
    strata = StratifiedMechanism.around(create_mechanism("grr", 1.0, 1, 2), tuple(range(32)))
    counts, seen = np.ones((32, 2), dtype=np.int64), []
    sums = simulate_sums(strata, counts, np.random.default_rng(0))
    question = QuestionCounts(complete(5), strata, sums, 64)

    def estimate(questions: Sequence[QuestionCounts]) -> Model:
        seen.append(questions[0].stratum_mass)
        return fit("weighted", BINARY, PUBLIC, questions, **REPORTS_ALONE)

    worst_found(estimate([question]), [question], estimate, 3)
    assert len(seen) > 3
    for mass in seen:
        assert mass.sum() == pytest.approx(1.0)
    assert 0.03 < np.abs(seen[1] - seen[0]).max() < 0.06


def test_many_false_reports_move_a_value_further_than_one_times_their_number() -> None:
    """Where reports agree with the public model one false one hardly moves a value, and 400 of
    32 400 overturn that agreement in a cell."""
    tree = complete(4)
    means, _ = public_knowledge(PUBLIC.X, PUBLIC.y, 2, BASE).cell_means(tree)
    counts = np.round(2025 * means).astype(int)
    fitting, question = fitting_of("drift"), reports(tree, counts, 4.0, seed=3)
    model = fitting.model([question])
    one, many = worst_found(model, [question], fitting.estimate, 1, 400)
    assert many > 3.0 * 400 * one


def test_without_other_reports_a_value_can_be_anything() -> None:
    """Where all reports are false the distance of the label's ends is stated, and nothing tried."""
    question, fitting = (
        reports(complete(1), np.full((2, 2), 10), 1.0, seed=4),
        fitting_of("weighted"),
    )
    assert worst_found(fitting.model([question]), [question], _never, 40) == [1.0]


def _never(_: Sequence[QuestionCounts]) -> Model:
    raise AssertionError


@pytest.mark.parametrize("mechanism", ["grr", "subset", "projective"])
@pytest.mark.parametrize("part", [0.05, 0.2])
def test_a_figure_is_between_its_ends_whatever_some_reports_say(
    mechanism: str, part: float
) -> None:
    """The share of the honest ones, exactly, whichever payload the others are copies of; and the
    ends are reached by one of them."""
    counts = np.array([[180, 120], [90, 210]])
    honest = reports(complete(1), counts, 2.0, 1, mechanism)
    own = honest.mechanism
    n = honest.n
    k = int(part / (1.0 - part) * n)
    bodies = np.arange(256**own.report_bytes, dtype=np.uint32)[:, None].view(np.uint8)
    bodies = bodies[:, : own.report_bytes]
    share = share_of(honest)
    reached = []
    for body in bodies[own.valid(bodies)]:
        false = k * own.accumulate(body[None, :])
        question = replace(honest, sums=cast("Sums", honest.sums + false), n=n + k)
        of_all = Reports.of(BINARY, [question])
        assert of_all is not None
        value = share_of(question)
        stated = Comparison(BINARY.classes[1], value, value, value, 0.5, 1.0, None)
        other = replace(stated, reported=1 - value, low=1 - value, high=1 - value)
        _, of = if_false(of_all, [other, stated], part)
        assert of.low - 1e-9 <= share <= of.high + 1e-9
        reached += [share - of.low, of.high - share]
    assert min(reached) < 0.02


def share_of(question: QuestionCounts) -> float:
    """The share of the second class by the counts as they are, of those whose record fits."""
    counts = question.mechanism.estimate(question.sums, question.n)
    return float(counts[:, 1].sum() / counts.sum())
