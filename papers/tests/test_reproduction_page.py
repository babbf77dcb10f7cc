"""What the page on the papers' experiments says, against the tables that it says it of."""

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from reproduce import DOCS, ROOT, derived, pages, rates
from reproduce.experiment import EXPECTED, Experiment, printed
from reproduce.experiments import EXPERIMENTS
from reproduce.methods import PRUNED
from reproduce.pages import kept

PAGE, FIGURES, LPDT = (
    " ".join(page.read_text().split())
    for page in (
        DOCS / "reproduction.md",
        ROOT / "tables" / "lpct-figures.md",
        ROOT / "tables" / "lpdt.md",
    )
)


def named(name: str) -> tuple[Experiment, pd.DataFrame]:
    """An experiment and its table."""
    (experiment,) = (e for e in EXPERIMENTS if e.name == name)
    return experiment, kept(experiment, EXPECTED)


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 8.0])
def test_the_headline_has_the_rank_sums(epsilon: float) -> None:
    """The public stack, Privet and the best method of the paper, in the table's row of the page."""
    experiment, table = named(f"lpct-table-2-epsilon-{epsilon:g}")
    sums = derived.ranks(table[table["series"] != "CT-W"], experiment.best)
    of_paper = sums.drop(["public stack", "Privet", "LPCT-prune CART, calibrated", "PHIST cubes"])
    best = str(of_paper.idxmin())
    cells = (f"{epsilon:g}", f"{sums['public stack']:g}", f"{sums['Privet']:g}")
    assert f"| {' | '.join(cells)} | {best}, {of_paper[best]:g} |" in PAGE


DRAWN = ("4a", "4b", "5", "6", "7a", "7b", "7c", "10a")
"""LPCT's figures of which points were read."""


@pytest.mark.parametrize("name", ["lpct-figure-4a", "lpct-figure-4b"])
def test_the_authors_code_as_we_ran_it_is_within_two_standard_errors(name: str) -> None:
    """Of LPCT and of LPCT-prune with the published constants, as the page says."""
    experiment, table = named(name)
    settings = {n: dict(experiment.jobs[0].settings)[n] for n in ("gamma", "n_public")}
    theirs = printed("authors-code", ("epsilon",), **settings)
    apart = pages.distances(replace(experiment, published=theirs), table)
    for series in ("LPCT", PRUNED[0]):
        assert len(apart[series]) == 5
        assert apart[series].abs().max() <= 2.0


def test_the_page_counts_the_drawn_points_that_are_met() -> None:
    """Within three standard errors of ours, in all figures and in those of LPCT-prune."""
    apart = [(name, pages.distances(*named(f"lpct-figure-{name}"))) for name in DRAWN]
    near = sum(int((z.abs() <= pages.FAR).sum()) for _, z in apart)
    many = sum(len(z) for _, z in apart)
    assert f"Of {many} drawn points {near} are within three standard errors of ours" in PAGE
    pruned = [
        z if name == "7b" else z[z.index.get_level_values("series") == PRUNED[0]]
        for name, z in apart
        if name in ("4a", "4b", "5", "6", "7b")
    ]
    met = sum(int((z.abs() <= pages.FAR).sum()) for z in pruned)
    of_pruned = sum(map(len, pruned))
    said = f"of LPCT-prune {met} of {of_pruned}, of the others {near - met} of {many - of_pruned}"
    assert said in PAGE
    flat = {
        name: int(((z.abs() <= pages.FAR) & pages.is_flat(*named(f"lpct-figure-{name}"))).sum())
        for name, z in apart
    }
    assert f"That is no verdict for {sum(flat.values())} of the {near}" in PAGE
    assert "most of them in Figure 5" in PAGE
    assert flat["5"] > sum(flat.values()) / 2


def test_lpct_prune_does_not_reach_what_is_drawn_at_epsilon_8() -> None:
    """Figure 4a, ours and the re-run, as the page gives them."""
    experiment, table = named("lpct-figure-4a")
    key = (PRUNED[0], 8.0)
    row = table.set_index(["series", "epsilon"]).loc[key]
    rerun = printed("authors-code", ("epsilon",), gamma=0.5, n_public=50)[key]
    assert pages.distances(experiment, table)[key] < -pages.FAR
    ours = f"{short(row['mean'])} ± {short(row['standard_error'])}"
    assert f"{short(experiment.published[key])} at ε = 8, where ours has {ours}" in FIGURES
    assert f"the re-run {short(rerun)}" in FIGURES


