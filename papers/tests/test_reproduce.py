"""The driver of the experiments: kept results, the best point, missing sets, ranks, the page."""

import gzip
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from baselines import LPCTClassifier, LPDTRegressor
from reproduce import DOCS, ROOT, contestants, derived, driver, pages, rates
from reproduce import __main__ as command
from reproduce.datasets import CLASSIFICATION, REGRESSION, Split, first_rows_public
from reproduce.experiment import EXPECTED, Experiment, Job, Numbers, jobs, points, printed
from reproduce.experiments import EXPERIMENTS
from reproduce.methods import METHODS, TIMED
from reproduce.problems import PROBLEMS, Problem

PLUGIN = """
from pathlib import Path
from reproduce.experiment import Experiment, jobs
from reproduce.experiments import EXPERIMENTS
from reproduce.methods import METHODS

def constant(split, epsilon, seed):
    with Path("{log}").open("a") as stream:
        stream.write("ran ")
    for point in (1, 2, 3):
        yield "constant", {{"point": point}}, {{"score": point % 3 + 0.1 * seed}}

METHODS["constant"] = constant
EXPERIMENTS.append(
    Experiment(
        "tiny",
        "A tiny experiment",
        (
            *jobs("sine", ("constant",), (1.0, 2.0), n_private=(20,), n_public=(5,)),
            *jobs("rice", ("constant",), (1.0,)),
        ),
        x="epsilon",
        series=("constant",),
        replications=2,
    )
)
"""


def test_every_experiment_names_methods_and_problems_that_exist() -> None:
    """Its published numbers belong to its lines, and it has a place in one page."""
    assert len({experiment.name for experiment in EXPERIMENTS}) == len(EXPERIMENTS)
    assert {*CLASSIFICATION, *REGRESSION} <= set(PROBLEMS)
    for experiment in EXPERIMENTS:
        assert {job.method for job in experiment.jobs} <= set(METHODS)
        assert {job.problem for job in experiment.jobs} <= set(PROBLEMS)
        places = [place for names in pages.PAGES.values() for place in names]
        assert sum(experiment.name.startswith(place) for place in places) == 1
        place = experiment.key.index("series") if "series" in experiment.key else None
        for key in experiment.published:
            assert len(key) == len(experiment.key)
            assert place is None or key[place] in experiment.series


@pytest.fixture
def tiny(tmp_path: Path) -> Iterator[tuple[Experiment, driver.Store]]:
    """The experiment that a researcher's file adds, and a store that knows of the file."""
    plugin, built_in = tmp_path / "mine.py", len(EXPERIMENTS)
    plugin.write_text(PLUGIN.format(log=tmp_path / "log"))
    driver.load(plugin)
    try:
        yield EXPERIMENTS[built_in], driver.Store(tmp_path / "kept", tmp_path, plugin)
    finally:
        del EXPERIMENTS[built_in:], METHODS["constant"]


def test_results_are_kept_and_missing_sets_named(
    tiny: tuple[Experiment, driver.Store], tmp_path: Path
) -> None:
    """A researcher's file adds a method and an experiment; the second run measures nothing."""
    experiment, store = tiny
    for _ in range(2):
        scores, skipped = driver.run([experiment], store, n_jobs=1)
        assert (tmp_path / "log").read_text() == "ran " * 4
    assert list(skipped) == ["rice"]
    table = driver.summarized(experiment, scores)
    assert table["point"].tolist() == [2, 2]
    assert table["mean"].tolist() == pytest.approx([2.05, 2.05])
    shared = experiment.jobs[0]
    ours = replace(shared, method="LPCT")
    plain = driver.Store(store.kept, store.data)
    assert store.file(ours, 0) == plain.file(ours, 0)
    assert store.file(shared, 0) != plain.file(shared, 0)


def test_the_time_left_is_that_of_the_processes_asked_for(
    tiny: tuple[Experiment, driver.Store], capsys: pytest.CaptureFixture[str]
) -> None:
    """Of one process the two jobs of ten minutes that are left after the first replication."""
    experiment, store = tiny
    driver.run([experiment], store, n_jobs=1)
    for kept in store.kept.glob("*.json"):
        kept.write_text(json.dumps([600.0, json.loads(kept.read_text())[1]]))
    capsys.readouterr()
    driver.run([experiment], store, n_jobs=1)
    assert "at most 20 min left" in capsys.readouterr().out.splitlines()[0]


