"""The central guarantee: never too small, and hardly too large."""

import itertools
import math
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from privet.protocol import shuffling
from privet.protocol.mechanisms import Mechanism, StratifiedMechanism, create_mechanism
from privet.protocol.shuffling import (
    Batch,
    Randomizer,
    central_epsilon,
    epsilon_of_batch,
    keeps_epsilon,
    randomizers_of,
)
from tests.keeping import keeps
from tests.protocol.examples import make_task, question
from tests.protocol.mechanisms.cases import ENUMERABLE, LONG, Case, quick_and
from tests.protocol.mechanisms.laws import law


def randomizer_of(mechanism: Mechanism) -> Randomizer:
    """What the bound is told of a mechanism."""
    return Randomizer.of(mechanism.worst_ratio(), mechanism.variation)


def shuffled(mechanism: Mechanism, categories: Sequence[int]) -> dict[tuple[bytes, ...], Fraction]:
    """The exact law of what somebody sees who gets these holders' reports in random order."""
    seen: dict[tuple[bytes, ...], Fraction] = defaultdict(Fraction)
    for reports in itertools.product(*(law(mechanism, each).items() for each in categories)):
        payloads, chances = zip(*reports, strict=True)
        seen[tuple(sorted(payloads))] += math.prod(chances)
    return seen


def divergence(
    first: dict[tuple[bytes, ...], Fraction], second: dict[tuple[bytes, ...], Fraction], odds: float
) -> float:
    """The least delta with which ``first`` has at most ``odds`` times the chances of ``second``."""
    exact = Fraction(odds)
    return float(sum(max(Fraction(0), p - exact * second[seen]) for seen, p in first.items()))


def assert_within(
    batch: Batch, seen: Sequence[dict[tuple[bytes, ...], Fraction]], epsilon: float
) -> None:
    """Any two of the laws differ by no more than ``batch`` states, at four epsilons."""
    for first, second in itertools.permutations(seen, 2):
        for part in (0.0, 0.3, 0.6, 1.0):
            odds = math.nextafter(math.exp(part * epsilon), 0.0)
            assert divergence(first, second, odds) <= batch.delta(part * epsilon) + 1e-15


@keeps(
    "privacy: shuffling: n is the number of honest reports",
    in_="protocol/shuffling.py",
    instead_of="return SLACK * gain / self.n * float",
    plant="return SLACK * gain / self.n / 2.0 * float",
)
@keeps(
    "privacy: shuffling: a is no greater than the variation allows",
    in_="protocol/shuffling.py",
    instead_of="min(self.variation / (self.ratio - 1.0), 1.0 / (self.ratio + 1.0))",
    plant="self.variation / (self.ratio + 1.0) / 2",
)
@pytest.mark.parametrize("name", ["subset", "projective", "grr"])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("others", [0, 1, 2])
def test_enumerated_batches_are_within_the_bound(name: str, epsilon: float, others: int) -> None:
    """Of the real ``privatize``, all reports of all neighbouring data sets of up to 3 holders."""
    mechanism = create_mechanism(name, epsilon, 1, 2)
    batch = Batch(randomizer_of(mechanism), others + 1, 1e-9)
    everybody = range(mechanism.categories)
    for company in itertools.combinations_with_replacement(everybody, others):
        assert_within(batch, [shuffled(mechanism, [one, *company]) for one in everybody], epsilon)


def trinomial(n: int, p: float, m: int) -> NDArray[np.float64]:
    """The exact law of how often n shuffled answers of grr are the holder's category, and another.

    Of m > 2 categories, all others hold a third. Turned over, it is that of the other category.
    """
    chances = np.array([1.0, 1.0, p + m - 3.0]) / (p + m - 1.0)
    i, j = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    others = stats.multinomial.pmf(np.stack([i, j, n - 1 - i - j], axis=-1), n - 1, chances)
    law = np.zeros((n + 1, n + 1))
    law[1:, :-1] += p / (p + m - 1.0) * others
    law[:-1, 1:] += 1.0 / (p + m - 1.0) * others
    law[:-1, :-1] += (m - 2.0) / (p + m - 1.0) * others
    return law