def short(value: float) -> str:
    """Three digits without the zero before the point."""
    return f"{value:.3f}".removeprefix("0")


def listed(values: Iterable[float]) -> str:
    """Numbers as a sentence lists them."""
    *first, last = (f"{value:g}" for value in values)
    return f"{', '.join(first)} and {last}" if first else last


def risen(name: str, series: str, x: str, low: float, high: float) -> list[float]:
    """The ε at which ``series`` is higher at ``high`` than at ``low``, by two standard errors."""
    _, table = named(f"lpct-figure-{name}")
    rows = table[table["series"] == series].set_index(["epsilon", x])
    found = []
    for epsilon in sorted(set(rows.index.get_level_values("epsilon"))):
        first, last = rows.loc[(epsilon, low)], rows.loc[(epsilon, high)]
        apart = (last["mean"] - first["mean"]) / np.hypot(
            first["standard_error"], last["standard_error"]
        )
        found += [epsilon] if apart > 2.0 else []
    return found


def test_rice_is_not_one_class() -> None:
    """No method is right about every record."""
    for epsilon in ("0.5", "2", "8"):
        _, table = named(f"lpct-table-2-epsilon-{epsilon}")
        assert table.loc[table["problem"] == "rice", "mean"].max() < 0.97


def test_where_more_records_help_lpct() -> None:
    """Figures 5 and 6: the ε at which accuracy rises from the fewest to the most records."""
    of_private = listed(risen("5", "LPCT", "n_private", 4000, 16_000))
    assert f"LPCT improves with n_P at ε = {of_private}" in FIGURES
    assert risen("5", PRUNED[0], "n_private", 4000, 16_000) == []
    assert "LPCT-prune at none of its three" in FIGURES
    assert risen("6", "LPCT", "n_public", 50, 200) == [0.5, 1.0, 2.0, 4.0, 8.0]
    assert risen("6", PRUNED[0], "n_public", 50, 200) == [1.0, 4.0, 8.0, 64.0]
    assert "both improve at every ε from 50 to 200 public records" in FIGURES
    of_cells = listed(risen("6", "LPCT-P", "n_public", 10, 200))
    assert f"LPCT-P from 10 to 200 at ε = {of_cells} only" in FIGURES
    _, table = named("lpct-figure-6")
    means = table.pivot_table(index=["epsilon", "n_public"], columns="series", values="mean")
    below = (means["LPCT-Q"] - means["LPCT"]).clip(lower=0.0)
    assert f"at most {short(below.max())} below LPCT-Q" in FIGURES


def test_the_best_depths() -> None:
    """Figures 7a and b, ours and as drawn, at ε = 1, 2, 4, 8 and 64."""
    for name, method in (("7a", "LPCT"), ("7b", "LPCT-prune")):
        experiment, table = named(f"lpct-figure-{name}")
        means = table[table["depth"] <= 7].pivot_table(
            index="depth", columns="epsilon", values="mean"
        )
        theirs = pd.Series(experiment.published).unstack(0).idxmax()
        ours = ", ".join(f"{depth:g}" for depth in means.idxmax()[theirs.index])
        drawn = ", ".join(f"{depth:g}" for depth in theirs)
        assert f"{method}'s best depth is {ours}, drawn {drawn}" in FIGURES
    apart = pages.distances(experiment, table).unstack()
    assert apart[[1.0, 2.0]].min(axis=None) > 0.0
    best = table.loc[table.groupby("epsilon")["mean"].idxmax()].set_index("epsilon")
    for epsilon in (8.0, 64.0):
        drawn_best = pd.Series(experiment.published)[epsilon].max()
        row = best.loc[epsilon]
        assert drawn_best - row["mean"] > 2.0 * row["standard_error"]


