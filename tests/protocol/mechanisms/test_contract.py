"""What every mechanism promises, proved report by report where there are few enough."""

import contextlib
import itertools
import os
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from privet.protocol import limits
from privet.protocol.errors import InvalidTask
from privet.protocol.mechanisms import (
    MECHANISMS,
    LabelResponse,
    Mechanism,
    RandomizedResponse,
    create_mechanism,
)
from privet.protocol.mechanisms.exact import WORD, exp_below, log_of
from tests.keeping import keeps
from tests.protocol.examples import counted
from tests.protocol.mechanisms.cases import ENUMERABLE, EXTREME, LONG, USUAL, Case, quick_and
from tests.protocol.mechanisms.laws import (
    Law,
    as_array,
    contributions,
    law,
    len_of,
    pieces,
    replay,
    word,
)

RELATIVE = 1e-9
"""The closed forms are evaluated in floating point; this is far above its rounding errors."""

ROUNDING = 1e-14
"""Per holder: where a mechanism hardly errs, its variance is below what squares are rounded to."""

enumerable = pytest.mark.parametrize("case", quick_and(LONG, ENUMERABLE))
usual = pytest.mark.parametrize("case", USUAL, ids=str)
extreme = pytest.mark.parametrize("case", EXTREME, ids=str)


@cache
def laws(case: Case) -> tuple[Law, ...]:
    """The law of each category, the misfit last."""
    mechanism = case.build()
    return tuple(law(mechanism, category) for category in range(mechanism.categories))


@cache
def added(case: Case) -> NDArray[np.float64]:
    """What each payload that can be sent adds to the estimates."""
    return contributions(case.build(), sorted(set().union(*laws(case))))