@pytest.mark.parametrize(
    ("epsilon", "reports", "m"), [(0.5, 400, 3), (1.0, 400, 3), (1.0, 400, 10)]
)
def test_the_bound_is_nearly_reached(epsilon: float, reports: int, m: int) -> None:
    """By grr: the exact delta at the stated epsilon is not above the stated one, nor far below."""
    p = math.exp(epsilon)
    randomizer, law = Randomizer(p, (p - 1.0) / (p + m - 1.0)), trinomial(reports, p, m)

    def exact(central: float) -> float:
        return float(np.maximum(law - math.exp(central) * law.T, 0.0).sum())

    for delta in (1e-3, 1e-5, 1e-8):
        stated = central_epsilon(randomizer, reports, delta)
        assert exact(stated) <= delta < exact(stated / 1.07)


def test_published_bounds_are_undercut() -> None:
    """A general bound that is proven is larger; ours is lower by about the square root of two.

    arXiv 2012.12803's code, README of apple/ml-shuffling-amplification: its closed form gives
    0.5378, its numerical bound lies between these two.
    """
    found = central_epsilon(Randomizer(math.exp(4.0)), 100_000, 1e-6)
    assert 0.1675385583317841 / 1.45 < found < 0.172790550755978 / 1.40


def stronger_clones(epsilon: float, reports: int, delta: float) -> float:
    """The numerical bound of arXiv 2208.04591, theorem 3.1: C clones, C binomial.

    Not proven for every mechanism, see the erratum there, but the least that anybody has published.
    """
    p = math.exp(epsilon)
    c = np.arange(1, reports + 1)
    weights = stats.binom.pmf(c - 1, reports - 1, 2.0 / (p + 1.0))
    c, weights = c[weights > 0], weights[weights > 0]
    bias = (p - 1.0) / (p + 1.0)

    def missing(central: float) -> float:
        threshold = c * math.tanh(central / 2.0) / (2.0 * bias)
        a = np.floor(c / 2.0 + threshold) + 1.0
        above = a / 2.0 * stats.binom.pmf(a, c, 0.5) - threshold * stats.binom.sf(a - 1, c, 0.5)
        return float((1.0 + math.exp(central)) * 2.0 * bias * (weights * above / c).sum()) - delta

    low, high = 0.0, epsilon
    for _ in range(40):
        middle = (low + high) / 2.0
        low, high = (low, middle) if missing(middle) <= 0.0 else (middle, high)
    return high


@pytest.mark.parametrize(
    ("epsilon", "reports", "most"),
    [
        (0.5, 1_000, 1.01),
        (1.0, 1_000, 1.02),
        (2.0, 1_000, 1.07),
        (1.0, 10_000, 1.01),
        (2.0, 10_000, 1.01),
        (4.0, 10_000, 1.06),
        (4.0, 100_000, 1.01),
    ],
)
def test_the_best_published_bound_is_hardly_lower(
    epsilon: float, reports: int, most: float
) -> None:
    """In the settings of its figures, and in small batches."""
    best = stronger_clones(epsilon, reports, 1e-6)
    assert best <= central_epsilon(Randomizer(math.exp(epsilon)), reports, 1e-6) < most * best


def test_grr_hides_better_than_the_general_bound() -> None:
    """By more than the root of (p + 1) / (p + m - 1), since its two laws are closer together."""
    mechanism = create_mechanism("grr", 1.0, 50, 2)
    own = central_epsilon(randomizer_of(mechanism), 10**6, 1e-6)
    general = central_epsilon(Randomizer(math.e), 10**6, 1e-6)
    assert own < general * math.sqrt((math.e + 1) / (math.e + 100))


@given(
    st.floats(0.01, 8.0),
    st.floats(0.01, 1.0),
    st.integers(1, 10**9),
    st.floats(1e-12, 0.1),
    st.floats(1.0, 3.0),
)
@settings(max_examples=15, deadline=None)
def test_more_reports_and_less_epsilon_hide_better(
    epsilon: float, variation: float, reports: int, delta: float, factor: float
) -> None:
    """To a thousandth; and shuffling never hurts."""
    own = Randomizer(math.exp(epsilon), variation)
    found = central_epsilon(own, reports, delta)
    assert 0.0 <= found <= epsilon * (1.0 + 1e-12)
    others = (
        central_epsilon(own, int(reports * factor), delta),
        central_epsilon(Randomizer(math.exp(epsilon / factor), variation), reports, delta),
        central_epsilon(Randomizer(math.exp(epsilon), variation / factor), reports, delta),
        central_epsilon(own, reports, min(delta * factor, 0.5)),
    )
    assert max(others) <= found * 1.001 + 1e-9


