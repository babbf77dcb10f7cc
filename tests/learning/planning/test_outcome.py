"""A plan answers in sentences, in a notebook's tables, and as a drawing."""

from dataclasses import replace

import pytest

from privet.learning.core.amounts import of_hundred
from privet.learning.planning import Mean, Needed, Plan, Prospect, planner
from privet.learning.planning.outcome import RareClass, Showing, WithPart
from privet.learning.task_building.review import review
from privet.learning.task_building.settings import TaskSettings
from privet.learning.task_building.table import read_table

HERE = Prospect(10_000, 1.0, 8, 0.015, 0.04, 0.1, 0.9)
PLAN = Plan(
    score="accuracy",
    label="ill",
    public_records=1_200,
    holders=10_000,
    epsilon=1.0,
    looks="many",
    estimator="drift",
    questions=({"mechanism": "subset", "cells": 8},),
    report_bytes=86,
    expected=Mean(0.8, 0.01),
    here=HERE,
    others=(Prospect(1_000, 1.0, 8, 0.05, None, None, 0.3), HERE),
    target_shift=0.05,
    power=0.8,
    for_shift=Needed(7_400, 0.8, cells=8),
    half_width=0.02,
    for_width=Needed(6_000, 0.7, cells=8),
    stop_after=5_500,
    gains={"They are <others>.": Mean(0.051, 0.004)},
)


def test_a_plan_answers_what_was_asked() -> None:
    """True if the collection is enough, what would be, and when to stop."""
    assert PLAN.enough
    assert PLAN.answers == [
        "10 000 holders at ε = 1 give every overall figure to ± 1.5 points, however often "
        "you look.",
        "To show that holders and public records differ by 5.0 points overall, 10 000 holders at "
        "ε = 1 are enough: 90\u00a0% of such collections show it. For 80\u00a0% of them to show it "
        "takes 7 400 holders at ε = 1, or ε = 0.8 with 10 000 holders.",
        "For ± 2.0 points this task takes about 5 500 reports.",
        "In half of the cells a difference of 10.0 points or more is shown by 80\u00a0% of such "
        "collections.",
        "If the public data are fair, expect accuracy 0.8 ± 0.01 from them only, and no more from "
        "the reports.",
        "Planned anew for ± 2.0 points, it takes 6 000 holders at ε = 1, or ε = 0.7 with 10 000 "
        "holders.",
        "Stop at ± 2.0 points, expected after about 5 500 reports of this task, or as soon as the "
        "difference that matters is listed: looking early or often does no harm.",
    ]


def test_a_plan_of_a_rare_class_has_scores_that_depend_on_it() -> None:
    """Accuracy is .98 for who predicts that nobody has it."""
    gains = {"There are few records.": Mean(0.012, 0.001), "They are others.": Mean(-0.0004, 0.002)}
    rare = RareClass("yes", 0.02, Mean(0.081, 0.006), 0.098, Mean(0.712, 0.03), gains)
    assert replace(PLAN, rare=rare).answers[5] == (
        "“ill” is “yes” for 0.02 of the public records, so accuracy says little. Expect a log loss "
        "of 0.081 ± 0.006, where the same shares for everybody have 0.098, and an AUC of 0.71 ± "
        "0.03 for “yes” against the rest. Reports lower the log loss by +0.012 ± 0.001 if there "
        "are few records; −0.0004 ± 0.002 if they are others."
    )


def test_a_plan_of_too_few_says_so_and_no_number_beyond_all_that_is_possible() -> None:
    """Before, "± 601.4 points", gains of zero, and a number of reports to nine digits."""
    few = Prospect(100, 0.1, 2, 6.0144, None, None, 0.0001)
    plan = replace(PLAN, holders=100, epsilon=0.1, here=few, others=(few, HERE))
    plan = replace(plan, stop_after=19_927_714, telling_after=127_536)
    said = " ".join([plan.verdict, *plan.answers, plan.board])
    assert plan.verdict == "Too few people to tell anything"
    assert "601" not in said
    assert "less than 1\u00a0% of such collections show it" in said
    assert "with a probability of less than 1\u00a0%" in said
    assert (
        "100 holders at ε = 0.1 are too few to tell any overall figure: about 130 000 reports of "
        "this task would give them to ± 25.0 points."
    ) in said
    assert "± 2.0 points is out of reach of this task, which would take about 20 000 000" in said
    assert plan.row(few) == ("less than 1\u00a0%", "too few to tell", "none", "none")
    assert plan.row(HERE) == ("90\u00a0%", "1.5 points", "4.0 points", "10.0 points")
    assert plan.gain_in_words(Mean(0.0, 0.0001)) == "too few to tell"
    assert PLAN.gain_in_words(Mean(0.051, 0.004)) == "+5.1 ± 0.4"
    assert PLAN.gain_in_words(Mean(-0.022, 0.004)) == "−2.2 ± 0.4"
    assert PLAN.gain_in_words(Mean(-0.0002, 0.0001)) == "0.0 ± 0.0"
    html = plan._repr_html_()
    assert html.count("too few to tell") == 3
    assert PLAN.verdict == "10 000 people give each share to ± 1.5 points"
    rough = replace(PLAN, holders=600, here=replace(HERE, half_width=0.2))
    assert rough.verdict == (
        "Only a rough figure: 600 people give each share to ± 20.0 points, about 2 400 would to "
        "± 10.0 points"
    )
    wide = replace(PLAN, score="mean squared error", span=20.0, here=replace(HERE, half_width=9.0))
    assert wide.tells(wide.here), "half of the range is 10"


