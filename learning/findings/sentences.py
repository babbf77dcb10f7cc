"""Findings in plain sentences: what reports say of a label, and which of two models is better.

A sentence states only what its numbers show. A figure that differs is said to be more or less than
the public one; one that does not is said not to be told from it; and one whose interval is all that
is possible is said to tell nothing yet.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from privet.protocol.features import Classes, Label

from ..core.amounts import TELLING, about, amount, percent, tells_nothing, thousands
from ..core.counts import Interval
from .insight import FALSE_DISCOVERY_RATE, tests_of
from .scores import scores_of

SCORE_IN_WORDS = {
    "Brier score": "Brier score, the squared error of its probabilities",
    "squared error": "mean squared error",
}


class Figured(Protocol):
    """A figure of the holders with its interval, beside that of the public records."""

    @property
    def reported(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...
    @property
    def public(self) -> float: ...


class Compared(Figured, Protocol):
    """A figure of all holders."""

    @property
    def name(self) -> str: ...
    @property
    def p_value(self) -> float: ...


class Located(Figured, Protocol):
    """A figure of a cell; ``name`` is None for the cell's share of the holders."""

    @property
    def path(self) -> Sequence[str]: ...
    @property
    def name(self) -> str | None: ...


def figure(value: float, low: float, high: float, *, is_share: bool) -> str:
    """A figure with its interval, such as ``31 % (20 % to 41 %)``."""
    text = _text(is_share)
    return f"{text(value)} ({text(low)} to {text(high)})"


def bounds_of(label: Label) -> tuple[float, float]:
    """All that a figure of a label can be."""
    return (0.0, 1.0) if isinstance(label, Classes) else (label.low, label.high)


def differs(label: Label, row: Compared) -> bool:
    """True if a figure of the holders differs from the public one beyond chance."""
    return row.p_value * tests_of(label) <= FALSE_DISCOVERY_RATE


def finding(label: Label, row: Compared) -> str:
    """A sentence on one overall figure, to stand below ``asked``."""
    is_share = isinstance(label, Classes)
    if tells_nothing(row.low, row.high, *bounds_of(label)):
        return (
            f"The answers do not tell yet how many say {row.name}."
            if is_share
            else ("The answers do not tell the mean yet.")
        )
    stated = figure(row.reported, row.low, row.high, is_share=is_share)
    public = _text(is_share)(row.public)
    first = f"{row.name if is_share else 'Mean'}: {stated} among the holders"
    if not differs(label, row):
        return f"{first}, which cannot be told from {public} in the public records."
    return f"{first}, {_side(row)} than {public} in the public records."


def asked(label: Label) -> str:
    """The question about a label as people read it, or its name, with the unit of a number."""
    unit = "" if isinstance(label, Classes) or not label.unit else f" ({label.unit})"
    return f"{label.prompt or label.name}{unit}"


def finding_in_cell(label: Label, row: Located) -> str:
    """A sentence on a cell that is listed since it differs."""
    is_share = isinstance(label, Classes) or row.name is None
    stated = figure(row.reported, row.low, row.high, is_share=is_share)
    public = _text(is_share)(row.public)
    rest = f"{_side(row)} than the public {public}"
    where = " and ".join(row.path) or "anything"
    if row.name is None:
        return f"{stated} of the holders have {where}, {rest}."
    if is_share:
        return f"Where {where}, {label.name} is {row.name} for {stated} of the holders, {rest}."
    return f"Where {where}, the mean {label.name} of the holders is {stated}, {rest}."


def figures_to_state(label: Label, overall: Sequence[Compared]) -> Sequence[Compared]:
    """The figures worth a sentence: of two classes the second, whose share is 1 less the first."""
    return overall[-tests_of(label) :]


def verdict(label: Label, overall: Sequence[Compared], reports: int, more: int | None) -> str:
    """One or two sentences on all that is known of the holders.

    ``more`` reports than the ``reports`` so far would give every figure to ``TELLING``.
    """
    rows = sorted(figures_to_state(label, overall), key=lambda row: row.p_value)
    if all(tells_nothing(row.low, row.high, *bounds_of(label)) for row in rows):
        would = f": {would_tell(label, more)}" if more else ""
        return f"{_answers(reports)} nothing yet{would}."
    others = sum(differs(label, row) for row in rows[1:])
    also = {0: "", 1: " One more figure differs."}.get(others, f" {others} more figures differ.")
    return f"{finding(label, rows[0])}{also}"