def test_few_reports_leave_the_local_guarantee() -> None:
    """A single one hides among none, and 10 hide nobody at epsilon 8."""
    for epsilon, reports in ((1.0, 0), (1.0, 1), (8.0, 10), (50.0, 10**9), (1.0, 2)):
        found = central_epsilon(Randomizer(math.exp(epsilon)), reports, 1e-6)
        assert found == pytest.approx(epsilon)


@pytest.mark.parametrize("reports", [10, 10**6, 10**12, 10**15])
def test_tables_stay_small(reports: int) -> None:
    """Whatever the number of reports and however small delta is."""
    batch = Batch(Randomizer(math.e), reports, shuffling.LEAST_DELTA)
    assert batch.excess.size + 3 * batch.Y.mass.size < 2**22
    least = central_epsilon(Randomizer(math.e), 10**9, shuffling.LEAST_DELTA)
    assert 0.0008 < least < 0.0009


@pytest.mark.parametrize("delta", [0.0, 1.0, -1e-6, 1e-101, math.nan])
def test_impossible_deltas_are_refused(delta: float) -> None:
    """With a sentence that names the range."""
    with pytest.raises(ValueError, match="from 1e-100 to below 1"):
        central_epsilon(Randomizer(2.0), 1_000, delta)


ORACLES = [case for case in ENUMERABLE if case.name not in {"laplace", "randomized_response"}]


@pytest.mark.parametrize("case", quick_and(LONG, ORACLES))
def test_variations_are_the_enumerated_ones(case: Case) -> None:
    """Never smaller, and larger by the bias of subset's draws alone."""
    mechanism = case.build()
    laws = [law(mechanism, category) for category in range(mechanism.categories)]
    none = Fraction(0)
    worst = max(
        sum(max(none, chance - other.get(payload, none)) for payload, chance in one.items())
        for one, other in itertools.permutations(laws, 2)
    )
    assert 0 <= float(mechanism.variation - worst) < 1e-12


