"""Sentences about findings state what their numbers show, and nothing else."""

import re
from dataclasses import replace

import numpy as np
import pytest

from privet.learning.core.amounts import (
    TELLING,
    about,
    amount,
    figure,
    in_digits,
    percent,
    share_ends,
    tells_nothing,
)
from privet.learning.core.counts import Interval, QuestionCounts
from privet.learning.core.labels import kind_of
from privet.learning.figures.compare import insight
from privet.learning.figures.node_shares import BelowNodes, reports_for_cells, untold_cells
from privet.learning.figures.power import ShareDifference, share_p
from privet.learning.figures.precision import overall_precision
from privet.learning.figures.results import CellDifference, Line, WaveFigure, Yardsticks
from privet.learning.figures.sentences import (
    asked,
    average_of_cells,
    cells_in_words,
    differs_from_first,
    finding,
    finding_among,
    finding_in_cell,
    how_much_better,
    how_often_right,
    in_doubt,
    in_short,
    little_beside,
    moved_in_words,
    right_more_often,
    seen_in_words,
    too_few,
    unlike_reports,
    verdict,
    which_is_better,
    which_to_keep,
    why_less,
    worth_of_accuracy,
)
from privet.learning.methods import fit
from privet.protocol.features import Classes, Label, Range
from privet.protocol.results import Comparison

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
    of, end = "23 % say yes (1 % to 45 %)", " in your file."
    assert plain(finding(BINARY, row())) == f"{of}. Your file says 19 %: too close to call."
    differs = row(p_value=0.04, public=0.1)
    assert plain(finding(BINARY, differs)) == f"{of}, more than the 10 %{end}"
    fewer = row(p_value=0.04, public=0.5)
    assert plain(finding(BINARY, fewer)) == f"{of}, fewer than the 50 %{end}"
    assert plain(finding(BINARY, fewer, "that file")).endswith("the 50 % in that file.")
    misses = row(reported=0.0, low=0.0, high=0.12, public=0.51, p_value=1.0)
    assert plain(finding(BINARY, misses)) == (
        "0 % say yes (0 % to 12 %), fewer than the 51 % in your file; for all who could "
        "have answered it is too close to call."
    )
    assert "too close to call" in finding(THREE, row(name="high", p_value=0.04)), "of three figures"
    assert finding(BINARY, row(low=0.0, high=1.0, p_value=0.0)) == (
        "The answers do not tell yet how many say yes."
    )
    number = row(name="y", reported=1.0, low=0.5, high=1.5, public=2.0, p_value=0.01)
    assert finding(NUMBER, number) == "The mean is 1 (0.5 to 1.5), less than the 2 in your file."
    unknown = row(name="y", low=NUMBER.low, high=NUMBER.high)
    assert finding(NUMBER, unknown) == "The answers do not tell the mean yet."


def test_a_mean_has_its_unit_and_all_beside_it_its_digits() -> None:
    """The file's mean and the ends if answers were false have no more digits than its interval."""
    drinks = Range(name="y", low=0.0, high=40.0, unit="drinks")
    mean = row(name="y", reported=9.52, low=6.46, high=12.58, public=10.06)
    assert finding(drinks, mean) == (
        "The mean is 9.5 drinks (6.5 to 12.6). Your file says 10.1: too close to call."
    )
    assert "a difference of 4.39 drinks or more would" in seen_in_words(drinks, [4.386])
    assert "the mean could be anything between 5.5 and 13 drinks." in in_doubt(
        drinks, [mean], [Interval(9.52, 5.452, 13.02)], 0.01
    )


def test_one_of_several_figures_is_said_in_short_where_it_does_not_differ() -> None:
    """As a range, where it is known to less than ± a quarter."""
    among = [row(), row(low=0.0, high=0.6), row(p_value=0.01, public=0.5)]
    assert [plain(finding_among(THREE, each)) for each in among[:2]] == [
        "yes: 23 % (1 % to 45 %); your file 19 %.",
        "yes: 0 % to 60 %, too few answers; your file 19 %.",
    ]
    assert finding_among(THREE, among[2]) == finding(THREE, among[2])


