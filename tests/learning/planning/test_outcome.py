"""A plan shows itself in a notebook, in numbers and as a drawing."""

from matplotlib import pyplot as plt

from privet.learning.planning import Figure, Plan, Prospect, Verdict

GAINS = {"scarce": 0.001, "<volunteers>": 0.05}
PLAN = Plan(
    score="accuracy",
    public_records=200,
    holders=10_000,
    epsilon=1.0,
    estimator="drift",
    questions=({"mechanism": "subset", "cells": 8},),
    report_bytes=86,
    expected=Figure(0.8, 0.01),
    here=Prospect(10_000, 1.0, 8, 0.02, 0.1, GAINS),
    others=(Prospect(10_000, 0.5, 8, 0.04, 0.2, dict.fromkeys(GAINS, -0.01)),),
    verdict=Verdict.COLLECT,
    reason="Expect 5 < 6.",
)


def test_a_plan_is_a_table_in_a_notebook() -> None:
    """Sorted by epsilon and holders, with names from elsewhere as text."""
    shown = PLAN._repr_html_()
    assert "<p>Expect 5 &lt; 6.</p>" in shown
    assert "<th>&lt;volunteers&gt;</th>" in shown
    rows = [row.split("</tr>")[0] for row in shown.split("<tr>")[2:]]
    assert rows == [
        "<td>10,000</td><td>0.5</td><td>8</td><td>-1.0</td><td>-1.0</td>",
        "<td>10,000</td><td>1</td><td>8</td><td>+0.1</td><td>+5.0</td>",
    ]


def test_a_plan_draws_its_gains() -> None:
    """A point for each shift and variation, in points of accuracy."""
    plt.switch_backend("Agg")
    _, ax = plt.subplots()
    assert PLAN.plot(ax) is ax
    other, here = ax.get_lines()[:2]
    assert list(here.get_xdata()) == [0.1, 5.0]
    assert here.get_label() == "10,000, ε = 1"
    assert (here.get_marker(), other.get_marker()) == ("s", "o")
    assert ax.get_xlabel() == "gain in points of accuracy"
    plt.close("all")
