"""Several questions about nested levels of one tree, against dense twins and the truth."""

import numpy as np
import pytest

from privet.curator.estimation import fit
from privet.curator.estimation.contrasts import Contrasts
from privet.curator.estimation.counts import QuestionCounts
from privet.curator.estimation.level_contrasts import LevelContrasts
from privet.curator.estimation.levels import Level, combined, embed, nested, reports_of
from privet.curator.trees import boxes, node_sums
from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Classes, Range
from privet.protocol.mechanisms import MECHANISMS
from privet.protocol.partition import Partition
from tests.curator.estimation.examples import BINARY, NUMBER, THREE, complete, public_rows, reports
from tests.curator.estimation.trees import cells_below, random_tree


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_embed_finds_the_nodes_with_the_same_boxes(depth: int) -> None:
    """Each node of the coarse tree is the node of the fine one with its corners."""
    fine, coarse = complete(3), complete(depth)
    node = embed(fine, coarse)
    for found, wanted in zip(boxes(fine), boxes(coarse), strict=True):
        np.testing.assert_array_equal(found[node], wanted)


def test_trees_that_are_not_nested_are_refused() -> None:
    """Another threshold, another column, or more cells than the finest tree: an explanation."""
    fine = complete(2)
    moved = Partition.build(2, [0, -1, -1], [0.4, 0.0, 0.0], [1, -1, -1], [2, -1, -1])
    turned = Partition.build(2, [1, -1, -1], [0.5, 0.0, 0.0], [1, -1, -1], [2, -1, -1])
    for other in (moved, turned, complete(3)):
        with pytest.raises(InvalidRequest, match="not nested"):
            embed(fine, other)


@pytest.mark.parametrize("seed", range(4))
def test_combined_counts_are_those_of_dense_least_squares(seed: int) -> None:
    """Means and covariances equal the generalised least-squares solution in one big matrix."""
    rng = np.random.default_rng(seed)
    tree, slots = random_tree(seed, cells=7), 3
    inner = rng.permutation(np.flatnonzero(~tree.is_leaf))[:3].astype(np.int32)
    told = [_random_level(rng, nodes, slots) for nodes in (tree.leaves, inner, inner[:1])]
    precision, score = np.zeros((7 * slots, 7 * slots)), np.zeros(7 * slots)
    for level in told:
        for i, node in enumerate(level.node):
            design = np.zeros((slots, 7, slots))
            design[:, cells_below(tree, int(node))] = np.eye(slots)[:, None, :]
            weighed = design.reshape(slots, -1).T @ np.linalg.inv(level.covariance[i])
            precision += weighed @ design.reshape(slots, -1)
            score += weighed @ level.shares[i]
    dense = np.linalg.inv(precision)
    mean, covariance = combined(tree, told)
    np.testing.assert_allclose(mean.ravel(), dense @ score, atol=1e-10)
    blocks = dense.reshape(7, slots, 7, slots)
    wanted = np.stack([blocks[cell, :, cell, :] for cell in range(7)])
    np.testing.assert_allclose(covariance, wanted, atol=1e-10)


def test_one_question_has_the_information_of_its_contrasts() -> None:
    """A single level says what ``Contrasts`` says of its cells, and nothing of inner nodes."""
    tree = complete(2)
    question = reports(tree, np.full((4, 3), 100), epsilon=1.0, seed=1)
    q, mass = np.full((4, 3), 1 / 3), np.array([0.1, 0.2, 0.3, 0.4])
    scale = np.random.default_rng(1).random((4, 3)) + 0.5
    levels, plain = (
        LevelContrasts((question,), q, mass, scale),
        Contrasts(question, q, mass, scale),
    )
    told, wanted = levels.information(), plain.information()
    np.testing.assert_allclose(told.J, wanted.J)
    np.testing.assert_allclose(told.H, wanted.H)
    assert told.inner is not None
    assert not told.inner.J.any()
    np.testing.assert_allclose(levels.node_ranges(), plain.node_ranges())
    np.testing.assert_allclose(levels.range_of(scale), plain.range_of(scale))


