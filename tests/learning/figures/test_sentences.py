"""Sentences about findings state what their numbers show, and nothing else."""

from dataclasses import replace

import numpy as np
import pytest

from privet.learning.core.amounts import (
    TELLING,
    about,
    amount,
    figure,
    percent,
    share_ends,
    tells_nothing,
)
from privet.learning.core.counts import Interval, QuestionCounts
from privet.learning.figures.compare import insight
from privet.learning.figures.node_shares import node_shares, reports_for_cells, untold_cells
from privet.learning.figures.precision import overall_precision
from privet.learning.figures.results import CellDifference, Comparison, Yardsticks
from privet.learning.figures.sentences import (
    asked,
    average_of_cells,
    cells_in_words,
    finding,
    finding_among,
    finding_in_cell,
    how_much_better,
    how_often_right,
    moved_in_words,
    right_more_often,
    too_few,
    unlike_reports,
    verdict,
    which_is_better,
    which_to_keep,
    why_less,
    worth_of_accuracy,
)
from privet.learning.methods import fit
from privet.protocol.features import Label, Range

from ..examples import BINARY, EVERY_LABEL, NUMBER, REPORTS_ALONE, THREE, public_rows, reports
from .test_insight import PUBLIC, TREE, counts_of


def plain(text: str) -> str:
    return text.replace("\u00a0", " ").replace("\u202f", " ")


def test_shares_have_two_digits_and_none_is_rounded_to_never_or_always() -> None:
    shares = {0.0: "0 %", 0.0004: "<0.1 %", 0.003: "0.3 %", 0.0099: "1.0 %", 0.01: "1 %"}
    shares |= {0.342: "34 %", 0.99: "99 %", 0.996: "99.6 %", 0.9999: ">99.9 %", 1.0: "100 %"}
    assert {share: plain(percent(share)) for share in shares} == shares
    assert percent(None) == "–"


def test_shares_with_wide_intervals_are_whole_percents() -> None:
    """Never rounded to never or always; a narrow interval has its tenths."""
    said = {(0.7, 0.62, 0.993): "70 % (62 % to 99 %)", (0.1, 0.003, 0.4): "10 % (<1 % to 40 %)"}
    said |= {(0.99, 0.8, 0.997): "99 % (80 % to >99 %)", (0.5, 0.0, 1.0): "50 % (0 % to 100 %)"}
    said |= {(0.985, 0.978, 0.991): "98 % (98 % to 99.1 %)"}
    assert {of: plain(figure(*of, is_share=True)) for of in said} == said
    assert plain(share_ends(0.62, 0.993)) == "62 % to 99 %"


def test_numbers_are_read_without_exponents() -> None:
    said = {0.01234: "0.01234", 9876.5: "9876", 54321.0: "54 321", -54321.0: "-54 321"}
    said |= {0.00001234: "0.00001234", 2.5e9: "2 500 000 000", -1e-7: "-0.0000001", 0.0: "0"}
    assert {number: plain(amount(number)) for number in said} == said
    assert [plain(about(n)) for n in (7, 94, 1_949, 150_499)] == ["7", "94", "1 900", "150 000"]


def test_every_interval_has_one_form() -> None:
    """The figure, and both ends in brackets."""
    assert figure(0.23, 0.01, 0.45, is_share=True) == ("23\u00a0% (1\u00a0% to 45\u00a0%)")
    assert plain(figure(0.05, 0.0, 0.27, is_share=True)) == "5 % (0 % to 27 %)"
    assert plain(figure(20_000, 17_000, 23_000, is_share=False)) == "20 000 (17 000 to 23 000)"
    assert plain(figure(1.0, 0.0, 4.0, is_share=False)) == "1 (0 to 4)"


def row(**values: float | str) -> Comparison:
    given = {"name": "yes", "reported": 0.23, "low": 0.01, "high": 0.45, "public": 0.19}
    rest = {"p_value": 0.5, "seen_from": None}
    return Comparison(**{**given, **rest, **values})  # type: ignore[arg-type]


