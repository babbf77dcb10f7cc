"""A plan answers in sentences, in a notebook's tables, and as a drawing."""

from dataclasses import replace

import pytest

from privet.learning.core.amounts import of_hundred
from privet.learning.planning import Mean, Plan, Prospect, SampleSize, planner
from privet.learning.planning.outcome import Disclosing, InWaves, PanelPlan, RareClass
from privet.learning.planning.populations import RARE, SCARCE
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
    people_needed=5_500,
    at_one_look=2_300,
    same_for_all=0.76,
    asked_alone=0.009,
    sample_sizes=tuple(
        SampleSize(half_width, holders)
        for half_width, holders in ((0.05, 864), (0.03, 2_412), (0.02, 5_500), (0.01, 21_600))
    ),
    gains={"They are <others>.": Mean(0.051, 0.004)},
)


def test_a_plan_answers_what_was_asked() -> None:
    """True if the collection is enough, what would be, and when to stop."""
    assert PLAN.enough
    assert PLAN.answers == [
        "A difference of 5.0 points from your file would show in 90\u00a0% of such studies; it "
        "takes about 7\u202f400 people to show it 8 times in 10.",
        "In half of the 8 planned groups a difference of 10 points or more would show 8 times "
        "in 10.",
        "Asked this question alone, 10\u202f000 people give ± 0.9 points if they "
        "answer as in your file, and say nothing of groups.",
        "Stop at ± 2.0 points, or as soon as your study's page says more or fewer than your file: "
        "you may look as often as you like, and all these numbers allow for it. A single look, set "
        "beforehand, takes about 2\u202f300 people for ± 2.0 points instead of 5\u202f500.",
    ]
    assert PLAN.details == [
        "10\u202f000 people at ε = 1 give every overall figure to ± 1.5 points, however often "
        "you look.",
        "With this plan's 8 groups kept as they are, the task takes about 5\u202f500 answers for "
        "± 2.0 points. Each number of people in the table is that of a plan for so many. "
        "Publishing grows the tree anew, by a public model of more trees, so that it may have some "
        "groups more or fewer; then it does not change.",
        "Do you have a list of the people you ask, without their answers, or a table that counts "
        "them? With it answers may disclose the columns that you know anyway, and their groups are "
        "counted instead of estimated.",
        "If your file is like the people who are asked, predictions from it are right for 80\u00a0%"
        " ± 1.0 points (the same prediction for everybody for 76\u00a0%), and no more with the "
        "answers.",
    ]
    assert len(replace(PLAN, asked_alone=0.014).answers) == 3, "for hardly more"
    few = replace(PLAN, here=replace(HERE, half_width=2.0), asked_alone=0.6)
    assert "question alone" not in str(few), "a share is at most one half from the middle"
    enough = replace(PLAN, here=replace(HERE, half_width=0.25), asked_alone=0.18)
    assert "Asked only" not in str(enough), "for hardly more"
    unsure, worse = ({"They are others.": Mean(gain, 0.006)} for gain in (-0.01, -0.028))
    assert replace(PLAN, gains=unsure).details == PLAN.details
    assert replace(PLAN, gains=worse).details[4] == (
        "A gain below 0 means that a model of this many answers predicts worse in that case than "
        "your file does without them."
    )
    listed = replace(PLAN, registered=5000)
    assert (
        listed.details[2]
        == "Disclosed groups are counted among the 5\u202f000 people of your list."
    )
    assert listed.verdict.endswith("you would need 22\u202f000, more than your list has")
    assert replace(PLAN, registered=30_000).verdict == PLAN.verdict


def test_a_plan_says_first_that_predictions_gain_nothing() -> None:
    """Only where its own gains do, and without a condition only where no case gains."""
    none, some = Mean(0.0004, 0.0001), Mean(0.02, 0.002)
    gains = {SCARCE: none, RARE: some}
    plan = replace(PLAN, gains=gains)
    assert plan.answers == [
        "If people are like your file, their answers would not make predictions better than the "
        "file's: right for 80\u00a0% either way. They show how many people give each answer, and "
        "whether your file is off by 4.0 points or more.",
        *PLAN.answers,
    ]
    assert (
        replace(plan, gains={SCARCE: none, RARE: none})
        .answers[0]
        .startswith(
            "People's answers would not make predictions better than your file's: right for 80"
        )
    )
    unseen = replace(plan, here=replace(HERE, overall_shift=None)).answers[0]
    assert unseen.endswith("They show how many people give each answer.")
    assert replace(plan, gains={SCARCE: some, RARE: none}).answers == PLAN.answers
    few = replace(plan, here=replace(HERE, half_width=0.26))
    assert "predictions" not in " ".join(few.answers), "too few show nothing"
    number = replace(plan, score="mean squared error", expected=Mean(0.3, 0.01))
    assert number.answers[0].endswith(
        "better than the file's. They show the mean, and whether your file is off by 0.04 or more."
    )


