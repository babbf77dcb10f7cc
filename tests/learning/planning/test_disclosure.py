"""Plans that compare what is disclosed."""

from typing import Any

import numpy as np
import pytest

from privet.learning.planning import plan
from privet.learning.planning.outcome import Plan

ROWS, HOLDERS = 300, 4000


def public() -> dict[str, Any]:
    rng = np.random.default_rng(4)
    x = rng.random((ROWS, 3))
    y = rng.random(ROWS) < 1.0 / (1.0 + np.exp(-6.0 * (x[:, 0] + x[:, 1] - 1.0)))
    columns: dict[str, Any] = {f"x{i}": x[:, i] for i in range(3)}
    return columns | {"ill": ["yes" if each else "no" for each in y]}


def planned(*disclosed: str, **options: Any) -> Plan:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("privet.learning.planning.planner.DRAWS", 2)  # gains are not looked at
        given: dict[str, Any] = {"epsilon": 1.0, "holders": HOLDERS, "target_shift": 0.2}
        return plan(public(), label="ill", disclosed=list(disclosed), **given, **options)


@pytest.mark.slow
def test_a_plan_compares_none_disclosed_the_chosen_and_all() -> None:
    """In that order, each with its own cells; the plan itself is for the chosen.

    Disclosing all takes less than half, and a quarter and less in tasks planned alike, where nobody
    is asked for the label alone; as many then tell overall figures better.
    """
    found = planned("x0")
    hidden, mine, every = found.disclosing
    assert (hidden.columns, mine.columns, every.columns) == ((), ("x0",), ("x0", "x1", "x2"))
    assert hidden.stratum_count == 1 < mine.stratum_count
    assert every.stratum_count == every.cells
    assert (mine.here, mine.stop_after) == (found.here, found.stop_after)
    assert every.stop_after is not None
    assert hidden.stop_after is not None
    assert 2 * every.stop_after < hidden.stop_after
    hidden, _, every = planned("x0", label_part=0.0).disclosing
    assert every.stop_after is not None
    assert hidden.stop_after is not None
    assert 4 * every.stop_after < hidden.stop_after
    assert every.here.half_width < hidden.here.half_width / 2


@pytest.mark.slow
def test_with_all_disclosed_there_are_two_to_compare() -> None:
    """The chosen columns are all; more people in a group are fewer groups."""
    found = planned("x0", "x1", "x2")
    assert [len(each.columns) for each in found.disclosing] == [0, 3]
    (compared,) = (answer for answer in found.details if "hidden" in answer)
    assert "people with everything hidden; " in compared
    assert "the answer is changed at random" in found.board
    assert "both of one such group" in found.board
    assert found.disclosing[-1].stratum_count <= HOLDERS / 20
    few = planned("x0", "x1", "x2", smallest_group=200)
    assert few.disclosing[-1].stratum_count <= HOLDERS / 200
