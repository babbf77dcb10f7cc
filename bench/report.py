"""The report of a benchmark run: the limits that it must meet, and the tables of its page.

All figures of the last run of each section are kept in ``bench/measured.csv``.
"""

import csv
import platform
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from bench.figures import Figure
from bench.in_short import in_short
from scripts.pages import markdown, measured_on

RESULTS = Path("bench/measured.csv")
PAGE = Path("docs/performance.md")
TABLES = ("waiting", "worst_tasks")
"""Sections of which the page has the whole table."""
COLUMNS = ("section", "case", "what", "value", "unit", "measured")


class Measured(NamedTuple):
    """A figure, and when and on what it was measured."""

    figure: Figure
    measured: str


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
    Mark("attacked", "", "longest", 1.0, "answers others within a second"),
    Mark("pages", "first_page,tasks=1000", "time", 0.1, "shows a thousand tasks"),
    Mark("pages", "precision,people=10000000", "time", 0.2, "says the precision as one types"),
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


def measured_now(figures: Sequence[Figure], load_average: float) -> list[Measured]:
    """The figures of this run, with the load average before it."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scikit-learn"))
    day_and_machine = measured_on().removeprefix("Measured ")
    python = platform.python_version()
    here = f"{day_and_machine}, python {python}, {versions}; load average {load_average:.1f}"
    return [Measured(figure, here) for figure in figures]


def read(file: Path) -> list[Measured]:
    """The figures that are kept in a file."""
    with file.open(encoding="utf-8", newline="") as lines:
        return [
            Measured(
                Figure(row["section"], row["case"], row["what"], float(row["value"]), row["unit"]),
                row["measured"],
            )
            for row in csv.DictReader(lines)
        ]


def merged(
    kept: Iterable[Measured], anew: Iterable[Measured], order: Sequence[str]
) -> list[Measured]:
    """The figures of a run, and those kept of the sections that it left out, in order."""
    anew = list(anew)
    sections = {each.figure.section for each in anew}
    rows = [each for each in kept if each.figure.section not in sections] + anew
    return sorted(rows, key=lambda each: order.index(each.figure.section))


def write(file: Path, rows: Iterable[Measured]) -> None:
    """Keep figures, with the four digits that are said of them."""
    with file.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(COLUMNS)
        for figure, measured in rows:
            value = f"{figure.value:.0f}" if figure.value >= 1_000 else f"{figure.value:.4g}"
            writer.writerow(
                (figure.section, figure.case, figure.what, value, figure.unit, measured)
            )


def document(rows: Sequence[Measured]) -> dict[str, str]:
    """The contents of the page's places, by name."""
    figures = [figure for figure, _ in rows]
    lines = list(judged(figures))
    missed = [f"- {line}" for line in lines if line.endswith("missed")]
    held = f"{len(lines) - len(missed)} of {len(lines)} are held. The others:"
    runs: dict[str, dict[str, None]] = defaultdict(dict)
    for figure, measured in rows:
        runs[measured][figure.section] = None
    return {
        "short": in_short(figures),
        "marks": "\n".join([held, "", *missed]),
        "machine": "\n".join(f"- {', '.join(of)}: {measured}" for measured, of in runs.items()),
        **{name: _table([f for f in figures if f.section == name]) for name in TABLES},
    }


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