WORDS_OF_THE_METHOD = ("cell", "strat", "slot", "subset", "tree", "holder", "public record", "ε")


def test_the_answers_of_a_plan_need_no_word_of_the_method() -> None:
    """Those stand in the details; waves too."""
    waves = (
        InWaves("rotate", 10_000, 1.0, 0.06, 0.2, 0.7, 12_000),
        InWaves("repeat", 20_000, 0.5, None, None, 0.1, None),
    )
    nothing = replace(PLAN, here=replace(HERE, cell_shift=None, power=0.001), shift_after=None)
    panel = replace(PLAN, panel=PanelPlan(2, 20_000, 1.0, waves))
    other = replace(PLAN, panel=PanelPlan(2, 20_000, 1.0, waves[::-1]))
    few = replace(PLAN, here=replace(HERE, half_width=0.6))
    for plan in (PLAN, nothing, panel, other, few, replace(PLAN, looks="once")):
        said = " ".join([plan.verdict, *plan.answers])
        assert not [word for word in WORDS_OF_THE_METHOD if word in said], said
    assert panel.answers[3] == (
        "A change of 6.0 points or more between two waves would show at least 8 times in 10."
    )
    assert other.answers[3] == (
        "Do not count on seeing any change between two waves, however large."
    )
    assert nothing.answers[1] == (
        "In groups, do not count on seeing any difference from your file."
    )
    assert panel.verdict == (
        "± 1.5 points with 10\u202f000 people in each wave; to ± 1 you would need 22\u202f000"
    )


def test_a_plan_of_a_rare_class_has_scores_that_depend_on_it() -> None:
    """Accuracy is .98 for who predicts that nobody has it."""
    gains = {"There are few records.": Mean(0.012, 0.001), "They are others.": Mean(-0.0004, 0.002)}
    rare = RareClass("yes", 0.02, Mean(0.081, 0.006), 0.098, Mean(0.712, 0.03), gains)
    assert replace(PLAN, rare=rare).details[4] == (
        "“ill” is “yes” for 2\u00a0% of your file, so the share of right predictions says little. "
        "Expect a log loss of 0.081 ± 0.006, where the same shares for everybody have 0.098, "
        "and an AUC of 0.71 ± "
        "0.03 for “yes” against the rest. Answers lower the log loss by +0.012 ± 0.001 if there "
        "are few records; −0.0004 ± 0.002 if they are others."
    )


def test_a_plan_of_too_few_says_so_and_no_number_beyond_all_that_is_possible() -> None:
    """Before, "± 601.4 points", gains of zero, and a number of reports to nine digits."""
    few = Prospect(2, 6.0144, None, None, 0.0001)
    plan = replace(PLAN, holders=100, epsilon=0.1, here=few)
    plan = replace(plan, stop_after=19_927_714, telling_after=130_000, asked_alone=0.6)
    plan = replace(plan, left_open="27\u00a0% could be anything from 0\u00a0% to 100\u00a0%")
    said = " ".join([plan.verdict, *plan.answers, *plan.details, plan.board])
    assert plan.verdict == (
        "100 people are too few: 27\u00a0% could be anything from 0\u00a0% to 100\u00a0%."
    )
    assert plan.answers == ["About 130\u202f000 people would give ± 25 points."]
    assert replace(plan, telling_after=None).answers == []
    assert "601" not in said
    assert "with a probability of less than 1\u00a0%" in said
    assert "100 people at ε = 0.1 are too few to tell any overall figure." in said
    alone = replace(plan, expected=None, gains={})
    assert "601" not in alone.board
    assert "there are too few answers to tell any share." in alone.board
    mean = replace(alone, score="mean squared error", span=5.0)
    assert "there are too few answers to tell the mean." in mean.board
    assert "are too few to tell the mean." in mean.details[0]
    assert " give the mean to ± 0.015" in replace(PLAN, score="mean squared error").details[0]
    assert "takes about 20\u202f000\u202f000 answers for ± 2.0 points" in said
    assert plan.gain_in_words(Mean(0.0, 0.0001)) == "too few to tell"
    assert PLAN.gain_in_words(Mean(0.051, 0.004)) == "+5.1 ± 0.4"
    assert PLAN.gain_in_words(Mean(-0.022, 0.004)) == "−2.2 ± 0.4"
    assert PLAN.gain_in_words(Mean(-0.0002, 0.0001)) == "0.0 ± below 0.1"
    assert PLAN.gain_in_words(Mean(0.205, 0.0)) == "+20.5 ± below 0.1"
    assert plan._repr_html_().count("too few to tell") == 2
    assert PLAN.verdict == "± 1.5 points with 10\u202f000 people; to ± 1 you would need 22\u202f000"
    rough = replace(PLAN, holders=600, here=replace(HERE, half_width=0.2))
    assert rough.verdict == "± 20 points with 600 people; to ± 2 you would need 5\u202f500"
    near = replace(PLAN, here=replace(HERE, half_width=0.04), half_width=0.05, people_needed=864)
    assert (
        near.verdict == "± 4.0 points with 10\u202f000 people; to ± 3 you would need 2\u202f400"
    ), "the wish is met"
    wide = replace(PLAN, score="mean squared error", span=20.0, here=replace(HERE, half_width=9.0))
    assert wide.tells, "half of the range is 10"