@pytest.mark.parametrize(("n", "chance"), [(1, 0.3), (7, 0.01), (40, 0.5), (20_000, 2.0**-6)])
def test_probabilities_are_exact(n: int, chance: float) -> None:
    """Against integers."""
    for k in {0, 1, n // 50, n // 2, n - 1, n}:
        exact = math.comb(n, k) * Fraction(chance) ** k * (1 - Fraction(chance)) ** (n - k)
        stated = shuffling.log_pmf(np.array(float(k)), float(n), np.array(chance))
        shift = exact.numerator.bit_length() - exact.denominator.bit_length()
        log = math.log(exact / Fraction(2) ** shift) + shift * math.log(2.0)
        assert float(stated) == pytest.approx(log, rel=1e-13, abs=1e-11)


@pytest.mark.parametrize(("n", "chance"), [(3, 0.4), (1_000, 0.01), (10**5, 0.3), (10**9, 0.001)])
def test_steps_have_all_the_mass_and_little_more(n: int, chance: float) -> None:
    """They cover 0..n without gaps, and no step has less than its probability."""
    steps = shuffling.steps_of(float(n), np.array([[chance]]), 30.0)
    first, last, mass = (part[0] for part in steps)
    assert np.all(mass >= 0.0)
    first, last, mass = first[mass > 0.0], last[mass > 0.0], mass[mass > 0.0]
    assert np.all(first[1:] <= last[:-1] + 1.0)
    law = stats.binom(n, chance)
    exact = np.where(
        last < n * chance, law.cdf(last) - law.cdf(first - 1), law.sf(first - 1) - law.sf(last)
    )
    assert np.all(mass >= exact * (1.0 - 1e-9) - 1e-14)
    assert mass.sum() < 1.002


@keeps(
    "privacy: shuffling: the rest of the binomials counts",
    in_="protocol/shuffling.py",
    instead_of="_tail(start - 1.0, n, chance, down=True),",
    plant="np.zeros_like(start),",
)
@pytest.mark.parametrize("spread", [0.5, 2.0, 30.0])
def test_what_lies_beyond_the_steps_counts_in_full(spread: float) -> None:
    """However soon they end, on either side."""
    steps = shuffling.steps_of(1e3, np.array([[0.3]]), spread)
    assert (steps.first.min(), steps.last.max()) == (0.0, 1e3)
    assert steps.mass.sum() >= 1.0 - 1e-12


@pytest.mark.parametrize("c", [0, 1, 2, 9, 1_000, 10**6])
def test_excesses_are_no_smaller_than_summed_ones(c: int) -> None:
    """E(A - c/2 - t)_+, of which the table has a little more."""
    step, excess = shuffling.excess_of(np.array([[float(c)]]), 40.0)
    a = np.arange(c // 2, c + 1)
    chances = stats.binom.pmf(a, c, 0.5)
    for place in (0, 1, excess.shape[1] // 8, excess.shape[1] // 4):
        exact = float((chances * np.maximum(a - c / 2.0 - place * step[0, 0], 0.0)).sum())
        assert exact * (1.0 - 1e-9) - 1e-12 <= excess[0, place] <= exact * 1.01 + 1e-12


def test_the_table_of_relays_is_what_the_code_gives() -> None:
    """With 16 cells and two classes."""
    page = (Path(__file__).parents[2] / "docs/relay.md").read_text()
    table = page[page.index("| reports together |") :].split("\n\n")[0].splitlines()[2:]
    assert len(table) == 3
    for line in table:
        reports, *stated = line.strip("| ").split(" | ")
        mechanisms = [
            create_mechanism(name, epsilon, 16, 2)
            for epsilon in (0.5, 1.0, 2.0)
            for name in ("subset", "grr")
        ]
        n = int(reports.replace(" ", ""))
        bounds = [central_epsilon(randomizer_of(each), n, 1e-6) for each in mechanisms]
        assert [float(value) for value in stated] == [float(f"{value:.3g}") for value in bounds]


@keeps(
    "privacy: questions add up",
    in_="protocol/task.py",
    instead_of='math.fsum(values) if self.allocation == "all" else max',
    plant="max",
)
@keeps(
    "privacy: shuffling: rounded up",
    in_="protocol/shuffling.py",
    instead_of="math.nextafter(float(value), math.inf) for",
    plant="math.nextafter(float(value), 0.0) for",
)
@keeps(
    "privacy: shuffling: ratios multiply over questions",
    in_="protocol/shuffling.py",
    instead_of="math.prod(ratios, start=one), one - same",
    plant="max(ratios), one - same",
)
@keeps(
    "privacy: shuffling: reports hide among those to the same question",
    in_="protocol/shuffling.py",
    instead_of='if task.allocation == "one":',
    plant="if False:",
)
def test_a_task_states_the_bound_of_what_is_sent_together() -> None:
    """Answers to all questions are one report; of answers to one question each hides its own."""
    asked = [question(epsilon=0.5), question(epsilon=1.0, mechanism="grr")]
    both, one = (make_task(questions=asked, allocation=allocation) for allocation in ("all", "one"))
    (whole,) = randomizers_of(both)
    assert whole.epsilon == pytest.approx(both.log_ratio)
    parts = [central_epsilon(randomizer_of(m), 10_000, 1e-6) for m in one.mechanisms]
    assert epsilon_of_batch(one, 10_000, 1e-6) == max(parts)
    assert max(parts) < epsilon_of_batch(both, 10_000, 1e-6) < sum(parts) * 1.5
    assert epsilon_of_batch(both, 1, 1e-6) == both.log_ratio
    many = make_task(questions=[question(epsilon=64.0)] * 12)
    assert epsilon_of_batch(many, 10**9, 1e-6) == many.log_ratio


@pytest.mark.parametrize("allocation", ["one", "all"])
@pytest.mark.parametrize(("reports", "delta"), [(1, 1e-6), (2, 1e-6), (50, 1e-9), (10_000, 1e-6)])
def test_whether_an_epsilon_is_kept_agrees_with_the_least(
    allocation: str, reports: int, delta: float
) -> None:
    """Never for less than the search finds, and for a ten-thousandth more."""
    task = make_task(questions=[question(), question(epsilon=2.5)], allocation=allocation)
    least = epsilon_of_batch(task, reports, delta)
    assert not keeps_epsilon(task, reports, (1.0 - 1e-4) * least, delta)
    assert keeps_epsilon(task, reports, (1.0 + 1e-4) * least, delta)
    for epsilon in least * np.linspace(1.0 - 2e-5, 1.0 + 2e-5, 9):
        assert epsilon >= least or not keeps_epsilon(task, reports, epsilon, delta)


def test_reports_hide_among_those_of_their_stratum() -> None:
    """All batches of two of one stratum and one of another are within the bound for two."""
    mechanism = StratifiedMechanism.around(create_mechanism("grr", 1.0, 1, 2), (0, 1))
    of_cell = (0, 1, mechanism.misfit_at(0))
    batch = Batch(randomizer_of(mechanism), 2, 1e-9)
    for company in of_cell:
        assert_within(batch, [shuffled(mechanism, [own, company, 2]) for own in of_cell], 1.0)
