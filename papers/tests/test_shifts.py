"""The suite of shifts: which rows are public, and what follows from its table."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from privet.learning.core.public_data import PublicData
from privet.learning.public_model.distilled import distilled_depth
from privet.protocol.mechanisms import create_mechanism
from privet.protocol.partition import Tree
from privet.protocol.shuffling import Randomizer, central_epsilon
from reproduce import DOCS, ROOT, problems
from reproduce.datasets import CLASSES, Split
from reproduce.derived import equal_epsilon, shuffled, what_shifts_show
from reproduce.experiment import EXPECTED, Experiment
from reproduce.ours import (
    AS_SHIPPED,
    DELTA,
    IN_ONE,
    LEAST,
    MORE_CELLS,
    OF_ONE_AS_SHIPPED,
    ask_centrally,
    behind_a_relay,
    central_depth,
    with_more_cells,
)

SPLIT = slice(3200), slice(3200, None)


@pytest.fixture(autouse=True)
def pool(monkeypatch: pytest.MonkeyPatch) -> None:
    """A set of 4 000 rows along one line, half of each class, instead of files."""

    def shuffled(_folder: Path, seed: int, *, name: str, public: int) -> Split:
        assert (name, public) == ("set", 0)
        rng = np.random.default_rng(seed)
        X = rng.random((4000, 1)) * [1.0, 0.1, 0.1]
        data = PublicData(X, (rng.random(4000) < 0.5).astype(float))
        private, test = (PublicData(data.X[part], data.y[part]) for part in SPLIT)
        return Split(PublicData(X[:0], data.y[:0]), private, test, CLASSES)

    monkeypatch.setattr(problems, "shuffled", shuffled)


@pytest.mark.parametrize("shift", problems.SHIFTS)
def test_public_rows_are_taken_from_the_holders(shift: str) -> None:
    """No public row is a holder's, and all others of the pool are."""
    split = problems.shifted(Path(), 1, name="set", shift=shift)
    assert len(split.public) == (50 if shift == "scarce" else 200)
    assert len(split.private) == 3200 - len(split.public)
    assert not {*split.public.X[:, 0]} & {*split.private.X[:, 0]}


def test_shifts_are_what_they_say() -> None:
    """Of 200 rows the second class is 2 / 11 among volunteers, give or take 5 errors of .027."""
    volunteers = problems.shifted(Path(), 1, name="set", shift="volunteers").public
    assert volunteers.y.mean() == pytest.approx(2 / 11, abs=0.14)
    tilted = problems.shifted(Path(), 1, name="set", shift="tilted").public.X[:, 0].mean()
    assert abs(tilted - 0.5) > 0.15
    same, changed = (
        problems.shifted(Path(), 1, name="set", shift=shift).public
        for shift in ("as it is", "changed")
    )
    assert (same.y != changed.y).mean() == pytest.approx(problems.CHANGED, abs=0.16)


def shown(*rows: tuple[str, float, float, float]) -> str:
    """What follows from series with their ε, accuracy and Brier score."""
    columns = ["problem", "shift", "series", "epsilon", "mean", "brier"]
    table = pd.DataFrame([("s", "scarce", *row) for row in rows], columns=columns)
    return what_shifts_show(Experiment("e", "E", (), (), x="series"), table)


def test_rows_in_which_a_simpler_answer_is_better() -> None:
    """By more than a point, or .005, than the best of them; references are not simpler."""
    rows = (
        ("public stack", 0.0, 0.70, 0.204),
        ("public forest", 0.0, 0.815, 0.30),
        ("Privet, plain tree", 2.0, 0.75, 0.25),
        ("Privet, plain tree", 4.0, 0.75, 0.19),
        ("trusted curator", 2.0, 0.99, 0.01),
        ("Privet", 2.0, 0.80, 0.208),
        ("Privet", 4.0, 0.81, 0.20),
        ("everybody's forest", 0.0, 0.95, 0.05),
    )
    text = shown(*rows)
    assert "| accuracy, 1 of 2 | Brier score, 1 of 2 |" in text
    assert "| s, scarce | 2 | 0.800 for 0.815 (public forest) | – |" in text
    assert "| s, scarce | 4 | – | 0.200 for 0.190 (Privet, plain tree) |" in text


