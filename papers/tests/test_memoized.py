"""Memoized answers: the epsilon of one report and of a lifetime, and unbiased shares."""

from itertools import product

import numpy as np
import pytest

from baselines.memoized import Memoized, best_hashes

CASES = [Memoized(5, 2.0, 1.0), Memoized(5, 2.0, 1.0, hashes=2), Memoized(9, 3.0, 1.0, hashes=4)]


def response(kept: float, answers: int) -> np.ndarray:
    return kept * np.eye(answers) + (1.0 - kept) / answers


@pytest.mark.parametrize("case", CASES, ids=str)
def test_one_report_and_the_permanent_answer_have_their_epsilon(case: Memoized) -> None:
    """The law of answers given the value (or its hash), by its matrix."""
    permanent = response(case.kept(case.permanent), case.answers)
    anew = response(case.kept(case.first) / case.kept(case.permanent), case.answers)
    for law, epsilon in ((permanent, case.permanent), (permanent @ anew, case.first)):
        assert np.log((law.max(axis=0) / law.min(axis=0)).max()) == pytest.approx(epsilon)


@pytest.mark.parametrize("waves", [1, 2, 3])
def test_the_epsilon_of_whole_histories_is_that_of_all_of_them(waves: int) -> None:
    """Against every history of two values and every sequence of reports, one by one."""
    case = Memoized(2, 1.5, 0.5)
    kept = case.kept(case.permanent), case.kept(case.first) / case.kept(case.permanent)
    permanent, anew = (response(each, 2) for each in kept)
    every = list(product((0, 1), repeat=waves))
    law = np.zeros((len(every), len(every)))
    for place, history in enumerate(every):
        for of_0, of_1 in product((0, 1), repeat=2):
            chance = permanent[0, of_0] * permanent[1, of_1]
            of_wave = [anew[(of_0, of_1)[value]] for value in history]
            law[place] += [
                chance * np.prod([row[y] for row, y in zip(of_wave, reports, strict=True)])
                for reports in every
            ]
    assert law.sum(axis=1) == pytest.approx(1.0)
    worst = np.log((law.max(axis=0) / law.min(axis=0)).max())
    assert case.whole_history(waves) == pytest.approx(worst)


def test_a_lifetime_is_that_of_all_values() -> None:
    assert Memoized(64, 2.0, 1.0).lifetime(1) == 2.0
    assert Memoized(64, 2.0, 1.0).lifetime(5) == 10.0
    assert Memoized(64, 2.0, 1.0, hashes=2).lifetime(5) == 4.0


@pytest.mark.parametrize("case", CASES, ids=str)
def test_shares_are_unbiased_also_where_records_change(case: Memoized) -> None:
    rng = np.random.default_rng(1)
    records = np.repeat([[0, 1, 1, 2, 4], [0, 0, 1, 3, 4]], 4_000, axis=1)
    truth = np.array([np.bincount(each, minlength=case.values) / 20_000 for each in records])
    found = np.mean([case.shares(records, rng) for _ in range(4)], axis=0)
    assert found == pytest.approx(truth, abs=0.05)


def test_permanent_answers_are_drawn_once() -> None:
    """Of records that never change, changes have only the noise of the second answers."""
    rng, same = np.random.default_rng(2), np.zeros((2, 500), dtype=int)
    plain = Memoized(4, 1.0, 1.0)
    first, second = plain.shares(same, rng)
    assert np.array_equal(first, second)
    assert first[0] != 1.0


def test_the_best_number_of_hashes_is_the_papers() -> None:
    """2 at a small epsilon, as BiLOLOHA, and more at a large one."""
    assert best_hashes(0.5, 0.25) == 2
    assert best_hashes(5.0, 3.0) > best_hashes(4.0, 2.0) > 2
