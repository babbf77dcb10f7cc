"""Figures, CSV files and the results of ``docs/reproduction.md`` from what the driver measured."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from scripts.pages import markdown
from scripts.reproduce.experiments import Experiment, Setting

SLACK = {"max": 0.01, "min": 0.1}
"""What a mean may differ by beyond three standard errors: accuracy, or a share of an error."""


def results_page(
    experiments: Sequence[Experiment],
    tables: Mapping[str, pd.DataFrame],
    skipped: Mapping[str, str],
    *,
    folder: Path,
    results: Path,
) -> str:
    """The results for a page in ``folder``; writes ``folder/figures`` and CSV files beside."""
    figures = folder / "figures"
    for each in (figures, results):
        each.mkdir(parents=True, exist_ok=True)
    parts = []
    if skipped:
        names = ", ".join(skipped)
        parts.append(f"Skipped, since their files are missing: {names}.\n")
    for experiment in experiments:
        table = tables[experiment.name]
        table.round(6).to_csv(results / f"{experiment.name}.csv", index=False)
        parts.append(section(experiment, table, folder, results / f"{experiment.name}.csv"))
    return "\n".join(parts)


def section(experiment: Experiment, table: pd.DataFrame, folder: Path, file: Path) -> str:
    """One figure or table with its remarks."""
    lines = [f"## {experiment.title}", ""]
    if table.empty:
        return "\n".join([*lines, "Nothing was measured: its data are missing.", ""])
    if experiment.kind == "figure":
        draw(experiment, table, folder / "figures" / f"{experiment.name}.svg")
        lines += [f"![{experiment.title}](figures/{experiment.name}.svg)", ""]
    if experiment.kind == "table" or experiment.published:
        lines += [grid(experiment, table)]
    count = sorted({int(n) for n in table["replications"]})
    many = " to ".join(str(n) for n in dict.fromkeys((count[0], count[-1])))
    source = f"*(…)*: {experiment.reference}. " if experiment.published else ""
    plural = "" if many == "1" else "s"
    lines += [f"{source}{many} replication{plural}; [all digits]({relative(file, folder)}).", ""]
    if experiment.remarks:
        lines += [experiment.remarks, ""]
    return "\n".join(lines)


def relative(file: Path, folder: Path) -> str:
    """A link from a page in ``folder``."""
    return Path(os.path.relpath(file, folder)).as_posix()


def grid(experiment: Experiment, table: pd.DataFrame) -> str:
    """Lines across and x down, each mean with its standard error and the number in print."""
    own = table.set_index([*experiment.line, experiment.x])
    lines = list(dict.fromkeys(tuple(key[:-1]) for key in own.index))
    if experiment.line == ("series",):
        lines = [(name,) for name in experiment.series if (name,) in lines]
    rows = []
    for x in dict.fromkeys(key[-1] for key in own.index):
        row = [shown(x)]
        for line in lines:
            key = (*line, x)
            printed = experiment.published.get(key)
            if key in own.index:
                row.append(cell(experiment, own.loc[key], printed))
            else:
                row.append("–" if printed is None else f"– *({shown(printed)})*")
        rows.append(row)
    head = [experiment.x, *(", ".join(shown(part) for part in line) for line in lines)]
    return markdown(head, rows)


def cell(experiment: Experiment, found: "pd.Series[float]", printed: float | None) -> str:
    """One mean; bold where it differs from the number in print."""
    mean, error = float(found["mean"]), float(found["standard_error"])
    once = np.isnan(error)
    text = shown(mean) if once else f"{shown(mean)} ± {shown(error)}"
    if printed is None:
        return text
    if once:
        return f"{text} *({shown(printed)})*"
    slack = SLACK["max"] if experiment.best == "max" else SLACK["min"] * abs(printed)
    comparable = experiment.column == "score" and experiment.reference != "bound"
    differs = comparable and abs(mean - printed) > 3 * error + slack
    return f"{f'**{text}**' if differs else text} *({shown(printed)})*"


def shown(value: Setting) -> str:
    """A number with three or four digits, or a name."""
    if isinstance(value, str):
        return value
    if float(value).is_integer():
        return f"{value:.0f}"
    if 0 < abs(value) < 0.01:
        return f"{value:.1g}"
    return f"{value:.3f}".rstrip("0").rstrip(".") if abs(value) < 10 else f"{value:.4g}"


def draw(experiment: Experiment, table: pd.DataFrame, file: Path) -> None:
    """Means with standard errors over x; a panel for each value of a second line column."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "privet", "svg.fonttype": "none", "font.size": 9})
    from matplotlib import pyplot as plt

    panels = [None]
    if len(experiment.line) > 1:
        panels = list(dict.fromkeys(table[experiment.line[1]]))
    figure, axes = plt.subplots(
        1, len(panels), figsize=(4.5 * len(panels), 3.2), squeeze=False, sharey=True
    )
    for axis, panel in zip(axes[0], panels, strict=True):
        own = table if panel is None else table[table[experiment.line[1]] == panel]
        for name, line in own.groupby(experiment.line[0], sort=False):
            x = line[experiment.x].astype(float)
            label = name if isinstance(name, str) else f"{experiment.line[0]} {name:g}"
            axis.errorbar(x, line["mean"], line["standard_error"], marker="o", ms=3, label=label)
            printed = [experiment.published.get((name, value)) for value in line[experiment.x]]
            if any(value is not None for value in printed):
                heights = [np.nan if value is None else value for value in printed]
                colour = axis.lines[-1].get_color()
                axis.plot(
                    x,
                    heights,
                    "x--",
                    color=colour,
                    lw=0.8,
                    label=f"{label}, {experiment.reference}",
                )
        if experiment.log_x:
            axis.set_xscale("log")
        axis.set_xlabel(experiment.x)
        if panel is not None:
            axis.set_title(f"{experiment.line[1]} {shown(panel)}")
    axes[0][0].set_ylabel("accuracy" if experiment.best == "max" else "mean squared error")
    axes[0][-1].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None})
    plt.close(figure)
