"""OpenDP's own randomized responses beside ours: the same ε and the same law."""

from math import log
from typing import Any

import numpy as np
import pytest

from privet.protocol.mechanisms import GeneralizedResponse, RandomizedResponse
from privet.protocol.mechanisms.exact import WORD
from tests.outside.planted import EPSILON, EXCESS, Forgotten, Overspent
from tests.protocol.mechanisms.laws import law
from tests.stat_checks import ALPHA, check_frequencies

pytestmark = pytest.mark.slow

DRAWS = 40_000


def opendp() -> Any:
    """The library; what is asked of it here it has in its part "contrib"."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    return dp


def index(mechanism: GeneralizedResponse) -> Any:
    """OpenDP's answer with one of m categories, the own one with our probability."""
    categories = list(range(mechanism.categories))
    return opendp().m.make_randomized_response(categories=categories, prob=float(mechanism.p))


def bits(mechanism: RandomizedResponse) -> Any:
    """OpenDP's bits, of which one of U and one of V are 1, flipped with our probability."""
    dp = opendp()
    domain = dp.bitvector_domain(max_weight=2)
    flipped = 2.0 * mechanism.flip_words / WORD
    return dp.m.make_randomized_response_bitvec(domain, dp.discrete_distance(), f=flipped)


def test_indices_spend_the_same() -> None:
    """By OpenDP's own privacy map; a planted excess is seen there too."""
    for mechanism in (GeneralizedResponse(e, 2, 2) for e in (0.1, EPSILON, 5.0)):
        assert index(mechanism).map(1) == pytest.approx(mechanism.log_ratio(), rel=1e-9)
    assert index(Overspent(EPSILON, 2, 2)).map(1) > EPSILON * (EXCESS - 0.01)


def test_bits_spend_the_same() -> None:
    """Four bits differ between two holders, of which the planted bug forgets two."""
    for mechanism in (RandomizedResponse(e, 2, 2) for e in (0.1, EPSILON, 5.0)):
        assert bits(mechanism).map(1) == pytest.approx(mechanism.log_ratio(), rel=1e-9)
    assert bits(Forgotten(EPSILON, 2, 2)).map(1) == pytest.approx(2.0 * EPSILON)


def test_draws_follow_our_law() -> None:
    """Forty thousand of OpenDP's draws, at false-alarm rate ALPHA; the planted excess does not."""
    mechanism = GeneralizedResponse(EPSILON, 2, 2)
    draw = index(mechanism)
    drawn = np.bincount([draw(1) for _ in range(DRAWS)], minlength=mechanism.categories)
    chances = [float(law(mechanism, 1)[bytes([seen])]) for seen in range(mechanism.categories)]
    check_frequencies(drawn, chances, what="OpenDP's draws")
    planted = law(Overspent(EPSILON, 2, 2), 1)
    wrong = [float(planted[bytes([seen])]) for seen in range(mechanism.categories)]
    with pytest.raises(AssertionError, match=f"probability {ALPHA}"):
        check_frequencies(drawn, wrong, what="OpenDP's draws")
    assert log(chances[1] / chances[0]) == pytest.approx(EPSILON)
