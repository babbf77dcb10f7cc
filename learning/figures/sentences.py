"""Findings in plain sentences: what reports say of a label, and which of two models is better.

A sentence states only what its numbers show, of people, groups and answers. A figure that differs
is said to be more or less than that of the file with public records; one that does not is too close
to call, or, where its interval misses the file's, only so for all who could have answered; and one
whose interval is all that is possible is said to tell nothing yet.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Protocol

from privet.protocol.features import Classes, Label
from privet.protocol.results import Comparison, RegisterFigure

from ..core.amounts import (
    TELLING,
    TOO_FEW_ANSWERS,
    WIDE,
    about,
    amount,
    capital,
    figure,
    in_digits,
    listed,
    lowered,
    number_ends,
    percent,
    share_ends,
    tells_enough,
    tells_nothing,
    thousands,
)
from ..core.labels import ClassLabel, NumberLabel, as_answer, kind_of
from ..core.trees import name_of_group
from .power import POWER, TARGET, least_beside
from .results import (
    CellDifference,
    FigureInGroup,
    Group,
    Line,
    WaveChange,
    Yardsticks,
)
from .select import FALSE_DISCOVERY_RATE

YOUR_FILE = "your file"
"""The public records, as whoever asks calls them."""
PUBLIC_FILE = "the earlier file"
"""The same to everybody else."""
TOO_CLOSE = "too close to call"
LIKELY = f"would have shown {10 * POWER:.0f} times in 10"
"""The words for the least difference that is detected with it."""
HARDLY = 0.005
"""Mean change that is no news, as a part of the range."""
MOST_NAMED = 2
"""Groups that are named by their conditions; more are counted."""
MOST_STATED = 3
"""Answers that a sentence has, each of which may be the most frequent."""
ONE_ANSWER = "if everybody in a group gets the same answer"
"""The condition of an accuracy, which is of a model's cells."""
NO_MATTER = 0.5
"""Part of an interval's half width by which two figures may differ without a word."""
CLOSER_IN_WORDS = {
    "Brier score": "its probabilities are closer to what people answer",
    "squared error": "its numbers are closer to those that people have",
}
SCORE_IN_WORDS = {
    "Brier score": "Brier score, the squared error of its probabilities",
    "squared error": "mean squared error",
}