@pytest.mark.slow
def test_the_pages_are_what_the_results_give(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables, notes and figures follow from the CSV files; nobody edits them by hand."""
    pytest.importorskip("matplotlib")
    root, docs = tmp_path / "papers", tmp_path / "docs"
    for folder in ("tables", "figures", "expected"):
        shutil.copytree(ROOT / folder, root / folder)
    shutil.copytree(DOCS, docs)
    (root / "figures" / "lpct-figure-5.svg").unlink()
    monkeypatch.setattr(command, "ROOT", root)
    monkeypatch.setattr(command, "DOCS", docs)
    monkeypatch.setattr(command, "EXPECTED", root / "expected")
    command.main(write=True, measure=False)
    pages = [*ROOT.glob("tables/*.md"), *ROOT.glob("figures/*.svg"), *DOCS.glob("*.md")]
    for page in pages:
        assert (tmp_path / page.relative_to(ROOT.parent)).read_text() == page.read_text(), page


@pytest.mark.slow
def test_the_hash_of_the_code_has_all_that_measurements_load() -> None:
    """What a row was measured with cannot change under the same hash."""
    program = (
        "import sys, reproduce.experiments\n"
        "print(*sorted(name.split('.')[1] for name in sys.modules if name.startswith('privet.')))"
    )
    command = [sys.executable, "-c", program]
    loaded = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert {*loaded.split()} <= {*driver.SOURCES}


def test_other_data_are_measured_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A result is kept under the bytes of its problem's files."""
    monkeypatch.setitem(PROBLEMS, "mine", Problem(lambda *_: None, ("mine.csv",)))
    store, job = driver.Store(tmp_path, tmp_path), Job("mine", "LPCT", 1.0)
    assert store.absent(job) == [str(tmp_path / "mine.csv")]
    names = set()
    for text in ("a", "b", "a"):
        (tmp_path / "mine.csv").write_text(text)
        driver.digest.cache_clear()
        names.add(store.file(job, 0))
    assert len(names) == 2


def row(series: str, problem: str, epsilon: float, mean: float) -> dict[str, str | float]:
    return {"series": series, "problem": problem, "epsilon": epsilon, "mean": mean}


MEANS = pd.DataFrame(
    [
        row("tree", "rice", 0.0, 0.9),
        row("Privet", "rice", 1.0, 0.95),
        row("stack", "rice", 1.0, 0.99),
        row("tree", "email", 0.0, 0.8),
        row("Privet", "email", 1.0, 0.8),
    ]
)
TABLE = Experiment("e", "E", (), ("tree", "Privet", "stack"), x="problem")


def test_ranks_add_up_over_sets_and_ties_share_theirs() -> None:
    """A set that a method cannot take ranks last; of errors the least comes first."""
    lines = derived.rank_sums(TABLE, MEANS, without=("stack",)).splitlines()
    assert lines[0] == "| rank sums over 2 sets | ε = 1 |"
    assert lines[2:] == ["| Privet | 2.5 |", "| tree | 3.5 |"]
    lines = derived.rank_sums(TABLE, MEANS).splitlines()
    assert set(lines[2:]) == {"| stack | 4 |", "| Privet | 3.5 |", "| tree | 4.5 |"}
    rice = MEANS[MEANS["problem"] == "rice"]
    lines = derived.rank_sums(replace(TABLE, best="min"), rice).splitlines()
    assert lines[2] == "| tree | 1 |"


def test_means_are_ranked_beside_the_printed_ones() -> None:
    """The methods in print among themselves, and how the two orders agree."""
    published: Numbers = {("tree", "rice"): 0.5, ("Privet", "rice"): 0.4, ("lost", "rice"): 1.0}
    text = derived.rank_sums(replace(TABLE, published=published), MEANS)
    assert "| Privet | 3.5 | 1 | 2 |" in text
    assert "Kendall's τ between the two is -1.00" in text


@pytest.mark.parametrize(
    ("collections", "off"), [(60, 0.71), pytest.param(300, 0.35, marks=pytest.mark.slow)]
)
def test_the_noise_of_lpdt_is_that_of_its_reports(collections: int, off: float) -> None:
    """140 M²/n in each of two equal cells at ε = 2, as 300 collections have.

    The variance of 300 is off by 8 % as a rule, by 35 % once in 10 000 trials; that of 60 by 71 %.
    """
    table = pd.DataFrame({"epsilon": [2.0]})
    assert "141 M²/n in that of each of two" in derived.mechanisms_noise(TABLE, table)
    rng = np.random.default_rng(0)
    X, n = rng.random((880, 1)), 800
    public = (X[:80], np.zeros(80))
    predictions = []
    for seed in range(collections):
        model = LPDTRegressor(2.0, depth=1, min_leaf=1, label_range=(-1, 1), random_state=seed)
        counts = model.fit(X[80:], np.zeros(n), public, (0.0, 1.0)).question_.counts[0]
        predictions.append((counts[1] - counts[0]) / (n / 2))
    assert np.var(predictions) == pytest.approx(141 / n, rel=off)


def test_only_what_was_measured_anew_is_replaced() -> None:
    """Rows are told apart by panel, line and x, and stand in the experiment's order.

    Rows of a series that is no longer shown are dropped.
    """
    old = MEANS[["series", "problem", "mean"]]
    new = pd.DataFrame({"series": ["Privet"], "problem": ["rice"], "mean": [0.96]})
    table = pages.merged(TABLE, old, new)
    assert table["series"].tolist() == ["tree", "tree", "Privet", "Privet", "stack"]
    assert table["mean"].tolist() == [0.8, 0.9, 0.8, 0.96, 0.99]
    renamed = replace(TABLE, series=("tree", "Privet"))
    assert set(pages.merged(renamed, old, new)["series"]) == {"tree", "Privet"}


def test_rice_is_drawn_at_random(tmp_path: Path) -> None:
    """The file is sorted by class; every seed draws other private rows, of both classes."""
    rows = [f"{row},{int(row >= 2000)}" for row in range(3810)]
    with gzip.open(tmp_path / "rice.csv.gz", "wt") as stream:
        stream.write("\n".join(["a,label", *rows]))
    first, again, other = (PROBLEMS["rice"](tmp_path, seed) for seed in (0, 0, 1))
    assert (len(first.public), len(first.private), len(first.test)) == (3510, 240, 60)
    for part in (first.public, first.private, first.test):
        assert set(part.y) == {0.0, 1.0}
    assert np.array_equal(first.private.X, again.private.X)
    assert not np.array_equal(first.private.X, other.private.X)


def test_two_texts_are_one_column(tmp_path: Path) -> None:
    """As the papers count columns; three texts are three."""
    rows = [f"{i},{'MF'[i % 2]},{'abc'[i % 3]},{i % 2}" for i in range(60)]
    (tmp_path / "set.csv").write_text("\n".join(["number,two,three,label", *rows]))
    split = first_rows_public(tmp_path / "set.csv", 20, 0)
    assert split.public.X.shape == (20, 5)
    assert split.public.X[:2, 1].tolist() == [1.0, 0.0]
    assert (split.private.X[:, 2:].sum(axis=1) == 1).all()


def test_a_point_wins_by_its_mean_over_all_replications() -> None:
    """Not by the best of each; and rows of other jobs with the same method do not count."""
    ours, other = Job("sine", "m", 1.0), Job("sine", "m", 1.0, (("n_public", 5.0),))
    rows = [
        (repr(job), "sine", 1.0, "s", depth, seed, score)
        for job, depth, scores in ((ours, 1, (5.0, 1.0)), (ours, 2, (2.0, 2.0)), (other, 3, (0, 0)))
        for seed, score in enumerate(scores)
    ]
    columns = ["job", "problem", "epsilon", "series", "depth", "seed", "score"]
    experiment = Experiment("e", "E", (ours,), ("s",), x="epsilon", replications=2, best="min")
    table = driver.summarized(experiment, pd.DataFrame(rows, columns=columns))
    assert table[["depth", "mean", "replications"]].to_numpy().tolist() == [[2, 2.0, 2]]
    backwards = pd.DataFrame(reversed(rows), columns=columns)
    one = driver.summarized(replace(experiment, best="max"), backwards)
    assert one["scores"].tolist() == ["5 1"], "In order of the seeds."
    wider = driver.summarized(replace(experiment, measures=("score", "coverage")), backwards)
    assert wider["coverage"].isna().all(), "A measure that no method here has."


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("design", {"gamma": 0.5, "n_public": 30}),
        ("sine", {"n_public": 0}),
        ("noisy threshold", {"n_public": 30}),
    ],
)
def test_problems_without_files(name: str, settings: dict[str, Any]) -> None:
    """The same seed gives the same split, in [0, 1], of the sizes asked for."""
    first, again = (PROBLEMS[name](Path(), 3, n_private=200, **settings) for _ in range(2))
    assert np.array_equal(first.private.X, again.private.X)
    assert len(first.private) == 200
    for part in (first.public, first.private, first.test):
        assert part.X.min() >= 0
        assert part.X.max() <= 1