def test_a_plan_says_what_nothing_gives() -> None:
    """Where more holders do not help it says so, and one look is not to be repeated."""
    alone = replace(PLAN, looks="once", here=replace(HERE, power=0.1), for_shift=Needed(None, None))
    said = " ".join(alone.answers)
    assert not alone.enough
    assert "too few" not in said
    few = replace(alone, for_shift=Needed(12_000, None))
    assert "are too few" in " ".join(few.answers)
    assert "public records might" not in " ".join(few.answers)
    assert (
        "Neither more holders nor a larger ε would make that 80\u00a0%. More public records might "
        "do."
    ) in said
    assert "at one look, set beforehand" in said
    assert "earlier looks prove nothing" in said


def test_a_plan_says_which_depth_takes_fewest() -> None:
    """With what its cells are for."""
    beyond = replace(PLAN, for_width=Needed(None, 2.5))
    assert "ε = 2.5" not in " ".join(beyond.answers), "holders refuse as much"
    said = " ".join(replace(PLAN, for_width=Needed(11_000, None, 1, 5_500)).answers)
    assert "takes 11 000 holders at ε = 1, or 5 500 holders at ε = 1 with depth 1." in said
    assert "for these the default depth, 8 cells here" in said
    assert "with depth" not in " ".join(PLAN.answers)
    part = Needed(11_000, None, None, None, 0.2, 3_000)
    some = " ".join(replace(PLAN, for_width=part).answers)
    assert "or 3 000 holders at ε = 1 of whom 20\u00a0% are asked for the label alone." in some
    both = " ".join(replace(PLAN, for_width=replace(part, depth=1, holders_with_both=900)).answers)
    assert (
        ", or 900 holders at ε = 1 with depth 1, of whom 20\u00a0% are asked for the label alone."
        in both
    )
    alone = " ".join(replace(PLAN, for_width=Needed(None, None, 1, 5_500)).answers)
    assert "Planned anew for ± 2.0 points, it takes 5 500 holders at ε = 1 with depth 1." in alone


def test_a_plan_says_first_what_asking_some_for_the_label_alone_saves() -> None:
    """Of its own tree, with what it costs cells; before, only of tasks with another tree."""
    plan = replace(PLAN, stop_after=870_000, with_part=WithPart(0.2, 118_200))
    assert plan.answers[2] == (
        "For ± 2.0 points this task takes about 870 000 reports, or about 120 000 with 20\u00a0% "
        "of the holders asked for the label alone, which widens the intervals of "
        "cells by 12\u00a0%."
    )


def test_a_plan_of_clipped_numbers_says_what_it_rests_on() -> None:
    """On how the holders' numbers lie and spread; none may be enough for a precision."""
    number = replace(PLAN, score="mean squared error", span=40.0, around_centres=True)
    known, shift, takes, *rest = replace(
        number, stop_after=None, with_part=WithPart(0.2, 9_000)
    ).answers
    assert "however often you look, if their numbers lie as those of the public records." in known
    assert "this task takes more reports than there can be, or about 9 000 with 20" in takes
    assert (
        "90\u00a0% of such collections show it, or more, if their numbers spread half to "
        "twice as far as public ones." in shift
    )
    assert "out of reach of this task, which would take more reports than there can be" in rest[-1]
    assert "lie as" not in " ".join(PLAN.answers)
    rough = replace(number, here=replace(HERE, half_width=9.0))
    assert rough.verdict == "Only a rough figure: 10 000 people give the mean to ± 9"


def test_a_plan_has_one_number_for_this_task_and_says_what_others_change() -> None:
    """Before, "it takes 11 000 000 holders", of a deeper tree, beside 120 000 for this task."""
    wide = Needed(11_000_000, None, 1, 83_000, cells=64)
    said = " ".join(replace(PLAN, holders=300, stop_after=120_400, for_width=wide).answers)
    assert (
        "Planned anew for ± 2.0 points, it takes 11 000 000 "
        "holders at ε = 1 with the 64 cells that so many get by default, or 83 000 holders at "
        "ε = 1 with depth 1."
    ) in said
    assert "out of reach of this task, which would take about 120 000 reports" in said
    nothing = " ".join(replace(PLAN, for_width=Needed(None, None)).answers)
    assert (
        "Planned anew for ± 2.0 points, neither more holders nor a larger ε is enough." in nothing
    )


