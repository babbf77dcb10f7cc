"""Findings in plain sentences: what reports say of a label, and which of two models is better.

A sentence states only what its numbers show. A figure that differs is said to be more or less than
the public one; one that does not is said not to be told from it, or, where its interval misses the
public one, to differ only among those who were asked; and one whose interval is all that is
possible is said to tell nothing yet.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from privet.protocol.features import Label

from ..core.amounts import (
    TELLING,
    about,
    amount,
    figure,
    percent,
    share_ends,
    tells_nothing,
    thousands,
)
from ..core.labels import ClassLabel, NumberLabel, kind_of
from .power import POWER
from .results import CellDifference, Comparison, Line, WaveChange, Yardsticks
from .select import FALSE_DISCOVERY_RATE

LIKELY = f"would have shown {10 * POWER:.0f} times in 10"
"""The words for the least difference that is detected with it."""
HARDLY = 0.005
"""Mean change of shares that is no news."""
NO_MATTER = 0.25
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
    return row.high - row.low > 2.0 * TELLING * label.span and not differs(label, row)


def finding(label: Label, row: Comparison) -> str:
    """A sentence on one overall figure, to stand below ``asked``.

    An interval is of those who reported, and a test of the people behind both data: an interval
    that misses the public figure differs from it, whatever the test cannot show of others.
    """
    kind = kind_of(label)
    if tells_nothing(row.low, row.high, *kind.bounds):
        if kind.is_share:
            return f"The answers do not tell yet how many say {row.name}."
        return "The answers do not tell the mean yet."
    stated, public = kind.stated(row.reported, row.low, row.high), kind.text(row.public)
    first = f"{row.name if kind.is_share else 'Mean'}: {stated} among the holders"
    if len(kind.names) == 2:
        other = next(name for name in kind.names if name != row.name)
        first += f" ({other}: {percent(1.0 - row.reported)})"
    if differs(label, row):
        return f"{first}, {_side(row)} than {public} in the public records."
    if row.low <= row.public <= row.high:
        return f"{first}, which cannot be told from {public} in the public records."
    return (
        f"{first}, {_side(row)} than {public} in the public records, but too few were asked to say "
        "so of others."
    )


def finding_among(label: Label, row: Comparison) -> str:
    """``finding``, shorter where it is one of several figures and does not differ."""
    if differs(label, row) or not kind_of(label).is_share:
        return finding(label, row)
    stated = figure(row.reported, row.low, row.high, is_share=True)
    if tells_little(label, row):
        stated = f"{share_ends(row.low, row.high)}, too few answers"
    return f"{row.name}: {stated}; public records {percent(row.public)}."


def asked(label: Label) -> str:
    """The question about a label as people read it, or its name, with the unit of a number."""
    unit = kind_of(label).measure
    return f"{label.prompt or label.name}{f' ({unit})' if unit else ''}"


def finding_in_cell(label: Label, row: CellDifference, path: Sequence[str]) -> str:
    """A sentence on a cell that is listed since it differs."""
    kind, where = kind_of(label), " and ".join(path) or "anything"
    if row.name is None:
        stated = figure(row.reported, row.low, row.high, is_share=True)
        rest = f"{_side(row)} than the public {percent(row.public)}"
        return f"{stated} of the holders have {where}, {rest}."
    stated = kind.stated(row.reported, row.low, row.high)
    rest = f"{_side(row)} than the public {kind.text(row.public)}"
    if kind.is_share:
        return f"Where {where}, {label.name} is {row.name} for {stated} of the holders, {rest}."
    return f"Where {where}, the mean {label.name} of the holders is {stated}, {rest}."


def figures_to_state(label: Label, overall: Sequence[Comparison]) -> Sequence[Comparison]:
    """The figures worth a sentence: of two classes the second, whose share is 1 less the first."""
    return overall[-kind_of(label).tests :]


def verdict(label: Label, overall: Sequence[Comparison], reports: int, more: int | None) -> str:
    """One or two sentences on all that is known of the holders.

    Where nothing differs, from where on that would have shown. ``more`` reports than the
    ``reports`` so far would give every figure to ``TELLING``; no number would if that is None.
    """
    rows = sorted(figures_to_state(label, overall), key=lambda row: row.p_value)
    if all(tells_nothing(row.low, row.high, *label.bounds) for row in rows):
        would = f": {would_tell(label, more)}" if more != 0 else ""
        return f"{_answers(reports)} nothing yet{would}."
    if all(tells_little(label, row) for row in rows):
        would = f"; {would_tell(label, more)}" if more != 0 else ""
        return f"{_answers(reports)} too little yet: {_anything(label, rows)}{would}."
    if not any(differs(label, row) for row in rows):
        said = finding(label, rows[0]).removesuffix(".")
        if len(rows) > 1:
            said = f"None of the {len(rows)} shares is sure to differ from the public records"
        return f"{said}; {seen_in_words(label, [row.seen_from for row in rows])}."
    others = sum(differs(label, row) for row in rows[1:])
    also = {0: "", 1: " One more figure differs."}.get(others, f" {others} more figures differ.")
    return f"{finding(label, rows[0])}{also}"


def _anything(label: Label, rows: Sequence[Comparison]) -> str:
    """The ends of the one figure of which reports tell too little, or of how many they do."""
    if len(rows) > 1:
        return f"none of the {len(rows)} shares is known to ± {100.0 * TELLING:g} points"
    (row,) = rows
    if kind_of(label).is_share:
        return f"anything from {share_ends(row.low, row.high)} may say {row.name}"
    return f"the mean may be anything from {amount(row.low)} to {amount(row.high)}"


def too_few(label: Label, reports: int, more: int | None) -> str:
    """A sentence on a number that ``reports`` do not tell to ``TELLING``; ``more`` would."""
    return f"{_answers(reports)} too little yet: {would_tell(label, more, 'the mean')}."


def would_tell(label: Label, more: int | None, where: str = "every figure") -> str:
    """The number of reports that would tell something, as a part of a sentence."""
    to = f"{where} to ± {100.0 * TELLING:g} {kind_of(label).unit}"
    if more is None:
        return f"it takes more answers than there can be to give {to}"
    return f"about {about(more)} more would give {to}"


def still_missing(needed: int | None, reports: int) -> int | None:
    """The reports that are needed beyond the ``reports`` so far; None if no number is enough."""
    return None if needed is None else max(needed - reports, 0)


def is_reached(needed: int | None, reports: int, wanted: float) -> bool:
    """True if the half width of ``reports`` is the target, in its digits (at least two), or less.

    By the ``needed`` ones, as half widths fall with the square root of reports.
    """
    if not reports or needed is None:
        return False
    digits = max(2, len(f"{wanted:g}".replace(".", "").lstrip("0")))
    return float(f"{wanted * (needed / reports) ** 0.5:.{digits}g}") <= wanted


def precision_in_words(
    label: Label, needed: int | None, reports: int, wanted: float, reached: float = 0.0
) -> str:
    """The number of reports that the target ± ``wanted`` takes, and of what, in a sentence.

    ``reached`` is the planned target, if that is reached; ``needed`` is None if no number is
    enough.
    """
    kind, what = kind_of(label), "every share"
    to = f"± {wanted:g} {kind.unit}"
    if not kind.is_share:
        half, unit = wanted / 100.0 * kind.span, f" {kind.measure}" * bool(kind.measure)
        what = f"the mean {label.name}"
        to = f"± {amount(float(f'{half:.3g}'))}{unit}, which is {wanted:g} % of its range"
    if is_reached(needed, reports, wanted):
        return f"{what[0].upper()}{what[1:]} is known to {to}."
    first, more = "", " more" if reports else ""
    if reached:
        first, more = f"± {reached:g} {kind.unit} is reached. ", " more"
    if needed is None:
        return f"{first}It takes more answers than there can be to give {what} to {to}."
    return f"{first}About {about(needed - reports)}{more} answers would give {what} to {to}."


def which_is_better(
    label: Label, first: str, second: str, scores: Mapping[str, Ended] | None
) -> str:
    """A sentence on which of two models is better, and by what.

    ``scores`` are the second one's less the first one's, the smaller the better. Decided
    by the one score that honest probabilities are best in: one comparison, and not three.
    """
    name = _deciding(label)
    if not scores or name not in scores:
        return (
            "Which is better is not known: that takes reports about the label in cells that both "
            "models have."
        )
    of = scores[name]
    if of.low == of.high == 0.0:
        return f"{_capital(first)} and {second} are equally good: their cells say the same."
    if of.low <= 0.0 <= of.high:
        return "The answers cannot tell which is better."
    better = _capital(second if of.high < 0.0 else first)
    return f"{better} is better: with 95 % confidence {CLOSER_IN_WORDS[name]}."


def how_much_better(label: Label, first: str, second: str, scores: Mapping[str, Ended]) -> str:
    """A sentence on the score by which two models are compared; empty where it is not known."""
    name = _deciding(label)
    if name not in scores or scores[name].low == scores[name].high == 0.0:
        return ""
    of, said = scores[name], SCORE_IN_WORDS[name]
    value, low, high = (amount(float(f"{abs(end):.2g}")) for end in (of.value, of.low, of.high))
    better, worse = (second, first) if of.value < 0.0 else (first, second)
    if of.low <= 0.0 <= of.high:
        return (
            f"Decided by the {said}. It is less for {better} than for {worse} by {value}, with "
            f"95 % confidence by anything from {low} in favour of {second} to {high} in favour of "
            f"{first}."
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
        f"{_capital(first)} was fitted to {before} answers and {second} to {after}, so what "
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
    """Advice on which of two models should serve; empty where nothing is known.

    ``first`` serves, or comes before. Where nothing decides between models of unlike numbers of
    ``reports``, neither is advised, unless they have ``alike`` settings: then that of more.
    """
    if alike and reports[0] != reports[1]:
        more = "Both have the same settings, and {} has more answers".format
        return (
            f"{more(first)}: keep it."
            if reports[0] > reports[1]
            else f"{more(second)}: let it serve."
        )
    of = scores.get(_deciding(label))
    if of is None:
        return ""
    if of.high < 0.0:
        return f"Let {second} serve."
    if of.low < 0.0 and reports[0] != reports[1]:
        older = first if reports[0] < reports[1] else second
        return f"Before you choose, fit the settings of {older} to all answers."
    reason = "" if of.low > 0.0 else ": nothing that the answers say speaks for a change"
    return f"Keep {first}{reason}."


def _deciding(label: Label) -> str:
    return "Brier score" if kind_of(label).is_share else "squared error"


def right_more_often(first: str, second: str, accuracy: Ended) -> str:
    """The difference of two models' accuracy, in people, or that it cannot be told."""
    said = f"f 100 people {second} is right for {_in_people(accuracy)} than {first}."
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


