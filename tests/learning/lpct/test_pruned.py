"""Algorithm 2: its closed forms against brute force, its thresholds against the paper's."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from privet.learning.core.counts import QuestionCounts, public_counts
from privet.learning.core.trees import ancestors
from privet.learning.lpct.pruned import Search, best_weight
from privet.learning.methods import fit
from privet.protocol.errors import InvalidRequest

from ..examples import BINARY, REPORTS_ALONE, complete, public_rows, reports


@pytest.mark.parametrize("seed", range(10))
def test_closed_form_weight_is_the_maximum(seed: int) -> None:
    """λ of A.2 maximises the signal: no weight found numerically does better."""
    rng = np.random.default_rng(seed)
    u, size = rng.uniform(10, 1000, 2)
    lead_p, lead_q = rng.uniform(1, 50, 2) * rng.choice([-1, 1])

    def signal(weight: float) -> float:
        return float((lead_p + weight * lead_q) ** 2 / (u + weight**2 * size))

    found = float(best_weight(*(np.array([v]) for v in (u, lead_p, lead_q, size)))[0])
    numeric = minimize_scalar(lambda w: -signal(np.exp(w)), bounds=(-12, 12), method="bounded")
    assert found == pytest.approx(np.exp(numeric.x), rel=1e-3)
    assert signal(found) == pytest.approx(lead_p**2 / u + lead_q**2 / size)


def two_depths(
    epsilon: float, seed: int, lean: float, mechanism: str = "subset", per_cell: int = 200
) -> list[QuestionCounts]:
    """A deep and a shallow question to holders of whom ``lean`` more have class 1 on one side."""
    rng = np.random.default_rng(seed)
    p = np.where(np.arange(64) < 32, 0.5 - lean, 0.5 + lean)
    ones = rng.binomial(per_cell, p)
    counts = np.stack([per_cell - ones, ones], axis=1)
    coarse = counts.reshape(4, 16, 2).sum(axis=1)
    return [
        reports(complete(6), counts, epsilon / 2, seed, mechanism),
        reports(complete(2), coarse, epsilon / 2, seed + 1, mechanism),
    ]


def test_printed_noise_level_for_laplace() -> None:
    """For Laplace noise the mass under which noise dominates is 2^(p0 - k + 3) n / eps^2.

    The lattice and clamping of the discrete noise change its variance by less than one percent.
    """
    epsilon = 2.0
    deep = two_depths(epsilon, 1, 0.1, "laplace")[0]
    search = Search(deep, np.zeros((64, 2)), as_printed=True)
    for depth in (6, 4, 1):
        floor = search.node(ancestors(deep.partition, depth)).floor
        np.testing.assert_allclose(floor, 2 ** (6 - depth + 3) * deep.n / epsilon**2, rtol=0.01)


def test_printed_statistics_are_those_of_the_paper() -> None:
    """v at a noisy depth equals |eta - 1/2| / r with the paper's r for private and public data."""
    deep, public = two_depths(1.0, 2, 0.1)[0], public_rows(BINARY, 500, seed=2)
    known = public_counts(BINARY, public, deep.partition)
    search = Search(deep, known, as_printed=True)
    node = search.node(ancestors(deep.partition, 3))
    noisy = node.floor >= node.size_p
    assert noisy.all()
    log = np.log(deep.n + 500)
    eta_p = (node.lead_p / node.size_p + 1) / 2
    v_p = np.abs(eta_p - 0.5) / np.sqrt(4 * node.floor * log / node.size_p**2)
    v_q = np.abs(node.lead_q / node.size_q / 2) / np.sqrt(4 * log / node.size_q)
    np.testing.assert_allclose(search.choose(node).signal, np.maximum(v_p, v_q))


def test_calibrated_statistics_have_one_law_without_signal() -> None:
    """Without signal, private and public z-scores both have mean square 1.

    640 independent scores: the mean square strays 0.28 (5 sqrt(2 / 640)) with probability 6e-7.
    """
    z_p, z_q = [], []
    for seed in range(10):
        deep = two_depths(1.0, 10 * seed, 0.0)[0]
        rng = np.random.default_rng(seed)
        ones = rng.binomial(20, 0.5, size=64)
        search = Search(deep, np.stack([20.0 - ones, ones], axis=1), as_printed=False)
        node = search.node(deep.partition.leaves)
        u, _ = search.levels(node, node.floor >= node.size_p)
        z_p.append(node.lead_p**2 / u)
        z_q.append(node.lead_q**2 / node.size_q)
    assert abs(np.mean(z_p) - 1) < 0.28
    assert abs(np.mean(z_q) - 1) < 0.28


@pytest.mark.parametrize(("constants", "per_cell"), [("paper", 200), ("calibrated", 5000)])
def test_dominant_private_data_return_the_fallback(constants: str, per_cell: int) -> None:
    """With strong private and no useful public data the shallow private tree is returned."""
    questions = two_depths(1.0, 4, 0.18, per_cell=per_cell)
    rng = np.random.default_rng(4)
    public = public_rows(BINARY, 20, seed=4)
    public = type(public)(public.X, rng.integers(2, size=20).astype(float))
    model = fit("pruned", BINARY, public, questions, constants=constants)
    assert model.facts["fallback"] is True
    private = fit("weighted", BINARY, public, questions[1:], **REPORTS_ALONE)
    np.testing.assert_array_equal(model.values, private.values)
    assert model.estimator == "pruned"


def test_calibrated_pruning_keeps_public_data_when_reports_say_nothing() -> None:
    """At a tiny budget the labels are nearly all those of public data; as printed they are not.

    This is the printed constants' failure: their private statistic is mostly noise.
    """
    questions = two_depths(0.05, 5, 0.0)
    public = public_rows(BINARY, 400, seed=6)
    X = np.random.default_rng(7).random((2000, 2))
    truth = np.where(X[:, 0] > 0.5, "yes", "no")
    right = []
    for constants in ("calibrated", "paper"):
        model = fit("pruned", BINARY, public, questions[:1], constants=constants)
        right.append(np.mean(model.predict(X).labels(BINARY) == truth))
    assert right[0] > 0.9
    assert right[1] < 0.88


def test_clear_signals_keep_their_cells_apart() -> None:
    """With clear private signal on both sides, each side gets its own class."""
    questions = two_depths(4.0, 8, 0.3)
    model = fit("pruned", BINARY, public_rows(BINARY, 400, seed=9), questions[:1])
    labels = model.values.argmax(axis=1)
    np.testing.assert_array_equal(labels, np.repeat([0, 1], 32))
    assert model.facts["fallback"] == "none, since the task has one question"


def test_only_its_own_questions() -> None:
    """A task that is not LPCT-prune's is refused with what to do."""
    questions = two_depths(1.0, 10, 0.1)
    cells_alone = reports(complete(1), np.full((2, 1), 50), 1.0, seed=0)
    for wrong in (questions + questions, [cells_alone, questions[1]]):
        with pytest.raises(InvalidRequest, match="two questions"):
            fit("pruned", BINARY, public_rows(BINARY, 30, 1), wrong)
