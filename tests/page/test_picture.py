"""The picture of what anybody could learn is exact: 100 people who send one message, enumerated."""

import math
from fractions import Fraction

import pytest

from tests.holder_js.node import evaluated
from tests.protocol.test_whole_answer import TASKS, fitting, law, misfits

pytestmark = pytest.mark.needs("node")


def shown(epsilon: float) -> dict[str, float]:
    """What the page says of a report that spends ``epsilon``."""
    said: dict[str, float] = evaluated(
        'import { ofHundred, odds } from "./explanation.js";'
        f"const e = {epsilon!r};"
        "console.log(JSON.stringify({ many: ofHundred(e), odds: odds(e) }));"
    )
    return said


@pytest.mark.parametrize("name", TASKS)
def test_the_picture_is_what_the_mechanism_does(name: str) -> None:
    """For every message and any two records, misfits included: so many of 100 senders at most.

    Of people with either record, equally common, a message's senders have the first with
    probability p / (p + q). The picture shows the largest such share, rounded up to one person.
    """
    asked = TASKS[name]
    laws = [law(asked, record) for record in fitting(asked) + misfits(asked)]
    messages = set().union(*laws)
    worst = Fraction(0)
    for message in messages:
        chances = [each.get(message, Fraction(0)) for each in laws]
        assert min(chances) > 0
        worst = max(worst, max(chances) / (max(chances) + min(chances)))
    said = shown(asked.epsilon)
    assert math.ceil(100 * worst) == said["many"]
    assert worst / (1 - worst) <= Fraction(said["odds"])


@pytest.mark.parametrize("epsilon", [0.001, 0.1, 0.5, 1.0, 1.5, 2.0])
def test_the_numbers_are_rounded_against_the_reader(epsilon: float) -> None:
    """Never fewer people or odds than there can be, and less than one unit more."""
    said = shown(epsilon)
    exact = 1 / (1 + math.exp(-epsilon))
    assert 0 <= said["many"] - 100 * exact < 1
    assert 1 <= said["odds"] / math.exp(epsilon) < 1.01
