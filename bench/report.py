"""The report of a benchmark run: the limits that it must meet, and its tables."""

import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from bench.figures import MOST_ROUNDS, Figure
from scripts.pages import markdown, measured_on, table_of


@dataclass(frozen=True)
class Mark:
    """The figures ``what`` of a section whose case starts with ``case`` stay within ``limit``."""

    section: str
    case: str
    what: str
    limit: float
    says: str


MARKS = (
    Mark("waiting", "import Holder", "time", 0.5, "loads at once"),
    Mark("waiting", "import", "over_sklearn", 1.1, "loads as fast as scikit-learn"),
    Mark("waiting", "privet --help", "time", 0.4, "helps at once"),
    Mark("waiting", "plan", "time", 3.0, "plans"),
    Mark("waiting", "disclosed,plan", "time", 8.0, "plans with disclosed columns"),
    Mark("waiting", "fit", "time", 2.0, "fits"),
    Mark("waiting", "fit", "over_fit", 1.2, "fits behind a relay"),
    Mark("waiting", "PrivateTreeClassifier", "over_fit", 2.0, "simulates as fast as it fits"),
    Mark("waiting", "predict", "time", 3.0, "predicts a million rows"),
    Mark("waiting", "make demo,cold", "time", 30.0, "is shown in a fresh clone"),
    Mark("waiting", "make demo,warm", "time", 12.0, "is shown"),
    Mark("growing", "", "over_sklearn", 1.0, "grows no slower than CART"),
    Mark("predicting", "1000000x8", "labels_over_sklearn", 1.0, "predicts no slower than CART"),
    Mark("intake", "single,connections=64", "over_empty_route", 1 / 2.4, "takes single POSTs"),
    Mark("intake", "single,connections=256", "over_empty_route", 1 / 3.0, "takes single POSTs"),
    Mark("intake", "batch=", "processor", 1.0, "adds up a million reports a second"),
    Mark("intake", "disclosed", "over_hidden", 1.05, "takes disclosed columns"),
    Mark("intake", "after", "memory", 350.0, "stays small"),
    Mark(
        "relaying", "taking,relay", "over_curator", 1.3, "a relay takes reports as a curator does"
    ),
    Mark("relaying", "forwarding", "processor", 25.0, "a relay forwards at little cost"),
    Mark("worst_tasks", "", "drawing_over_wait", 0.1, "draws in a tenth of the wait"),
    Mark("worst_tasks", "all_at_once", "time", 1.0, "takes a device less than a second"),
    Mark("worst_tasks", "all_at_once", "memory", 64.0, "takes a device less than 64 MiB"),
    Mark("pages", "first_page,tasks=1000", "time", 0.1, "shows a thousand tasks"),
)


def judged(figures: Sequence[Figure]) -> Iterator[str]:
    """A line for each figure that a mark is about."""
    for mark in MARKS:
        for figure in figures:
            if (figure.section, figure.what) != (mark.section, mark.what):
                continue
            if not figure.case.startswith(mark.case):
                continue
            verdict = "held" if figure.value <= mark.limit else "missed"
            yield f"{mark.says}: {figure.line}, at most {mark.limit:g}: {verdict}"


def document(
    figures: Sequence[Figure], load_average: float, part_of: Path | None = None
) -> dict[str, str]:
    """The contents of the page's places, by name; the load average is that before the run.

    Of sections that are ``part_of`` a page that was written before, their tables say themselves
    where they were measured, and the marks of its other sections stay.
    """
    sections = dict.fromkeys(figure.section for figure in figures)
    used = ["numpy", "scikit-learn", *(["opendp"] if "privatizing" in sections else [])]
    versions = ", ".join(f"{name} {version(name)}" for name in used)
    others = " (other work was running, so read the ratios)" if load_average > 1.0 else ""
    machine = (
        f"{measured_on()}, python {platform.python_version()}, {versions}.\n"
        f"Load average before the run: {load_average:.1f}{others}.\n"
        f"Times are the best of up to {MOST_ROUNDS} rounds, those over HTTP medians."
    )
    tables = {name: _table([f for f in figures if f.section == name]) for name in sections}
    marks = [f"- {line}" for line in judged(figures)]
    if part_of is None:
        return {"machine": machine, "marks": "\n".join(marks), **tables}
    kept = [line for line in table_of(part_of, "marks") if _section(line) not in sections]
    places = {mark.says: place for place, mark in enumerate(MARKS)}
    marks = sorted(kept + marks, key=lambda line: places[line[2:].partition(":")[0]])
    of_part = {name: f"{machine}\n\n{table}" for name, table in tables.items()}
    return {"marks": "\n".join(marks), **of_part}


def _section(line: str) -> str:
    """The section that a line about a mark is about."""
    return line.partition(": ")[2].partition(".")[0]


def _table(figures: Sequence[Figure]) -> str:
    """A line per case, a column per kind of figure."""
    columns = list(dict.fromkeys((figure.what, figure.unit) for figure in figures))
    values = {(figure.case, figure.what): figure.value for figure in figures}
    cases = dict.fromkeys(figure.case for figure in figures)
    rows = [[case, *(_text(values.get((case, what))) for what, _ in columns)] for case in cases]
    return markdown(["case", *(f"{what}, {unit}" for what, unit in columns)], rows)


def _text(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 1_000 else f"{value:.4g}"