def _capital(name: str) -> str:
    return f"{name[0].upper()}{name[1:]}"


def cells_in_words(label: Label, cells: int, untold: int, more: int | None) -> str:
    """A sentence on whether a model is fit for use: of ``untold`` cells the reports tell nothing.

    ``more`` reports would give half of these cells to ``TELLING``; no number would if that is None.
    """
    if not untold:
        each = "its only cell" if cells == 1 else f"each of its {cells} cells"
        return f"The answers tell something of {each}."
    these = "half of them" if untold == cells else f"half of these {untold}"
    if untold <= 2 < cells or untold == 1:
        these = ("it", "one of these 2")[untold - 1]
    would = f": {would_tell(label, more, these)}" if more != 0 else ""
    if untold == cells:
        none = "its only cell" if cells == 1 else f"none of its {cells} cells"
        says = "the answers tell nothing" if cells == 1 else "do the answers tell anything"
        return f"Do not use it yet: in {none} {says}{would}."
    return (
        f"Use it with care: in {untold} of its {cells} cells the answers tell nothing yet{would}."
    )


def moved_in_words(label: Label, moved: float, relabelled: int | None, cells: int) -> str:
    """A sentence on how far the reports moved a model's values."""
    kind = kind_of(label)
    if not relabelled and kind.is_share and moved < HARDLY:
        return "This is the public model: the answers have hardly changed it."
    by = amount(float(f"{(100.0 if kind.is_share else 1.0) * moved:.2g}"))
    unit = "points" if kind.is_share else kind.measure
    of = "its values" if kind.is_share else f"its values of {label.name}"
    changed = ""
    if relabelled is not None:
        changed = f", and changed the likeliest class in {relabelled or 'none'} of {cells} cells"
    return f"The answers moved {of} by {by}{f' {unit}' if unit else ''} on average{changed}."