def test_a_plan_of_people_who_tell_hardly_anything_begins_with_that() -> None:
    """Before, "± 35.8 points with 300 people; to ± 2 you would need 110 000" and five paragraphs:
    from ± 25 points on an example of what is left open, what the question alone would give, and how
    many people would tell something."""
    left_open = "27\u00a0% could be anything from 0\u00a0% to 63\u00a0%"
    few = replace(PLAN, holders=300, here=replace(HERE, half_width=0.358), left_open=left_open)
    few = replace(few, asked_alone=0.25, telling_after=820)
    assert few.verdict == (
        f"300 people are too few: {left_open}. The question alone would give ± 25 points."
    )
    assert few.answers == ["About 820 people would give ± 25 points."]
    assert replace(few, asked_alone=None).verdict == f"300 people are too few: {left_open}."
    enough = replace(few, here=replace(HERE, half_width=0.25))
    assert enough.verdict == "± 25 points with 300 people; to ± 2 you would need 5\u202f500"
    assert (few.tells_enough, enough.tells_enough) == (False, True)


def test_a_plan_does_not_stop_at_what_its_people_cannot_reach() -> None:
    """Nor does it say what a single look takes for that."""
    short = replace(PLAN, stop_after=10_001)
    listed = "Stop as soon as your study's page says more or fewer than your file: you may look "
    assert short.answers[-1] == f"{listed}as often as you like, and all these numbers allow for it."
    assert replace(PLAN, stop_after=10_000).answers[-1].startswith("Stop at ± 2.0 points, or")
    never = replace(short, shift_after=None).answers[-1]
    assert never.startswith("Stop whenever you like: you may look as often as you like")


def test_a_gain_names_the_rarest_answer() -> None:
    """In its table and among the details of a rare class."""
    plan = replace(PLAN, rarest="yes", gains={RARE: Mean(0.205, 0.0), SCARCE: Mean(0.0, 0.001)})
    named = "People give the rarest answer, “yes”, more often: its odds are 4.5 times as high."
    title = "Gain from the answers, in points of right predictions ± the standard error of 5 "
    assert plan.tables[f"{title}simulations"] == {
        named: "+20.5 ± below 0.1",
        SCARCE: "0.0 ± 0.1",
    }
    assert plan.case_in_words(SCARCE) == SCARCE


def test_a_plan_says_what_nothing_gives() -> None:
    """Where more holders do not help it says so, and one look is not to be repeated."""
    alone = replace(PLAN, looks="once", here=replace(HERE, power=0.1), shift_after=None)
    said = " ".join(alone.answers)
    assert not alone.enough
    few = replace(alone, shift_after=12_000)
    assert few.answers[0] == (
        "A difference of 5.0 points from your file would show in only 10\u00a0% of such studies; "
        "it takes about 12\u202f000 people to show it 8 times in 10."
    )
    assert alone.answers[0] == (
        "Do not count on seeing a difference of 5.0 points from your file: 10\u00a0% of such "
        "studies show it. More people would not show it; a file of more than 1\u202f200 records "
        "might."
    )
    assert "at one look, set beforehand" in alone.details[0]
    assert "earlier looks prove nothing" in said


def test_a_plan_of_numbers_around_centres_states_no_figures_of_groups() -> None:
    """It says why, and how to have them."""
    number = replace(PLAN, score="mean squared error", span=40.0, around_centres=True)
    said = " ".join(number.answers)
    assert "only the overall mean is stated, from the people asked for the number alone" in said
    assert "with centred set to false" in said
    assert "In half of the" not in said
    stated = replace(number, around_centres=False)
    assert "In half of the 8 planned groups" in " ".join(stated.answers)