def test_a_figure_is_more_less_not_told_or_not_known() -> None:
    """By the p-value of the comparison, not by whether the interval holds the public figure; one
    that misses it differs among those who were asked, and cannot be said to be told from nothing.
    """
    of, end = "yes: 23 % (1 % to 45 %) among the holders (no: 77 %), ", " in the public records."
    assert plain(finding(BINARY, row())) == f"{of}which cannot be told from 19 %{end}"
    differs = row(p_value=0.04, public=0.1)
    assert plain(finding(BINARY, differs)) == f"{of}more than 10 %{end}"
    assert plain(finding(BINARY, row(p_value=0.04, public=0.5))) == f"{of}less than 50 %{end}"
    misses = row(reported=0.0, low=0.0, high=0.12, public=0.51, p_value=1.0)
    assert plain(finding(BINARY, misses)) == (
        "yes: 0 % (0 % to 12 %) among the holders (no: 100 %), less than 51 % in the public "
        "records, but too few were asked to say so of others."
    )
    assert "cannot be told" in finding(THREE, row(name="high", p_value=0.04)), "of three figures"
    assert finding(BINARY, row(low=0.0, high=1.0, p_value=0.0)) == (
        "The answers do not tell yet how many say yes."
    )
    number = row(name="y", reported=1.0, low=0.5, high=1.5, public=2.0, p_value=0.01)
    assert finding(NUMBER, number) == (
        "Mean: 1 (0.5 to 1.5) among the holders, less than 2 in the public records."
    )
    unknown = row(name="y", low=NUMBER.low, high=NUMBER.high)
    assert finding(NUMBER, unknown) == "The answers do not tell the mean yet."


def test_one_of_several_figures_is_said_in_short_where_it_does_not_differ() -> None:
    """As a range, where it is known to less than ± a quarter."""
    among = [row(), row(low=0.0, high=0.6), row(p_value=0.01, public=0.5)]
    assert [plain(finding_among(THREE, each)) for each in among[:2]] == [
        "yes: 23 % (1 % to 45 %); public records 19 %.",
        "yes: 0 % to 60 %, too few answers; public records 19 %.",
    ]
    assert finding_among(THREE, among[2]) == finding(THREE, among[2])


def test_a_finding_stands_below_its_question() -> None:
    """As people read it; the column's name where it has none, with the unit of a number."""
    assert asked(BINARY) == "y"
    assert asked(BINARY.model_copy(update={"prompt": "Are you ill?"})) == "Are you ill?"
    assert asked(NUMBER.model_copy(update={"unit": "mmHg"})) == "y (mmHg)"


def test_a_cell_that_is_listed_is_located() -> None:
    cell, path = CellDifference(0, "yes", 0.5, 0.4, 0.6, 0.3, 0.001), ("x < 1", "z >= 2")
    assert plain(finding_in_cell(BINARY, cell, path)) == (
        "Where x < 1 and z >= 2, y is yes for 50 % (40 % to 60 %) of the holders, more than the "
        "public 30 %."
    )
    assert plain(finding_in_cell(NUMBER, replace(cell, name=None), path)) == (
        "50 % (40 % to 60 %) of the holders have x < 1 and z >= 2, more than the public 30 %."
    )


def test_the_verdict_is_the_surest_figure_or_that_there_is_none() -> None:
    nothing = [row(name="no", low=0.0, high=1.0), row(low=0.0, high=1.0)]
    assert plain(verdict(BINARY, nothing, 40, 9_876)) == (
        "These 40 answers tell nothing yet: about 9 900 more would give every figure to ± 25 "
        "points."
    )
    assert verdict(BINARY, nothing, 1, 0) == "This answer tells nothing yet."
    never = "it takes more answers than there can be to give"
    assert f"nothing yet: {never} every figure to ± 25 points." in verdict(
        BINARY, nothing, 40, None
    )
    assert f"too little yet: {never} the mean to ± 25 % of" in plain(too_few(NUMBER, 800, None))
    assert f"{never} half of them to" in cells_in_words(BINARY, 4, 4, None)
    assert f"{never} one of these 2 to" in cells_in_words(BINARY, 4, 2, None)
    assert plain(too_few(NUMBER, 800, 13_876)) == (
        "These 800 answers tell too little yet: about 14 000 more would give the mean to ± 25 % of "
        "the range."
    )
    three = [row(name=name, p_value=p) for name, p in zip("abc", (0.01, 0.001, 0.9), strict=True)]
    said = verdict(THREE, three, 40, 0)
    assert said.startswith(finding(THREE, three[1]))
    assert said.endswith(" One more figure differs.")
    assert verdict(THREE, [*three[1:], three[2]], 40, 0) == finding(THREE, three[1])


