"""Misfits of one stratum: its prediction stays true, and it is named."""

from dataclasses import replace

import numpy as np
import pytest

from privet.learning.core.amounts import thousands
from privet.learning.core.counts import QuestionCounts, StratumMisfits
from privet.learning.core.public_data import PublicData
from privet.learning.core.trees import locate
from privet.learning.figures.misfits import (
    gathered_misfits,
    small_groups,
    unregistered_reports,
)
from privet.learning.methods import fit
from privet.learning.simulation import simulate_sums
from privet.protocol.features import Categorical, Numeric, columns_of, encode_record
from privet.protocol.mechanisms.stratified import StratifiedMechanism
from privet.protocol.mechanisms.subset import SubsetSelection
from privet.protocol.partition import Partition

from ..examples import BINARY, complete

TREE, HOLDERS, WARD, SHARE, PUBLIC_SHARE = complete(3), 2_500, 3, 0.043, 0.4
COLUMNS = columns_of([Numeric(name=name, low=0.0, high=1.0) for name in ("x", "y")])


def collected(unfit: float, seed: int) -> QuestionCounts:
    """Reports of eight strata of one cell, in one of which a part of the records is unfit."""
    mechanism = StratifiedMechanism.around(SubsetSelection.create(4.0, 1, 2), tuple(range(8)))
    rng, table = np.random.default_rng(seed), []
    for stratum in range(TREE.cells):
        misfits = round(HOLDERS * unfit) if stratum == WARD else 0
        yes = rng.binomial(HOLDERS - misfits, SHARE if stratum == WARD else 0.1)
        counts = np.array([[HOLDERS - misfits - yes, yes]])
        table.append([HOLDERS, *simulate_sums(mechanism.inner, counts, rng, misfits)])
    return QuestionCounts(TREE, mechanism, np.array(table).ravel(), 8 * HOLDERS)


@pytest.mark.parametrize(("unfit", "most"), [(0.4, 0.02), (0.0, 0.02)])
def test_a_strata_prediction_is_not_moved_by_its_misfits(unfit: float, most: float) -> None:
    """The bias over 6 collections was .036 with 40 % unfit, where misfits counted against all."""
    rng = np.random.default_rng(0)
    X = rng.random((600, 2))
    share = np.where(np.arange(8) == WARD, PUBLIC_SHARE, 0.1)[locate(TREE, X)]
    public = PublicData(X, (rng.random(600) < share).astype(float))
    found = [
        fit("drift", BINARY, public, [collected(unfit, seed)]).values[WARD, 1] for seed in range(6)
    ]
    assert abs(np.mean(found) - SHARE) < most


def test_where_they_gather_is_said() -> None:
    """With the splits that lead there; nothing is said where they are even."""
    said = gathered_misfits(collected(0.4, seed=0), COLUMNS)
    assert said.startswith("Records that did not fit gather in “x: 0.25 to under 0.5 · ")
    assert said.count(" in “") == 1
    assert "of all reports they are 5" in said
    assert gathered_misfits(collected(0.0, seed=1), COLUMNS) == ""
    assert gathered_misfits(replace(collected(0.4, seed=0), n=0), COLUMNS) == ""


def test_a_stand_in_is_not_taken_for_a_record_s_own_value() -> None:
    """Wards that are not listed count as the first one, where nobody's record is unfit."""
    wards = Categorical(name="ward", categories=("eye", "heart"))
    of_eye = Partition.build(2, [0, -1, -1], [0.5, 0, 0], [1, -1, -1], [2, -1, -1])
    columns = tuple(columns_of((wards,)))
    at = [
        int(locate(of_eye, encode_record((wards,), BINARY, {"ward": ward, "y": "no"}).x[None])[0])
        for ward in ("nose", "eye", "heart")
    ]
    assert at[0] == at[1] != at[2]
    mechanism = StratifiedMechanism.around(SubsetSelection.create(4.0, 1, 2), (0, 1))
    for unfit_at, own in ((at[0], False), (at[2], True)):
        rng, table = np.random.default_rng(1), []
        for stratum in range(2):
            unfit = 800 if stratum == unfit_at else 0
            sums = simulate_sums(mechanism.inner, np.array([[1000, 1000]]), rng, unfit)
            table.append([2000 + unfit, *sums])
        said = gathered_misfits(
            QuestionCounts(of_eye, mechanism, np.array(table).ravel(), 4800), columns
        )
        gather = f"Records that did not fit gather in “ward: {'heart' if own else 'eye'}” ("
        assert said.startswith(gather)
        assert ("whose “ward” itself did not fit, in place of which a stand-in" in said) != own


def test_groups_from_which_few_report_are_counted() -> None:
    """Exactly, whatever was expected of them."""
    question = collected(0.0, seed=2)
    table = question.sums.reshape(8, -1).copy()
    assert small_groups(table[:, 0], HOLDERS) == ""
    assert small_groups(np.zeros(8, np.int64), HOLDERS + 1) == ""
    expected = (
        f"the {thousands(HOLDERS + 1)} reports expected from each disclosed group came from 8 of 8:"
    )
    assert expected in small_groups(table[:, 0], HOLDERS + 1)
    table[2:4, 0] = 19, 20
    assert " came from 1 of 8: " in small_groups(table[:, 0], 20)


def test_few_reports_seldom_seem_to_gather() -> None:
    """Of 100 collections from eight strata of five holders, whose records all fit, at most 17.

    The chance is .05 or less, so more have a probability below 1e-5; by a normal law it was .35.
    """
    mechanism = StratifiedMechanism.around(SubsetSelection.create(4.0, 1, 2), tuple(range(8)))
    rng, alarms = np.random.default_rng(0), 0
    for _ in range(100):
        table = [[5, *simulate_sums(mechanism.inner, np.array([[3, 2]]), rng)] for _ in range(8)]
        question = QuestionCounts(TREE, mechanism, np.array(table).ravel(), 40)
        alarms += gathered_misfits(question, COLUMNS) != ""
    assert alarms <= 17


def test_reports_beyond_the_register_are_counted() -> None:
    """Exactly, stratum by stratum; hidden columns of a register are unknown and do not matter."""
    question, middles = collected(0.0, seed=2), np.random.default_rng(3).random((40_000, 2))
    at = locate(TREE, middles)
    whole = np.vstack([middles[at == cell][:HOLDERS] for cell in range(8)])
    sizes = question.mechanism.reported(question.sums, question.n)
    assert unregistered_reports(question, sizes, whole, COLUMNS) == ""
    assert unregistered_reports(question, sizes, None, COLUMNS) == ""
    assert unregistered_reports(question, 0 * sizes, whole, COLUMNS) == ""
    said = unregistered_reports(question, sizes, whole[7 : -HOLDERS - 3], COLUMNS)
    assert said.startswith(
        f"{thousands(7 + 3 + HOLDERS)} reports are more than the register has people"
    )
    assert "most in “x: 0.75 or more · " in said


def test_shares_that_vary_no_more_than_noise_are_that_of_all() -> None:
    """And one that is known is kept nearly as it is."""
    even = StratumMisfits.of(np.array([0.01, 0.03, 0.02]), np.full(3, 0.01**2), 0.02)
    assert even.shrunk.tolist() == [0.02] * 3
    apart = StratumMisfits.of(np.array([0.01, 0.4, 0.0]), np.full(3, 0.01**2), 0.13)
    assert apart.shrunk == pytest.approx([0.01, 0.4, 0.0], abs=0.01)