@cache
def moments(case: Case) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Exact mean and covariance of what one report of each category adds to the estimates."""
    payloads = sorted(set().union(*laws(case)))
    probabilities = np.array([[float(law.get(p, 0)) for p in payloads] for law in laws(case)])
    means = probabilities @ added(case)
    centred = added(case) - means[:, np.newaxis]
    return means, np.einsum("cp,cpi,cpj->cij", probabilities, centred, centred, optimize=True)


def level_values(mechanism: Mechanism) -> NDArray[np.float64]:
    """What a category counts as in the estimates, shape ``(categories, cells * slots + 1)``."""
    if mechanism.levels == mechanism.slots:
        return np.eye(mechanism.categories)
    t = np.arange(mechanism.levels) / (mechanism.levels - 1)
    values = np.zeros((mechanism.categories, mechanism.cells * mechanism.slots + 1))
    values[:-1, :-1] = np.kron(np.eye(mechanism.cells), np.column_stack([1 - t, t]))
    values[-1, -1] = 1
    return values


def holders(mechanism: Mechanism) -> NDArray[np.int64]:
    """A population with 1, 2, 3, ... holders of each category."""
    return np.arange(1, mechanism.categories + 1)


@keeps(
    "privacy: words are rounded up",
    in_="protocol/mechanisms/exact.py",
    instead_of="-(-WORD * probability.numerator // probability.denominator)",
    plant="WORD * probability.numerator // probability.denominator",
)
@keeps(
    "privacy: grr: Q is rounded up",
    in_="protocol/mechanisms/grr.py",
    instead_of="self.epsilon)) + self.categories - 1))",
    plant="self.epsilon)) + self.categories)) - 1",
)
@keeps(
    "privacy: the same number of bytes for every category",
    in_="protocol/mechanisms/base.py",
    instead_of="draw(randomness, self.random_bytes)",
    plant="(category or randomness(8)) and draw(randomness, self.random_bytes)",
)
@enumerable
def test_probabilities_are_whole(case: Case) -> None:
    """The pieces of randomness cover everything once: the probabilities add up to exactly 1."""
    assert all(sum(payloads.values()) == 1 for payloads in laws(case))


@keeps(
    "privacy: projective: A and B use up all words",
    in_="protocol/mechanisms/projective.py",
    instead_of="smallest + (WORD * pow(N, -1, c) - smallest) % c",
    plant="smallest",
)
@keeps(
    "privacy: the only randomness is the given one",
    in_="protocol/mechanisms/base.py",
    instead_of="draw(randomness, self.random_bytes)",
    plant='__import__("os").urandom(self.random_bytes)',
)
@enumerable
def test_report_is_constant_on_pieces(case: Case) -> None:
    """A word may move to the other end of its piece without changing the report."""
    mechanism = case.build()
    parts = pieces(mechanism)
    low = [piece[0][0] for piece in parts]
    high = [piece[-1][-1] for piece in parts]
    for others, (place, options) in itertools.product((low, high), enumerate(parts)):
        assert sum(map(len_of, options)) == WORD
        for category, piece in itertools.product(range(mechanism.categories), options):
            ends = [[*others[:place], end, *others[place + 1 :]] for end in (piece[0], piece[-1])]
            first, last = (mechanism.privatize(category, replay(map(word, e))) for e in ends)
            assert first == last


@keeps(
    "privacy: probabilities are rounded towards privacy: exp below",
    in_="protocol/mechanisms/exact.py",
    instead_of="exp_bounds(x)[0]",
    plant="exp_bounds(x)[1] * Fraction(2**50 + 1, 2**50)",
)
@keeps(
    "privacy: words are rounded down",
    in_="protocol/mechanisms/exact.py",
    instead_of="return WORD * probability.numerator // probability.denominator",
    plant="return WORD * probability.numerator // probability.denominator + 1",
)
@keeps(
    "privacy: subset: the own category is in the set with P",
    in_="protocol/mechanisms/subset.py",
    instead_of="exp_below(Fraction(self.epsilon)) / self._bias",
    plant="exp_below(Fraction(self.epsilon)) * 2",
)
@keeps(
    "privacy: subset: the bias of the draws is paid for",
    in_="protocol/mechanisms/subset.py",
    instead_of="exp_below(Fraction(self.epsilon)) / self._bias",
    plant="exp_below(Fraction(self.epsilon))",
)
@keeps(
    "privacy: laplace: epsilon is split over the coordinates that differ",
    in_="protocol/mechanisms/vector_pair.py",
    instead_of="return 2 + in_V",
    plant="return 1 + in_V",
)
@keeps(
    "privacy: laplace: with one cell and no label two differ",
    in_="protocol/mechanisms/vector_pair.py",
    instead_of="in_V = min(2, cells) if slots > 1 else 0",
    plant="in_V = 0 if cells == 1 else 2",
)
@keeps(
    "privacy: laplace: inward factors",
    in_="protocol/mechanisms/discrete_laplace.py",
    instead_of="weight = odds * weights[-1] // _ONE",
    plant="weight = odds * weights[-1] // _ONE + 1",
)
@keeps(
    "privacy: laplace: outputs are clamped alike",
    in_="protocol/mechanisms/discrete_laplace.py",
    instead_of="np.clip(noisy, self.low, self.radius, out=noisy)",
    plant="noisy",
)
@keeps(
    "privacy: laplace: the tail may cost no more",
    in_="protocol/mechanisms/discrete_laplace.py",
    instead_of="atom, (odds - _ONE) * atom // _ONE",
    plant="atom, odds * atom // _ONE",
)
@keeps(
    "privacy: randomized response: a bit is flipped as often as stated",
    in_="protocol/mechanisms/exact.py",
    instead_of="ceil_word(1 / (1 + exp_below(epsilon)))",
    plant="ceil_word(1 / (2 + exp_below(epsilon)))",
)
@keeps(
    "privacy: a misfit's labels are dropped",
    in_="protocol/mechanisms/vector_pair.py",
    instead_of="U, V[:-1, 1:]",
    plant="U, V[:-1, 1:] | (cell == self.cells)",
)
@enumerable
def test_privacy_by_enumeration(case: Case) -> None:
    """No report is more than e^ε times as likely under one category as under another; in fractions.

    The misfit is one of the categories.

    ``worst_ratio`` is exactly the greatest ratio there is; for subset selection, whose draws
    without replacement are not quite uniform, it exceeds it by less than 2^-50.
    """
    mechanism = case.build()
    payloads = laws(case)[0].keys()
    assert all(law.keys() == payloads for law in laws(case)), "a report that gives one away"
    worst = max(
        max(likely) / min(likely)
        for likely in ([law[payload] for law in laws(case)] for payload in payloads)
    )
    stated = mechanism.worst_ratio()
    assert worst <= stated <= exp_below(Fraction(case.epsilon))
    slack = Fraction(1, 2**50) if case.name == "subset" else 0
    assert stated <= worst * (1 + slack)
    assert mechanism.log_ratio() == log_of(stated) <= case.epsilon


@enumerable
def test_unbiased_by_enumeration(case: Case) -> None:
    """A report adds 1 to its own count, or to the misfits, on average and 0 to all others.

    Labels on a lattice count as t and 1 - t; between the ends, where the clamp is not symmetric,
    within 1e-9.
    """
    means, _ = moments(case)
    mechanism = case.build()
    scale = np.abs(added(case)).max()
    np.testing.assert_allclose(means, level_values(mechanism), rtol=0, atol=RELATIVE * scale)


@enumerable
def test_variance_by_enumeration(case: Case) -> None:
    """``variance``, ``slot_covariance``, ``linear_variance``, ``misfit_variance`` are exact.

    Except that label response takes labels to be at their ends, and is above otherwise.
    """
    mechanism, number = case.build(), holders(case.build())
    _, covariances = moments(case)
    exact = np.tensordot(number, covariances, axes=1)
    totals = number @ level_values(mechanism)
    n, counts = int(number.sum()), totals[:-1].reshape(mechanism.cells, mechanism.slots)
    of_misfits = mechanism.misfit_variance(n, totals[-1])
    assert of_misfits == pytest.approx(exact[-1, -1], rel=RELATIVE, abs=ROUNDING * n)
    exact = exact[:-1, :-1]
    blocks = exact.reshape(mechanism.cells, mechanism.slots, mechanism.cells, mechanism.slots)
    within = np.einsum("cicj->cij", blocks)
    stated = mechanism.slot_covariance(n, counts)
    variance = np.einsum("cii->ci", stated)
    np.testing.assert_allclose(mechanism.variance(n, counts), variance, rtol=RELATIVE)
    weights = np.random.default_rng(7).normal(size=counts.shape)
    linear = weights.ravel() @ exact @ weights.ravel()
    if case.name == "randomized_response" and mechanism.levels > 2:
        assert np.all(variance >= np.einsum("cii->ci", within) * (1 - RELATIVE))
        assert mechanism.linear_variance(weights, n, counts) >= linear * (1 - RELATIVE)
        return
    tolerance = RELATIVE * np.abs(exact).max()
    np.testing.assert_allclose(stated, within, rtol=RELATIVE, atol=tolerance)
    assert mechanism.linear_variance(weights, n, counts) == pytest.approx(
        linear, rel=RELATIVE, abs=max(tolerance, ROUNDING * n)
    )


@enumerable
def test_influence_by_enumeration(case: Case) -> None:
    """``influence`` is the least and the greatest over all reports that can be sent."""
    mechanism = case.build()
    counts = added(case)[:, :-1]
    for weights in np.random.default_rng(8).normal(size=(3, *counts.shape[1:])):
        values = counts @ weights
        expected = pytest.approx((values.min(), values.max()), rel=RELATIVE, abs=RELATIVE)
        assert mechanism.influence(weights.reshape(mechanism.cells, -1)) == expected


@enumerable
def test_valid_is_what_holders_can_send(case: Case) -> None:
    """Of all payloads of up to two bytes, those and only those pass that some holder can send."""
    mechanism = case.build()
    possible = set().union(*laws(case))
    assert mechanism.valid(as_array(mechanism, list(possible))).all()
    if mechanism.report_bytes > 2:
        return
    every = [i.to_bytes(mechanism.report_bytes, "big") for i in range(256**mechanism.report_bytes)]
    valid = mechanism.valid(as_array(mechanism, every))
    assert {payload for payload, ok in zip(every, valid, strict=True) if ok} == possible
    assert all((mechanism.fault(p) is None) == (p in possible) for p in every[:: len(every) // 256])


@pytest.mark.parametrize(
    "case", [*USUAL, *(Case(name, 0.02, 3, 2, regression=True) for name in MECHANISMS)], ids=str
)
def test_sums_add_up(case: Case) -> None:
    """The sums of a batch do not depend on how it is cut, and an empty batch adds nothing."""
    mechanism = case.build()
    rng = np.random.default_rng(3)
    categories = rng.integers(mechanism.categories, size=600)
    rows = as_array(mechanism, [mechanism.privatize(int(c), rng.bytes) for c in categories])
    whole = mechanism.accumulate(rows)
    assert whole.dtype == np.int64
    assert whole.shape == (mechanism.sum_size,)
    of_each = [mechanism.accumulate(row[np.newaxis]) for row in rows]
    np.testing.assert_array_equal(sum(of_each), whole)
    np.testing.assert_array_equal(mechanism.sums_of_each(rows), of_each)
    assert len(mechanism.sums_of_each(rows[:0])) == 0
    np.testing.assert_array_equal(mechanism.estimate(mechanism.accumulate(rows[:0]), 0), 0)
    parts = np.array_split(rows, [0, 1, 256, 511])
    np.testing.assert_array_equal(sum(mechanism.accumulate(part) for part in parts), whole)


@usual
def test_randomness_does_not_depend_on_the_category(case: Case) -> None:
    """Every category draws the same number of bytes in the same calls, and sends as many."""
    mechanism = case.build()
    for category in range(mechanism.categories):
        for _ in range(5):
            asked, randomness = counted(os.urandom)
            assert len(mechanism.privatize(category, randomness)) == mechanism.report_bytes
            assert asked == [mechanism.random_bytes]


@usual
def test_randomness_is_only_the_given_one(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """numpy.random, random and the clock play no part: the bytes decide the report."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("drew from a generator that the holder does not control")

    for module in ("numpy.random", "random"):
        for name in ("default_rng", "Generator", "random", "randint", "Random", "seed", "rand"):
            monkeypatch.setattr(f"{module}.{name}", refuse, raising=False)
    mechanism = case.build()
    words = [word(n % WORD) for n in range(0, 10**22, 10**22 // 2000)]
    for category in range(mechanism.categories):
        one, other = (mechanism.privatize(category, replay(words)) for _ in range(2))
        assert one == other


@keeps(
    "privacy: a source that ran dry is noticed",
    in_="protocol/mechanisms/exact.py",
    instead_of="if len(drawn) != size:",
    plant="if False:",
)
@usual
def test_odd_categories_and_short_randomness_are_refused(case: Case) -> None:
    """A category outside the question, and a source that runs dry: no weaker report."""
    mechanism = case.build()
    for category in (-1, mechanism.categories):
        with pytest.raises(ValueError, match="category"):
            mechanism.privatize(category, os.urandom)
    with pytest.raises(ValueError, match="randomness source gave"):
        mechanism.privatize(0, lambda size: bytes(size - 1))


@extreme
def test_extremes_keep_the_promise(case: Case) -> None:
    """At the ends of ε, and with two or many categories, the ratio is at most e^ε, in fractions."""
    mechanism = case.build()
    assert 1 < mechanism.worst_ratio() <= exp_below(Fraction(case.epsilon))
    assert 0 < mechanism.log_ratio() <= case.epsilon
    payloads = [mechanism.privatize(c, os.urandom) for c in (0, mechanism.categories - 1)]
    rows = as_array(mechanism, payloads)
    assert mechanism.valid(rows).all()
    assert np.isfinite(mechanism.estimate(mechanism.accumulate(rows), 2)).all()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((0.0, 2, 2), "epsilon"),
        ((float("nan"), 2, 2), "epsilon"),
        ((1e-9, 2, 2), "epsilon"),
        ((1e9, 2, 2), "epsilon"),
        (("1", 2, 2), "epsilon"),
        ((1.0, 0, 2), "cells"),
        ((1.0, 2, 0), "slots"),
        ((1.0, 2.5, 2), "cells"),
        ((1.0, 1, 1), "nothing to ask"),
        ((1.0, 2**19, 4), "categories"),
    ],
)
def test_impossible_questions(arguments: tuple[float, int, int], says: str) -> None:
    """A question that cannot be asked is an InvalidTask that names what is wrong."""
    for name in MECHANISMS:
        with pytest.raises(InvalidTask, match=says):
            create_mechanism(name, *arguments)


