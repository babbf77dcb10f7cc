"""Text below an experiment's table, derived from it."""

from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.stats import kendalltau, wilcoxon
from scipy.stats import t as student

from reproduce import waves
from reproduce.datasets import Floats
from reproduce.disclosure import ALONE, HALF, HIDDEN, LABEL, TREE_OF_HISTOGRAMS
from reproduce.effects import AFTERWARDS, LABEL_ALONE, effects
from reproduce.experiment import EXPECTED, Experiment, points, printed
from reproduce.markdown import markdown
from reproduce.methods import RULES
from reproduce.ours import AS_SHIPPED, IN_ONE, MORE_CELLS
from reproduce.pages import distances, measured


def rank_sums(experiment: Experiment, table: pd.DataFrame, without: tuple[str, ...] = ()) -> str:
    """Sums over the sets of each method's rank by its mean, 1 for the best; ties share theirs.

    A set that a method cannot take ranks last. CT-W and what stands in ``without`` are left out.
    Where numbers are published, the methods in print are ranked among themselves as well, by
    their means and by those.
    """
    kept = table[~table["series"].isin([*without, "CT-W"])]
    columns = {
        f"ε = {epsilon:g}": ranks(kept[kept["epsilon"].isin([epsilon, 0.0])], experiment.best)
        for epsilon in budgets(kept)
    }
    sums = pd.DataFrame(columns)
    if experiment.published and len(columns) == 1:
        published = pd.Series(experiment.published, name="mean")
        in_print = published.rename_axis(["series", "problem"]).reset_index()
        ours = within(kept, in_print)
        sums["as in print"] = ranks(ours, experiment.best)
        sums["printed"] = ranks(within(in_print, ours), experiment.best)
    sums = sums.loc[sums[list(columns)].sum(axis=1).sort_values(kind="stable").index]
    head = [f"rank sums over {kept['problem'].nunique()} sets", *map(str, sums.columns)]
    rows = (
        [str(name), *("–" if np.isnan(v) else f"{v:g}" for v in row)]
        for name, row in zip(sums.index, sums.to_numpy(), strict=True)
    )
    text = markdown(head, rows)
    both = sums.dropna()
    if "printed" not in sums or len(both) < 2:
        return text
    tau = kendalltau(both["as in print"], both["printed"]).statistic
    return (
        f"{text}\n*As in print*: our means of the {len(both)} methods in print, ranked as the "
        f"printed numbers of the same sets are; Kendall's τ between the two is {tau:.2f}.\n"
    )


def ranks_and_effects(
    experiment: Experiment, table: pd.DataFrame, without: tuple[str, ...] = ()
) -> str:
    """Rank sums, and Privet's gains over simpler answers."""
    return f"{rank_sums(experiment, table, without)}\n{effects(table, best=experiment.best)}"


