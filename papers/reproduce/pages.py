"""CSV files, figures and the tables of pages from what the driver measured."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reproduce.effects import CHOSEN, LABEL_ALONE
from reproduce.experiment import Experiment, Setting
from reproduce.markdown import markdown

ACROSS = 3
"""Axes of a figure in a row."""
LEGEND = 1.6
"""Inches for a figure's legend, beside its axes."""
FAR = 3.0
"""Standard errors of ours beyond which a mean differs from the number in print."""
PAGES = {
    "classification.md": ("accuracy-classes", "accuracy-design"),
    "regression.md": ("accuracy-numbers",),
    "shifts.md": ("shifts", "trust"),
    "blind.md": ("blind",),
    "second-bench.md": ("second-bench",),
    "coverage.md": ("coverage",),
    "statements.md": ("statements",),
    "ablations.md": ("ablations",),
    "shapes.md": ("shapes",),
    "choices.md": ("memory", "label-shift"),
    "disclosed-columns.md": (
        *("disclosed-scores", "disclosed-holders"),
        *("disclosed-rule", "disclosed-misfits"),
    ),
    "lpct-figures.md": ("lpct-figure", "lpct-rates"),
    "lpct-tables.md": ("lpct-table",),
    "lpdt.md": ("lpdt",),
    "semi-private.md": ("abm",),
    "panels.md": ("waves-smoothed", "waves-lifetimes", "waves-changes"),
    "plans.md": ("plans-promises", "plans-one-population", "plans-as-collected"),
}
"""Places of pages in ``tables``, each for the experiments whose names begin with it."""
NOTES = {
    "is-it-for-me.md": ("trust",),
    "accuracy.md": ("accuracy-classes", "accuracy-numbers"),
    "disclosed-columns.md": ("disclosed-holders",),
}
"""Pages of the documentation with the notes of experiments, at ``NAME-notes``."""


BENCHES = {"blind": "blind.md", "second-bench": "second-bench.md"}
"""Blind benches with their pages, whose gains are those of all their tables together."""
MEASURED = {
    "accuracy.md": ("accuracy",),
    "robustness.md": ("shifts", "label-shift", "statements", "coverage", "ablations"),
    "is-it-for-me.md": ("shifts", "trust"),
}
"""Pages of the documentation that say when and at which release experiments were measured."""
UNTAGGED = "0.1.0"
"""The version of rows whose commit is not known."""


def kept(experiment: Experiment, results: Path) -> pd.DataFrame:
    """The rows of an experiment in its CSV file in ``results``, if any."""
    file = results / f"{experiment.name}.csv"
    if not file.exists():
        return pd.DataFrame(columns=experiment.key)
    # the scores of a single replication would be read as a number
    return pd.read_csv(file, dtype={"scores": str})


def merged(experiment: Experiment, old: pd.DataFrame, new: pd.DataFrame) -> pd.DataFrame:
    """``new`` rows, and those of ``old`` that are not measured anew, in the experiment's order."""
    table = pd.concat([part for part in (old, new) if len(part)])
    table = table.drop_duplicates(experiment.key, keep="last")
    if "series" in table:
        table = table[table["series"].isin(experiment.series)]
    places = {name: place for place, name in enumerate(experiment.series)}

    def order(column: "pd.Series[Setting]") -> "pd.Series[Setting]":
        return column.map(places) if column.name == "series" else column

    return table.sort_values(experiment.key, key=order, kind="stable", ignore_index=True)


def sections(
    experiments: Iterable[Experiment],
    tables: Mapping[str, pd.DataFrame],
    page: Path,
    figures: Path,
    results: Path,
) -> str:
    """The experiments that have results, for ``page``."""
    return "\n".join(
        section(experiment, tables[experiment.name], page, figures, results)
        for experiment in experiments
        if len(tables[experiment.name])
    )