def test_which_range_is_best() -> None:
    """Figure 8 by Theorem 5's rule: the best guess and the public records' own range, less the
    known one, paired by replication."""
    _, table = named("lpct-figure-8")
    assert set(table["replications"]) == {50}
    scores = table.set_index(["scaled", "epsilon", "n_public"])["scores"]
    runs = scores.map(lambda listed: np.array(listed.split(), dtype=float))
    for scaled in ("assumed", "public"):
        said = []
        for place in ((0.5, 20.0), (0.5, 160.0), (8.0, 20.0), (8.0, 160.0)):
            apart = runs[scaled, *place] - runs["known", *place]
            said.append(f"{apart.mean():+.3f} ± {apart.std(ddof=1) / np.sqrt(50):.3f}")
        listed = f"{', '.join(said[:-1])} and {said[-1]}".replace("0.", ".").replace("-", "−")
        assert listed in FIGURES, (scaled, listed)
        means, errors = np.array([one.split(" ± ") for one in said], dtype=float).T
        assert means.max() < 0.0
        if scaled == "assumed":
            assert (-means < 2.0 * errors).all(), "Below it, and nowhere by two standard errors."
        else:
            assert (means[[1, 3]] > means[[0, 2]]).all(), "Nearer with more public records."
    assert set(table["reach"].dropna()) == {4.5, 5.0}


def test_how_often_lpct_is_ahead_of_random_cells() -> None:
    """Figure 9b: beyond two standard errors, of all ε and numbers of public records."""
    _, table = named("lpct-figure-9b")
    rows = table.set_index(["series", "epsilon", "n_public"])
    ours, random = rows.loc["LPCT"], rows.loc["LPCT-R"]
    errors = np.hypot(ours["standard_error"], random["standard_error"])
    apart = (ours["mean"] - random["mean"]) / errors
    ahead, behind = (int((sign * apart > 2.0).sum()) for sign in (1, -1))
    assert f"ahead in {ahead} of {len(apart)} settings and behind in {behind}" in FIGURES


def test_lpct_is_flat_over_the_share_of_private_records() -> None:
    """Figure 10a: lower than drawn throughout."""
    experiment, table = named("lpct-figure-10a")
    rows = table.set_index(["series", "share"])
    lpct = rows.loc["LPCT"]
    ends = lpct.loc[[0.2, 1.0]]
    assert abs(ends["mean"].diff().iloc[1]) < 2.0 * np.hypot(*ends["standard_error"])
    assert set(rows.loc["PHIST cubes", "bins"]) == {1}, "The share of the larger class."
    assert f"flat ({short(lpct['mean'].min())} to {short(lpct['mean'].max())})" in FIGURES
    lower = pd.Series(
        {
            share: experiment.published["LPCT", share] - lpct.loc[share, "mean"]
            for share in lpct.index
        }
    )
    assert f"{lower.min():.2f} to {lower.max():.2f} lower" in FIGURES.replace(" .0", " 0.0")


def test_scores_of_single_replications_give_the_means() -> None:
    """So that anybody can test with them."""
    found = 0
    for experiment in EXPERIMENTS:
        table = kept(experiment, EXPECTED)
        if "scores" not in table:
            continue
        for row in table.dropna(subset="scores").itertuples():
            scores = np.array(row.scores.split(), dtype=float)
            assert len(scores) == row.replications
            assert scores.mean() == pytest.approx(row.mean, abs=2e-6, rel=1e-5)
            found += 1
    assert found > 500


LACKING = {
    "ablations": 385,
    "abm-private": 12,
    "abm-public": 16,
    "accuracy-classes": 114,
    "accuracy-design-gamma-0.5": 21,
    "accuracy-design-gamma-5": 21,
    "disclosed-holders": 66,
    "disclosed-misfits": 12,
    "disclosed-scores": 424,
    "lpct-figure-4a": 29,
    "lpct-figure-4b": 30,
    "lpct-figure-4c": 25,
    "lpct-table-2-epsilon-0.5": 34,
    "lpct-table-2-epsilon-2": 25,
    "lpct-table-2-epsilon-8": 34,
    "lpct-table-3": 80,
    "lpdt-figure-2a": 32,
    "lpdt-figure-4": 15,
    "plans-as-collected": 25,
    "plans-one-population": 60,
    "shapes": 144,
    "statements-false": 160,
}
"""Rows without every replication's score, by experiment: they were measured before the driver kept
them. No more may come, and a number here goes down when rows are measured again."""