def test_records_beyond_the_public_range_stay_beyond() -> None:
    """Public records reach from 0 to 1, others further: what becomes of them is the method's."""
    split = PROBLEMS["design"](Path(), 3, gamma=0.5, n_public=30, n_private=200, scaled="public")
    assert (split.public.X.min(), split.public.X.max()) == (0.0, 1.0)
    for part in (split.private, split.test):
        assert part.X.min() < 0.0
        assert part.X.max() > 1.0


@pytest.mark.parametrize("beyond", ["edge", "zero"])
def test_lpct_is_scored_by_cell_as_by_row(beyond: str) -> None:
    """The sums per cell give the accuracy of the model's own predictions, beyond the cube too."""
    split: Split = PROBLEMS["design"](
        Path("none"), 0, gamma=0.5, n_public=50, n_private=2000, scaled="public"
    )
    lpct = contestants.Lpct("LPCT", "max_edge", (3,), (0,), beyond=beyond)
    by_cell = {
        name: value["score"]
        for name, point, value in lpct(split, 2.0, 1)
        if point["weight"] in (0, 1)
    }
    for name, weight in (("LPCT-P", 0.0), ("LPCT", 1.0)):
        model = LPCTClassifier(2.0, depth=3, weight=weight, beyond=beyond, random_state=1)
        by_row = contestants.scores(contestants.fitted(model, split), split)["score"]
        assert by_cell[name] == pytest.approx(by_row)


