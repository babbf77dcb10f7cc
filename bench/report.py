"""What a run of the benchmarks says: the marks that it must hold, and its tables."""

import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version

from bench.aggregating import FIT
from bench.collecting import IN_A_FILE
from bench.figures import MOST_ROUNDS, Effort, Figure
from bench.intake import AT_A_TIME
from bench.traffic import CATEGORIES
from scripts.pages import markdown, measured_on


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
    Mark("worst_tasks", "", "drawing_over_wait", 0.1, False, "draws in a tenth of the wait"),
    Mark("worst_tasks", "all_at_once", "time", 1.0, False, "takes a device less than a second"),
    Mark("worst_tasks", "all_at_once", "memory", 64.0, False, "takes a device less than 64 MiB"),
    Mark("pages", "first_page,tasks=1000", "time", 0.1, False, "shows a thousand tasks"),
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


ABOUT = {
    "growing": "`max_edge` (full grid, Gini, two classes) and scikit-learn's "
    "`DecisionTreeClassifier` of the same depth, on the same uniform records. The full grid has "
    "2^depth cells whatever the records are; CART stops at leaves with one class.",
    "privatizing": "One holder's report at ε = 1, two classes in each cell. OpenDP runs "
    "the same mechanism with the same categories; both draw from the operating system.",
    "accumulating": "Reports that are in memory and valid are added up, ε = 1, two classes.",
    "fitting": "Per record, ε = 1, two classes, 8 features. `reports`: from the bytes of reports "
    "to a `weighted` model (check, add up, debias, fit). `records`: the holders' part as well, "
    "simulated exactly, compared with looking for each record in every cell and drawing every bit "
    "of its report in plain Python (`bench.aggregating.naive_sums`), measured on "
    f"{FIT[Effort.FULL][2]} records. `sums`: the model alone.",
    "predicting": "`labels`: class names, compared with `predict` of scikit-learn's "
    "tree of the same depth on the same rows; `intervals`: probabilities and both ends of their "
    "intervals, compared with its `predict_proba`. `drift`: the default estimator with its "
    "public model, a stack of several forests, boosting and linear models, compared with "
    "`predict_proba` of a single forest of scikit-learn's in one thread.",
    "estimators": "`PrivateTreeClassifier` at ε = 2 on scikit-learn's `make_classification` with "
    "10 informative features: `fit`, with all private rows answering, in one thread, and one "
    "`predict_proba` on all processors.",
    "simulating": "The sums of a whole population, exact in distribution.",
    "intake": "Reports over HTTP into SQLite, durable before they are answered: singles in "
    f"{CATEGORIES} categories, batches {AT_A_TIME} at a time; clients and servers share the "
    "machine. The reference is a FastAPI route that reads the body and answers. `processor` is the "
    "server's processor time.",
    "collecting": f"`privet collect`: sealed batches of {IN_A_FILE} reports as files, read and "
    "added up by a process per core, and taken into SQLite by one. `processor` is that of all.",
    "rest_predict": "`POST /v1/tasks/{id}/predict`, 256 cells, one call at a time, by a tree alone "
    "(`weighted`) and by the default estimator with its public model (`drift`). `first_record`: "
    "the first call after fitting.",
    "worst_calls": "One call to a curator with default settings, after a small one of its kind: "
    "processor time of all its processes, and by how much they grow. `most_reports` is counted, "
    "`all_refused` has impossible payloads and names each id in its answer; `most_rows` is "
    "predicted by `drift`; `empty_records` and `report` are refused when they have been read. "
    "Bodies that arrive slowly cost their bytes, and `PRIVET_MAX_BODY_MEMORY` bounds all of them.",
    "pages": "The dashboard's first page over HTTP, one call at a time by a stranger, from SQLite "
    "with so many open tasks. `first_time`: the first call of a new process.",
    "worst_tasks": "One task on a holder's device: read, recompute epsilon, explain, answer. Each "
    "is close to a limit of docs/protocol.md, and a search found none that costs more; `time` "
    "is of one core, `memory` the peak of what Python and numpy allocate; `drawing_over_wait` is "
    "the time of encoding and drawing over the least that a report waits before it is sent.",
}


def document(figures: Sequence[Figure], load_average: float) -> str:
    """The page's part ``bench``; the load average is that of before the run."""
    return "\n".join(_page(figures, load_average))


def _page(figures: Sequence[Figure], load_average: float) -> Iterator[str]:
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scikit-learn", "opendp"))
    yield f"{measured_on()}, python {platform.python_version()}, {versions}."
    yield f"Load average before the run: {load_average:.1f}" + (
        " (other work was running, so read the ratios)." if load_average > 1.0 else "."
    )
    yield f"Times are the best of up to {MOST_ROUNDS} rounds, those over HTTP medians.\n"
    yield "## Marks\n"
    yield from (f"- {line}" for line in judged(figures))
    yield ""
    for section in dict.fromkeys(figure.section for figure in figures):
        yield f"## {section.replace('_', ' ').capitalize()}\n"
        yield ABOUT[section] + "\n"
        yield _table([figure for figure in figures if figure.section == section])


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
