"""docs/performance.md from a run: a table per section, and costs as they grow as plots."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.aggregating import FIT
from bench.figures import MOST_ROUNDS, Effort, Figure
from bench.history import Run
from bench.marks import judged
from bench.traffic import CONNECTIONS
from scripts.load.document import sections, with_sections

INTRODUCTION = f"""# Performance

Written by `python -m bench --write-docs` (all of it; `--only growing` prints one section). A
figure in `x` is a ratio of times in the same run, ours over the reference's: below 1 is faster.
Times are the best of up to {MOST_ROUNDS} rounds, those over HTTP the median of some. Both sides of
an HTTP figure share the machine.
"""

ABOUT = {
    "growing": "`max_edge` (full grid, Gini, two classes) and scikit-learn's "
    "`DecisionTreeClassifier` of the same depth, on the same uniform records. The full grid has "
    "2^depth cells whatever the records are; CART stops at leaves with one class.",
    "privatizing": "One holder's report at ε = 1, two classes in each cell. Other libraries "
    "run the same mechanism with the same categories; pure-LDP and multi-freq-ldpy (compiled by "
    "numba) draw from numpy's generators, we and OpenDP from the operating system.",
    "accumulating": "Reports that are in memory and valid are added up, ε = 1, two classes.",
    "fitting": "Per record, ε = 1, two classes, 8 features. `reports`: from the bytes of reports "
    "to a `weighted` model (check, add up, debias, fit), beside going over all categories of each "
    "report in plain Python (`bench.aggregating.naive_counts`); both end in the same counts, which "
    "the run checks. `records`: the holders' part as well, simulated exactly, beside looking for "
    "each record in every cell and drawing every bit of its report (`naive_sums`). References are "
    f"measured on {FIT[Effort.FULL][2]} records. `sums`: the model alone.",
    "predicting": "One thread. `labels`: class names, beside `predict` of scikit-learn's tree of "
    "the same depth on the same rows; `intervals`: probabilities and both ends of their intervals, "
    "beside its `predict_proba`. `drift`: the default estimator with its public model, a stack of "
    "several forests, boosting and linear models, beside `predict_proba` of a single forest of "
    "scikit-learn's.",
    "simulating": "The sums of a whole population, exact in distribution.",
    "intake": f"Reports over HTTP into SQLite, durable before they are answered, {CONNECTIONS} "
    "connections. The reference is a FastAPI route that reads the body and answers.",
    "rest_predict": "`POST /v1/tasks/{id}/predict`, 256 cells, one call at a time, by a tree alone "
    "(`weighted`) and by the default estimator with its public model (`drift`). `first_record`: "
    "the first call after fitting.",
}


class Plot(NamedTuple):
    """Figures of one section against a number in their case."""

    file: str
    title: str
    horizontal: str
    vertical: str
    curves: tuple[tuple[str, str, str, str], ...]
    """For each curve its name, and the section, what, and case with ``{}`` for the number."""


PLOTS = (
    Plot(
        "performance-holders.png",
        "Over holders",
        "holders",
        "seconds",
        (
            ("add up, 256 cells", "accumulating", "rate", "subset,cells=256,reports={}"),
            (
                "simulate, 1024 categories",
                "simulating",
                "time",
                "subset,categories=1024,holders={}",
            ),
        ),
    ),
    Plot(
        "performance-cells.png",
        "Over cells",
        "cells",
        "seconds",
        (
            ("privatize 1000 reports", "privatizing", "time", "subset,cells={}"),
            ("add up 10^6 reports", "accumulating", "rate", "subset,cells={}"),
            ("predict 10^6 rows", "predicting", "labels", "1000000x8,cells={}"),
        ),
    ),
    Plot(
        "performance-columns.png",
        "Over columns",
        "columns",
        "seconds",
        (
            ("grow on 5000 rows, depth 10", "growing", "max_edge", "5000x{},depth=10"),
            ("predict 10^5 rows, 256 cells", "predicting", "labels", "100000x{},cells=256"),
        ),
    ),
)


def write_document(run: Run, folder: Path) -> list[Path]:
    """Write the page and its plots, keeping the load test's sections; the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / "performance.md"
    kept = sections(page.read_text(encoding="utf-8")) if page.exists() else {}
    page.write_text(with_sections("\n".join(_page(run)), kept), encoding="utf-8")
    return [page, *(_draw(plot, run.figures, folder / plot.file) for plot in PLOTS)]


def _page(run: Run) -> Iterator[str]:
    versions = ", ".join(f"{name} {number}" for name, number in run.versions.items())
    yield INTRODUCTION
    yield f"Measured {run.started[:10]} on {run.machine}; {versions}."
    yield f"Load average before the run: {run.load_average:.1f}" + (
        " (other work was running, so read the ratios).\n" if run.load_average > 1.0 else ".\n"
    )
    yield "## Marks\n"
    yield from (f"- {line}" for line in judged(run.figures))
    yield ""
    for plot in PLOTS:
        yield f"![{plot.title}]({plot.file})\n"
    for section in dict.fromkeys(figure.section for figure in run.figures):
        yield f"## {section.replace('_', ' ').capitalize()}\n"
        yield ABOUT[section] + "\n"
        yield from _table([figure for figure in run.figures if figure.section == section])
        yield ""


def _table(figures: Sequence[Figure]) -> Iterator[str]:
    """A line per case, a column per kind of figure."""
    columns = list(dict.fromkeys((figure.what, figure.unit) for figure in figures))
    yield "| case | " + " | ".join(f"{what}, {unit}" for what, unit in columns) + " |"
    yield "|---" * (len(columns) + 1) + "|"
    values = {(figure.case, figure.what): figure.value for figure in figures}
    for case in dict.fromkeys(figure.case for figure in figures):
        cells = [values.get((case, what)) for what, _ in columns]
        told = ["" if value is None else _told(value) for value in cells]
        yield f"| {case} | " + " | ".join(told) + " |"


def _told(value: float) -> str:
    return f"{value:,.0f}" if value >= 1_000 else f"{value:.4g}"


def points(figures: Sequence[Figure], section: str, what: str, case: str) -> list[list[float]]:
    """Numbers that stand for ``{}`` in ``case``, and the figures' values, in order."""
    before, _, after = case.partition("{}")
    found = [
        [float(number), figure.value]
        for figure in figures
        if (figure.section, figure.what) == (section, what)
        and figure.case.startswith(before)
        and figure.case.endswith(after)
        and (number := figure.case.removeprefix(before).removesuffix(after)).isdigit()
    ]
    return sorted(found)


def _seconds(name: str, unit_of: str, number: float, value: float) -> float:
    """What is drawn: seconds for the work that the curve's name tells."""
    if unit_of == "rate":
        return (1e6 if "10^6" in name else number) / value
    return 1e-3 * value if "1000 reports" in name else value


def _draw(plot: Plot, figures: Sequence[Figure], path: Path) -> Path:
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(6, 3.2), layout="constrained")
    axes = canvas.subplots()
    for name, section, what, case in plot.curves:
        found = points(figures, section, what, case)
        heights = [_seconds(name, what, number, value) for number, value in found]
        axes.loglog([number for number, _ in found], heights, marker="o", label=name)
    axes.set_xlabel(plot.horizontal)
    axes.set_ylabel(plot.vertical)
    axes.set_title(plot.title)
    axes.grid(alpha=0.3)
    axes.legend()
    canvas.savefig(path, dpi=90)
    return path