def test_the_drawn_points_stand_where_they_were_drawn() -> None:
    """All 468 are kept; each has its panel, line and x, and ε = 1000 is the largest of ours."""
    table = points()
    assert len(table) == 468
    assert table["epsilon"].max() == 64.0
    of = {e.name.removeprefix("lpct-figure-"): e.published for e in EXPERIMENTS}
    assert of["4a"]["LPCT-prune, published", 8.0] == 0.6846
    assert of["5"][8.0, "LPCT-prune, published", 10_000.0] == 0.6946
    assert of["6"][64.0, "LPCT-prune, published", 200.0] > of["6"][1.0, "LPCT", 10.0]
    assert (of["7a"][8.0, 4.0], of["7b"][8.0, 4.0], of["7c"][8.0, 10.0]) == (0.699, 0.6951, 0.7035)
    assert of["10a"]["LPCT", 1.0] == 0.7061
    drawn_once = sum(len(of[name]) for name in ("4a", "4b", "5", "6", "7a", "7b", "7c", "10a"))
    assert drawn_once == 468 - 21, "Figure 5 draws LPCT at three ε in two panels."


def test_two_values_drawn_for_one_setting_are_both_given() -> None:
    """Of LPCT-prune at ε = 8 Figures 4 and 6 have one, Figure 5 another; 5 has two of LPCT."""
    rows = derived.drawn_twice(TABLE, MEANS).splitlines()
    assert "| LPCT-prune, published | 8 | 0.6846 | 0.6946 | 0.6846 |" in rows
    assert "| LPCT | 8 | 0.6915 | 0.6971, 0.6972 | 0.6917 |" in rows
    assert not any(row.startswith("| LPCT-Q | 0.5") for row in rows)