def test_a_finding_stands_below_its_question() -> None:
    """As people read it; the column's name where it has none, with the unit of a number."""
    assert asked(BINARY) == "y"
    assert asked(BINARY.model_copy(update={"prompt": "Are you ill?"})) == "Are you ill?"
    assert asked(NUMBER.model_copy(update={"unit": "mmHg"})) == "y (mmHg)"
    weekly = {"prompt": "How many drinks a week?", "unit": "drinks"}
    assert asked(NUMBER.model_copy(update=weekly)) == "How many drinks a week?", "said already"


def test_a_cell_that_is_listed_is_located() -> None:
    cell, path = CellDifference(0, "yes", 0.5, 0.4, 0.6, 0.3, 0.001), ("x: under 1", "z: 2 or more")
    assert plain(finding_in_cell(BINARY, cell, path)) == (
        "x: under 1 · z: 2 or more: 50 % say yes (40 % to 60 %), more than the 30 % in your file."
    )
    assert plain(finding_in_cell(NUMBER, replace(cell, name=None), path)) == (
        "x: under 1 · z: 2 or more: 50 % (40 % to 60 %) of those who answered, more than the 30 % "
        "in your file."
    )


def test_the_verdict_is_the_surest_figure_or_that_there_is_none() -> None:
    nothing = [row(name="no", low=0.0, high=1.0), row(low=0.0, high=1.0)]
    assert plain(verdict(BINARY, nothing, 40, 9_876)) == (
        "These 40 answers tell nothing yet: about 9 900 more would give every figure to ± 25 "
        "points."
    )
    assert verdict(BINARY, nothing, 1, 0) == "This answer tells nothing yet."
    assert plain(too_few(NUMBER, 800, 13_876)) == (
        "These 800 answers tell too little yet: about 14 000 more would give the mean to ± 2."
    )
    three = [row(name=name, p_value=p) for name, p in zip("abc", (0.01, 0.001, 0.9), strict=True)]
    said = verdict(THREE, three, 40, 0)
    assert said.startswith(finding(THREE, three[1]))
    assert said.endswith(" One other figure differs.")
    assert verdict(THREE, [*three[1:], three[2]], 40, 0) == finding(THREE, three[1])


def test_a_figure_that_may_be_anything_is_not_named() -> None:
    """Unless it differs: whether half of all that is possible is in its interval, or more."""
    wide = row(reported=0.06, low=0.0, high=0.74, public=0.49)
    said = plain(verdict(BINARY, [wide, wide], 500, 2_100))
    assert said == (
        "These 500 answers tell too little yet: between 0 % and 74 % say yes; about 2 100 more "
        "would give every figure to ± 25 points."
    )
    assert "6 %" not in said
    sure = row(reported=0.55, low=0.2, high=0.9, public=0.1, p_value=0.001)
    assert verdict(BINARY, [sure, sure], 500, 2_100) == finding(BINARY, sure)
    three = [row(name=name, high=0.6) for name in "abc"]
    assert plain(verdict(THREE, three, 40, 0)) == (
        "These 40 answers tell too little yet: none of the 3 shares is known to ± 25 points."
    )
    hours = NUMBER.model_copy(update={"unit": "hours"})
    end = 0.7 * NUMBER.high
    number = replace(row(name="y", reported=2.0, low=NUMBER.low, high=end), public=None)
    ends = f"he mean is between {amount(NUMBER.low)} and {amount(end)} hours"
    assert verdict(hours, [number], 40, 900) == (
        f"These 40 answers tell too little yet: t{ends}; about 900 more would give the mean to "
        "± 2 hours."
    )
    assert finding(hours, number) == f"T{ends} (too few answers to say more).", (
        "also where it stands alone"
    )
    assert plain(finding(BINARY, wide)).startswith(
        "Between 0 % and 74 % say yes (too few answers to say more). Your file"
    )


def test_false_answers_are_not_spoken_of_where_anything_may_be() -> None:
    """Such a figure is known to nobody without them either."""
    three = [row(name=name) for name in "abc"]
    ends = [Interval(0.2, 0.0, 1.0), Interval(0.2, 0.0, 0.4), Interval(0.2, 0.0, 1.0)]
    said = plain(in_doubt(THREE, three, ends, 0.01))
    assert said.endswith("false on purpose, the share of b could be anything between 0 % and 40 %.")
    ends[0] = Interval(0.2, 0.1, 0.3)
    assert plain(in_doubt(THREE, three, ends, 0.01)).endswith(
        "the share of a could be anything between 10 % and 30 % and that of b between 0 % and 40 %."
    )
    assert in_doubt(THREE, three, [Interval(0.2, 0.0, 1.0)] * 3, 0.01) == ""


