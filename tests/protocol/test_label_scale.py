"""Numeric labels reported relative to a centre per cell: what may be published, what is drawn."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.protocol.errors import InvalidTask
from privet.protocol.features import Range
from privet.protocol.label_scale import Centring, LabelScale, label_level
from privet.protocol.partition import Partition, Tree
from privet.protocol.task import Question, Task
from tests.keeping import keeps
from tests.protocol.examples import RANGE, SPLITS, make_task

CENTRING = Centring(centres=(100.0, 500.0, 0.0, 1000.0), radius=200.0)


def question(**changes: Any) -> Question:
    fields = {"partition": 0, "mechanism": "subset", "epsilon": 1.0, "centring": CENTRING}
    return Question(**{**fields, **changes})


def level_law(y: float, levels: int, span: tuple[float, float] | None) -> np.ndarray:
    """The exact probability of each level, from all 64-bit draws at once.

    The level is monotone in the draw, so its threshold is found by bisection.
    """
    low, high = 0, 2**64 - 1

    def level(draw: int) -> int:
        return label_level(RANGE, y, levels, lambda _n: draw.to_bytes(8, "big"), span)

    law = np.zeros(levels)
    if level(low) == level(high):
        law[level(low)] = 1.0
        return law
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if level(middle) == level(0) else (low, middle)
    law[level(0)] = high / 2**64
    law[level(2**64 - 1)] = 1 - high / 2**64
    return law


WHOLE = Centring(centres=(500.0,) * 4, radius=500.0)
"""What a question without a centring amounts to."""


@keeps(
    "privacy: a numeric label is rounded by the task alone",
    in_="protocol/label_scale.py",
    instead_of="draw < int((position - below) * 2.0**64)",
    plant="position - below > 0.5",
)
@keeps(
    "privacy: and clipped",
    in_="protocol/label_scale.py",
    instead_of="min(max((value - low) / width, 0.0), 1.0)",
    plant="((value - low) / width)",
)
@pytest.mark.parametrize("levels", [2, 3, 17, 1001])
@pytest.mark.parametrize(
    ("centring", "cell"), [*((CENTRING, cell) for cell in range(4)), (None, 0)]
)
def test_the_levels_mean_is_the_clipped_label(
    levels: int, centring: Centring | None, cell: int
) -> None:
    """Over all 64-bit draws, the mean decoded level is y clipped to the radius of its centre.

    Exact but for the rounding of 64-bit floats.
    """
    scale = LabelScale.of(RANGE, 4, centring)
    centre, radius = (centring or WHOLE).centres[cell], (centring or WHOLE).radius
    for y in (0.0, 0.1, 99.0, 100.0, 299.9, 300.0, 333.3, 500.0, 701.0, 999.0, 1000.0):
        law = level_law(y, levels, scale.span(cell))
        points = centre + radius * (2 * np.arange(levels) / (levels - 1) - 1)
        assert law.sum() == 1.0
        assert np.count_nonzero(law) <= 2
        assert law @ points == pytest.approx(np.clip(y, centre - radius, centre + radius), abs=1e-9)


@given(st.floats(0.0, 1000.0), st.integers(0, 3), st.booleans())
def test_columns_are_told_as_one_holder_tells(y: float, cell: int, centred: bool) -> None:
    """``to_unit`` is the share that ``label_level`` rounds; ``from_unit`` turns it back."""
    scale = LabelScale.of(RANGE, 4, CENTRING if centred else None)
    (t,) = scale.to_unit(np.array([cell]), np.array([y]))
    law = level_law(y, 2, scale.span(cell))
    assert law[1] == pytest.approx(t, abs=2**-53)
    if not centred:
        assert np.array_equal(law, level_law(y, 2, None))
    back = scale.from_unit(np.full(4, t))[cell]
    low, width = scale.span(cell)
    assert back == pytest.approx(np.clip(y, low, low + width).clip(0, 1000), abs=1e-9)


def test_privacy_and_length_do_not_depend_on_centres() -> None:
    """The mechanism, its exact epsilon and the report's length are those of the plain question."""
    plain, centred, other = (
        make_task(label=RANGE, questions=(question(centring=chosen),))
        for chosen in (None, CENTRING, CENTRING.model_copy(update={"radius": 199.0}))
    )
    assert len({plain.id, centred.id, other.id}) == 3
    assert Task.parse(centred.canonical, centred.id).questions[0].centring == CENTRING
    assert centred.mechanisms == plain.mechanisms
    assert centred.log_ratio == plain.log_ratio
    assert centred.longest_report == plain.longest_report


@pytest.mark.parametrize(
    "changes",
    [
        {"radius": float("inf")},
        {"centres": ()},
        {"centres": (1.0,) * (2**16 + 1)},
    ],
    ids=["infinite", "none", "too many"],
)
def test_only_finite_numbers_are_centres_and_reach(changes: dict[str, Any]) -> None:
    """Whatever the task is, these are refused before anything is computed."""
    fields = make_task(label=RANGE, questions=(question(),)).model_dump()
    fields["questions"][0]["centring"] |= changes
    with pytest.raises(InvalidTask, match=r"questions\.0\.centring"):
        Task.checked(fields)


def test_ranges_at_the_limits_of_floats_are_answered_or_refused() -> None:
    """A radius whose double is no number is refused; the widest that is one gives shares."""
    label = Range(name="income", low=0.0, high=1.7e308)
    tree = (Tree.of(Partition.root(4)),)
    for radius, fault in [(1.6e308, "too wide"), (0.8e308, None)]:
        fields = {
            "label": label,
            "partitions": tree,
            "questions": (question(centring=Centring(centres=(1e308,), radius=radius)),),
        }
        if fault:
            with pytest.raises(InvalidTask, match=fault):
                make_task(**fields)
            continue
        (scale,) = make_task(**fields).label_scales
        assert scale is not None
        t = scale.to_unit(np.zeros(3, dtype=int), np.array([0.0, 1e308, 1.7e308]))
        np.testing.assert_allclose(t, [0.0, 0.5, 0.9375])


def test_questions_share_a_partition_with_different_centres() -> None:
    """Every question has a scale of its own; one that asks the cell alone has none."""
    task = make_task(
        label=RANGE,
        partitions=(Tree.of(SPLITS),),
        questions=(question(), question(centring=None), question(asks="cell", centring=None)),
    )
    centred, plain, none = task.label_scales
    assert centred is not None
    assert plain is not None
    np.testing.assert_allclose(centred.low, [-100, 300, -200, 800])
    assert (centred.width, plain.width, none) == (400.0, 1000.0, None)
    assert (centred.centred, plain.centred) == (True, False)
    np.testing.assert_allclose(plain.low, np.zeros(4))