def test_a_plan_has_one_table_of_precisions() -> None:
    """People of the one task, in notebooks, in print and on pages; before, five other tasks."""
    sizes = {
        "± 5.0 points": "860",
        "± 3.0 points": "2\u202f400",
        "± 2.0 points": "5\u202f500",
        "± 1.0 points": "22\u202f000",
    }
    assert PLAN.sizes == sizes
    printed = str(PLAN).split("\n")
    assert printed[:6] == [
        PLAN.verdict,
        "People needed, by precision:",
        "     860  ± 5.0 points",
        "   2\u202f400  ± 3.0 points",
        "   5\u202f500  ± 2.0 points",
        "  22\u202f000  ± 1.0 points",
    ]
    assert printed[6:-2] == [*PLAN.answers, "Details:", *PLAN.details]
    assert printed[-2:] == [
        "Gain from the answers, in points of right predictions ± the standard error of 5 "
        "simulations:",
        "  +5.1 ± 0.4  They are <others>.",
    ]
    assert repr(PLAN) == str(PLAN)
    assert PLAN.to_document()["sample_sizes"][3] == {"half_width": 0.01, "holders": 21_600}
    assert "<td>± 3.0 points</td><td>2\u202f400</td>" in PLAN._repr_html_()


def test_the_paragraph_for_a_board_has_the_plans_figures() -> None:
    """At epsilon 1 the surest guess between two records is right with e / (1 + e), rounded up as
    the answer page and the wizard do; where they would say all, its digits."""
    for words in (
        "10\u202f000 people",
        "86 bytes",
        "ε = 1",
        "74\u00a0%",
        "5.0 points",
        "1\u202f200",
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
    nearer = replace(number, half_width=100.0)
    assert (
        nearer.verdict
        == "± 165\u00a0€ with 10\u202f000 people; to ± 100\u00a0€ you would need 5\u202f500"
    )
    assert "answers for ± 1230\u00a0€." in number.details[1]
    assert number.amount(40_000.0) == "40\u202f000\u00a0€"
    number = replace(number, expected=Mean(123_456_789.0, 2_100_000.0))
    fair = next(said for said in number.details if "like the people" in said)
    assert "error of 123 000 000 ± 2 000 000 from it" in fair.replace("\u202f", " ")
    assert number.amount(None) == "none"
    assert "people a question that is not written yet and never receive" in PLAN.board
    assert "“ill”" not in PLAN.board, "a column's name is no question"
    assert "people “Are you ill?” and" in replace(PLAN, question="Are you ill?").board


def test_a_plan_is_tables_in_a_notebook() -> None:
    """With names from elsewhere as text."""
    assert "<td>They are &lt;others&gt;.</td><td>+5.1 ± 0.4</td>" in PLAN._repr_html_()


def test_a_plan_says_what_hiding_all_and_disclosing_all_would_take() -> None:
    """Of tasks planned alike, with the group's words in the board's paragraph."""
    nowhere, two, every = (
        replace(PLAN.here, cell_shift=None),
        ("age", "job"),
        ("age", "job", "ward"),
    )
    disclosing = (
        Disclosing((), (), 4, 1, nowhere, 40_000),
        Disclosing(two, two, 8, 2, PLAN.here, PLAN.stop_after),
        Disclosing(every, every, 30, 30, PLAN.here, 1_000),
    )
    compared = replace(PLAN, disclosing=disclosing)
    assert compared.details[-1] == (
        "For ± 2.0 points, tasks planned for 10\u202f000 people take: 40\u202f000 people with "
        "everything hidden; 5\u202f500 people with age and job disclosed; 1\u202f000 people with "
        "only the label hidden. Half of the groups show: no shift (4 groups) with everything "
        "hidden; "
        "10 points (8 groups) with age and job disclosed; 10 points (30 groups) with only "
        "the label hidden."
    )
    assert "age and job can be read as far as our 2 disclosed groups tell" in compared.board
    alone = (disclosing[0], replace(disclosing[1], stratum_count=1), disclosing[2])
    assert (
        "with age and job disclosed, answers would disclose nothing"
        in replace(PLAN, disclosing=alone).details[-1]
    )
    fewer = replace(PLAN, disclosing=(disclosing[0], replace(disclosing[2], columns=("job",))))
    assert (
        "with job of age, job and ward disclosed. The task hides age and ward too"
        in (fewer.details[-1])
    )
    assert "job can be read as far as our 30 disclosed groups" in fewer.board
    assert "the answer and the other features are changed" in fewer.board


def test_a_plan_has_the_remarks_of_the_review(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that the command and the wizard state, over the label too, for programs in Python."""
    monkeypatch.setattr(planner.Planner, "plan", lambda *_: PLAN)
    data = b"x,y\n" + b"1,NO\n2,No\n3,yes\n" * 20
    settings = TaskSettings(name="plan", label="y", epsilon=1.0)
    expected = tuple(review(read_table(data), settings))
    assert planner.plan(data, label="y", holders=100, epsilon=1.0).remarks == expected
    assert "'NO', 'No'" in expected[0]