class Ended(Protocol):
    """A figure with the ends of its interval."""

    @property
    def value(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...


def differs(label: Label, row: Comparison) -> bool:
    """True if a figure of the holders differs from the public one beyond chance."""
    return row.p_value * kind_of(label).tests <= FALSE_DISCOVERY_RATE


def tells_little(label: Label, row: Comparison) -> bool:
    """True if a figure is known to less than ± ``TELLING``, and not to differ."""
    return not (tells_enough(row.low, row.high, label.span) or differs(label, row))


def finding(label: Label, row: Comparison, file: str = YOUR_FILE) -> str:
    """Sentences on one overall figure beside that in the ``file``, to stand below ``asked``.

    An interval is of those who reported, and a test of the people behind both data: an interval
    that misses the public figure differs from it, whatever the test cannot show of others.
    """
    kind = kind_of(label)
    if tells_nothing(row.low, row.high, *kind.bounds):
        if kind.is_share:
            return f"The answers do not tell yet how many say {as_answer(row.name)}."
        return "The answers do not tell the mean yet."
    first = kind.in_words(row.name, row.reported, row.low, row.high)
    if tells_little(label, row):
        first = f"{capital(_between(label, row))} ({TOO_FEW_ANSWERS} to say more)"
    if row.public is None:
        return f"{first}."
    public = kind.beside(row.public, row.low, row.high)
    side = _side(row, "fewer" if kind.is_share else "less")
    if differs(label, row):
        return f"{first}, {side} than the {public} in {file}."
    if row.low <= row.public <= row.high:
        return f"{first}. {capital(file)} says {public}: {TOO_CLOSE}."
    return (
        f"{first}, {side} than the {public} in {file}; for all who could have answered it is "
        f"{TOO_CLOSE}."
    )


def in_register(label: Label, figures: Sequence[RegisterFigure]) -> str:
    """A sentence on the figures of all people in a register; empty without any."""
    if not figures:
        return ""
    kind = kind_of(label)
    said = [
        lowered(kind.in_words(of.name, of.value, of.low, of.high))
        for of in figures[kind.independent]
    ]
    return (
        f"Of all people in the register, {listed(said)}, if in each group those who answered are "
        "like those who did not."
    )


def finding_among(label: Label, row: Comparison, file: str = YOUR_FILE) -> str:
    """``finding``, shorter where it is one of several figures and does not differ."""
    if differs(label, row) or not kind_of(label).is_share:
        return finding(label, row, file)
    stated = figure(row.reported, row.low, row.high, is_share=True)
    if tells_little(label, row):
        stated = f"{share_ends(row.low, row.high)}, {TOO_FEW_ANSWERS}"
    beside = "" if row.public is None else f"; {file} {percent(row.public)}"
    return f"{row.name}: {stated}{beside}."


def in_doubt(
    label: Label, overall: Sequence[Comparison], ends: Sequence[Ended], part: float
) -> str:
    """A sentence on each figure's ``ends`` if that ``part`` of the answers were false.

    Empty where these are all that is possible, as of figures of which nothing is known.
    """
    kind, said = kind_of(label), list[str]()
    rows = list(zip(overall, ends, strict=True))[kind.independent]
    for row, of in rows:
        if tells_nothing(of.low, of.high, *kind.bounds):
            continue
        if kind.is_share:
            both = share_ends(of.low, of.high, " and ")
            what = "that of {} between" if said else "the share of {} could be anything between"
            said.append(f"{what.format(as_answer(row.name))} {both}")
        else:
            both = kind.with_unit(number_ends(of.low, of.high, " and "))
            said.append(f"the mean could be anything between {both}")
    if not said:
        return ""
    return f"If somebody had sent {percent(part)} of the answers false on purpose, {listed(said)}."


def asked(label: Label) -> str:
    """The question about a label as people read it, or its name, with the unit of a number."""
    return in_its_unit(label.prompt or label.name, kind_of(label).measure)


def little_beside(rows: int) -> str:
    """A sentence on a file of so few ``rows`` that the difference of which a plan gives the chance
    does not show, however many answer; else none."""
    often, once = (least_beside(max(rows, 1), progress) for progress in (1.0, None))
    if often <= TARGET:
        return ""
    return (
        f"Your file has only {thousands(rows)} row{'' if rows == 1 else 's'}. Where half of them "
        f"give an answer, a difference of less than {100.0 * often:.0f} points from them mostly "
        f"stays hidden, however many people answer (of less than {100.0 * once:.0f} if you look "
        "once, at the end). Smaller ones show for a rarer answer, or beside a larger file."
    )


def in_its_unit(question: str, unit: str) -> str:
    """A question with the unit of a number behind it, if it has one that is no word of it."""
    if not unit or unit.lower() in re.findall(r"\w+", question.lower()):
        return question
    return f"{question} ({unit})"


def finding_in_cell(label: Label, row: CellDifference, path: Sequence[str]) -> str:
    """A sentence on a group that is listed since it differs from that in the file."""
    kind, where = kind_of(label), name_of_group(path)
    if row.name is None:
        stated = figure(row.reported, row.low, row.high, is_share=True)
        rest = f"{_side(row, 'fewer')} than the {percent(row.public)} in {YOUR_FILE}"
        return f"{where}: {stated} of those who answered, {rest}."
    stated = kind.in_words(row.name, row.reported, row.low, row.high)
    side = _side(row, "fewer" if kind.is_share else "less")
    return f"{where}: {lowered(stated)}, {side} than the {kind.text(row.public)} in {YOUR_FILE}."


def finding_in_group(
    label: Label, group: Group, of: FigureInGroup, path: Sequence[str], file: str = YOUR_FILE
) -> str:
    """A sentence on a figure of a group beside that in the ``file``, and on how many people it
    has."""
    kind = kind_of(label)
    stated = lowered(kind.in_words(of.name, of.value, of.low, of.high))
    if tells_nothing(of.low, of.high, *label.bounds):
        what = f"how many say {as_answer(of.name)}" if kind.is_share else "the mean"
        stated = f"{TOO_FEW_ANSWERS} to tell {what}"
    elif not tells_enough(of.low, of.high, label.span):
        stated = f"{_between(label, of)} ({TOO_FEW_ANSWERS} to say more)"
    beside = ""
    if of.public is not None:
        public = kind.beside(of.public, of.low, of.high)
        beside = f"; {file} says {public}"
        if tells_enough(of.low, of.high, label.span):
            beside += f": {TOO_CLOSE}"
        if of.differs:
            side = "more" if of.value > of.public else "fewer" if kind.is_share else "less"
            beside = f", {side} than the {public} in {file}"
    who = f"about {percent(group.part)} of those who answered"
    return f"{name_of_group(path)} ({who}): {stated}{beside}."


def figures_to_state(label: Label, overall: Sequence[Comparison]) -> Sequence[Comparison]:
    """The figures worth a sentence: of two classes the headline, since the other mirrors it."""
    return overall[kind_of(label).independent]


def verdict(
    label: Label,
    overall: Sequence[Comparison],
    reports: int,
    more: int,
    file: str = YOUR_FILE,
    *,
    with_least: bool = True,
) -> str:
    """The headline: one or two sentences on all that is known of the holders.

    Where nothing differs, from where on that would have shown, unless that stands elsewhere
    (``with_least``). ``more`` reports than the ``reports`` so far would give every figure to
    ``TELLING``.
    """
    rows = sorted(figures_to_state(label, overall), key=lambda row: row.p_value)
    chosen = label.headline if isinstance(label, Classes) else None
    rows.sort(key=lambda row: row.name != chosen)
    if all(tells_nothing(row.low, row.high, *label.bounds) for row in rows):
        would = f": {would_tell(label, more)}" if more != 0 else ""
        return f"{_answers(reports)} nothing yet{would}."
    if all(tells_little(label, row) for row in rows):
        would = f"; {would_tell(label, more)}" if more != 0 else ""
        return f"{_answers(reports)} too little yet: {_anything(label, rows)}{would}."
    if rows[0].public is None:
        return finding(label, rows[0]) if len(rows) == 1 else _most_often(rows)
    if not any(differs(label, row) for row in rows):
        said = finding(label, rows[0], file)
        if rows[0].name == chosen:
            rows = rows[:1]
        elif len(rows) > 1:
            said = f"None of the {len(rows)} shares is sure to differ from {file}: {TOO_CLOSE}."
        seen = capital(seen_in_words(label, [row.seen_from for row in rows]))
        return f"{said} {seen}." if with_least else said
    others = sum(differs(label, row) for row in rows[1:])
    also = {0: "", 1: " One other figure differs."}.get(others, f" {others} other figures differ.")
    return f"{finding(label, rows[0], file)}{also}"


def _most_often(rows: Sequence[Comparison]) -> str:
    """The most frequent answer, or those of which each may be it."""
    first = max(rows, key=lambda row: row.reported)
    leading = sorted((row for row in rows if row.high >= first.low), key=lambda row: -row.reported)
    if len(leading) > MOST_STATED:
        return f"It is not sure which of the {len(rows)} answers is the most frequent."
    said = (
        f"{as_answer(row.name)}, {figure(row.reported, row.low, row.high, is_share=True)}"
        for row in leading
    )
    return f"Most often: {'; or '.join(said)}."


def _anything(label: Label, rows: Sequence[Comparison]) -> str:
    """The ends of the one figure of which reports tell too little, or of how many they do."""
    if len(rows) > 1:
        return f"none of the {len(rows)} shares is known to ± {100.0 * TELLING:g} points"
    (row,) = rows
    return _between(label, row)


def _between(label: Label, of: Comparison | FigureInGroup) -> str:
    kind = kind_of(label)
    if kind.is_share:
        return f"between {share_ends(of.low, of.high, ' and ')} say {as_answer(of.name)}"
    ends = kind.with_unit(number_ends(of.low, of.high, " and "))
    return f"the mean is between {ends}"


def left_open(label: Label, half: float, share: float | None = None) -> str:
    """An example of what a half-width leaves open, as a part of a sentence: of the headline's
    ``share``, or of the middle of all that is possible."""
    (low, high), is_share = label.bounds, kind_of(label).is_share
    middle = (low + high) / 2.0 if share is None else share
    ends = max(middle - half, low), min(middle + half, high)
    said, least, most = (
        percent(each, whole=True) if is_share else amount(float(f"{each:.2g}"))
        for each in (middle, *ends)
    )
    return f"{said} could be anything from {least} to {most}"


def too_few(label: Label, reports: int, more: int) -> str:
    """A sentence on a number that ``reports`` do not tell to ``TELLING``; ``more`` would."""
    return f"{_answers(reports)} too little yet: {would_tell(label, more)}."


def would_tell(label: Label, more: int, where: str = "") -> str:
    """The number of reports that would tell something, as a part of a sentence."""
    kind = kind_of(label)
    what = where or ("every figure" if kind.is_share else "the mean")
    return f"about {about(more)} more would give {what} to ± {kind.moved(TELLING * label.span)}"


def still_missing(needed: int, reports: int) -> int:
    """The reports that are needed beyond the ``reports`` so far."""
    return max(needed - reports, 0)


def is_reached(needed: int, reports: int, wanted: float) -> bool:
    """True if the half width of ``reports`` is the target, in its digits (at least two), or less.

    By the ``needed`` ones, as half widths fall with the square root of reports.
    """
    if not reports:
        return False
    digits = max(2, len(f"{wanted:g}".replace(".", "").lstrip("0")))
    return float(f"{wanted * (needed / reports) ** 0.5:.{digits}g}") <= wanted


def precision_in_words(label: Label, needed: int, reports: int, wanted: float) -> str:
    """The number of reports that the target ± ``wanted`` takes, and of what, in a sentence."""
    kind = kind_of(label)
    what = "every share" if kind.is_share else "the mean"

    def to(half: float) -> str:
        if kind.is_share:
            return f"± {half:g} {kind.unit}"
        size = kind.with_unit(amount(float(f"{half / 100.0 * kind.span:.3g}")))
        return f"± {size}, which is {half:g} % of its range"

    if is_reached(needed, reports, wanted):
        return f"{capital(what)} is known to {to(wanted)}."
    more = " more" if reports else ""
    return f"About {about(needed - reports)}{more} answers would give {what} to {to(wanted)}."


def planned_in_words(label: Label, planned: int, half: float) -> str:
    """The precision that the ``planned`` answers give, of a study that has none."""
    kind, answers = kind_of(label), f"{thousands(planned)} answers, as planned"
    if half >= label.span / 2.0:
        return f"{answers}, are too few to tell anything."
    return f"{answers}: {'every share' if kind.is_share else 'the mean'} to ± {kind.moved(half)}."


def in_a_new_study(needed: int, anew: int | None) -> str:
    """A sentence on a study planned ``anew`` for a target that takes ``needed`` reports here, since
    intervals are narrowest at the planned number; empty where its number is the same, or unknown.
    """
    if anew is None or about(anew) == about(needed):
        return ""
    return f" A new study that is planned for it takes about {about(anew)}."


def close_or_go_on(
    label: Label, overall: Sequence[Comparison], needed: int, reports: int, wanted: float
) -> str:
    """The precision of all planned answers, and how many more another target takes.

    The target is ± ``wanted`` points, or percent of a number's range, after ``needed`` answers.
    """
    kind = kind_of(label)
    half = max(max(row.high - row.reported, row.reported - row.low) for row in overall)
    known = "every share" if kind.is_share and len(overall) > 2 else "it"
    target = f"{wanted:g}" if kind.is_share else kind.moved(wanted / 100.0 * kind.span)
    more = ""
    if not is_reached(needed, reports, wanted):
        more = f"; ± {target} would take about {about(needed - reports)} more answers"
    return f"You know {known} to ± {kind.moved(half)}. If that is enough, close the study{more}."


def which_is_better(
    label: Label, first: str, second: str, scores: Mapping[str, Ended] | None
) -> str:
    """A sentence on which of two models is better, and by what.

    ``scores`` are the second one's less the first one's, the smaller the better. Decided
    by the one score that honest probabilities are best in: one comparison, and not three.
    """
    name = _deciding(label)
    if not scores or name not in scores:
        what = "the label" if kind_of(label).is_share else "the label, on its whole range,"
        return (
            f"Which is better is not known: that takes answers about {what} in groups that "
            "both models have."
        )
    of = scores[name]
    if of.low == of.high == 0.0:
        return f"{capital(first)} and {second} are equally good: their groups say the same."
    if of.low <= 0.0 <= of.high:
        return "The answers cannot tell which is better."
    better = capital(second if of.high < 0.0 else first)
    return f"{better} is better: with 95 % confidence {CLOSER_IN_WORDS[name]}."


def how_much_better(label: Label, first: str, second: str, scores: Mapping[str, Ended]) -> str:
    """A sentence on the score by which two models are compared; empty where it is not known."""
    name = _deciding(label)
    if name not in scores or scores[name].low == scores[name].high == 0.0:
        return ""
    of, said = scores[name], SCORE_IN_WORDS[name]
    ends = abs(of.value), abs(of.low), abs(of.high)
    value, low, high = in_digits((of.high - of.low) / 2.0, *ends)
    better, worse = (second, first) if of.value < 0.0 else (first, second)
    if of.low <= 0.0 <= of.high:
        return (
            f"Decided by the {said}. With 95 % confidence it is less for {second} by up to {low}, "
            f"or for {first} by up to {high}."
        )
    least, most = (high, low) if of.high < 0.0 else (low, high)
    return (
        f"Decided by the {said}. It is less for {better} than for {worse} by {value} ({least} to "
        f"{most})."
    )


def unlike_reports(first: str, second: str, reports: tuple[int, int]) -> str:
    """A sentence on two models that were fitted to unlike numbers of reports, or nothing."""
    if reports[0] == reports[1]:
        return ""
    before, after = (thousands(number) if number else "no" for number in reports)
    return (
        f"{capital(first)} was fitted to {before} answers and {second} to {after}, so what "
        "differs may come from the answers, and not from the settings."
    )


def which_to_keep(
    label: Label,
    first: str,
    second: str,
    scores: Mapping[str, Ended],
    reports: tuple[int, int] = (0, 0),
    *,
    alike: bool = False,
) -> str:
    """Advice on which of two models to use; empty where nothing is known.

    ``first`` is in use, or comes before. Where nothing decides between models of unlike numbers of
    ``reports``, neither is advised, unless they have ``alike`` settings: then that of more.
    """
    if alike and reports[0] != reports[1]:
        more = "Both have the same settings, and {} has more answers".format
        return (
            f"{more(first)}: keep it."
            if reports[0] > reports[1]
            else f"{more(second)}: put it in use."
        )
    of = scores.get(_deciding(label))
    if of is None:
        return ""
    if of.high < 0.0:
        return f"Put {second} in use."
    if of.low < 0.0 and reports[0] != reports[1]:
        older = first if reports[0] < reports[1] else second
        return f"Before you choose, fit the settings of {older} to all answers."
    reason = "" if of.low > 0.0 else ": nothing that the answers say speaks for a change"
    return f"Keep {first}{reason}."


def _deciding(label: Label) -> str:
    return "Brier score" if kind_of(label).is_share else "squared error"


def right_more_often(
    first: str, second: str, accuracy: Ended, known: tuple[Ended, Ended] | None = None
) -> str:
    """The difference of two models' accuracy, in people, or that it cannot be told.

    With the ``known`` accuracy of each, these stand there, and of the difference only its ends:
    rounded, the three would not add up.
    """
    if tells_nothing(accuracy.low, accuracy.high, -1.0, 1.0):
        return "The answers cannot tell which is right more often."
    said = f"f 100 people {second} is right for {_in_people(accuracy)} than {first}, {ONE_ANSWER}."
    if known is not None and all(tells_enough(of.low, of.high) for of in known):
        of_first, of_second = (_people(100.0 * of.value) for of in known)
        said = (
            f"f 100 people {first} is right for {of_first} and {second} for {of_second}, "
            f"{ONE_ANSWER}; with 95 % confidence {second} is right for {_more(accuracy.low)} to "
            f"{_more(accuracy.high)}."
        )
    unsure = accuracy.low <= 0.0 <= accuracy.high
    return f"The answers cannot tell which is right more often: o{said}" if unsure else f"O{said}"


def _in_people(of: Ended) -> str:
    """A difference of shares in people of 100, with the ends of its interval."""
    low, high = _more(of.low), _more(of.high)
    if low.split()[1] == high.split()[1]:
        ends = sorted((abs(100.0 * of.low), abs(100.0 * of.high)))
        return f"{_more(of.value)} ({_people(ends[0])} to {_people(ends[1])})"
    return f"{_more(of.value)} ({low} to {high})"


def _more(share: float) -> str:
    return f"{_people(abs(100.0 * share))} {'fewer' if share < 0 else 'more'}"


def _people(number: float) -> str:
    return f"{number:.0f}" if number >= 1.0 or number == 0.0 else f"{number:.1f}"


def cells_in_words(
    label: Label,
    cells: int,
    untold: int,
    more: int,
    paths: Sequence[Sequence[str]] = (),
    widths: Sequence[float] = (),
) -> str:
    """A sentence on a model's groups, each by itself: of ``untold`` the reports tell nothing.

    Those are named where there are no more than ``MOST_NAMED``, by their ``paths``, and ``more``
    reports would give half of them to ``TELLING``. The others' intervals have these ``widths``.
    """
    would, few = "", "too few answers"
    if untold and more != 0:
        these = (
            f"half of these {untold} groups" if untold > 2 else ("it", "one of them")[untold - 1]
        )
        would = f" {capital(would_tell(label, more, these))}."
    if untold == cells:
        where = "anybody" if cells == 1 else f"any of the {cells} groups by itself"
        return f"Do not use it yet: the answers do not say anything about {where}.{would}"
    rest = cells - untold
    known = f"{rest} of {cells} groups have" if rest > 1 else f"1 of {cells} groups has"
    if not untold:
        known = "The one group has" if cells == 1 else f"All {cells} groups have"
    own = f"of {'their' if rest > 1 else 'its'} own"
    stated = f"{known} a figure {own}"
    if widths:
        sizes = [kind_of(label).moved(end) for end in (min(widths), max(widths))]
        least, most = sizes[0].split(" ")[0], sizes[1]
        wide = most if len({*sizes}) == 1 else f"{least} to {most}"
        stated = f"{known} an interval {own}, {wide} wide"
    if not untold:
        return f"{stated}."
    if len(paths) == untold <= MOST_NAMED:
        where = " and in ".join(f"“{name_of_group(path)}”" for path in paths)
        return f"{stated}; {few} in {where}.{would}"
    return f"{stated}; {untold} {'have' if untold > 1 else 'has'} {few}.{would}"


def moved_in_words(
    label: Label,
    moved: float,
    relabelled: int | None,
    cells: int,
    reports: tuple[int, int] = (0, 0),
) -> str:
    """A sentence on how far the reports moved a model's values.

    Of ``reports``, those that it was fitted to and all, the first are stated if they are fewer.
    """
    kind, (mine, every) = kind_of(label), reports
    the = "the answers"
    if mine < every:
        if mine == 0:
            return "No answers went into this model."
        the = f"the {thousands(mine)} answers of this model"
    if not relabelled and moved < HARDLY * kind.span:
        return f"{capital(the)} have hardly moved the predictions."
    first = f"Together {the} moved the predictions by {kind.moved(moved)}"
    if cells > 1:
        first += " on average"
    if relabelled is None:
        return f"{first}."
    likely = "likelier" if len(kind.names) == 2 else "likeliest"
    groups = f"{relabelled} of {cells} groups" if relabelled else "no group"
    where = "" if cells == 1 else f" in {groups}"
    changed = "is the same as before" if cells == 1 and not relabelled else "changed"
    return f"{first}; the {likely} answer {changed}{where}."


BEYOND_GROUPS = (
    "Within a group a model also follows what is known of each person, which answers cannot score."
)
"""Beside the accuracy of a model with a public model: reports can score its cells alone."""


def known_share(of: Ended) -> str:
    """A share with its interval, or that it is not told."""
    if tells_nothing(of.low, of.high, 0.0, 1.0):
        return "not known yet"
    if not tells_enough(of.low, of.high):
        return f"not known yet ({share_ends(of.low, of.high)})"
    return figure(of.value, of.low, of.high, is_share=True)


def scores_in_words(scores: Mapping[str, Ended]) -> dict[str, str]:
    """A model's scores by name: the others only beside an accuracy that is told."""
    accuracy = scores.get("accuracy")
    if accuracy is None:
        return {}
    said = {"accuracy": known_share(accuracy)}
    if tells_enough(accuracy.low, accuracy.high):
        said |= {
            name: figure(of.value, of.low, of.high, is_share=False)
            for name, of in scores.items()
            if name not in said
        }
    return said


def how_often_right(accuracy: Ended) -> str:
    """The accuracy of a model's cells, in people."""
    if not tells_enough(accuracy.low, accuracy.high):
        anything = f": anything from {share_ends(accuracy.low, accuracy.high)}"
        whole = tells_nothing(accuracy.low, accuracy.high, 0.0, 1.0)
        return f"How often the model is right is not known yet{'' if whole else anything}."
    stated = figure(accuracy.value, accuracy.low, accuracy.high, is_share=True)
    return f"The model is right for {stated} of people like those who answered, {ONE_ANSWER}."


def worth_of_accuracy(than: Yardsticks) -> str:
    """Sentences on whether a model's cells are right more often than its public model's means
    there, or than one class."""
    others = {
        "the public model": than.more_than_public,
        f"always saying “{than.always}”": than.more_than_always,
    }
    said = [
        f"Of 100 people it is right for {_in_people(of)} than {name}."
        for name, of in others.items()
        if of.low > 0.0 or of.high < 0.0
    ]
    if same := [name for name, of in others.items() if of.low == of.high == 0.0]:
        said.append(f"It is right just as often as {' and as '.join(same)}.")
    unknown = [name for name, of in others.items() if of.low <= 0.0 <= of.high and of.low < of.high]
    if unknown:
        which = " or than ".join(unknown)
        said.append(f"The answers cannot tell whether it is right more often than {which}.")
    return " ".join(said)


def why_less(than: Yardsticks, accuracy: Ended) -> str:
    """A sentence on what the accuracy was corrected from, as the cells' own figures have it.

    Empty where the accuracy is not known, and where the two are the same in its digits.
    """
    whole = accuracy.high - accuracy.low > WIDE
    counted, said = (percent(of, whole=whole) for of in (than.uncorrected, accuracy.value))
    if counted == said or not tells_enough(accuracy.low, accuracy.high):
        return ""
    return (
        "Counted on the very answers that the groups' figures come from, noise included, the "
        f"accuracy would be {counted}; the scores are corrected for that."
    )


def average_of_cells(label: Label, average: float, row: Comparison) -> str:
    """A sentence on a tree whose cells do not average to what holders reported.

    By their holders; empty where they do, in as many digits as pages have, or but for
    ``NO_MATTER``, and where they are not on the side of the public figure.
    """
    kind, reported, half = kind_of(label), row.reported, (row.high - row.low) / 2
    mine, answers = (kind.beside(each, row.low, row.high) for each in (average, reported))
    if mine == answers or abs(average - reported) <= NO_MATTER * half:
        return ""
    if row.public is None or (average < reported) != (row.public < reported):
        return ""
    what = f" {row.name}" if kind.is_share else ""
    return (
        f"The model leans on {YOUR_FILE}, so its groups average to {mine}{what}, and the answers "
        f"to {answers}."
    )


def _answers(reports: int) -> str:
    return "This answer tells" if reports == 1 else f"These {thousands(reports)} answers tell"


def _side(row: Comparison | CellDifference, below: str) -> str:
    return below if row.public is not None and row.reported <= row.public else "more"


def seen_in_words(label: Label, seen: Sequence[float | None], what: str = "difference") -> str:
    """The least difference that was to show in every figure, as a part of a sentence.

    ``seen`` are the figures' own; None where none would have.
    """
    least = None if None in seen else max(each for each in seen if each is not None)
    if least is None:
        return f"no {what}, however large, {LIKELY}"
    return f"a {what} of {kind_of(label).size(least)} or more {LIKELY}"


def comparison(label: Label, headline: str, groups: str, effect: str) -> str:
    """The ``headline``, what is said of ``groups``, and how far the reports moved a model."""
    return " ".join(filter(None, (headline, groups, effect, ends_in_words(label))))


def in_groups(
    label: Label, cells: int, differences: Sequence[object], in_cell: float | None
) -> str:
    """The number of the model's groups that differ, or the difference that would have shown
    ``in_cell``."""
    if len(differences) == 1:
        return f"1 difference in the model's {cells} groups is listed."
    if differences:
        return f"{len(differences)} differences in the model's {cells} groups are listed."
    seen = seen_in_words(label, [in_cell])
    if cells == 1:
        return f"In the model's one group no difference is sure: {seen}."
    return f"In none of the model's {cells} groups is a difference sure: in half of them {seen}."


def around_centres(*, alone: bool) -> str:
    """A sentence on what is stated of numbers around centres, whose cells state nothing.

    ``alone`` if a part of the holders was asked for the number alone.
    """
    said = "Numbers are reported relative to the public model's, which serves predictions"
    if alone:
        return (
            f"{said}: only the overall mean is stated, from the people asked for the number alone. "
            "A study with centred set to false states figures of groups too."
        )
    return (
        f"{said}, and nobody is asked for the number alone: no figure is stated. A study with "
        "centred set to false states the mean, and figures of groups."
    )


def ends_in_words(label: Label) -> str:
    """The values that count as the ends of a number's range; nothing of classes."""
    kind = kind_of(label)
    if kind.is_share:
        return ""
    low, high = map(float, label.bounds)
    return (
        f"Values below {kind.text(low)} count as {kind.text(low)}, and values above "
        f"{kind.text(high)} as {kind.text(high)}."
    )


def over_waves(
    label: Label,
    waves: tuple[int, int],
    changes: Sequence[WaveChange],
    seen: Sequence[float | None],
) -> str:
    """A sentence on what changed of all holders from the first to the last of ``waves``, or on the
    change that would have been ``seen``."""
    first, last = waves
    if first == last:
        return "One wave has answers so far: a change shows once another has."
    since = [each for each in changes if (each.since, each.wave) == (first, last)]
    said = [each.sentence for each in since if each.cell is None]
    cells = len({each.cell for each in since} - {None})
    if not said:
        would = seen_in_words(label, seen, "change")
        what = "The change" if len(seen) == 1 else "Every change"
        said.append(f"{what} since wave {first} may be chance; {would}.")
    if cells:
        one = "1 group has" if cells == 1 else f"{cells} groups have"
        said.append(f"{one} changed since then beyond chance.")
    return " ".join(said)


def in_short(label: Label, figures: Mapping[str, Ended]) -> str | None:
    """The figures of a wave by name, in a few words; None without any that tells something."""
    kind, stated = kind_of(label), list(figures.items())[kind_of(label).independent]
    if all(tells_nothing(of.low, of.high, *kind.bounds) for _, of in stated):
        return None
    names = (f"{name} " if kind.is_share else "" for name, _ in stated)
    said = (kind.stated(of.value, of.low, of.high) for _, of in stated)
    return ", ".join(map("".join, zip(names, said, strict=True)))


def latest_wave(label: Label, lines: Sequence[Line]) -> str | None:
    """A sentence on the figures of the latest wave; None without any."""
    kind = kind_of(label)
    latest = {line.name: line.figures[-1] for line in lines[kind.independent]}
    if not latest:
        return None
    wave = next(iter(latest.values())).wave
    if all(tells_nothing(of.low, of.high, *kind.bounds) for of in latest.values()):
        return f"Wave {wave} tells nothing yet."
    said = {name: kind.stated(of.value, of.low, of.high) for name, of in latest.items()}
    if len(said) > 1:
        shares = ", ".join(f"{name} {share}" for name, share in said.items())
        return f"In wave {wave} the shares are: {shares}."
    ((name, only),) = said.items()
    return f"In wave {wave} the {f'share of {name}' if kind.is_share else 'mean'} is {only}."


def differs_from_first(label: Label, lines: Sequence[Line]) -> str | None:
    """A sentence on the latest wave beside the first, of a label with one figure: if their
    intervals overlap that these show no change. None where one of them tells nothing, and without
    two waves.

    Intervals of two waves alike that each miss at most once in 20 do not overlap in at most 5 % of
    panels, whatever their widths: errors that are normal and apart have to differ by the sum of
    both half-widths, which is 1.96 standard errors of the difference or more.
    """
    kind = kind_of(label)
    stated = lines[kind.independent]
    if len(stated) != 1:
        return None
    first, latest = stated[0].figures[0], stated[0].figures[-1]
    ends = ((of.low, of.high, *kind.bounds) for of in (first, latest))
    if first is latest or any(tells_nothing(*each) for each in ends):
        return None
    if first.low <= latest.high and latest.low <= first.high:
        wave = first.wave
        return f"The difference from wave {wave} may be chance: its interval overlaps that one's."
    how = "more" if latest.low > first.high else "less"
    figure_then = kind.stated(first.value, first.low, first.high)
    return f"That is {how} than in wave {first.wave}: {figure_then}."


def change_in_words(
    kind: ClassLabel | NumberLabel,
    name: str,
    since: tuple[int, float],
    now: tuple[int, float],
    change: tuple[float, float],
) -> str:
    """A change of a share or a mean, by the numbers of two waves and their values."""
    (first, before), (wave, after) = since, now
    verb, (least, most) = "rose" if sum(change) > 0.0 else "fell", sorted(map(abs, change))
    what, points = "mean", ""
    if kind.is_share:
        what, points = f"share of {name}", " points"
        least, most = (float(f"{100 * each:.2g}") for each in (least, most))
    return (
        f"The {what} {verb} from {kind.text(before)} in wave {first} to {kind.text(after)} in wave "
        f"{wave}, by between {amount(least)} and {amount(most)}{points}."
    )