def test_a_trusted_curator_counts_with_central_noise() -> None:
    """Counts of 16 entries, off by a standard deviation of 2 sqrt(2) / epsilon each.

    Over 200 draws the mean square is within 5 standard errors, each 8 % at most, false alarm below
    1e-5.
    """
    split = problems.shifted(Path(), 1, name="set", shift="as it is")
    tree, rng = Tree.complete(8, columns=3).partition(), np.random.default_rng(0)
    exact = np.round(ask_centrally(split.private, tree, 64.0, rng).counts)
    assert exact.sum() == len(split.private)
    off = [ask_centrally(split.private, tree, 1.0, rng).counts - exact for _ in range(200)]
    assert np.mean(np.square(off)) == pytest.approx(8.0, rel=0.2)
    assert ask_centrally(split.private, tree, 1.0, rng).noise[0, 0, 0] == 8.0


@pytest.mark.slow
def test_central_noise_lets_more_cells_be_told_apart() -> None:
    """More than Privet's at the same ε, at which the same people are asked."""
    split = problems.shifted(Path(), 1, name="set", shift="as it is")
    holders = len(split.private)
    few, many = distilled_depth(holders, 1.0), central_depth(holders, 1.0)
    assert few < many <= central_depth(holders, 8.0)
    ((series, _, scores),) = with_more_cells(split, 1.0, 0)
    assert series == MORE_CELLS
    assert 0.0 <= scores["brier"] <= 0.5


@pytest.mark.parametrize(("together", "place"), [(0, 0), (LEAST, 1)])
def test_a_relay_allows_the_largest_local_epsilon(together: int, place: int) -> None:
    """Its reports keep the central guarantee, and those of 3 % more do not; each question by
    itself, of all reports to it or of a thousand of them."""
    rng = np.random.default_rng(0)
    data = PublicData(rng.random((20_000, 1)), (rng.random(20_000) < 0.5).astype(float))
    split = Split(data, data, data, CLASSES)
    local = [*behind_a_relay(split, 1.0, 0)][place][2]["score"]
    kept = []
    for epsilon in (local, 1.03 * local):
        cells = 2 ** distilled_depth(len(data), epsilon)
        of_each = []
        for share, size in ((0.65, cells), (0.35, 1)):
            report = create_mechanism("subset", epsilon, size, 2)
            of_one = Randomizer.of(report.worst_ratio(), report.variation)
            number = together or round(share * len(data))
            of_each.append(central_epsilon(of_one, number, DELTA))
        kept.append(max(of_each) <= 1.0)
    assert kept == [True, False]


def test_few_people_gain_nothing_from_batches_of_a_thousand() -> None:
    """Less than 1 000 of 2 000 are asked for the label alone: nothing is stated for them."""
    rng = np.random.default_rng(0)
    data = PublicData(rng.random((2_000, 1)), (rng.random(2_000) < 0.5).astype(float))
    split = Split(data, data, data, CLASSES)
    scored = {name: of["score"] for name, _, of in behind_a_relay(split, 1.0, 0)}
    assert scored[IN_ONE] > 2.0
    assert scored[AS_SHIPPED] == 1.0
    assert scored[OF_ONE_AS_SHIPPED] == pytest.approx(scored[IN_ONE], rel=1e-6)


def test_one_batch_of_all_is_worth_what_a_thousand_are_not() -> None:
    """Census asked the tree's question only, as the page had it: local 6.10 is central .48 in one
    batch of its 35 977 reports, and 6.10 in batches of a thousand."""
    report = create_mechanism("subset", 6.10, 256, 2)
    of_one = Randomizer.of(report.worst_ratio(), report.variation)
    assert central_epsilon(of_one, 35_977, DELTA) == pytest.approx(0.48, abs=0.01)
    assert central_epsilon(of_one, 1_000, DELTA) == pytest.approx(6.10, abs=0.001)


def test_scores_behind_a_relay_are_read_between_the_measured() -> None:
    """Half way in ln ε between 1 and 4, and beyond the largest as there."""
    rows = [("s", "scarce", "Privet", e, b, 1 - b) for e, b in ((1, 0.2), (4, 0.1), (0.5, 0.9))]
    columns = ["problem", "shift", "series", "epsilon", "brier", "mean"]
    table = pd.DataFrame(rows, columns=columns)
    local = pd.Series({("s", "scarce"): 2.0})
    assert shuffled(table, local) == pytest.approx((0.15, 0.85))
    assert shuffled(table, local * 10) == pytest.approx((0.1, 0.9))