def test_every_level_shows_the_same_deviation() -> None:
    """With many holders, H / J on each level is the mean deviation over a node's cells.

    The noise of a node's deviation is 1 / sqrt(J); 20 numbers are compared at 5.5 of it, which
    fails by chance once in a million runs.
    """
    fine, coarse = complete(3), complete(1)
    counts = np.random.default_rng(3).integers(10_000, 90_000, size=(8, 2))
    at_top = node_sums(fine, counts)[embed(fine, coarse)[coarse.leaves]]
    asked = reports(fine, counts, 2.0, seed=4), reports(coarse, at_top, 2.0, seed=5)
    q, mass = np.array([[0.7, 0.3]] * 8), counts.sum(axis=1) / counts.sum()
    scale = np.random.default_rng(6).random((8, 2)) + 0.5
    found = LevelContrasts(asked, q, mass, scale).information()
    theta = (counts / counts.sum(axis=1, keepdims=True) - q) / scale
    assert (np.abs((found.H / found.J - theta) * np.sqrt(found.J)) < 5.5).all()
    inner = found.inner
    assert inner is not None
    known = inner.J[:, 0] > 0.0
    assert known.sum() == 2
    J = inner.J[known]
    gap = inner.H[known] / J - inner.node_means(theta)[known]
    assert (np.abs(gap * np.sqrt(J)) < 5.5).all()


@pytest.mark.parametrize("estimator", ["averaged", "drift"])
@pytest.mark.parametrize("label", [BINARY, THREE, NUMBER], ids=["two", "three", "number"])
def test_levels_together_find_what_the_public_data_do_not_show(
    estimator: str, label: Classes | Range
) -> None:
    """All holders say the last class, or the highest number: so does the model, in every cell."""
    asked = _asked_all(label, n=(40_000, 40_000))
    model = fit(estimator, label, public_rows(label, 60, seed=0), asked)
    plain = model.plain()
    best = label.high if isinstance(label, Range) else 1.0
    reach = label.high - label.low if isinstance(label, Range) else 1.0
    assert (plain.values[:, -1] > best - 0.15 * reach).all()
    assert plain.partition.cells == 4
    assert plain.n == 40_000
    assert (plain.influence > 0.0).all()
    assert (plain.influence < 0.05 * reach).all()


@pytest.mark.parametrize("estimator", ["averaged", "drift"])
def test_questions_that_nobody_answered_say_nothing(estimator: str) -> None:
    """Without answers to the finest question the model has the cells of the next."""
    asked = _asked_all(BINARY, n=(0, 5_000))
    public = public_rows(BINARY, 60, seed=0)
    model, alone = fit(estimator, BINARY, public, asked), fit(estimator, BINARY, public, asked[1:])
    np.testing.assert_array_equal(model.values, alone.values)
    assert model.n == 5_000
    nobody = fit(estimator, BINARY, public, _asked_all(BINARY, n=(0, 0)))
    assert nobody.partition.cells == 4
    assert nobody.n == 0


def test_questions_about_cells_alone_are_refused() -> None:
    """The error names an estimator that serves them."""
    cells = reports(complete(1), np.full((2, 1), 50), 1.0, seed=0)
    with pytest.raises(InvalidRequest, match=r"label, and one here .* fit histogram"):
        nested("drift", [cells, _asked_all(BINARY, n=(10, 10))[0]])


def test_reports_add_up_where_each_holder_answers_one_question() -> None:
    """Equal numbers are those of holders who answered all questions."""
    assert reports_of(_asked_all(BINARY, n=(700, 700))) == 700
    assert reports_of(_asked_all(BINARY, n=(700, 656))) == 1356


def _asked_all(label: Classes | Range, n: tuple[int, int]) -> list[QuestionCounts]:
    """Questions about four cells and about two, each answered with the last slot."""
    found = []
    for depth, holders in zip((2, 1), n, strict=True):
        tree = complete(depth)
        counts = np.zeros((tree.cells, label.slots), dtype=np.int64)
        counts[:, -1] = holders // tree.cells
        mechanism = MECHANISMS["subset"].create(
            2.0, *counts.shape, regression=isinstance(label, Range)
        )
        sums = mechanism.simulate(counts, np.random.default_rng(depth))
        found.append(QuestionCounts(tree, mechanism, sums, int(counts.sum())))
    return found


def _random_level(rng: np.random.Generator, nodes: np.ndarray, slots: int) -> Level:
    factors = rng.standard_normal((len(nodes), slots, slots))
    covariance = factors @ factors.transpose(0, 2, 1) + 0.1 * np.eye(slots)
    return Level(nodes, rng.random((len(nodes), slots)), covariance)