@pytest.mark.parametrize("name", MECHANISMS)
def test_impossible_parameters(name: str) -> None:
    """An unknown parameter is InvalidTask, and so is a number on levels that it does not take."""
    known = MECHANISMS[name].parameter_names
    says = f"takes {', '.join(known)}" if known else "takes no parameters"
    # names of create's own arguments are no parameters either
    for unknown in ("flavour", "epsilon", "cells", "regression", "cls"):
        with pytest.raises(InvalidTask, match=f"{says}; leave out {unknown}"):
            create_mechanism(name, 1.0, 2, 2, {unknown: 1})
    most = 2 if name in {"laplace", "randomized_response"} else limits.MAX_LEVELS
    create_mechanism(name, 1.0, 2, most, regression=True)
    for levels in (1, most + 1):
        with pytest.raises(InvalidTask, match=f"levels, not {levels}"):
            create_mechanism(name, 1.0, 2, levels, regression=True)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("subset", {"k": 0}),
        ("subset", {"k": 5}),
        ("subset", {"k": "2"}),
        ("laplace", {"resolution": 0}),
        ("laplace", {"resolution": 10**6}),
        ("projective", {"order": 3}),
        ("projective", {"order": 4, "dimension": 3}),
        ("projective", {"order": 2, "dimension": 2}),
        ("projective", {"order": 8191, "dimension": 3}),
    ],
)
def test_impossible_values(name: str, parameters: dict[str, Any]) -> None:
    """A parameter outside its range is an InvalidTask."""
    with pytest.raises(InvalidTask):
        create_mechanism(name, 1.0, 2, 2, parameters)