def test_a_mean_is_told_from_print_by_its_own_standard_errors() -> None:
    """Beyond three it is bold, and counted as such; without an error there is no distance."""
    published: Numbers = {("tree", "a"): 0.7, ("tree", "b"): 0.7, ("tree", "c"): 0.7}
    experiment = replace(TABLE, published=published)
    table = pd.DataFrame(
        {
            "series": "tree",
            "problem": ["a", "b", "c"],
            "mean": [0.729, 0.669, 0.7],
            "standard_error": [0.01, 0.01, 0.0],
            "replications": 20,
            "code": "x",
            "measured": "today",
        }
    )
    assert pages.distances(experiment, table).round(1).tolist() == [2.9, -3.1]
    text = pages.section(experiment, table, Path(), Path(), Path())
    assert "0.729 ± 0.010 *(0.7; +2.9)*" in text
    assert "**0.669 ± 0.010** *(0.7; -3.1)*" in text
    assert "0.700 ± 0.000 *(0.7)*" in text
    assert "1 of 2 within three" in text
    bound = replace(experiment, reference="bound")
    assert "0.669 ± 0.010 *(0.7)*" in pages.section(bound, table, Path(), Path(), Path())


def scored(**methods: list[float]) -> pd.DataFrame:
    """A table of one set with every replication's score."""
    lines = [" ".join(map(str, scores)) for scores in methods.values()]
    return pd.DataFrame({"series": [*methods], "problem": "rice", "scores": lines})


def test_who_is_number_one_is_tested_split_by_split() -> None:
    """Worse by little on every split is worse; worse on average by two splits only is not."""
    best = [0.9 + 0.001 * n for n in range(12)]
    methods = {
        "best": best,
        "lower": [score - 0.002 - 0.0001 * n for n, score in enumerate(best)],
        "uneven": [score + 0.001 for score in best[:10]] + [0.7, 0.7],
        "short": best[:10],
        "Privet": [score + 0.01 for score in best],
        "best, published rules": [score + 0.01 for score in best],
    }
    published: Numbers = {(name, "rice"): 0.9 for name in methods if name != "Privet"}
    experiment = Experiment("e", "E", (), tuple(methods), x="problem", published=published)
    rows = derived.number_ones(experiment, scored(**methods)).splitlines()
    assert rows[0] == "| p against the best in print | rice | No. 1 |"
    assert rows[2] == "| best | 1.000 | 1 |"
    assert rows[3] == "| lower | < .001 | 0 |"
    assert rows[4].endswith("| 1 |")
    assert rows[5] == "| short | 1.000 | 1 |"
    assert len(rows) == 6, "Privet is not in print, and rules of the code are one method twice."
    without = scored(**methods).drop(columns="scores")
    assert derived.number_ones(experiment, without) == ""


def test_of_errors_the_smaller_is_better() -> None:
    """LPDT's marks: below each of the others on the same splits."""
    lpdt = [1.0 + 0.1 * n for n in range(8)]
    methods = {
        "LPDT-M": lpdt,
        "LPDT-V": [error + 3.0 for error in lpdt],
        **{name: [error + 1.0 + 0.01 * error for error in lpdt] for name in derived.RIVALS},
    }
    published: Numbers = {(name, "rice"): 1.0 for name in methods}
    experiment = replace(TABLE, series=tuple(methods), best="min", published=published)
    better = derived.significantly_better(experiment, scored(**methods))
    assert better == {"LPDT-M": ["rice"], "LPDT-V": []}
    table = scored(**methods).assign(epsilon=2.0)
    said = derived.noise_and_tests(experiment, table)
    assert "Of rice, significantly better" in said
    assert "LPDT-M on rice; LPDT-V on none." in said
    untested = derived.noise_and_tests(experiment, table.drop(columns="scores"))
    assert untested == derived.mechanisms_noise(experiment, table), "Nothing is said untested."