def test_a_figure_that_may_be_anything_is_not_named() -> None:
    """Unless it differs: whether half of all that is possible is in its interval, or more."""
    wide = row(reported=0.06, low=0.0, high=0.74, public=0.49)
    said = plain(verdict(BINARY, [wide, wide], 500, 2_100))
    assert said == (
        "These 500 answers tell too little yet: anything from 0 % to 74 % may say yes; about 2 100 "
        "more would give every figure to ± 25 points."
    )
    assert "6 %" not in said
    sure = row(reported=0.55, low=0.2, high=0.9, public=0.1, p_value=0.001)
    assert verdict(BINARY, [sure, sure], 500, 2_100) == finding(BINARY, sure)
    three = [row(name=name, high=0.6) for name in "abc"]
    assert plain(verdict(THREE, three, 40, 0)) == (
        "These 40 answers tell too little yet: none of the 3 shares is known to ± 25 points."
    )
    number = row(name="y", reported=2.0, low=NUMBER.low, high=0.7 * NUMBER.high, public=2.1)
    assert "the mean may be anything from " in verdict(NUMBER, [number], 40, 0)


def test_no_difference_is_never_said_without_what_would_have_shown() -> None:
    """Of one figure, and of several the largest that any of them needs."""
    likely = "would have shown 8 times in 10."
    said = plain(verdict(BINARY, [row(seen_from=0.2), row(seen_from=0.352)], 40, 0))
    assert said == (
        "yes: 23 % (1 % to 45 %) among the holders (no: 77 %), which cannot be told from 19 % in "
        f"the public records; a difference of 35 points or more {likely}"
    )
    assert plain(verdict(BINARY, [row(), row()], 40, 0)).endswith(
        f"; no difference, however large, {likely}"
    )
    assert "of 100 points or more" in verdict(BINARY, 2 * [row(seen_from=0.996)], 40, 0)
    three = [
        row(name=name, seen_from=seen) for name, seen in zip("abc", (0.1, 0.3, 0.2), strict=True)
    ]
    assert plain(verdict(THREE, three, 40, 0)) == (
        "None of the 3 shares is sure to differ from the public records; a difference of 30 "
        f"points or more {likely}"
    )
    number = row(name="y", reported=2.0, low=1.5, high=2.5, public=2.1, seen_from=0.8)
    assert plain(verdict(NUMBER, [number], 40, 0)).endswith(
        f"; a difference of 0.8 or more {likely}"
    )


def test_a_number_has_no_more_digits_than_its_interval_is_wide() -> None:
    """Two digits of its half width; a number of four digits stays one."""
    assert figure(137.43, 122.81, 152.12, is_share=False) == "137 (123 to 152)"
    assert figure(1.2345, 1.1, 1.369, is_share=False) == "1.23 (1.1 to 1.37)"
    assert plain(figure(20_123.0, 17_456.0, 23_001.0, is_share=False)) == (
        "20 100 (17 500 to 23 000)"
    )
    assert figure(2.0, 2.0, 2.0, is_share=False) == "2 (2 to 2)"
    said = right_more_often("model 1", "model 2", Interval(-0.14, -0.3, 0.03))
    assert said.startswith(
        "The answers cannot tell which is right more often: of 100 people model 2"
    )