def test_the_page_has_the_table_of_trust_and_what_it_says_of_it() -> None:
    """A curator's ε of .5 lies between local ones of 1 and 2; the local ε behind a relay."""
    page = (DOCS / "is-it-for-me.md").read_text(encoding="utf-8")
    table = pd.read_csv(EXPECTED / "trust.csv")
    assert equal_epsilon(Experiment("trust", "T", (), (), x="shift"), table) in page
    shifts = pd.read_csv(EXPECTED / "shifts.csv")
    brier = shifts.groupby(["series", "epsilon"])["brier"].mean()
    assert brier["Privet", 2.0] < brier["trusted curator", 0.5] < brier["Privet", 1.0]
    cells = pd.read_csv(EXPECTED / "trust-cells.csv")
    more = cells.groupby("epsilon")["brier"].mean()
    assert brier["Privet", 8.0] < more[0.5] < brier["Privet", 4.0]
    assert set(cells["replications"]) == {20}
    assert set(more.index) == set(table["epsilon"]), "Every cell of the column is measured."
    local = table.set_index(["series", "problem", "shift", "epsilon"])["mean"]
    least, most = local[IN_ONE].min(), local[IN_ONE].max()
    said = " ".join(page.split())
    assert f"a local ε of {least:.1f} to {most:.1f} gives the same central one" in said
    gains = local[AS_SHIPPED] > 1.02 * local[AS_SHIPPED].index.get_level_values("epsilon")
    with_gain = gains.groupby(level=["problem", "shift"]).any()
    assert f"adds nothing in {(~with_gain).sum()} of the {len(with_gain)} rows" in said
    census = local.xs("census, shifted", level="problem")
    assert (census[OF_ONE_AS_SHIPPED] >= 0.999 * census[IN_ONE]).all()
    assert "of the 35 977 of census would add nothing" in said


def test_the_page_on_robustness_has_the_means_of_the_table() -> None:
    """Of the share of the way, by kind of public rows, over the sets that have one."""
    shares = {
        (name, epsilon): float(share)
        for name, *cells in rows_of(ROOT / "tables" / "shifts.md", ", shifted, ", 6)
        for epsilon, share in zip(("0.5", "1", "2", "4", "8"), cells, strict=True)
        if share != "–"
    }
    _, *said_of = rows_of(DOCS / "robustness.md", "", 3)
    assert len(said_of) == 5
    for kind, least, most in said_of:
        ending = kind.replace("as they are", "as it is")
        for epsilon, said in (("0.5", least), ("8", most)):
            of_kind = [
                s for (name, e), s in shares.items() if name.endswith(ending) and e == epsilon
            ]
            assert np.mean(of_kind) == pytest.approx(float(said), abs=0.0051), (kind, epsilon)


def test_the_page_on_disclosed_columns_has_the_tables_counts() -> None:
    measured = {
        tuple(cells)
        for _, *cells in rows_of(ROOT / "tables" / "disclosed-columns.md", ", than ", 4)
    }
    said = [tuple(cells) for _, *cells in rows_of(DOCS / "disclosed-columns.md", ", than ", 4)]
    assert len(said) == 6
    assert set(said) <= measured


def rows_of(page: Path, within: str, cells: int) -> list[list[str]]:
    """The rows of a page's tables with so many cells, whose first one has ``within``."""
    text = page.read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()]
    return [row for row in rows if len(row) == cells and within in row[0] and "---" not in row[0]]


@pytest.mark.parametrize(("gamma", "public"), [("0.5", "50"), ("5", "1 000")])
def test_the_page_on_accuracy_has_the_designs_means(gamma: str, public: str) -> None:
    """Privet's and LPCT's, and the public stack's in Privet's row."""
    table = pd.read_csv(EXPECTED / f"accuracy-design-gamma-{gamma}.csv")
    means = table.set_index(["series", "epsilon"])["mean"]
    without = table.loc[table["series"] == "public stack", "mean"].item()
    rows = rows_of(DOCS / "accuracy.md", f"{public} public records: ", 5)
    said = {name: cells for name, *cells in rows}
    for series, first in (("Privet", f"{without:.3f}"[1:]), ("LPCT", "–")):
        expected = [first, *(f"{means[series, epsilon]:.3f}"[1:] for epsilon in (0.5, 2.0, 8.0))]
        assert said[f"{public} public records: {series}"] == expected