def test_no_more_people_of_100_are_told_apart_than_there_are() -> None:
    """A difference that may be anything is stated in no number."""
    said = right_more_often("model 1", "model 2", Interval(-0.2, -1.0, 1.0))
    assert said == "The answers cannot tell which is right more often."
    assert "(100 fewer to 50 more)" in right_more_often("a", "b", Interval(-0.2, -1.0, 0.5))


def test_no_difference_is_never_said_without_what_would_have_shown() -> None:
    """Of one figure, and of several the largest that any of them needs."""
    likely = "would have shown 8 times in 10."
    said = plain(verdict(BINARY, [row(seen_from=0.2), row(seen_from=0.352)], 40, 0))
    assert said == (
        "23 % say yes (1 % to 45 %). Your file says 19 %: too close to call. A difference of 35 "
        f"points or more {likely}"
    )
    assert plain(verdict(BINARY, [row(), row()], 40, 0)).endswith(
        f" No difference, however large, {likely}"
    )
    assert "of 100 points or more" in verdict(BINARY, 2 * [row(seen_from=0.996)], 40, 0)
    three = [
        row(name=name, seen_from=seen) for name, seen in zip("abc", (0.1, 0.3, 0.2), strict=True)
    ]
    assert plain(verdict(THREE, three, 40, 0)) == (
        "None of the 3 shares is sure to differ from your file: too close to call. A difference "
        f"of 30 points or more {likely}"
    )
    number = row(name="y", reported=2.0, low=1.5, high=2.5, public=2.1, seen_from=0.8)
    assert plain(verdict(NUMBER, [number], 40, 0)).endswith(
        f" A difference of 0.8 or more {likely}"
    )


OVERLAPS = "The difference from wave 1 may be chance: its interval overlaps that one's."


def lines_of(*figures: tuple[float, float, float]) -> tuple[Line, ...]:
    """The lines of two classes, of which the second has these figures, wave by wave."""
    waves = tuple(WaveFigure(number, 0, *each) for number, each in enumerate(figures, 1))
    return Line("no", ()), Line("yes", waves)


def test_a_panels_readers_learn_whether_the_latest_wave_differs_from_the_first() -> None:
    """Where intervals do not overlap, or that they do; of several shares, of one wave and of one
    that tells nothing nothing is said."""
    low, middle, high = (0.39, 0.33, 0.46), (0.5, 0.44, 0.56), (0.64, 0.58, 0.7)
    assert plain(str(differs_from_first(BINARY, lines_of(low, middle, high)))) == (
        "That is more than in wave 1: 39 % (33 % to 46 %)."
    )
    assert plain(str(differs_from_first(BINARY, lines_of(high, low)))) == (
        "That is less than in wave 1: 64 % (58 % to 70 %)."
    )
    number = (Line("y", lines_of((2.0, 1.5, 2.5), (3.0, 2.6, 3.4))[1].figures),)
    assert differs_from_first(NUMBER, number) == "That is more than in wave 1: 2 (1.5 to 2.5)."
    for alike in (lines_of(low, (0.5, 0.4, 0.6)), lines_of(low, high, low)):
        assert differs_from_first(BINARY, alike) == OVERLAPS
    for silent in (lines_of(low), lines_of(low, (0.5, 0.0, 1.0))):
        assert differs_from_first(BINARY, silent) is None
    three = tuple(Line(name, lines_of(low, high)[1].figures) for name in "abc")
    assert differs_from_first(THREE, three) is None


@pytest.mark.parametrize("ratio", [1.0, 3.0, 100.0])
def test_alike_waves_are_rarely_said_to_differ(ratio: float) -> None:
    """In at most 5 % of panels, whatever the widths; 4 000 panels show more by chance once in
    10 000 trials at the most."""
    rng, errors = np.random.default_rng(1), np.array([0.001, 0.001 * ratio])
    said = 0
    for _ in range(4_000):
        values = rng.normal(0.5, errors)
        of = zip(values, values - 1.96 * errors, values + 1.96 * errors, strict=True)
        said += differs_from_first(BINARY, lines_of(*of)) != OVERLAPS
    assert said <= 255


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


