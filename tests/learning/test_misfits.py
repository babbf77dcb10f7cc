"""Reports of records that do not fit: counted apart, and left out of all else."""

from typing import Any

import numpy as np
import pytest

from privet.learning.core.counts import QuestionCounts, misfit_share
from privet.learning.figures.compare import insight
from privet.learning.methods import ESTIMATORS, fit
from privet.learning.simulation import simulate, simulate_sums
from privet.protocol.features import Label
from privet.protocol.mechanisms import MECHANISMS, create_mechanism
from tests.protocol.examples import make_task
from tests.stat_checks import ALPHA, clopper_pearson

from .examples import BINARY, NUMBER, PUBLIC_ALONE, complete, public_rows

TREE = complete(2)
COUNTS = np.array([[300, 100], [150, 250], [500, 300], [200, 200]])
MISFITS = 700


def answered(
    name: str = "subset",
    *,
    label: Label = BINARY,
    epsilon: float = 1.0,
    seed: int = 0,
    misfits: int = MISFITS,
) -> QuestionCounts:
    """Reports of ``COUNTS`` and of misfits; numbers lie at their ends."""
    mechanism = create_mechanism(name, epsilon, 4, 2, regression=label is NUMBER)
    counts = np.zeros((4, mechanism.levels), dtype=np.int64)
    counts[:, 0], counts[:, -1] = COUNTS.T
    sums = simulate_sums(mechanism, counts, np.random.default_rng(seed), misfits)
    return QuestionCounts(TREE, mechanism, sums, int(COUNTS.sum()) + misfits)


@pytest.mark.parametrize("label", [BINARY, NUMBER], ids=["classes", "number"])
@pytest.mark.parametrize("name", sorted(set(MECHANISMS) - {"laplace"}))
def test_without_noise_misfits_are_counted_and_nothing_else_moves(name: str, label: Label) -> None:
    """At epsilon 60: their number, and the counts, shares and figures of all others."""
    question = answered(name, label=label, epsilon=60.0)
    alone = answered(name, label=label, epsilon=60.0, misfits=0)
    assert question.misfits.value == pytest.approx(MISFITS, rel=0.01)
    assert question.holders == pytest.approx(COUNTS.sum(), rel=0.01)
    np.testing.assert_allclose(question.counts, COUNTS, atol=10)
    public = public_rows(label, 300, seed=1)
    first, second = (fit("drift", label, public, [counted]) for counted in (question, alone))
    np.testing.assert_allclose(first.values, second.values, atol=0.02 * (first.high.max()))
    with_misfits, without = (insight(label, public, [q], first) for q in (question, alone))
    assert with_misfits.misfits.value == pytest.approx(MISFITS / question.n, rel=0.01)
    assert without.misfits.value < 0.001
    for one, other in zip(with_misfits.overall, without.overall, strict=True):
        assert one.reported == pytest.approx(other.reported, rel=0.02)


@pytest.mark.parametrize(
    ("name", "runs"),
    [
        ("grr", 60),
        *(pytest.param(name, 300, marks=pytest.mark.slow) for name in ("subset", "laplace")),
    ],
)
def test_intervals_cover_with_misfits(name: str, runs: int) -> None:
    """Of so many, 95 % hold the misfits' share and the class's (false alarm: 1e-6 each)."""
    public = public_rows(BINARY, 300, seed=1)
    model = fit("weighted", BINARY, public, [answered(name)], **PUBLIC_ALONE)
    part = MISFITS / (MISFITS + COUNTS.sum())
    share = COUNTS[:, 1].sum() / COUNTS.sum()
    covered = np.zeros(2, dtype=int)
    for seed in range(runs):
        found = insight(BINARY, public, [answered(name, seed=seed)], model)
        yes = found.overall[1]
        covered += [found.misfits.low <= part <= found.misfits.high, yes.low <= share <= yes.high]
    for count in covered.tolist():
        low, high = clopper_pearson(count, runs, ALPHA)
        assert low <= 0.95 <= high, covered


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if "histogram" not in name])
def test_every_fit_says_how_many_did_not_fit(name: str) -> None:
    """A model's facts state the share of records that did not fit, with an interval."""
    question = answered(epsilon=60.0)
    model = fit(name, BINARY, public_rows(BINARY, 300, seed=1), [question])
    assert str(model.facts["records that did not fit"]).startswith("26\u00a0% (")


def test_questions_are_joined_by_precision() -> None:
    """Two questions give one share, nearer to the surer one, with less variance than either."""
    questions = [answered(epsilon=epsilon, seed=3) for epsilon in (0.5, 2.0)]
    joint = misfit_share(questions)
    assert joint is not None
    shares = [question.misfits.value / question.n for question in questions]
    variances = [question.misfits.variance / question.n**2 for question in questions]
    assert min(shares) < joint.value < max(shares)
    assert abs(joint.value - shares[1]) < abs(joint.value - shares[0])
    assert joint.variance < min(variances)
    assert misfit_share([]) is None


@pytest.mark.quick("1", "30")
@pytest.mark.parametrize("n", [1, 2, 30])
def test_few_reports_are_no_fault(n: int) -> None:
    """Noise may say that nobody fits, or more than all: holders stay between 1 and n."""
    mechanism = create_mechanism("subset", 0.1, 4, 2)
    public = public_rows(BINARY, 50, seed=1)
    for seed in range(8):
        counts = np.zeros((4, 2), dtype=np.int64)
        counts[0, 0] = n
        sums = simulate_sums(mechanism, counts, np.random.default_rng(seed))
        question = QuestionCounts(TREE, mechanism, sums, n)
        assert 1 <= question.holders <= n
        model = fit("drift", BINARY, public, [question])
        assert np.isfinite(model.values).all()
        if n == 1:
            assert model.facts["records that did not fit"] == "not known"


@pytest.mark.parametrize("allocation", ["all", "one"])
def test_simulated_populations_report_what_does_not_fit(allocation: Any) -> None:
    """Records that do not fit are counted as misfits, each as often as it has copies."""
    task = make_task(allocation=allocation)
    task = task.model_copy(
        update={"questions": [{**q.model_dump(), "epsilon": 40.0} for q in task.questions * 2]}
    )
    population: dict[str, list[Any]] = {
        "age": [30, "old", 50, None],
        "work": ["farm", "shop", "none", "farm"],
        "answer": ["yes", "no", "maybe", "no"],
    }
    questions = simulate(task, population, copies=np.array([10, 20, 40, 80]))
    assert sum(question.n for question in questions) == (150 if allocation == "one" else 300)
    for question in questions:
        assert question.counts.sum() == pytest.approx(question.n - question.misfits.value)
    counted = sum(question.misfits.value for question in questions)
    assert counted == pytest.approx(140 if allocation == "one" else 280)