def too_few(label: Label, reports: int, more: int) -> str:
    """A sentence on a number that ``reports`` do not tell to ``TELLING``; ``more`` would."""
    return f"{_answers(reports)} too little yet: {would_tell(label, more, 'the mean')}."


def would_tell(label: Label, more: int, where: str = "every figure") -> str:
    """The number of reports that would tell something, as a part of a sentence."""
    unit = "points" if isinstance(label, Classes) else "% of its range"
    return f"about {about(more)} more would give {where} to ± {100.0 * TELLING:g} {unit}"


def which_is_better(
    label: Label, first: str, second: str, scores: Mapping[str, Interval] | None
) -> str:
    """A sentence on which of two models is better, by what, and how sure.

    ``scores`` are the second one's less the first one's, the smaller the better. Decided
    by the one score that honest probabilities are best in: one comparison, and not three.
    """
    name = "Brier score" if isinstance(label, Classes) else scores_of(label)[0]
    if not scores or name not in scores:
        return (
            "Which is better is not known: that takes reports about the label in cells that both "
            "models have."
        )
    of, in_words = scores[name], SCORE_IN_WORDS[name]
    if of.low == of.high == 0.0:
        return f"{_capital(first)} and {second} are equally good: their cells say the same."
    if of.low <= 0.0 <= of.high:
        return (
            f"Neither is surely better. For people like the holders the {in_words}, differs by "
            f"{abs(of.value):.2g} in favour of {second if of.value < 0.0 else first}, and "
            f"with 95 % confidence by anything from {-of.low:.2g} in favour of {second} to "
            f"{of.high:.2g} in favour of {first}."
        )
    better, sign = (second, -1.0) if of.high < 0.0 else (first, 1.0)
    ends = sorted((sign * of.low, sign * of.high))
    return (
        f"{_capital(better)} is better with 95 % confidence: for people like the holders its "
        f"{in_words}, is less by {sign * of.value:.2g} ({ends[0]:.2g} to {ends[1]:.2g})."
    )


def right_more_often(first: str, second: str, accuracy: Interval) -> str:
    """The difference of two models' accuracy, in people."""
    value, low, high = (100.0 * end for end in (accuracy.value, accuracy.low, accuracy.high))
    return (
        f"Of 100 people like the holders {second} is right for {_more(value)} than {first}: "
        f"with 95 % confidence for {_more(low)} to {_more(high)}."
    )


def _more(people: float) -> str:
    return f"{abs(round(people, 1)):.2g} {'fewer' if people < 0 else 'more'}"


def _capital(name: str) -> str:
    return f"{name[0].upper()}{name[1:]}"


def cells_in_words(label: Label, cells: int, untold: int, more: int) -> str:
    """A sentence on the cells of which the reports tell something; of ``untold`` they tell nothing.

    ``more`` reports would give half of the cells to ``TELLING``.
    """
    if not untold:
        return f"The answers tell something of each of its {cells} cells."
    would = f": {would_tell(label, more, 'half of the cells')}" if more else ""
    return f"In {untold} of its {cells} cells the answers tell nothing yet{would}."


def moved_in_words(label: Label, moved: float, relabelled: int | None, cells: int) -> str:
    """A sentence on how far the reports moved a model's values."""
    by = amount(float(f"{(100.0 if isinstance(label, Classes) else 1.0) * moved:.2g}"))
    unit = " points" if isinstance(label, Classes) else ""
    changed = ""
    if relabelled is not None:
        changed = f", and changed the likeliest class in {relabelled or 'none'} of {cells} cells"
    return f"The answers moved its values by {by}{unit} on average{changed}."


def how_often_right(accuracy: Interval) -> str:
    """A model's accuracy, in people."""
    if tells_nothing(accuracy.low, accuracy.high, 0.0, 1.0):
        return "How often its cells are right, the answers do not tell yet."
    stated = figure(accuracy.value, accuracy.low, accuracy.high, is_share=True)
    return f"Its cells are right for {stated} of people like the holders."


def _answers(reports: int) -> str:
    return "This answer tells" if reports == 1 else f"These {thousands(reports)} answers tell"


def _text(is_share: bool) -> Callable[[float], str]:
    return percent if is_share else amount


def _side(row: Compared | Located) -> str:
    return "more" if row.reported > row.public else "less"