def section(
    experiment: Experiment, table: pd.DataFrame, page: Path, figures: Path, results: Path
) -> str:
    """One figure or table; links are relative to the page's folder."""
    lines = [f"## {experiment.title}", ""]
    if experiment.kind == "figure":
        figure = figures / f"{experiment.name}.svg"
        draw(experiment, table, figure)
        lines += [f"![{experiment.title}]({relative(figure, page)})", ""]
    if experiment.kind == "table" or experiment.published:
        lines += [grid(experiment, *panel) for panel in panels(experiment, table)]
    source = f"*(…)*: {experiment.reference}. " if experiment.published else ""
    apart = distances(experiment, table)
    if len(apart):
        near = int((apart.abs() <= FAR).sum())
        source = f"*(…; z)*: {experiment.reference}; {near} of {len(apart)} within three"
        source += f"{no_verdict(experiment, table)}. "
    digits = relative(results / f"{experiment.name}.csv", page)
    lines += [f"{source}{replicated(experiment, table)}; [all digits]({digits}).", ""]
    lines += filter(None, [notes(experiment, table)])
    return "\n".join(lines)


def when(tables: Mapping[str, pd.DataFrame], experiments: Iterable[Experiment]) -> str:
    """The release and the days of measurements, in one sentence, for a whole page."""
    used = [tables[one.name] for one in experiments if len(tables[one.name])]
    if not used:
        return "Not measured yet.\n"
    rows = pd.concat([table[["version", "measured"]] for table in used])
    versions = rows["version"].astype(str)
    released = ~versions.str.contains("+", regex=False) & (versions != UNTAGGED)

    def on(some: "pd.Series[bool]") -> str:
        days = sorted(rows.loc[some, "measured"].unique())
        dates = " to ".join(dict.fromkeys((days[0], days[-1])))
        return f"{'on' if len(days) == 1 else 'from'} {dates}"

    if not released.any():
        return f"**Not measured at a release**: by code of its day, {on(~released)}.\n"
    numbers = " and ".join(sorted(versions[released].unique()))
    if released.all():
        return f"**Measured with release {numbers}**, {on(released)}.\n"
    return (
        f"**Partly measured with release {numbers}**, {on(released)}; "
        f"the rest by code of its day, {on(~released)}.\n"
    )


def replicated(experiment: Experiment, table: pd.DataFrame) -> str:
    """The number of replications, for each line where lines differ."""
    counts = table["replications"].astype(int)
    by_line = counts.groupby([table[experiment.line[0]]], sort=False).agg(["min", "max"])
    if counts.nunique() == 1 or (by_line["min"] < by_line["max"]).any():
        many = " to ".join(str(n) for n in dict.fromkeys((counts.min(), counts.max())))
        return f"{many} replication{'' if many == '1' else 's'}"
    lines = by_line["min"].groupby(by_line["min"], sort=False)
    return "; ".join(
        f"{n} replications of {', '.join(as_text(line) for line in of.index)}" for n, of in lines
    )


def no_verdict(experiment: Experiment, table: pd.DataFrame) -> str:
    """The number of those points for which to be within says nothing, if there are any."""
    near = distances(experiment, table).abs() <= FAR
    flat = int((near & is_flat(experiment, table)).sum())
    said = "of them on lines that in print rise and fall by no more than that, which is no verdict"
    return f", {flat} {said}" if flat else ""


def is_flat(experiment: Experiment, table: pd.DataFrame) -> "pd.Series[bool]":
    """Whether all of a point's line in print lies within ``FAR`` of our standard errors there.

    By the experiment's key, as ``distances``; a single point is no line.
    """
    apart = distances(experiment, table)
    printed = pd.Series(experiment.published, dtype=float).reindex(apart.index)
    errors = table.set_index(experiment.key)["standard_error"].reindex(apart.index)
    line = apart.index.droplevel(-1) if apart.index.nlevels > 1 else pd.Index([0] * len(apart))
    of_line = printed.groupby(line)
    span = of_line.transform("max") - of_line.transform("min")
    return (span <= FAR * errors) & (of_line.transform("count") > 1)


