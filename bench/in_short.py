"""The short table of docs/performance.md, whose every figure is one of the measured speeds."""

import re
from collections.abc import Iterable

from bench.figures import Figure
from scripts.pages import markdown

ROWS = (
    (
        "one report in 512 categories on a holder's device, `subset`",
        "{privatizing.subset,cells=256.time} of processor time",
    ),
    (
        "the most expensive task that a device accepts",
        "{worst_tasks.all_at_once.time} of one core, {worst_tasks.all_at_once.memory}",
    ),
    (
        "a single report over HTTP, durable in SQLite",
        "{intake.single,connections=64.rate}, {intake.single,connections=64.processor} of the "
        "curator's processor time",
    ),
    (
        "the same in batches of 100 000",
        "{intake.batch=100000,categories=512.rate}, {intake.batch=100000,categories=512.processor}",
    ),
    (
        "processor time with disclosed columns over that without, single and in batches",
        "{intake.disclosed,single.over_hidden}, {intake.disclosed,batch=100000.over_hidden}",
    ),
    (
        "batches as files, `privet collect`",
        "{collecting.reports=1e+08,categories=512.rate}",
    ),
    (
        "adding up reports in memory, `subset`, 512 categories",
        "{accumulating.subset,cells=256.rate}",
    ),
    (
        "`weighted` model from a million reports",
        "{fitting.reports=1000000,cells=256.per_record} a record",
    ),
    (
        "a relay's processor time to take a report in, over its curator's; to seal, forward and "
        "settle it",
        "{relaying.taking,relay.over_curator}; {relaying.forwarding.processor}",
    ),
    (
        "memory of a curator and all that it started (PSS), once idle processes have ended, after "
        "10^6 single reports; after 10^7 in batches",
        "{intake.after 1e+06 single reports.memory}; {intake.after 1e+07 reports.memory}",
    ),
    (
        "fitting the default model to 2 000 public records of 100 classes and 10 000 reports",
        "{estimators.public=2000,private=10000,classes=100.fit}",
    ),
    (
        "growing a tree of depth 10 on 100 000 records of 8 columns; on 50 of 2",
        "{growing.100000x8,depth=10.max_edge}, {growing.100000x8,depth=10.over_sklearn} of "
        "scikit-learn's CART; {growing.50x2,depth=8.over_sklearn}",
    ),
    (
        "predicting a million rows by a tree of 256 cells",
        "{predicting.1000000x8,cells=256.labels}, "
        "{predicting.1000000x8,cells=256.labels_over_sklearn} of scikit-learn's",
    ),
    (
        "predicting a million rows by the default model",
        "{predicting.drift,rows=1000000.intervals}, "
        "{predicting.drift,rows=1000000.over_one_forest} of one scikit-learn forest",
    ),
    (
        "what people wait for: imports, commands, a plan, a fit, a million predictions, the demo",
        "[a table](#waiting), with its [marks](#marks)",
    ),
    (
        "one prediction over HTTP",
        "{rest_predict.weighted,one_record.time} by a tree, "
        "{rest_predict.drift,one_record.time} by the default model",
    ),
    (
        "simulating a billion holders' reports in 1 024 categories, `subset`",
        "{simulating.subset,categories=1024,holders=1000000000.time}",
    ),
)
"""Each thing that was measured, with its figures as ``{section.case.column}``."""

UNITS = {"us/report": "µs", "us": "µs", "reports/s": "a second", "x": ""}
"""Units whose words in a sentence are others than in a table."""


def in_short(figures: Iterable[Figure]) -> str:
    """The short table, from the measured figures.

    Raises ``KeyError`` if one is not there.
    """
    named = {figure.name: figure for figure in figures}
    rows = [
        (what, re.sub(r"\{(\w+\.[^}]*\.\w+)\}", lambda at: _figure(named[at[1]]), text))
        for what, text in ROWS
    ]
    return markdown(["what", "measured"], rows)


def _figure(figure: Figure) -> str:
    """One figure with three digits and its unit."""
    digits = f"{float(f'{figure.value:.3g}'):,.10g}".replace(",", " ")
    return f"{digits} {UNITS.get(figure.unit, figure.unit)}".strip()