def how_often_right(accuracy: Ended) -> str:
    """A model's accuracy, in people."""
    if tells_nothing(accuracy.low, accuracy.high, 0.0, 1.0):
        return "The answers do not tell yet how often its cells are right."
    if accuracy.high - accuracy.low > 2.0 * TELLING:
        return (
            "The answers tell too little of how often its cells are right: anything from "
            f"{share_ends(accuracy.low, accuracy.high)}."
        )
    stated = figure(accuracy.value, accuracy.low, accuracy.high, is_share=True)
    return f"Its cells are right for {stated} of people like the holders."


def worth_of_accuracy(than: Yardsticks) -> str:
    """Sentences on whether a model is right more often than its public model, or than one class."""
    others = {
        "its public model": than.more_than_public,
        f"always saying {than.always}": than.more_than_always,
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


def why_less(than: Yardsticks) -> str:
    """A sentence on what the accuracy was corrected from, as the cells' own figures have it."""
    return (
        "Counted on the very answers that the cells were fitted to, noise included, the accuracy "
        f"would be {percent(than.uncorrected)}; the scores are corrected for that."
    )


def average_of_cells(label: Label, average: float, row: Comparison) -> str:
    """A sentence on a tree whose cells do not average to what holders reported.

    By their holders; empty where they do, in as many digits as pages have, or but for
    ``NO_MATTER``.
    """
    kind, reported, half = kind_of(label), row.reported, (row.high - row.low) / 2
    text = kind.text
    if text(average) == text(reported) or abs(average - reported) <= NO_MATTER * half:
        return ""
    what = f"{kind.names[-1]}: " if kind.is_share else ""
    return (
        f"The cells of the tree average to {what}{text(average)}, not {text(reported)}: the model "
        "rests on the public records too."
    )


def _answers(reports: int) -> str:
    return "This answer tells" if reports == 1 else f"These {thousands(reports)} answers tell"


def _side(row: Comparison | CellDifference) -> str:
    return "more" if row.reported > row.public else "less"


def seen_in_words(label: Label, seen: Sequence[float | None], what: str = "difference") -> str:
    """The least difference that was to show in every figure, as a part of a sentence.

    ``seen`` are the figures' own; None where none would have.
    """
    least = None if None in seen else max(each for each in seen if each is not None)
    if least is None:
        return f"no {what}, however large, {LIKELY}"
    return f"a {what} of {kind_of(label).size(least)} or more {LIKELY}"


def comparison(
    label: Label,
    overall: Sequence[Comparison],
    differences: Sequence[object],
    in_cell: float | None,
) -> str:
    """Sentences on where holders and public records differ, or from where on that would show."""
    kind = kind_of(label)
    surest = min(figures_to_state(label, overall), key=lambda row: row.p_value)
    subject = f"{label.name} is {surest.name} for" if kind.is_share else f"the mean {label.name} is"
    group = "of" if kind.is_share else "among"
    stated = kind.stated(surest.reported, surest.low, surest.high)
    expected = f"{kind.text(surest.public)} {group} public records"
    figures = f"{subject} {stated} {group} holders and {expected}"
    if differs(label, surest):
        first = f"The holders differ from the public records: {figures}."
    else:
        seen = seen_in_words(label, [row.seen_from for row in overall])
        first = (
            f"Overall figures do not distinguish holders from public records: {figures}; {seen}."
        )
    if differences:
        one = len(differences) == 1
        return f"{first} {len(differences)} difference{' ' if one else 's '}in cells " + (
            "is listed." if one else "are listed."
        )
    if in_cell is None:
        return f"{first} In no cell is a difference sure."
    return (
        f"{first} In no cell is a difference sure: in half of the cells "
        f"{seen_in_words(label, [in_cell])}."
    )


def effect(label: Label, moved: float, relabelled: int | None, cells: int) -> str:
    """A sentence on how far reports moved predictions."""
    is_share = kind_of(label).is_share
    by = f"{100 * moved:.1f} points" if is_share else amount(float(f"{moved:.3g}"))
    changed = ""
    if relabelled is not None:
        changed = f" and changed the likeliest class in {relabelled or 'none'} of {cells} cells"
    return f"The reports moved predictions by {by} on average{changed}."


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
        return "One wave has reports so far."
    since = [each for each in changes if (each.since, each.wave) == (first, last)]
    said = [each.sentence for each in since if each.cell is None]
    cells = len({each.cell for each in since} - {None})
    if not said:
        would = seen_in_words(label, seen, "change")
        said.append(f"No change of all holders since wave {first} is beyond chance; {would}.")
    if cells:
        one = "1 cell has" if cells == 1 else f"{cells} cells have"
        said.append(f"{one} changed since then beyond chance.")
    return " ".join(said)


def in_short(label: Label, overall: Sequence[Comparison]) -> str | None:
    """The figures of a wave, in a few words; None without any that tells something."""
    kind, stated = kind_of(label), figures_to_state(label, overall)
    if all(tells_nothing(of.low, of.high, *kind.bounds) for of in stated):
        return None
    return ", ".join(f"{of.name} {kind.stated(of.reported, of.low, of.high)}" for of in stated)


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
    return f"In wave {wave} the {'share of' if kind.is_share else 'mean'} {name} is {only}."


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
    what, points = f"mean {name}", ""
    if kind.is_share:
        what, points = f"share of {name}", " points"
        least, most = (float(f"{100 * each:.2g}") for each in (least, most))
    return (
        f"The {what} {verb} from {kind.text(before)} in wave {first} to {kind.text(after)} in wave "
        f"{wave}, by between {amount(least)} and {amount(most)}{points}."
    )


def clipped_waves(radius: float, *, allowed: bool) -> str:
    """A sentence on numbers that were clipped within a ``radius`` of centres when they were
    reported, and whether changes allow for it."""
    most = amount(float(f"{radius:.3g}"))
    rest = (
        "; what is said of changes allows for that, as long as they spread half to twice as far as "
        "public ones"
        if allowed
        else ", so means can also change since answers spread otherwise, and by more than is said"
    )
    return (
        f"Answers are compared as they were reported: more than {most} from what public records "
        f"say of their cell counts as {most}{rest}."
    )
