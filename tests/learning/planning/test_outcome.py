"""A plan answers in sentences, in a notebook's tables, and as a drawing."""

from dataclasses import replace

import pytest

from privet.learning.core.amounts import of_hundred
from privet.learning.planning import Mean, Plan, Prospect, SampleSize, planner
from privet.learning.planning.outcome import RareClass, Showing
from privet.learning.task_building.review import review
from privet.learning.task_building.settings import TaskSettings
from privet.learning.task_building.table import read_table

HERE = Prospect(8, 0.015, 0.04, 0.1, 0.9)
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
    target_shift=0.05,
    power=0.8,
    shift_after=7_400,
    half_width=0.02,
    stop_after=5_500,
    sample_sizes=tuple(
        SampleSize(half_width, holders)
        for half_width, holders in ((0.05, 864), (0.03, 2_412), (0.02, 5_500), (0.01, None))
    ),
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
        "this task takes about 7 400 reports.",
        "For ± 2.0 points this task takes about 5 500 reports, with its 8 cells: the tree of a "
        "published task does not change.",
        "In half of the cells a difference of 10.0 points or more is shown by 80\u00a0% of such "
        "collections.",
        "If the public data are fair, expect accuracy 0.8 ± 0.01 from them only, and no more from "
        "the reports.",
        "Stop at ± 2.0 points, or as soon as the difference that matters is listed: looking early "
        "or often does no harm.",
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
    few = Prospect(2, 6.0144, None, None, 0.0001)
    plan = replace(PLAN, holders=100, epsilon=0.1, here=few)
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
    assert "For ± 2.0 points this task takes about 20 000 000 reports" in said
    assert "Stop as soon as the difference that matters is listed" in said
    assert plan.gain_in_words(Mean(0.0, 0.0001)) == "too few to tell"
    assert PLAN.gain_in_words(Mean(0.051, 0.004)) == "+5.1 ± 0.4"
    assert PLAN.gain_in_words(Mean(-0.022, 0.004)) == "−2.2 ± 0.4"
    assert PLAN.gain_in_words(Mean(-0.0002, 0.0001)) == "0.0 ± 0.0"
    assert plan._repr_html_().count("too few to tell") == 2
    assert PLAN.verdict == "10 000 people give each share to ± 1.5 points"
    rough = replace(PLAN, holders=600, here=replace(HERE, half_width=0.2))
    assert rough.verdict == (
        "Only a rough figure: 600 people give each share to ± 20.0 points, about 860 would to "
        "± 5.0 points"
    )
    wide = replace(PLAN, score="mean squared error", span=20.0, here=replace(HERE, half_width=9.0))
    assert wide.tells, "half of the range is 10"


def test_a_plan_says_what_nothing_gives() -> None:
    """Where more holders do not help it says so, and one look is not to be repeated."""
    alone = replace(PLAN, looks="once", here=replace(HERE, power=0.1), shift_after=None)
    said = " ".join(alone.answers)
    assert not alone.enough
    assert "too few" not in said
    few = replace(alone, shift_after=12_000)
    assert "are too few" in " ".join(few.answers)
    assert "public records might" not in " ".join(few.answers)
    assert "More holders would not make that 80\u00a0%; more public records might." in said
    assert "at one look, set beforehand" in said
    assert "earlier looks prove nothing" in said


def test_a_plan_of_clipped_numbers_says_what_it_rests_on() -> None:
    """On how the holders' numbers lie and spread; none may be enough for a precision."""
    number = replace(PLAN, score="mean squared error", span=40.0, around_centres=True)
    known, shift, takes, *rest = replace(number, stop_after=None).answers
    assert "however often you look, if their numbers lie as those of the public records." in known
    assert "this task takes more reports than there can be, with its 8 cells" in takes
    assert (
        "90\u00a0% of such collections show it, or more, if their numbers spread half to "
        "twice as far as public ones." in shift
    )
    assert rest[-1].startswith("Stop as soon as the difference that matters is listed")
    assert "lie as" not in " ".join(PLAN.answers)
    rough = replace(number, here=replace(HERE, half_width=9.0))
    rough = replace(rough, sample_sizes=(SampleSize(2.0, None),))
    assert rough.sizes == {"± 2": "not reachable"}
    assert rough.verdict == "Only a rough figure: 10 000 people give the mean to ± 9"


def test_a_plan_has_one_table_of_precisions() -> None:
    """People of the one task, in notebooks, in print and on pages; before, five other tasks."""
    sizes = {
        "± 5.0 points": "860",
        "± 3.0 points": "2 400",
        "± 2.0 points": "5 500",
        "± 1.0 points": "not reachable",
    }
    assert PLAN.sizes == sizes
    printed = str(PLAN).split("\n")
    assert printed[: len(PLAN.answers)] == PLAN.answers
    assert printed[len(PLAN.answers) :] == [
        "People needed, by precision:",
        "            860  ± 5.0 points",
        "          2 400  ± 3.0 points",
        "          5 500  ± 2.0 points",
        "  not reachable  ± 1.0 points",
        "Gain from the reports, in points of accuracy:",
        "  +5.1 ± 0.4  They are <others>.",
    ]
    assert repr(PLAN) == str(PLAN)
    assert PLAN.to_document()["sample_sizes"][3] == {"half_width": 0.01, "holders": None}
    assert "<td>± 3.0 points</td><td>2 400</td>" in PLAN._repr_html_()


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
    assert "<td>They are &lt;others&gt;.</td><td>+5.1 ± 0.4</td>" in PLAN._repr_html_()


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


def test_a_plan_has_the_remarks_of_the_review(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that the command and the wizard state, over the label too, for programs in Python."""
    monkeypatch.setattr(planner.Planner, "plan", lambda *_: PLAN)
    data = b"x,y\n" + b"1,NO\n2,No\n3,yes\n" * 20
    settings = TaskSettings(name="plan", label="y", epsilon=1.0)
    expected = tuple(review(read_table(data), settings))
    assert planner.plan(data, label="y", holders=100, epsilon=1.0).remarks == expected
    assert "'NO', 'No'" in expected[0]