def test_the_paragraph_for_a_board_has_the_plans_figures() -> None:
    """At epsilon 1 the surest guess between two records is right with e / (1 + e), rounded up as
    the answer page and the wizard do; where they would say all, its digits."""
    for words in (
        "10 000 people",
        "86 bytes",
        "ε = 1",
        "74\u00a0%",
        "5.0 points",
        "1 200",
        "90\u00a0%",
    ):
        assert words in PLAN.board
    for epsilon in (0.3, 1.0, 2.0):
        assert f"at most {of_hundred(epsilon)}\u00a0% sure" in replace(PLAN, epsilon=epsilon).board
    assert "at most 99.76\u00a0% sure" in replace(PLAN, epsilon=6.0).board
    assert "99.99\u00a0% sure" in replace(PLAN, epsilon=30.0).board


def test_a_plan_speaks_of_the_label_as_people_do() -> None:
    """In its unit, without exponents, and by its question where there is one."""
    number = replace(PLAN, score="mean squared error", span=40_000.0, label_unit="€")
    number = replace(number, target_shift=165.0, half_width=1_234.0)
    number = replace(number, here=replace(HERE, half_width=165.0))
    assert number.verdict == "10 000 people give the mean to ± 165\u00a0€"
    assert "For ± 1230\u00a0€ this task takes" in number.answers[2]
    assert number.amount(40_000.0) == "40 000\u00a0€"
    number = replace(number, expected=Mean(123_456_789.0, 2_100_000.0))
    fair = next(said for said in number.answers if "public data are fair" in said)
    assert "error of 123 000 000 ± 2 000 000 from them" in fair.replace("\u202f", " ")
    assert number.amount(None) == "none"
    assert "people for ill and" in PLAN.board
    assert "people “Are you ill?” and" in replace(PLAN, question="Are you ill?").board


def test_a_plan_is_tables_in_a_notebook() -> None:
    """With names from elsewhere as text."""
    disclosed = PLAN._repr_html_()
    assert (
        "<td>1 000</td><td>1</td><td>8</td><td>30\u00a0%</td><td>5.0 points</td><td>none</td>"
        in disclosed
    )
    assert "<td>They are &lt;others&gt;.</td><td>+5.1 ± 0.4</td>" in disclosed


@pytest.mark.slow
def test_a_plan_draws_its_power() -> None:
    """A line for each epsilon, and this plan on it."""
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    _, ax = plt.subplots()
    assert PLAN.plot(ax) is ax
    line, here, *_ = ax.get_lines()
    assert list(line.get_xdata()) == [1_000, 10_000]
    assert list(line.get_ydata()) == [0.3, 0.9]
    assert (list(here.get_xdata()), here.get_label()) == ([10_000], "this plan")
    assert ax.get_ylabel() == "power to show 5.0 points"
    plt.close("all")


def test_a_plan_says_what_hiding_all_and_showing_all_would_take() -> None:
    """Of tasks planned alike, with the group's words in the board's paragraph."""
    nowhere, two, every = (
        replace(PLAN.here, cell_shift=None),
        ("age", "job"),
        ("age", "job", "ward"),
    )
    showing = (
        Showing((), (), 4, 1, nowhere, 40_000),
        Showing(two, two, 8, 2, PLAN.here, PLAN.stop_after),
        Showing(every, every, 30, 30, PLAN.here, 1_000),
    )
    compared = replace(PLAN, showing=showing)
    assert compared.answers[-2] == (
        "For ± 2.0 points, tasks planned for 10 000 holders take: 40 000 reports with everything "
        "hidden; 5 500 reports with age and job disclosed; 1 000 reports with only the label "
        "hidden. Half of the cells show: no shift (4 cells) with everything hidden; 10.0 points (8 "
        "cells) with age and job disclosed; 10.0 points (30 cells) with only the label hidden."
    )
    assert "age and job can be read as far as our 2 groups of people tell" in compared.board
    alone = (showing[0], replace(showing[1], stratum_count=1), showing[2])
    assert (
        "with age and job disclosed, reports would disclose nothing"
        in replace(PLAN, showing=alone).answers[-2]
    )
    fewer = replace(PLAN, showing=(showing[0], replace(showing[2], columns=("job",))))
    assert (
        "with job of age, job and ward disclosed. The task hides age and ward too"
        in (fewer.answers[-2])
    )
    assert "job can be read as far as our 30 groups" in fewer.board
    assert "the answer and the other features are changed" in fewer.board
    more = " ".join(replace(PLAN, stop_after=20_000).answers)
    assert "after about 20 000 reports of this task, more than are planned, or" in more


def test_a_plan_has_the_remarks_of_the_review(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that the command and the wizard state, over the label too, for programs in Python."""
    monkeypatch.setattr(planner.Planner, "plan", lambda *_: PLAN)
    data = b"x,y\n" + b"1,NO\n2,No\n3,yes\n" * 20
    settings = TaskSettings(name="plan", label="y", epsilon=1.0)
    expected = tuple(review(read_table(data), settings))
    assert planner.plan(data, label="y", holders=100, epsilon=1.0).remarks == expected
    assert "'NO', 'No'" in expected[0]