@EVERY_LABEL
def test_what_would_tell_does(label: Label) -> None:
    """With as many reports as are said to be needed, intervals are as narrow as was said."""
    public = public_rows(label, PUBLIC, seed=1)
    least, most = label.bounds
    width, is_number = most - least, label is NUMBER

    def asked_of(n: int) -> QuestionCounts:
        counts = counts_of(label, public_rows(label, n, seed=2))
        return reports(TREE, counts, 1.0, 3, regression=is_number)

    def of_cells(asked: QuestionCounts) -> list[float]:
        model = fit("weighted", label, public, [asked], **REPORTS_ALONE)
        leaves = [int(node) for node in TREE.leaves]
        rows = [node_shares(label, public, asked, model, node).rows for node in leaves]
        return [max(r.reported.high - r.reported.low for r in of) / 2.0 for of in rows]

    few = asked_of(400)
    enough = overall_precision(label, public, few).reports(TELLING * width, None)
    assert enough is not None
    asked = asked_of(enough)
    model = fit("weighted", label, public, [asked], **REPORTS_ALONE)
    halves = [(row.high - row.low) / 2.0 for row in insight(label, public, [asked], model).overall]
    assert max(halves) == pytest.approx(TELLING * width, rel=0.15)
    needed = reports_for_cells(label, public, few, TELLING)
    assert needed is not None
    assert reports_for_cells(label, public, asked_of(0), TELLING) is None
    assert np.median(of_cells(asked_of(needed))) == pytest.approx(TELLING * width, rel=0.25)
    each = [reports_for_cells(label, public, few, TELLING, one) for one in np.eye(TREE.cells) > 0]
    of_each = [number for number in each if number is not None]
    assert sorted(of_each)[(TREE.cells - 1) // 2] == needed < max(of_each)
    alone = of_cells(asked_of(max(of_each)))[int(np.argmax(of_each))]
    assert alone < 1.25 * TELLING * width


@EVERY_LABEL
def test_a_cell_is_untold_where_its_page_gives_all_that_is_possible(label: Label) -> None:
    """By the reports' own interval, whatever the model: one of public records alone too."""
    public, found = public_rows(label, PUBLIC, seed=1), set()
    for n in (1, 20, 60, 150, 400, 50_000):
        counts = counts_of(label, public_rows(label, n, seed=2))
        asked = reports(TREE, counts, 1.0, 3, regression=label is NUMBER)
        model = fit("weighted", label, public, [asked], weight=1e6)
        leaves = [int(node) for node in TREE.leaves]
        shown = [node_shares(label, public, asked, model, node).rows for node in leaves]
        whole = [
            all(tells_nothing(r.reported.low, r.reported.high, *label.bounds) for r in rows)
            for rows in shown
        ]
        assert untold_cells(label, public, asked, model).tolist() == whole, n
        found.add(sum(whole))
    assert 0 in found
    assert max(found) > 0


@pytest.mark.parametrize(
    ("cells", "untold", "said"),
    [
        (1, 0, "The answers tell something of its only cell."),
        (8, 0, "The answers tell something of each of its 8 cells."),
        (1, 1, "Do not use it yet: in its only cell the answers tell nothing."),
        (8, 8, "Do not use it yet: in none of its 8 cells do the answers tell anything."),
        (8, 3, "Use it with care: in 3 of its 8 cells the answers tell nothing yet."),
    ],
)
def test_a_model_is_said_to_be_fit_for_use_or_not(cells: int, untold: int, said: str) -> None:
    assert cells_in_words(BINARY, cells, untold, 0) == said


def test_models_of_unlike_answers_are_said_to_be_so() -> None:
    """And neither is advised where the scores do not decide between them."""
    assert unlike_reports("model 1", "model 2", (5, 5)) == ""
    said = unlike_reports("model 1", "model 2", (0, 2_701))
    assert plain(said).startswith("Model 1 was fitted to no answers and model 2 to 2 701, so")
    fewer = plain(unlike_reports("model 1", "model 2", (2_701, 1_501)))
    assert fewer.startswith("Model 1 was fitted to 2 701 answers and model 2 to 1 501, so")
    for counts, older in (((1_501, 2_701), 1), ((2_701, 1_501), 2)):
        unsure = {"Brier score": Interval(-0.01, -0.1, 0.08)}
        advice = which_to_keep(BINARY, "model 1", "model 2", unsure, counts)
        assert advice == f"Before you choose, fit the settings of model {older} to all answers."
        sure = {"Brier score": Interval(-0.01, -0.02, -0.001)}
        assert which_to_keep(BINARY, "model 1", "model 2", sure, counts) == "Let model 2 serve."
        newer, then = 3 - older, "keep it" if older == 2 else "let it serve"
        assert which_to_keep(BINARY, "model 1", "model 2", unsure, counts, alike=True) == (
            f"Both have the same settings, and model {newer} has more answers: {then}."
        )


@pytest.mark.parametrize(
    ("scores", "start"),
    [
        (Interval(-0.012, -0.02, -0.004), "Model 2 is better: with 95 % confidence its prob"),
        (Interval(0.012, 0.004, 0.02), "Model 1 is better: with 95 % confidence its prob"),
        (Interval(-0.012, -0.12, 0.096), "The answers cannot tell which is better."),
        (Interval(0.0, 0.0, 0.0), "Model 1 and model 2 are equally good"),
    ],
)
def test_a_model_is_better_only_where_the_interval_says_so(scores: Interval, start: str) -> None:
    """And by how much: the smaller score is the better one."""
    said = which_is_better(BINARY, "model 1", "model 2", {"Brier score": scores})
    assert said.startswith(start)
    detail = how_much_better(BINARY, "model 1", "model 2", {"Brier score": scores})
    advice = which_to_keep(BINARY, "model 1", "model 2", {"Brier score": scores})
    if "confidence" in said:
        assert detail.endswith(" by 0.012 (0.004 to 0.02).")
        assert f"less for {said[:7].lower()} than" in detail
        assert advice == ("Let model 2 serve." if said.startswith("Model 2") else "Keep model 1.")
    elif "cannot" in said:
        assert "less for model 2 than for model 1 by 0.012, with 95 % confidence by any" in detail
        assert "from 0.12 in favour of model 2 to 0.096 in favour of model 1." in detail
        assert advice.startswith("Keep model 1: ")
    else:
        assert detail == ""
    for unknown in (None, {}, {"accuracy": scores}):
        assert which_is_better(BINARY, "model 1", "model 2", unknown).startswith(
            "Which is better is not known"
        )
    assert which_to_keep(BINARY, "model 1", "model 2", {}) == ""
    assert "mean squared error" in how_much_better(
        NUMBER, "model 1", "model 2", {"squared error": scores}
    ) or (start.startswith("Model 1 and"))


def test_what_would_tell_is_of_the_cells_told_nothing() -> None:
    """And not of all: more than half may be told already."""

    def said(cells: int, untold: int) -> str:
        return plain(cells_in_words(BINARY, cells, untold, 13_876))

    assert said(16, 7) == (
        "Use it with care: in 7 of its 16 cells the answers tell nothing yet: about 14 000 more "
        "would give half of these 7 to ± 25 points."
    )
    assert "more would give one of these 2 to" in said(16, 2)
    assert "more would give it to" in said(16, 1)
    assert "more would give half of them to" in said(2, 2)
    assert said(1, 1).endswith(
        "the answers tell nothing: about 14 000 more would give it to ± 25 points."
    )


def test_no_cell_is_none() -> None:
    assert moved_in_words(BINARY, 0.02, 0, 2).endswith(
        "changed the likeliest class in none of 2 cells."
    )
    assert moved_in_words(BINARY, 0.02, 1, 2).endswith("in 1 of 2 cells.")
    years = Range(name="age", low=0.0, high=99.0, unit="years")
    assert moved_in_words(years, 8.2, None, 2) == (
        "The answers moved its values of age by 8.2 years on average."
    )


def test_accuracy_is_told_in_people() -> None:
    said = right_more_often("model 1", "model 2", Interval(0.101, -0.116, 0.317))
    assert said == (
        "The answers cannot tell which is right more often: of 100 people model 2 is right for 10 "
        "more (12 fewer to 32 more) than model 1."
    )
    said = right_more_often("model 1", "model 2", Interval(-0.101, -0.316, -0.004))
    assert said == "Of 100 people model 2 is right for 10 fewer (0.4 to 32) than model 1."
    assert plain(how_often_right(Interval(0.63, 0.49, 0.77))) == (
        "Its cells are right for 63 % (49 % to 77 %) of people like the holders."
    )
    assert "do not tell yet" in how_often_right(Interval(1.0, 0.0, 1.0))
    assert plain(how_often_right(Interval(0.87, 0.09, 1.0))) == (
        "The answers tell too little of how often its cells are right: anything from 9 % to 100 %."
    )
    unknown, more = Interval(0.1, -0.1, 0.3), Interval(0.2, 0.1, 0.3)
    than = Yardsticks(0.6, unknown, "no", unknown)
    assert worth_of_accuracy(than) == (
        "The answers cannot tell whether it is right more often than its public model or than "
        "always saying no."
    )
    assert worth_of_accuracy(replace(than, more_than_public=more)) == (
        "Of 100 people it is right for 20 more (10 to 30) than its public model. The answers "
        "cannot tell whether it is right more often than always saying no."
    )
    same = replace(than, more_than_always=Interval(0.0, 0.0, 0.0))
    assert worth_of_accuracy(same).startswith("It is right just as often as always saying no. The")
    assert worth_of_accuracy(replace(same, more_than_public=same.more_than_always)) == (
        "It is right just as often as its public model and as always saying no."
    )
    assert plain(why_less(than)) == (
        "Counted on the very answers that the cells were fitted to, noise included, the accuracy "
        "would be 60 %; the scores are corrected for that."
    )


def test_a_tree_that_averages_to_another_figure_says_why() -> None:
    known = row(reported=0.46, low=0.42, high=0.5)
    assert average_of_cells(BINARY, 0.391, known).replace("\u00a0", " ") == (
        "The cells of the tree average to yes: 39 %, not 46 %: the model rests on the public "
        "records too."
    )
    assert average_of_cells(BINARY, 0.461, known) == ""
    wide = row(reported=0.46, low=0.18, high=0.74)
    assert average_of_cells(BINARY, 0.391, wide) == "", "within a quarter of the half width"
    mean = row(reported=1.25, low=1.0, high=1.5)
    assert average_of_cells(NUMBER, 1.5, mean).startswith("The cells of the tree average to 1.5, ")


def test_a_model_that_answers_left_as_it_was_is_the_public_one() -> None:
    assert moved_in_words(BINARY, 0.004, 0, 2).startswith("This is the public model")
    assert not moved_in_words(BINARY, 0.004, 1, 2).startswith("This is the public model")