def notes(experiment: Experiment, table: pd.DataFrame) -> str:
    """Text that follows from a table with every series and more than one of its replications."""
    needed = {*experiment.series} - {CHOSEN, LABEL_ALONE}
    lacks = "series" in table and not needed <= set(table["series"])
    single = bool(table["replications"].max() < min(experiment.replications, 2))
    if experiment.notes is None or lacks or single:
        return ""
    return experiment.notes(experiment, table)


def relative(file: Path, page: Path) -> str:
    """The link that leads from a page to a file."""
    return Path(os.path.relpath(file, page.parent)).as_posix()


def distances(experiment: Experiment, table: pd.DataFrame) -> "pd.Series[float]":
    """Each mean less the number in print, in standard errors of the mean, by the experiment's key.

    None where there is one replication, no variance, a unit or only a bound.
    """
    means = table.set_index(experiment.key)
    printed = pd.Series(experiment.published, index=means.index, dtype=float)
    if experiment.relative or experiment.reference == "bound":
        return printed.iloc[:0]
    errors = means["standard_error"].where(means["standard_error"] > 0)
    return ((means["mean"] - printed) / errors).dropna()


def panels(
    experiment: Experiment, table: pd.DataFrame
) -> list[tuple[str, tuple[Setting, ...], pd.DataFrame]]:
    """The table's panels with their titles and values, or all of it."""
    if not experiment.panels:
        return [("", (), table)]

    return [
        (", ".join(map(named, experiment.panels, values)), values, part)
        for values, part in table.groupby(list(experiment.panels), sort=False)
    ]


NAMES = {
    "epsilon": "ε",
    "series": "",
    "collection": "",
    "panel": "",
    "depth": "p",
    "weight": "λ",
    "gamma": "γ",
}


def named(column: str, value: Setting) -> str:
    """A name, or a number with what it is of."""
    return value if isinstance(value, str) else f"{NAMES.get(column, column)} = {value:g}"


def heading(column: str, value: Setting) -> str:
    """The head of a column of a table."""
    if column == "epsilon":
        return "no reports" if value == 0 else f"ε = {value:g}"
    return as_text(value)


def grid(
    experiment: Experiment, title: str, panel: tuple[Setting, ...], table: pd.DataFrame
) -> str:
    """Lines across and x down, each mean with its standard error and the number in print."""
    means = table.set_index([*experiment.line, experiment.x])
    lines = list(dict.fromkeys(tuple(key[:-1]) for key in means.index))
    if "series" not in experiment.line:
        lines.sort()
    places = list(dict.fromkeys(key[-1] for key in means.index))
    if experiment.x == "series":
        places = [name for name in experiment.series if name in places]
    apart = distances(experiment, table)

    def entry(line: tuple[Setting, ...], x: Setting) -> str:
        key = (*panel, *line, x)
        printed = number(experiment, key)
        if (*line, x) not in means.index:
            return "–" if printed is None else f"– *({as_text(printed)})*"
        base = (experiment.relative, x)
        unit = means.loc[base, "mean"] if experiment.relative and base in means.index else 1.0
        return cell(experiment, means.loc[(*line, x)], printed, apart.get(key), unit)

    heads = (", ".join(map(heading, experiment.line, line)) for line in lines)
    rows = [[as_text(x), *(entry(line, x) for line in lines)] for x in places]
    return markdown([title or NAMES.get(experiment.x, experiment.x), *heads], rows)


def number(experiment: Experiment, key: tuple[Setting, ...]) -> float | None:
    """The published number, in units of the series that all are relative to."""
    value = experiment.published.get(key)
    if value is None or not experiment.relative:
        return value
    unit = experiment.published.get((experiment.relative, *key[1:]))
    return None if unit is None else value / unit