def within(table: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    """The rows whose series and whose problem ``other`` has too."""
    return table[table["series"].isin(other["series"]) & table["problem"].isin(other["problem"])]


def ranks(table: pd.DataFrame, best: str) -> "pd.Series[float]":
    """Each series' ranks, added up over the problems."""
    means = table.pivot_table(index="problem", columns="series", values="mean", sort=False)
    ranked = means.rank(axis=1, ascending=best == "min", na_option="bottom")
    total: pd.Series[float] = ranked.sum()
    return total


def beside_the_rerun(experiment: Experiment, table: pd.DataFrame) -> str:
    """The scores of the authors' code as we ran it, and how far ours are from them."""
    setting = {name: dict(experiment.jobs[0].settings)[name] for name in ("gamma", "n_public")}
    numbers = printed("authors-code", ("epsilon",), **setting)
    apart = distances(replace(experiment, published=numbers), table)
    series = [name for name in experiment.series if (name, 0.5) in numbers]
    rows = [
        [
            f"{budget:g}",
            *(f"{numbers[name, budget]:.3f}; {apart[name, budget]:+.1f}" for name in series),
        ]
        for budget in sorted({budget for _, budget in numbers})
    ]
    return markdown(["the authors' code, run by us; z of ours", *series], rows)


def drawn_twice(_experiment: Experiment, _table: pd.DataFrame) -> str:
    """The settings for which LPCT's drawings have different values, with these."""
    table = points()
    table = table[table["figure"].str.match("4a|5|6")]
    table["place"] = "Figure " + table["figure"].str[0]
    setting = ["series", "epsilon", "n_private", "n_public"]
    table = table[table.groupby(setting)["accuracy"].transform("nunique") > 1]
    values = table.groupby([*setting[:2], "place"])["accuracy"].agg(
        lambda drawn: ", ".join(f"{value:.4f}" for value in drawn.drop_duplicates())
    )
    rows = values.unstack("place").fillna("–").reset_index()
    rows["epsilon"] = rows["epsilon"].map("{:g}".format)
    head = ["drawn for 10 000 private and 50 public records", "ε", *rows.columns[2:]]
    return markdown(head, rows.to_numpy().tolist())


LEVEL = 0.05
"""Level of the papers' Wilcoxon tests."""


def ranks_and_tests(experiment: Experiment, table: pd.DataFrame) -> str:
    """LPCT's two summaries: rank sums, and Wilcoxon's tests with the counts of No. 1."""
    return f"{rank_sums(experiment, table)}\n{number_ones(experiment, table)}"


def noise_and_tests(experiment: Experiment, table: pd.DataFrame) -> str:
    """LPDT's noise, and Wilcoxon's tests of its methods against the others, if there are scores."""
    noise, tested = mechanisms_noise(experiment, table), by_split(experiment, table)
    if not tested:
        return noise
    listed = "; ".join(
        f"{series} on {', '.join(sets) or 'none'}"
        for series, sets in significantly_better(experiment, table).items()
    )
    return (
        f"{noise}\n{number_ones(experiment, table)}\n"
        f"Of {', '.join(tested)}, significantly better than APHIST, PHIST and DECONV, which the "
        f"paper marks: {listed}.\n"
    )


def by_split(experiment: Experiment, table: pd.DataFrame) -> dict[str, dict[str, Floats]]:
    """Per set the scores of the methods in print in order of the splits, more for better.

    Only sets of which all of them have scores; what sees raw records is left out, and LPDT by
    other rules than the text's.
    """
    sign = 1.0 if experiment.best == "max" else -1.0
    in_print = {str(series) for series, _ in experiment.published} - {"CT-W", "DT"}
    names = {series for series in in_print if not series.endswith(RULES)}
    rows = table.reindex(columns=["problem", "series", "scores"])
    lines = rows[rows["series"].isin(names)].groupby("problem", sort=False)
    return {
        str(problem): {
            str(name): sign * np.array(scores.split(), dtype=np.float64)
            for name, scores in zip(of_set["series"], of_set["scores"], strict=True)
        }
        for problem, of_set in lines
        if of_set["scores"].notna().all()
    }


def worse(best: Floats, other: Floats) -> float:
    """p of Wilcoxon's signed-rank test that ``other`` is worse, one-sided, paired by split."""
    n = min(len(best), len(other))
    if np.array_equal(best[:n], other[:n]):
        return 1.0
    return float(wilcoxon(best[:n], other[:n], alternative="greater").pvalue)


def number_ones(experiment: Experiment, table: pd.DataFrame) -> str:
    """Tests against each set's best method, and how often each is No. 1.

    As in LPCT's Table 2, a method is No. 1 where it is the best or not significantly worse.
    """
    p = {}
    for problem, methods in by_split(experiment, table).items():
        best = max(methods.values(), key=np.mean)
        p[problem] = pd.Series({name: worse(best, scores) for name, scores in methods.items()})
    if not p:
        return ""
    tests = pd.DataFrame(p)
    rows = [
        [name, *map(_p_value, tests.loc[name]), f"{(tests.loc[name] >= LEVEL).sum()}"]
        for name in experiment.series
        if name in tests.index
    ]
    return markdown(["p against the best in print", *map(str, tests), "No. 1"], rows)


def significantly_better(experiment: Experiment, table: pd.DataFrame) -> dict[str, list[str]]:
    """The sets on which LPDT-M and LPDT-V are better than each of the others in print."""
    sets = by_split(experiment, table)
    return {
        ours: [
            problem
            for problem, methods in sets.items()
            if all(worse(methods[ours], methods[name]) < LEVEL for name in RIVALS)
        ]
        for ours in ("LPDT-M", "LPDT-V")
    }


RIVALS = ("APHIST", "PHIST", "DECONV")


def _p_value(p: float) -> str:
    if np.isnan(p):
        return "–"
    return f"{p:.3f}" if p >= 0.001 else "< .001"


def mechanisms_noise(_experiment: Experiment, table: pd.DataFrame) -> str:
    """The variance of a cell's prediction by LPDT's eq. 3 and 4, for one cell and for two halves.

    Y's noise counts with Ũ². Where U is 1, Ũ is 1 - p with probability 1 - p and -p otherwise;
    where U is 0 it is -p and 1 - p.
    """
    epsilon = float(table["epsilon"].max())
    p = 1.0 / (1.0 + np.exp(epsilon / 4.0))
    inside, outside = (1.0 - p) ** 3 + p**3, p * (1.0 - p)
    unit = 2.0 * (4.0 / epsilon) ** 2 / (1.0 - 2.0 * p) ** 2
    one, half = unit * inside, 4.0 * unit * (inside + outside) / 2.0
    added = ", ".join(
        f"{one * M**2 / n:.3g} and {half * M**2 / n:.3g} on {name}"
        for name, (M, n) in HALF_RANGES.items()
    )
    return (
        f"By eq. 3 and 4 noise has variance {one:.3g} M²/n in the prediction of a single cell, and "
        f"{half:.3g} M²/n in that of each of two equal cells: {added}.\n"
    )


HALF_RANGES = {
    "abalone": (14.0, 2924),
    "airfoil": (18.8, 1052),
    "ccpp": (37.8, 6698),
    "concrete": (40.1, 721),
    "wine_red": (2.5, 1119),
    "wine_white": (3.0, 3429),
}
"""Half of the label's range M, and private records n, of LPDT's sets."""


def what_shifts_show(_experiment: Experiment, table: pd.DataFrame) -> str:
    """Gains, the share of the way to raw records, and where a simpler answer is better."""
    gains = effects(table, best="min")
    return f"{gains}\n{share_of_the_way(table)}\n{rows_below(table)}"


def rows_below(table: pd.DataFrame) -> str:
    """Rows in which Privet is more than the slack of ``SLACK`` worse than a simpler answer.

    Simpler are public models, the plain tree, the reported base rate and the label alone. The best
    is chosen by these same means, for each measure by itself.
    """
    lines = []
    for (problem, shift), panel in table.groupby(["problem", "shift"], sort=False):
        for budget in budgets(panel):
            scores = panel[panel["epsilon"].isin([budget, 0.0])].set_index("series")
            beaten = [better_answer(scores, measure) for measure in SLACK]
            lines.append([f"{problem}, {shift}", f"{budget:g}", *beaten])
    counts = [sum(line[place] != "–" for line in lines) for place in (2, 3)]
    titles = [
        f"{name}, {count} of {len(lines)}"
        for name, count in zip(("accuracy", "Brier score"), counts, strict=True)
    ]
    kept = (line for line in lines if set(line[2:]) != {"–"})
    return markdown(["worse than a simpler answer", "ε", *titles], kept)


def better_answer(scores: pd.DataFrame, measure: str) -> str:
    """Privet's score and that of the best simpler series, if that is better; else a dash."""
    sign, slack = SLACK[measure]
    simpler = scores.loc[scores.index.str.startswith(SIMPLER), measure]
    best = (sign * simpler).idxmax()
    ours, theirs = scores.loc["Privet", measure], simpler[best]
    return f"{ours:.3f} for {theirs:.3f} ({best})" if sign * (theirs - ours) > slack else "–"


SLACK = {"mean": (1, 0.01), "brier": (-1, 0.005)}
"""Per measure whether more is better, and what counts as worse: a point of accuracy."""
TRUST = (
    *("nobody: only public records", "nobody: Privet"),
    "a relay that sends 1 000 together: (ε, 10⁻⁶)",
    "a relay that holds all to the end: (ε, 10⁻⁶)",
    *("the curator, to add noise: same cells", "the curator, to add noise: more cells"),
    "the curator, with raw records",
)
"""Columns of the table of trust models."""
SIMPLER = ("public", "Privet, plain tree", "base rate", LABEL_ALONE)


def share_of_the_way(table: pd.DataFrame) -> str:
    """The part of the way from the public stack's Brier score to that of raw records.

    Nothing is stated where raw records are hardly better.
    """
    lines = []
    for (problem, shift), panel in table.groupby(["problem", "shift"], sort=False):
        brier = panel.set_index(["series", "epsilon"])["brier"]
        start, end = brier["public stack", 0.0], brier["everybody's forest", 0.0]
        shares = ((start - brier["Privet", budget]) / (start - end) for budget in budgets(table))
        is_worth = start - end > SLACK["brier"][1]
        parts = (f"{share:.2f}" if is_worth else "–" for share in shares)
        lines.append([f"{problem}, {shift}", *parts])
    return markdown(["share of the way", *(f"ε = {budget:g}" for budget in budgets(table))], lines)


def equal_epsilon(_experiment: Experiment, table: pd.DataFrame) -> str:
    """Brier score and accuracy by trust model, the mean over all rows of the shifts.

    Behind a relay they are Privet's at the local ε of the table, linear in ln ε between the
    measured ones and beyond the largest of them as there. A dash is what was not measured.
    """
    shifts, more = (pd.read_csv(EXPECTED / f"{name}.csv") for name in ("shifts", "trust-cells"))
    local = table.set_index(["series", "epsilon", "problem", "shift"])["mean"].sort_index()
    rows = []
    for epsilon in sorted(set(table["epsilon"])):
        of_each = [
            at(shifts, "public stack", 0.0),
            at(shifts, "Privet", epsilon),
            *(shuffled(shifts, local[batches, epsilon]) for batches in (AS_SHIPPED, IN_ONE)),
            at(shifts, "trusted curator", epsilon),
            at(more, MORE_CELLS, epsilon),
            at(shifts, "everybody's forest", 0.0),
        ]
        texts = (
            "–" if np.isnan(brier) else f"{brier:.3f}, {right:.3f}" for brier, right in of_each
        )
        rows.append([f"{epsilon:g}", *texts])
    return markdown(["ε", *TRUST], rows)


def at(shifts: pd.DataFrame, series: str, epsilon: float) -> tuple[float, float]:
    """Mean Brier score and accuracy of a series."""
    rows = shifts[(shifts["series"] == series) & (shifts["epsilon"] == epsilon)]
    return float(rows["brier"].mean()), float(rows["mean"].mean())


def shuffled(shifts: pd.DataFrame, local: "pd.Series[float]") -> tuple[float, float]:
    """The same of Privet at the ``local`` ε of each row."""
    ours = shifts[shifts["series"] == "Privet"].set_index(["problem", "shift"])
    scores = []
    for row, epsilon in local.items():
        curve = ours.loc[[row]].sort_values("epsilon")
        place = np.log(curve["epsilon"].to_numpy())
        of_row = (np.interp(np.log(epsilon), place, curve[of]) for of in ("brier", "mean"))
        scores.append(tuple(of_row))
    brier, right = np.mean(scores, axis=0)
    return float(brier), float(right)


def blind_summary(_experiment: Experiment, table: pd.DataFrame) -> str:
    """Privet's first measure per set and ε, marked where it differs from the best public model's.

    Beside it the worst split: the largest ratio to its own public model's, over all ε. Then how
    often it differs from that, from its own public model and from randomized response.
    """
    by_set = {str(problem): rows for problem, rows in table.groupby("problem", sort=False)}
    epsilons, rows = budgets(table), []
    counts = {rival: dict.fromkeys(OUTCOMES, 0) for rival in RIVALS_OF_PRIVET}
    for problem, of_set in by_set.items():
        runs = {
            (row.series, row.epsilon): np.array(row.scores.split(), dtype=np.float64)
            for row in of_set.itertuples()
        }
        public = {name: of.mean() for (name, _), of in runs.items() if name.startswith("public")}
        best = min(public, key=lambda name: public[name])
        marked, worst = [], 0.0
        for epsilon in epsilons:
            ours = runs["Privet", epsilon]
            worst = max(worst, float((ours / runs["public stack", 0.0]).max()))
            rivals = (runs[best, 0.0], runs["public stack", 0.0], runs[LABEL_ALONE, epsilon])
            outcomes = [outcome(ours, rival) for rival in rivals]
            for rival, found in zip(RIVALS_OF_PRIVET, outcomes, strict=True):
                counts[rival][found] += 1
            marked.append(f"{measured(ours.mean())}{OUTCOMES[outcomes[0]]}")
        shares = "; ".join(
            measured(runs[LABEL_ALONE, e].mean()) for e in (epsilons[0], epsilons[-1])
        )
        raw = measured(runs["everybody's boosting", 0.0].mean())
        public_alone = f"{measured(public[best])} ({best.removeprefix('public ')})"
        rows.append([problem, public_alone, *marked, f"{worst:.2f}", shares, raw])
    heads = ("best public", *(f"Privet, ε = {epsilon:g}" for epsilon in epsilons))
    ends = f"randomized response, ε = {epsilons[0]:g}; {epsilons[-1]:g}"
    summary = markdown(["", *heads, "worst split", ends, "raw records"], rows)
    listed = ([rival, *map(str, of.values())] for rival, of in counts.items())
    return summary + "\n" + markdown(["Privet, by set and ε, against", *OUTCOMES], listed)


def outcome(ours: Floats, rival: Floats) -> str:
    """The outcome for ``ours``: a difference counts beyond two standard errors, paired by split."""
    gains = rival - ours
    error = gains.std(ddof=1) / np.sqrt(len(gains))
    if abs(gains.mean()) <= 2.0 * error:
        return "level"
    return "better" if gains.mean() > 0 else "worse"


OUTCOMES = {"better": " +", "level": "", "worse": " −"}
"""Outcomes of a comparison with their marks."""
RIVALS_OF_PRIVET = (AFTERWARDS, "its own public model", LABEL_ALONE)


def what_showing_gains(_experiment: Experiment, table: pd.DataFrame) -> str:
    """Brier scores at two ε, and how often one method's is lower than another's at all ε."""
    brier = table.set_index(["problem", "series", "epsilon"])["brier"]
    rows = (
        [
            str(problem),
            f"{brier[problem, 'public stack', 0.0]:.3f}",
            *(
                _number(brier.get((problem, series, budget)))
                for budget in AT_THE_ENDS
                for series in (HIDDEN, HALF, LABEL, ALONE, FOREST)
            ),
        ]
        for problem in dict.fromkeys(table["problem"])
    )
    names = ("hidden", "half", "label only", "groups of 1", "forest")
    heads = (f"ε = {budget:g}: {name}" for budget in AT_THE_ENDS for name in names)
    compared = []
    for first, second in COMPARED:
        both = brier.unstack("series")[[first, second]].dropna()
        gains = both[second] - both[first]
        lower, higher = (int((sign * gains >= SLACK["brier"][1]).sum()) for sign in (1, -1))
        compared.append([f"{first}, than {second}", str(lower), str(higher), str(len(gains))])
    heading = f"Brier score differs by {SLACK['brier'][1]:g} or more"
    counts = markdown([heading, "lower", "higher", "of sets and ε"], compared)
    return markdown(["Brier score", "public alone", *heads], rows) + "\n" + counts


def what_disclosing_costs(_experiment: Experiment, table: pd.DataFrame) -> str:
    """The mean over the sets, the rows that are worse than all hidden beyond chance, and the loss
    that would have been found.

    At 5 % over all rows (Bonferroni), by Student's t, one-sided; a loss is found four times in five
    if it is that much larger than its error.
    """
    known = table[table["replications"] > 1]
    if known.empty:
        return ""
    error, freedom = known["standard_error"].clip(lower=1e-9), known["replications"] - 1
    level = 0.05 / len(known)
    worse = known[student.sf(known["mean"] / error, freedom) < level]
    found = error * (student.isf(level, freedom) + student.isf(0.2, freedom))
    means = known.groupby(["epsilon", "series"], sort=False)["mean"].agg(["mean", "sem", "size"])
    texts = []
    for epsilon, of in means.groupby(level=0):
        over_sets = "; ".join(
            f"{name} {row['mean']:+.1f} ± {row['sem']:.1f} % ({row['size']:.0f})"
            for (_, name), row in of.iterrows()
        )
        texts.append(f"Mean over the sets (how many) at ε = {epsilon:g}: {over_sets}.")
    listed = "; ".join(
        f"{row['problem']}, {row['series']}, ε = {row['epsilon']:g} {row['mean']:+.1f} %"
        for _, row in worse.iterrows()
    )
    largest = known.loc[found.idxmax()]
    return " ".join(
        [
            *texts,
            f"Worse beyond chance (5 % over all {len(known)} rows, Bonferroni): "
            f"{listed or 'none'}. Four times in five a loss would have been found from "
            f"{found.median():.1f} % on in half of the rows, and from {found.max():.0f} % on in "
            f"{largest['problem']}, {largest['series']}.\n",
        ]
    )


def what_earlier_waves_gain(_experiment: Experiment, table: pd.DataFrame) -> str:
    """Squared errors with earlier waves over those alone, paired by replication, for each part of
    the error; and how many ratios are above 1 by more than two standard errors."""
    runs = table.set_index(["of", "panel", "kind", "epsilon", "series"])["scores"]
    runs = runs.map(lambda scores: np.array(str(scores).split(), dtype=np.float64))
    columns = list(dict.fromkeys(zip(table["kind"], table["epsilon"], strict=True)))
    texts = []
    for of in dict.fromkeys(table["of"]):
        rows, outside = [], []
        for panel in dict.fromkeys(table["panel"]):
            row = [panel]
            for column in columns:
                if (of, panel, *column, waves.ALONE) not in runs:
                    row.append("–")
                    continue
                alone, smoothed = (runs[of, panel, *column, name] for name in WITH_AND_WITHOUT)
                ratio = smoothed.mean() / alone.mean()
                error = (smoothed - ratio * alone).std(ddof=1) / np.sqrt(len(alone)) / alone.mean()
                outside.append(np.sign(ratio - 1.0) * (abs(ratio - 1.0) > 2.0 * error))
                row.append(f"{ratio:.2f} ± {error:.2f}")
            rows.append(row)
        heads = (f"{kind}, ε = {epsilon:g}" for kind, epsilon in columns)
        texts.append(markdown([f"{of}: with over alone", *heads], rows))
        texts.append(
            f"By more than two standard errors, {outside.count(1)} of {len(outside)} are above 1 "
            f"and {outside.count(-1)} below.\n"
        )
    return "\n".join(texts)


WITH_AND_WITHOUT = (waves.ALONE, waves.SMOOTHED)


def _number(value: float | None) -> str:
    """Three digits, or a dash for what was not measured."""
    return "–" if value is None else f"{value:.3f}"


AT_THE_ENDS = (0.5, 2.0)
"""Values of ε of which the summary speaks."""
FOREST = "randomized labels, forest"
COMPARED = (
    *((HALF, HIDDEN), (LABEL, HIDDEN), (LABEL, HALF)),
    *((HALF, TREE_OF_HISTOGRAMS), (LABEL, FOREST), (ALONE, FOREST)),
)
"""Pairs of methods."""


def holders_needed(_experiment: Experiment, table: pd.DataFrame) -> str:
    """Factors by which fewer holders give the Brier score of all holders with everything hidden."""
    rows = []
    for problem, panel in table.groupby("problem", sort=False):
        for series in (HALF, LABEL):
            factors = (
                fewer_holders(panel[panel["epsilon"] == budget], series)
                for budget in budgets(table)
            )
            rows.append([f"{problem}: {series.removeprefix('Privet, ')}", *factors])
    heads = (f"ε = {budget:g}" for budget in budgets(table))
    return markdown(["times fewer holders", *heads], rows)


def fewer_holders(scores: pd.DataFrame, series: str) -> str:
    """1 / part at which ``series`` is as good as ``HIDDEN`` with all holders.

    Between the first part with which it is worse and the one before, the score is taken as linear
    in the logarithm of the part.
    """
    (aim,) = scores.loc[scores["series"] == HIDDEN, "mean"]
    ours = scores[scores["series"] == series].sort_values("part", ascending=False)
    part, brier = np.log(ours["part"].to_numpy()), ours["mean"].to_numpy()
    worse = np.flatnonzero(brier > aim)
    if len(worse) == 0:
        return f"over {np.exp(-part[-1]):.0f}"
    after = worse[0]
    if after == 0:
        return "none"
    way = (aim - brier[after - 1]) / (brier[after] - brier[after - 1])
    return f"{np.exp(-(part[after - 1] + way * (part[after] - part[after - 1]))):.2g}"


def budgets(table: pd.DataFrame) -> list[float]:
    """The table's values of ε, ascending; 0 stands for none."""
    return sorted(epsilon for epsilon in set(table["epsilon"]) if epsilon > 0)
