"""What the figures must not fall below; most are ratios within one run."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.figures import Figure


@dataclass(frozen=True)
class Mark:
    """The figures ``what`` of a section whose case starts with ``case`` stay within ``limit``."""

    section: str
    case: str
    what: str
    limit: float
    at_least: bool
    says: str


MARKS = (
    Mark("growing", "", "over_sklearn", 1.0, False, "grows no slower than CART"),
    Mark(
        "predicting", "1000000x8", "labels_over_sklearn", 1.0, False, "predicts no slower than CART"
    ),
    Mark("intake", "single", "over_empty_route", 1 / 1.6, False, "takes single POSTs"),
    Mark("intake", "batch=", "processor", 1.0, False, "adds up a million reports a second"),
    Mark("fitting", "records=1000000", "times_faster", 1_000, True, "fits a million holders"),
)


def judged(figures: Sequence[Figure]) -> Iterator[str]:
    """A line for each figure that a mark is about."""
    for mark in MARKS:
        for figure in figures:
            if (figure.section, figure.what) != (mark.section, mark.what):
                continue
            if not figure.case.startswith(mark.case):
                continue
            beyond = figure.value - mark.limit
            is_held = beyond >= 0 if mark.at_least else beyond <= 0
            verdict = "held" if is_held else "missed"
            bound = "at least" if mark.at_least else "at most"
            yield f"{mark.says}: {figure.line}, {bound} {mark.limit:g}: {verdict}"