def cell(
    experiment: Experiment,
    row: "pd.Series[float]",
    printed: float | None,
    apart: float | None = None,
    unit: float = 1.0,
) -> str:
    """One mean with further measures; bold where it is ``FAR`` from the number in print."""
    mean, error = float(row["mean"]) / unit, float(row["standard_error"]) / unit
    others = [name for name in experiment.measures[1:] if not np.isnan(row[name])]
    errors = not np.isnan(error) and (experiment.errors or len(experiment.measures) == 1)
    texts = [measured(mean), *(measured(float(row[name])) for name in others)]
    if errors:
        of_each = [error, *(float(row[f"{name}_error"]) for name in others)]
        texts = [f"{text} ± {measured(each)}" for text, each in zip(texts, of_each, strict=True)]
    text = ", ".join(texts)
    if printed is None:
        return text
    if apart is None:
        return f"{text} *({as_text(printed)})*"
    far = abs(apart) > FAR
    z = f"{round(apart, 1) + 0.0:+.1f}" if abs(apart) < 10 else f"{np.clip(apart, -99, 99):+.0f}"
    return f"{f'**{text}**' if far else text} *({as_text(printed)}; {z})*"


def measured(value: float) -> str:
    """Three decimals, or four digits, or a whole number."""
    if abs(value) < 10:
        return f"{value:.3f}"
    return f"{value:.4g}" if abs(value) < 10_000 else f"{value:.0f}"


def as_text(value: Setting) -> str:
    """A number with three or four digits, or a name."""
    if isinstance(value, str):
        return value
    if float(value).is_integer():
        return f"{value:.0f}"
    if 0 < abs(value) < 0.001:
        return f"{value:.0e}"
    return f"{value:.3f}".rstrip("0").rstrip(".") if abs(value) < 10 else f"{value:.4g}"


def draw(experiment: Experiment, table: pd.DataFrame, file: Path) -> None:
    """Means with standard errors over x, and crosses in print; axes for each panel, one legend."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "privet", "svg.fonttype": "none", "font.size": 9})
    from matplotlib import pyplot as plt

    parts = panels(experiment, table)
    across = min(len(parts), ACROSS)
    down = -(-len(parts) // across)
    figure, axes = plt.subplots(
        down,
        across,
        figsize=(4.5 * across + LEGEND, 3.2 * down),
        squeeze=False,
        sharey=True,
        layout="constrained",
    )
    column = experiment.line[0]
    colours = {name: f"C{place}" for place, name in enumerate(dict.fromkeys(table[column]))}
    named_lines: dict[str, Any] = {}
    for axis, (title, values, panel) in zip(axes.flat, parts, strict=False):
        for name, line in panel.groupby(column, sort=False):
            x, colour = line[experiment.x].astype(float), colours[name]
            bars = axis.errorbar(
                x, line["mean"], line["standard_error"], marker="o", ms=3, color=colour
            )
            named_lines.setdefault(named(column, name), bars)
            printed = [experiment.published.get((*values, name, place)) for place in x]
            if any(height is not None for height in printed):
                heights = [np.nan if height is None else height for height in printed]
                axis.plot(x, heights, "x--", color=colour, lw=0.8)
        if experiment.log_x:
            axis.set_xscale("log")
        axis.set_xlabel(NAMES.get(experiment.x, experiment.x))
        axis.set_title(title)
    for axis in axes.flat[len(parts) :]:
        axis.set_axis_off()
    axes[0][0].set_ylabel("accuracy" if experiment.best == "max" else "mean squared error")
    if experiment.published:
        cross = mpl.lines.Line2D([], [], ls="--", marker="x", lw=0.8, c="grey")
        named_lines[experiment.reference] = cross
    figure.legend(named_lines.values(), named_lines.keys(), loc="outside right upper", fontsize=7)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, metadata={"Date": None})
    plt.close(figure)