def test_every_row_that_is_measured_now_has_its_scores() -> None:
    """None is added without them, and none that was measured again may lose them later."""
    for experiment in EXPERIMENTS:
        table = kept(experiment, EXPECTED).reindex(columns=["scores"])
        lacking = int(table["scores"].isna().sum())
        assert lacking == LACKING.get(experiment.name, 0), experiment.name


def test_a_figures_legend_names_every_line_once() -> None:
    """Also lines that its last axes do not have."""
    for experiment in (e for e in EXPERIMENTS if e.kind == "figure"):
        column = experiment.line[0]
        drawing = (ROOT / "figures" / f"{experiment.name}.svg").read_text()
        (legend,) = re.findall(r'<g id="legend_\d+">.*', drawing, re.DOTALL)
        lines = kept(experiment, EXPECTED)[column].unique()
        in_print = [experiment.reference] if experiment.published else []
        assert re.findall(r"<text[^>]*>([^<]*)</text>", legend) == [
            *(pages.named(column, line) for line in lines),
            *in_print,
        ], experiment.name


@pytest.mark.slow
def test_a_line_has_one_colour_in_all_axes(tmp_path: Path) -> None:
    """Beside fewer lines as well."""
    pytest.importorskip("matplotlib")
    experiment, table = named("lpct-figure-6")
    last = table[table["epsilon"].isin([8.0, 64.0])]
    pages.draw(replace(experiment, published={}), last, tmp_path / "figure.svg")
    means = re.findall(
        r'style="fill: none; stroke: (#\w+); stroke-width: 1.5; stroke-linecap: square"/>',
        (tmp_path / "figure.svg").read_text(),
    )
    pruned = "#d62728"
    assert means.count(pruned) == 3, "Two axes and the legend."


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 8.0])
def test_the_page_says_who_is_number_one(epsilon: float) -> None:
    """Of LPCT's Table 2, by Wilcoxon's test on the sets with every replication's score."""
    experiment, table = named(f"lpct-table-2-epsilon-{epsilon:g}")
    rows = derived.number_ones(experiment, table).splitlines()
    if not rows:
        assert f"| {epsilon:g} | LPCT" not in PAGE.partition("No. 1 here")[2]
        return
    counts = {cells[1].strip(): int(cells[-2]) for cells in (row.split("|") for row in rows[2:])}
    most = max(counts.values())
    first = " and ".join(name for name, count in counts.items() if count == most)
    assert f"| {epsilon:g} | {first} | {most} of {rows[0].count('|') - 3} |" in PAGE


def test_what_the_page_says_against_lpdts_figures() -> None:
    """The best depth and leaf size, and who is below LPDT-M."""
    depth, leaf = (
        named(f"lpdt-figure-2{part}")[1].pivot_table(index=of, columns="epsilon", values="mean")
        for part, of in (("a", "depth"), ("b", "min_leaf"))
    )
    assert depth.idxmin().tolist() == [1.0, 1.0, 4.0, 4.0]
    assert depth.loc[2:6].idxmin().tolist() == [3.0, 3.0, 4.0, 4.0]
    assert len(leaf) == 13, "Every leaf size that is drawn."
    assert leaf.idxmin()[3.0] == 125.0
    assert leaf.idxmin()[4.0] == 115.0
    assert all(35.0 <= leaf.idxmin()[epsilon] <= 95.0 for epsilon in (6.0, 8.0))
    experiment, table = named("lpdt-figure-1")
    found = re.findall(r"(-\d\.\d+) ± (\d\.\d+)", rates.slopes(experiment, table))
    (without, _), _, (slope, half), (late, wide) = ((float(a), float(b)) for a, b in found)
    assert slope + half <= -1 / 3
    assert slope < without < 0.0
    assert abs(late + 1 / 3) <= wide
    _, table = named("lpdt-figure-2c")
    errors = table.pivot_table(index="epsilon", columns="series", values="mean")
    for name in ("PHIST", "DECONV"):
        assert (errors[name] < errors["LPDT-M"]).tolist() == [True] * 3 + [False] * 6
    assert (errors["APHIST"] < errors["LPDT-M"]).tolist() == [True] * 6 + [False] * 3
    first, *_, last = errors["PHIST"]
    assert f"it falls from {first:.2f} to {last:.2f}" in LPDT