@pytest.mark.parametrize("regression", [False, True])
@pytest.mark.parametrize("name", MECHANISMS)
def test_any_value_builds_or_is_refused(name: str, regression: bool) -> None:
    """Whatever a task says of a parameter, a mechanism within ε is built, or InvalidTask raised."""
    usual = create_mechanism(name, 1.0, 4, 2, regression=regression).parameters()
    values = (0, -1, 2**62, 1.5, 1e300, "", "x", True)
    for parameter, value in itertools.product(usual, values):
        with contextlib.suppress(InvalidTask):
            built = create_mechanism(
                name, 1.0, 4, 2, {**usual, parameter: value}, regression=regression
            )
            assert built.log_ratio() <= 1.0


def test_unknown_mechanisms_are_refused() -> None:
    """An unknown name is an InvalidTask that lists the known ones."""
    with pytest.raises(InvalidTask, match=f"'magic'.*knows {', '.join(sorted(MECHANISMS))}"):
        create_mechanism("magic", 1.0, 2, 2)


def test_equal_questions_share_one_mechanism() -> None:
    """What it is slow to find is found once; what is refused stays so."""
    made = create_mechanism("subset", 1, 4, 2, {"k": 1})
    assert create_mechanism("subset", 1.0, 4, 2, {"k": 1}) is made
    assert create_mechanism("subset", 1.0, 4, 2, {"k": 2}) is not made
    for odd in (True, 1.0, [1]):
        with pytest.raises(InvalidTask):
            create_mechanism("subset", 1.0, 4, 2, {"k": odd})


def test_randomized_response_has_two_forms() -> None:
    """Each class serves one kind of label, and create_mechanism picks the right one."""
    for form, other in ((RandomizedResponse, LabelResponse), (LabelResponse, RandomizedResponse)):
        regression = form is LabelResponse
        built = create_mechanism("randomized_response", 1.0, 4, 2, regression=regression)
        assert type(built) is form
        with pytest.raises(InvalidTask, match=f"{form.__name__}; use create_mechanism"):
            other.create(1.0, 4, 2, regression=regression)


@pytest.mark.parametrize("name", ["laplace", "randomized_response"])
@pytest.mark.parametrize("regression", [False, True])
def test_one_cell_spends_the_whole_budget(name: str, *, regression: bool) -> None:
    """With one cell fewer coordinates differ, and each has more of epsilon."""
    mechanism = create_mechanism(name, 1.0, 1, 2, regression=regression)
    assert 0.99 < mechanism.log_ratio() <= 1.0
