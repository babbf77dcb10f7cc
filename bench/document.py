"""docs/performance.md from a run: the marks, and a table per section."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.aggregating import FIT
from bench.figures import MOST_ROUNDS, Effort, Figure
from bench.history import Run
from bench.intake import AT_A_TIME, GROUP
from bench.marks import judged
from bench.traffic import CONNECTIONS
from scripts.pages import fill

ABOUT = {
    "growing": "`max_edge` (full grid, Gini, two classes) and scikit-learn's "
    "`DecisionTreeClassifier` of the same depth, on the same uniform records. The full grid has "
    "2^depth cells whatever the records are; CART stops at leaves with one class.",
    "privatizing": "One holder's report at ε = 1, two classes in each cell. OpenDP runs "
    "the same mechanism with the same categories; both draw from the operating system.",
    "accumulating": "Reports that are in memory and valid are added up, ε = 1, two classes.",
    "fitting": "Per record, ε = 1, two classes, 8 features. `reports`: from the bytes of reports "
    "to a `weighted` model (check, add up, debias, fit), compared with going over all categories "
    "of each report in plain Python (`bench.aggregating.naive_counts`); both end in the same "
    "counts, which the run checks. `records`: the holders' part as well, simulated exactly, "
    "compared with looking for each record in every cell and drawing every bit of its report "
    f"(`naive_sums`). References are measured on {FIT[Effort.FULL][2]} records. `sums`: the "
    "model alone.",
    "predicting": "One thread. `labels`: class names, compared with `predict` of scikit-learn's "
    "tree of the same depth on the same rows; `intervals`: probabilities and both ends of their "
    "intervals, compared with its `predict_proba`. `drift`: the default estimator with its "
    "public model, a stack of several forests, boosting and linear models, compared with "
    "`predict_proba` of a single forest of scikit-learn's.",
    "simulating": "The sums of a whole population, exact in distribution.",
    "intake": f"Reports over HTTP into SQLite, durable before they are answered, {CONNECTIONS} "
    f"connections, batches {AT_A_TIME} at a time; clients and servers share the machine. The "
    "reference is a FastAPI route that reads the body and answers. `processor` is the server's "
    f"processor time, {GROUP} singles and a batch also step by step.",
    "rest_predict": "`POST /v1/tasks/{id}/predict`, 256 cells, one call at a time, by a tree alone "
    "(`weighted`) and by the default estimator with its public model (`drift`). `first_record`: "
    "the first call after fitting.",
    "worst_tasks": "One task on a holder's device: read, recompute epsilon, explain, answer. Each "
    "is close to a limit of docs/protocol.md, and a search found none that costs more; `time` "
    "is of one core, `memory` the peak of what Python and numpy allocate.",
}


def write_document(run: Run, page: Path) -> None:
    """Replace the page's table ``bench``."""
    fill(page, {"bench": "\n".join(_page(run))})


def _page(run: Run) -> Iterator[str]:
    versions = ", ".join(f"{name} {number}" for name, number in run.versions.items())
    yield f"Measured {run.started[:10]} on {run.machine}; {versions}."
    yield f"Load average before the run: {run.load_average:.1f}" + (
        " (other work was running, so read the ratios)." if run.load_average > 1.0 else "."
    )
    yield f"Times are the best of up to {MOST_ROUNDS} rounds, those over HTTP medians.\n"
    yield "## Marks\n"
    yield from (f"- {line}" for line in judged(run.figures))
    yield ""
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
        texts = ["" if value is None else _text(value) for value in cells]
        yield f"| {case} | " + " | ".join(texts) + " |"


def _text(value: float) -> str:
    return f"{value:,.0f}" if value >= 1_000 else f"{value:.4g}"