def test_the_costs_of_lpdts_table_1() -> None:
    """What the page says of prediction, numbers kept and training, by the slopes' intervals."""
    experiment, table = named("lpdt-table-1")
    rows = [row.split("|") for row in rates.slopes(experiment, table).splitlines()[2:]]
    said = {cells[1].strip(): (float(cells[2].split()[0]), cells[6].strip()) for cells in rows}
    for name in ("LPDT-M", "PHIST", "DECONV"):
        assert said[f"{name}, testing"][1] == "holds it"
        assert said[f"{name}, training"][0] < 0.5
    assert abs(said["PHIST, space"][0] - 0.25) < 0.05
    assert [said[f"{name}, space"][1] for name in ("LPDT-M", "DECONV")] == ["holds it"] * 2


def test_neither_rules_of_lpdt_come_to_print_at_epsilon_2() -> None:
    """How many errors of LPDT-M and LPDT-V are within three standard errors of the printed ones."""
    apart = pages.distances(*named("lpdt-table-2-epsilon-2"))
    by_code, by_text = (
        apart[[f"LPDT-{rule}{ending}" for rule in ("M", "V")]]
        for ending in (", published rules", "")
    )
    assert len(by_code) == len(by_text) == 12
    met = [int((z.abs() <= pages.FAR).sum()) for z in (by_code, by_text)]
    said = f"By them {met[0]} of 12 errors are within three standard errors of print, by the text's"
    assert f"{said} {met[1]}." in LPDT


def test_the_slopes_of_lpct_against_its_theorems() -> None:
    """LPCT's at the orders of Theorems 3 and 4, or not; LPCT-prune's never at that of Theorem 7."""
    found = {}
    for kind in ("private", "public"):
        experiment, table = named(f"lpct-rates-{kind}")
        for row in rates.slopes(experiment, table).splitlines()[2:]:
            line, slope, _, _, order, said = (cell.strip() for cell in row.split("|")[1:-1])
            found[kind, line] = slope.replace("-", "−"), order.replace("-", "−"), said
    over_private, (first, _), (second, _) = (
        (f"{found[key][0]} for {found[key][1]}", found[key][2])
        for key in (
            ("private", "γ = 0.5, LPCT"),
            ("public", "γ = 0.5, LPCT"),
            ("public", "γ = 5, LPCT"),
        )
    )
    assert f"over n_Q by {first} at γ = 0.5 and {second} at γ = 5" in FIGURES
    assert f"over n_P by {over_private[0]}" in FIGURES
    pruned = {kind: of for kind, of in found.items() if kind[1].endswith("text")}
    assert {said for _, _, said in pruned.values()} == {"flatter"}
    slope, order, _ = pruned["private", "γ = 0.5, LPCT-prune, text"]
    assert f"{slope} over n_P for {order}" in FIGURES


def test_the_results_of_lpdts_script() -> None:
    """How many are met by the code's rules, and where the text's are worse."""
    experiment, table = named("lpdt-script")
    apart = pages.distances(experiment, table)
    met = int((apart.abs() <= pages.FAR).sum())
    assert f"{met} of {len(apart)} of our errors are within three standard errors of" in LPDT
    by_text, by_code = (table[table["series"] == name] for name in experiment.series)
    ours = by_code.set_index("epsilon")["mean"][4.0]
    theirs = experiment.published[experiment.series[1], 4.0]
    assert f"At ε = 4 ours is {ours:.3f}, theirs {theirs:.3f} ±" in LPDT
    ratio = by_text["mean"].to_numpy() / by_code["mean"].to_numpy()
    assert ratio[0] > 1.2 > 1.05 > ratio[1:].max()