@pytest.mark.slow
def test_what_follows_from_a_table_waits_for_all_of_it(tmp_path: Path) -> None:
    """As ``--quick`` and ``--methods`` leave it: one score per row, or few series."""
    for experiment in (one for one in EXPERIMENTS if one.notes):
        table = pages.kept(experiment, EXPECTED)
        assert pages.notes(experiment, table), experiment.name
        parts = [table.assign(scores="0.5", replications=1)] if experiment.replications > 1 else []
        if len(experiment.series) > 1 and "series" in table:
            parts.append(table[table["series"] == experiment.series[0]])
        for part in parts:
            part.to_csv(tmp_path / f"{experiment.name}.csv", index=False)
            read = pages.kept(experiment, tmp_path)
            assert pages.notes(experiment, read) == "", experiment.name
            kept = read.get("scores", pd.Series(["0.5"])).dropna()
            assert all(isinstance(scores, str) for scores in kept)


def test_jobs_are_all_combinations() -> None:
    """A method without privacy is run once per combination of the other values, at ε = 0."""
    combined = jobs("sine", ("DT", "LPDT-M"), (1.0, 2.0), n_private=(10,), n_public=(5, 6))
    assert len(set(combined)) == 2 + 4
    assert {job.epsilon for job in combined if job.method == "DT"} == {0.0}


def test_printed_numbers_are_keyed_by_method_and_place() -> None:
    """A number that the paper lacks is not there."""
    numbers = printed("lpct-table-2", epsilon=8.0)
    assert numbers["PHIST", "employ"] == 0.9043
    assert ("PHIST", "email") not in numbers
    assert printed("authors-code", ("epsilon",), gamma=5.0, n_public=1000)["LPCT", 8.0] == 0.697


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*METHODS} - {*TIMED}))
def test_every_method_runs_and_says_how_good_it_is(name: str) -> None:
    """Each on a small problem of a kind that an experiment gives it."""
    job = next(j for e in EXPERIMENTS for j in e.jobs if j.method == name)
    numeric = job.problem in (*REGRESSION, "mixed wine", "sine")
    described = ("16 cells", "random laws", "moved", "sent", "eight wards", "alike", "judged")
    if job.problem in (*described, "stated share", "few disclosed", "promised"):
        split = PROBLEMS[job.problem](Path(), 0, **dict(job.settings))
    elif job.problem == "classes moved":
        split = PROBLEMS[job.problem](Path(), 0, **dict(job.settings), holders=500)
    elif job.problem == "panel":  # without a drift there is no change to find
        split = PROBLEMS["panel"](Path(), 0, **{**dict(job.settings), "drift": "sudden"})
    elif job.problem == "quadrants":
        split = PROBLEMS["quadrants"](Path(), 0, holders=1000, shift=0.1)
    elif job.problem == "collection":
        small = {"holders": 2_000, "rows": 60, "depth": 3}
        split = PROBLEMS[job.problem](Path(), 0, **{**dict(job.settings), **small})
    elif numeric:
        split = PROBLEMS["sine"](Path(), 0, n_private=300, n_public=60, n_test=100)
    else:
        columns = 1 if "thresholds" in name else 2
        sizes = {"n_private": 300, "n_public": 60}
        split = PROBLEMS["noisy threshold"](Path(), 0, columns=columns, **sizes)
        split = replace(split, chance=None, test=split.private)
    scored = list(METHODS[name](split, max(job.epsilon, 1.0), 0))
    shown = {series for e in EXPERIMENTS for j in e.jobs if j.method == name for series in e.series}
    assert shown & {series for series, _, _ in scored}
    for _, point, scores in scored:
        assert np.isfinite(list(scores.values())).all(), point