def test_numbers_have_as_many_digits_as_their_interval_tells() -> None:
    """No zero has a sign; where nothing is known of one there is a dash."""
    assert in_digits(0.18, 0.4882, 0.3982, 0.5782, None) == ["0.49", "0.4", "0.58", "–"]
    assert in_digits(0.02, -0.00042, -0.01) == ["0", "-0.01"]
    assert in_digits(0.0, 0.4882) == ["0.4882"]
    assert figure(-0.00042, -0.02, 0.02, is_share=False) == "0 (-0.02 to 0.02)"


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
        leaves = [int(node) for node in TREE.leaves]
        rows = [BelowNodes(label, public, asked).shares(node).rows for node in leaves]
        return [max(r.reported.high - r.reported.low for r in of) / 2.0 for of in rows]

    few = asked_of(400)
    precision = overall_precision(label, few)
    assert precision is not None
    enough = precision.reports(TELLING * width, None)
    asked = asked_of(enough)
    model = fit("weighted", label, public, [asked], **REPORTS_ALONE)
    halves = [(row.high - row.low) / 2.0 for row in insight(label, public, [asked], model).overall]
    assert max(halves) == pytest.approx(TELLING * width, rel=0.15)
    needed = reports_for_cells(label, public, few, TELLING)
    assert 0.6 < np.median(of_cells(asked_of(needed))) / (TELLING * width) <= 1.0
    each = [reports_for_cells(label, public, few, TELLING, one) for one in np.eye(TREE.cells) > 0]
    assert sorted(each)[(TREE.cells - 1) // 2] == needed < max(each)
    assert of_cells(asked_of(max(each)))[int(np.argmax(each))] <= TELLING * width


@EVERY_LABEL
def test_a_cell_is_untold_where_its_page_gives_all_that_is_possible(label: Label) -> None:
    """By the reports' own interval, whatever the model: one of public records alone too."""
    public, found = public_rows(label, PUBLIC, seed=1), set()
    for n in (1, 20, 60, 150, 400, 50_000):
        counts = counts_of(label, public_rows(label, n, seed=2))
        asked = reports(TREE, counts, 1.0, 3, regression=label is NUMBER)
        leaves = [int(node) for node in TREE.leaves]
        shown = [BelowNodes(label, public, asked).shares(node).rows for node in leaves]
        whole = [
            all(tells_nothing(r.reported.low, r.reported.high, *label.bounds) for r in rows)
            for rows in shown
        ]
        assert untold_cells(label, asked).tolist() == whole, n
        found.add(sum(whole))
    assert 0 in found
    assert max(found) > 0


@pytest.mark.parametrize(
    ("cells", "untold", "said"),
    [
        (1, 0, "The one group has a figure of its own."),
        (8, 0, "All 8 groups have a figure of their own."),
        (1, 1, "Do not use it yet: the answers do not say anything about anybody."),
        (
            8,
            8,
            "Do not use it yet: the answers do not say anything about any of the 8 groups by "
            "itself.",
        ),
        (8, 3, "5 of 8 groups have a figure of their own; 3 have too few answers."),
        (8, 7, "1 of 8 groups has a figure of its own; 7 have too few answers."),
        (8, 1, "7 of 8 groups have a figure of their own; 1 has too few answers."),
    ],
)
def test_a_model_is_said_to_be_fit_for_use_or_not(cells: int, untold: int, said: str) -> None:
    assert cells_in_words(BINARY, cells, untold, 0) == said


def test_it_is_said_how_wide_the_intervals_of_groups_are() -> None:
    """The narrowest and the widest of the groups with a figure."""
    years = Range(name="age", low=0.0, high=99.0, unit="years")
    assert cells_in_words(BINARY, 4, 1, 0, widths=(0.26, 0.651, 0.4)) == (
        "3 of 4 groups have an interval of their own, 26 to 65 points wide; 1 has too few answers."
    )
    assert cells_in_words(years, 4, 0, 0, widths=(12.3, 9.25)) == (
        "All 4 groups have an interval of their own, 9.2 to 12 years wide."
    )
    assert cells_in_words(BINARY, 4, 3, 0, widths=(0.4,)).startswith(
        "1 of 4 groups has an interval of its own, 40 points wide; 3 have"
    )


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
        assert which_to_keep(BINARY, "model 1", "model 2", sure, counts) == "Put model 2 in use."
        newer, then = 3 - older, "keep it" if older == 2 else "put it in use"
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
        assert advice == ("Put model 2 in use." if said.startswith("Model 2") else "Keep model 1.")
    elif "cannot" in said:
        assert "less for model 2 by up to 0.12, or for model 1 by up to 0.1." in detail
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

    def said(cells: int, untold: int, *paths: tuple[str, ...]) -> str:
        return plain(cells_in_words(BINARY, cells, untold, 13_876, paths))

    assert said(16, 7) == (
        "9 of 16 groups have a figure of their own; 7 have too few answers. About "
        "14 000 more would give half of these 7 groups to ± 25 points."
    )
    assert "more would give one of them to" in said(16, 2)
    assert "more would give it to" in said(16, 1)
    assert "more would give one of them to" in said(2, 2)
    assert said(1, 1).endswith("about anybody. About 14 000 more would give it to ± 25 points.")
    assert said(2, 1, ("age: under 47.5", "smoker: yes")).startswith(
        "1 of 2 groups has a figure of its own; too few answers in “age: under 47.5 · smoker: yes”."
    )
    assert said(4, 2, ("a: under 1",), ("a: 7 or more",)).startswith(
        "2 of 4 groups have a figure of their own; too few answers in “a: under 1” and in “a: 7 or "
        "more”."
    )


def test_no_group_is_none() -> None:
    assert moved_in_words(BINARY, 0.02, 0, 2) == (
        "Together the answers moved the predictions by 2 points on average; the likelier answer "
        "changed in no group."
    )
    assert moved_in_words(BINARY, 0.02, 1, 2).endswith("likelier answer changed in 1 of 2 groups.")
    assert moved_in_words(THREE, 0.02, 2, 4).endswith("likeliest answer changed in 2 of 4 groups.")
    assert moved_in_words(BINARY, 0.02, 1, 1) == (
        "Together the answers moved the predictions by 2 points; the likelier answer changed."
    )
    assert moved_in_words(BINARY, 0.02, 0, 1).endswith("answer is the same as before.")
    years = Range(name="age", low=0.0, high=99.0, unit="years")
    assert moved_in_words(years, 8.2, None, 2) == (
        "Together the answers moved the predictions by 8.2 years on average."
    )


def test_accuracy_is_told_in_people() -> None:
    said = right_more_often("model 1", "model 2", Interval(0.101, -0.116, 0.317))
    assert said == (
        "The answers cannot tell which is right more often: of 100 people model 2 is right for 10 "
        "more (12 fewer to 32 more) than model 1, if everybody in a group gets the same answer."
    )
    said = right_more_often("model 1", "model 2", Interval(-0.101, -0.316, -0.004))
    assert said == (
        "Of 100 people model 2 is right for 10 fewer (0.4 to 32) than model 1, if everybody in a "
        "group gets the same answer."
    )
    difference, known = Interval(-0.078, -0.16, -0.004), Interval(0.764, 0.7, 0.83)
    other = Interval(0.686, 0.6, 0.77)
    said = right_more_often("model 1", "model 2", difference, (known, other))
    assert said == (
        "Of 100 people model 1 is right for 76 and model 2 for 69, if everybody in a group gets "
        "the same answer; with 95 % confidence model 2 is right for 16 fewer to 0.4 fewer."
    ), "without 8 fewer, which these do not differ by"
    unknown = Interval(0.686, 0.3, 1.0)
    said = right_more_often("model 1", "model 2", difference, (known, unknown))
    assert said == right_more_often("model 1", "model 2", difference)
    assert plain(how_often_right(Interval(0.63, 0.49, 0.77))) == (
        "The model is right for 63 % (49 % to 77 %) of people like those who answered, if "
        "everybody in a group gets the same answer."
    )
    assert how_often_right(Interval(1.0, 0.0, 1.0)).endswith("is right is not known yet.")
    assert plain(how_often_right(Interval(0.87, 0.09, 1.0))) == (
        "How often the model is right is not known yet: anything from 9 % to 100 %."
    )
    unknown, more = Interval(0.1, -0.1, 0.3), Interval(0.2, 0.1, 0.3)
    than = Yardsticks(0.6, unknown, "no", unknown)
    assert worth_of_accuracy(than) == (
        "The answers cannot tell whether it is right more often than the public model or than "
        "always saying “no”."
    )
    assert worth_of_accuracy(replace(than, more_than_public=more)) == (
        "Of 100 people it is right for 20 more (10 to 30) than the public model. The answers "
        "cannot tell whether it is right more often than always saying “no”."
    )
    same = replace(than, more_than_always=Interval(0.0, 0.0, 0.0))
    assert worth_of_accuracy(same).startswith(
        "It is right just as often as always saying “no”. The"
    )
    assert worth_of_accuracy(replace(same, more_than_public=same.more_than_always)) == (
        "It is right just as often as the public model and as always saying “no”."
    )


@pytest.mark.parametrize("rows", [200, 1_000])
def test_a_small_file_shows_large_differences_only(rows: int) -> None:
    """By the test of a share that is known for sure, beside half of the rows, in points."""
    found = re.search(
        "less than ([0-9]+) points .*less than ([0-9]+) if you look once", little_beside(rows)
    )
    assert found
    for progress, points in zip((1.0, None), found.groups(), strict=True):
        for more, is_seen in ((1.0, True), (-1.0, False)):
            share = np.array([0.5 + (float(points) + more) / 100.0])
            p = share_p(progress, np.array([rows / 2.0]), float(rows), share, np.zeros(1))
            assert (p[0] < 0.05) == is_seen
    rarer = ShareDifference(0.05 * rows, rows, np.zeros_like, np.inf, 1, 1.0).smallest()
    assert rarer is not None
    assert 100.0 * rarer < float(found[1]), "as the sentence says of a rarer answer"
    assert little_beside(5_000) == ""


def test_the_most_frequent_answer_is_named_if_it_is_sure() -> None:
    """Else all those that may be it, unless they are many."""

    def said(**shares: float) -> str:
        rows = [
            Comparison(name, share, share - 0.03, share + 0.03, None, 1.0, None)
            for name, share in shares.items()
        ]
        return plain(verdict(Classes(name="y", classes=tuple(shares)), rows, 900, 0))

    assert said(a=0.2, b=0.5, c=0.3) == "Most often: b, 50 % (47 % to 53 %)."
    two = said(a=0.2, b=0.42, c=0.38)
    assert two == "Most often: b, 42 % (39 % to 45 %); or c, 38 % (35 % to 41 %)."
    four = said(a=0.26, b=0.25, c=0.24, d=0.25)
    assert four == "It is not sure which of the 4 answers is the most frequent."


def test_answers_that_a_sentence_would_swallow_are_quoted() -> None:
    label = Classes(name="party", classes=("some", "none"))
    row = Comparison("none", 0.24, 0.2, 0.28, None, 0.001, None)
    assert plain(finding(label, row)) == "24 % say “none” (20 % to 28 %)."
    assert "say yes (" in plain(finding(BINARY, replace(row, name="yes")))


def test_a_difference_of_scores_has_the_digits_that_it_has_elsewhere() -> None:
    """The page had 14 where the command had 14.1."""
    number = Range(name="days", low=0.0, high=60.0)
    of = Interval(8.21, 2.34, 14.08)
    said = how_much_better(number, "model 1", "model 2", {"squared error": of})
    stated = figure(of.value, of.low, of.high, is_share=False)
    assert stated == "8.2 (2.3 to 14.1)"
    assert said.endswith(f" by {stated}.")


def test_how_far_a_figure_was_moved_has_its_unit_and_two_digits() -> None:
    days = Range(name="days", low=0.0, high=60.0, unit="days")
    assert kind_of(days).moved(0.003402) == "0.0034 days"
    assert kind_of(BINARY).moved(0.003402) == "0.34 points"
    assert kind_of(BINARY).moved(0.01) == kind_of(BINARY).size(0.01) == "1 point"


def test_what_a_score_was_corrected_from_is_said_where_it_differs() -> None:
    """In the digits that the score has, and not beside one that is not known."""
    than = Yardsticks(0.6, Interval(0.1, -0.1, 0.3), "no", Interval(0.1, -0.1, 0.3))
    assert plain(why_less(than, Interval(0.57, 0.5, 0.64))) == (
        "Counted on the very answers that the groups' figures come from, noise included, the "
        "accuracy would be 60 %; the scores are corrected for that."
    )
    assert why_less(than, Interval(0.601, 0.53, 0.67)) == ""
    assert why_less(than, Interval(0.3, 0.0, 0.7)) == ""


def test_a_tree_that_averages_to_another_figure_says_why() -> None:
    known = row(reported=0.46, low=0.42, high=0.5)
    assert average_of_cells(BINARY, 0.391, known).replace("\u00a0", " ") == (
        "The model leans on your file, so its groups average to 39 % yes, and the answers to 46 %."
    )
    assert average_of_cells(BINARY, 0.461, known) == ""
    wide = row(reported=0.46, low=0.18, high=0.74)
    assert average_of_cells(BINARY, 0.391, wide) == "", "within half of the half width"
    mean = row(reported=1.25, low=1.0, high=1.5)
    assert average_of_cells(NUMBER, 0.912, mean).endswith("to 0.91, and the answers to 1.25.")
    assert average_of_cells(NUMBER, 1.5, mean) == "", "a file of 0.19 does not draw it there"


def test_a_model_that_answers_left_as_it_was_is_the_public_one() -> None:
    assert "hardly moved the predictions" in moved_in_words(BINARY, 0.004, 0, 2)
    assert "hardly" not in moved_in_words(BINARY, 0.004, 1, 2)
    drinks = Range(name="y", low=0.0, high=40.0, unit="drinks")
    assert "hardly moved the predictions" in moved_in_words(drinks, 0.028, None, 8)


def test_the_headline_is_of_the_chosen_class() -> None:
    """Of three classes too, where another would be surer; of two the other one is not stated."""
    rows = [
        row(name=name, p_value=p, seen_from=0.2)
        for name, p in zip(("no", "yes"), (0.5, 0.5), strict=True)
    ]
    first = BINARY.model_copy(update={"headline": "no"})
    assert verdict(first, rows, 40, 0).startswith("23\u00a0% say no (")
    three = [
        row(name=name, p_value=p, seen_from=p)
        for name, p in zip(THREE.classes, (0.9, 0.6, 0.4), strict=True)
    ]
    chosen = THREE.model_copy(update={"headline": THREE.classes[0]})
    said = plain(verdict(chosen, three, 40, 0))
    assert said.startswith(f"23 % say {THREE.classes[0]} (")
    assert "A difference of 90 points or more" in said
    surer = [three[0], replace(three[1], p_value=0.001), three[2]]
    assert verdict(chosen, surer, 40, 0).endswith("too close to call. One other figure differs.")


def test_a_sentence_on_a_model_is_of_its_own_answers() -> None:
    """Before, a model of 3 000 answers was said to have moved by all 4 000."""
    said = plain(moved_in_words(BINARY, 0.02, 1, 4, (3_000, 4_000)))
    assert said.startswith("Together the 3 000 answers of this model moved the predictions by 2")
    assert "The 3 000 answers of this model have hardly" in plain(
        moved_in_words(BINARY, 0.001, 0, 4, (3_000, 4_000))
    )
    assert moved_in_words(BINARY, 0.0, 0, 4, (0, 4_000)) == "No answers went into this model."
    assert moved_in_words(BINARY, 0.02, 1, 4, (4_000, 4_000)).startswith("Together the answers m")


def test_without_a_file_the_headline_has_nothing_beside_it() -> None:
    alone = replace(row(low=0.2, high=0.3), public=None)
    assert plain(verdict(BINARY, [alone, alone], 40, 0)) == "23 % say yes (20 % to 30 %)."


def test_a_wave_in_short_names_classes_and_no_column() -> None:
    """A study has one number, so its mean takes no name; a share says of which class it is."""
    assert plain(in_short(NUMBER, {"y": Interval(2.0, 1.0, 3.0)}) or "") == "2 (1 to 3)"
    shares = dict.fromkeys(BINARY.classes, Interval(0.5, 0.4, 0.6))
    assert plain(in_short(BINARY, shares) or "") == "yes 50 % (40 % to 60 %)"
    assert in_short(BINARY, dict.fromkeys(BINARY.classes, Interval(0.5, 0.0, 1.0))) is None
    assert in_short(BINARY, {}) is None
