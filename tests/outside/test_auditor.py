"""JAX Privacy's auditor (Google DeepMind) on the real ``privatize``, and on shuffled batches.

It bounds ε from below by Clopper-Pearson, over all thresholds of a score, from two samples. The
scores are learned from another half of the reports, without knowing how a mechanism works.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from math import exp, log
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from privet.protocol.mechanisms import (
    MECHANISMS,
    LabelResponse,
    Laplace,
    Mechanism,
    create_mechanism,
)
from privet.protocol.shuffling import Randomizer, central_epsilon
from tests.outside.planted import EPSILON, EXCESS, PLANTED
from tests.stat_checks import ALPHA

pytestmark = pytest.mark.slow

TRIALS = 60_000
"""Reports of each of two holders, half of them to learn the score from."""
FOUND = 0.85
"""The part of ε that is found with these; all that spend 1 / FOUND times what they state are."""
Scores = NDArray[np.float64]


def lower_bound(samples: Sequence[Scores], delta: float = 0.0) -> float:
    """What the auditor says ε is at least, wrongly with probability ALPHA."""
    from jax_privacy.auditing import CanaryScoreAuditor

    auditor: Any = CanaryScoreAuditor(*samples)
    return float(auditor.epsilon_clopper_pearson(ALPHA, delta))


def feature_of(mechanism: Mechanism) -> Callable[[bytes], Hashable]:
    """The whole report, but of a number on a lattice only on which side of the middle it is."""
    if isinstance(mechanism, Laplace):
        middle = mechanism.lattice.radius - mechanism.resolution / 2
        number = f"<u{mechanism.report_bytes // mechanism.sum_size}"
        return lambda payload: (np.frombuffer(payload, dtype=number) > middle).tobytes()
    if isinstance(mechanism, LabelResponse):
        middle = mechanism.lattice.radius - mechanism.resolution
        return lambda payload: (int.from_bytes(payload[:2], "little") > middle, payload[2:])
    return bytes


def audited(mechanism: Mechanism, misfit: bool = False) -> float:
    """The bound from two holders who differ in cell and label, or of whom one does not fit."""
    randomness, feature = np.random.default_rng(5).bytes, feature_of(mechanism)
    samples = [
        [feature(mechanism.privatize(category, randomness)) for _ in range(TRIALS)]
        for category in (mechanism.levels - 1, mechanism.misfit - (not misfit))
    ]
    half = TRIALS // 2
    score = learned(*(sample[:half] for sample in samples))
    return lower_bound([np.array([score(seen) for seen in part[half:]]) for part in samples])


def learned(first: list[Hashable], second: list[Hashable]) -> Callable[[Hashable], float]:
    """Log ratios of smoothed frequencies, in steps of a tenth, so that few thresholds are tried."""
    ones, others = Counter(first), Counter(second)
    return lambda seen: round(log((ones[seen] + 1) / (others[seen] + 1)), 1)


ALL = [(name, False) for name in MECHANISMS] + [("laplace", True), ("randomized_response", True)]


@pytest.mark.parametrize("misfit", [False, True])
@pytest.mark.parametrize(("name", "regression"), ALL)
def test_no_mechanism_spends_more_than_it_states(
    name: str, *, regression: bool, misfit: bool
) -> None:
    """And for frequency oracles nearly all of it is found."""
    found = audited(create_mechanism(name, EPSILON, 2, 2, regression=regression), misfit)
    least = FOUND if name not in {"laplace", "randomized_response"} else 0.3
    assert least * EPSILON < found <= EPSILON


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: type(planted).__name__)
def test_planted_bugs_are_found(planted: Mechanism) -> None:
    """One of them spends a seventh more than it states."""
    assert EXCESS < 1.0 / FOUND
    assert audited(planted) > EPSILON


BATCHES, REPORTS, LOCAL, DELTA = 20_000, 20, 1.0, 0.01


def batches(mechanism: Mechanism, category: int) -> NDArray[np.int64]:
    """Batches of real reports, of one holder with ``category`` and then of others with the last."""
    holders = [category, *[mechanism.misfit] * (REPORTS - 1)]
    randomness = np.random.default_rng(category).bytes
    sent = [[mechanism.privatize(x, randomness)[0] for x in holders] for _ in range(BATCHES)]
    return np.array(sent)


def test_shuffled_batches_keep_the_central_epsilon() -> None:
    """Seen as counts, as a shuffled batch is; in the order of arrival they do not keep it."""
    mechanism = create_mechanism("grr", LOCAL, 2, 1)
    randomizer = Randomizer.of(mechanism.worst_ratio(), mechanism.variation)
    stated = central_epsilon(randomizer, REPORTS, DELTA)
    first, second = (batches(mechanism, category) for category in (0, 1))

    def score(seen: NDArray[np.int64]) -> Scores:
        zeros, ones = (np.count_nonzero(seen == value, axis=1) for value in (0, 1))
        rest = REPORTS - zeros - ones
        p, q = exp(LOCAL), 1.0 / (exp(LOCAL) + 1.0)
        likelihoods = (p * zeros + ones + q * rest, zeros + p * ones + q * rest)
        return np.asarray(np.log(likelihoods[0] / likelihoods[1]).round(2))

    assert 0.3 * stated < lower_bound([score(first), score(second)], DELTA) <= stated
    arrived = [(seen[:, 0] == 0).astype(np.float64) for seen in (first, second)]
    assert lower_bound(arrived, DELTA) > 1.5 * stated