@pytest.mark.slow
def test_the_documented_file_adds_a_method_and_a_data_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As printed, with the command that follows it; the set that is not there is named."""
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    _, _, rest = (ROOT / "README.md").read_text().partition("```python\n")
    Path("mine.py").write_text(rest.partition("```")[0])
    rng = np.random.default_rng(0)
    X = rng.random((400, 2)).round(3)
    rows = [f"{a},{b},{int(a > 0.5)}" for a, b in X]
    Path("clinic.csv").write_text("\n".join(["a,b,label", *rows]))
    built_in = len(EXPERIMENTS)
    try:
        names = "mi,lpdt-figure-4"
        command.main(add=Path("mine.py"), only=names, quick=True, data=tmp_path, jobs=1)
    finally:
        del EXPERIMENTS[built_in:], METHODS["mine"], PROBLEMS["clinic"]
    table = pd.read_csv("build/results/mine.csv")
    assert table["series"].tolist() == ["mine", "LPCT CART", "Privet"]
    assert set(table["problem"]) == {"clinic"}
    assert table["mean"].min() > 0.8
    assert set(table["replications"]) == {1}
    results = Path("build")
    assert [file.stem for file in (results / "results").glob("*.csv")] == ["mine"]
    assert "## Mine against LPCT and Privet" in (results / "results.md").read_text()
    said = capsys.readouterr().out
    assert "diabetes is skipped" in said
    assert "mixed wine is skipped" in said


@pytest.mark.slow
def test_a_dask_cluster_gives_the_same_scores(tmp_path: Path) -> None:
    """A worker of a real local cluster, a process of its own, gives what this process gives."""
    distributed = pytest.importorskip("distributed")
    few = jobs("sine", ("LPDT-M",), (2.0, 8.0), n_private=(60,), n_public=(20,))
    experiment = Experiment("e", "E", few, ("LPDT-M",), x="epsilon", replications=2, best="min")
    here, _ = driver.run([experiment], driver.Store(tmp_path / "a", tmp_path), n_jobs=1)
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, host="127.0.0.1", dashboard_address=":0"
    ) as cluster:
        there, _ = driver.run(
            [experiment],
            driver.Store(tmp_path / "b", tmp_path),
            n_jobs=1,
            scheduler=cluster.scheduler_address,
        )
    pd.testing.assert_frame_equal(here, there)


def test_slopes_of_known_powers() -> None:
    """Without noise a power's own exponent; of noisy scores the interval holds it.

    60 lines with 5 % false alarms each: more than 12 have a probability below 1e-5.
    """
    n = np.array([1000.0, 2000.0, 4000.0, 8000.0, 16_000.0])
    exact, half = rates.slope(n, np.repeat(n[:, None] ** -0.4, 20, axis=1))
    assert exact == pytest.approx(-0.4)
    assert half == pytest.approx(0.0, abs=1e-9)
    rng, wrong = np.random.default_rng(0), 0
    for _ in range(60):
        runs = rng.lognormal(-0.4 * np.log(n)[:, None], 0.3, size=(5, 20))
        found, half = rates.slope(n, runs)
        wrong += abs(found + 0.4) > half
    assert wrong <= 12
    runs[-1, 0] = -runs[-1].sum()  # resampled means may be below the floor, with all in it not
    runs[-1, 1] -= 1.1 * runs[-1, 0]
    assert (runs.mean(axis=1) > 0.0).all()
    assert rates.slope(n, runs)[1] == np.inf


def test_promised_orders() -> None:
    """Those of LPCT's Theorems 4 and 7 on its design, and what an interval says of one."""
    private, public = (
        rates.PROMISED[f"lpct-rates-{kind}"].orders for kind in ("private", "public")
    )
    far = np.array([1e12, 1e14, 1e16])
    for order, exponent in (
        (private[0.5, "LPCT"], -1.1 / 4.2),
        (private[0.5, "LPCT-prune, text"], -1.1 / 4.2 * 2.1 / 3.0),
        (public[0.5, "LPCT"], -1.1 / 2.1),
        (public[5.0, "LPCT"], -1.1 / 3.0),
    ):
        assert order is not None
        assert order.exponent == pytest.approx(exponent)
        with_logarithms = float(rates.against(order, far, (0.0, 0.0))[1])
        assert exponent < with_logarithms < 0.95 * exponent
    said = [rates.verdict(-0.3, found) for found in ((-0.35, 0.1), (-0.5, 0.1), (-0.1, 0.1))]
    assert said == ["holds it", "steeper", "flatter"]
    assert rates.verdict(1.0, (-0.5, 0.1)) == "flatter"
    assert rates.verdict(1.0, (1.0 - 1e-9, 0.0)) == "holds it"
