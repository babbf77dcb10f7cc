"""Write the measured tables into ``docs``, from the files in ``expected``.

python -m scripts.reproduce.tables
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

from scripts.pages import Rows, fill, markdown, read
from scripts.reproduce import accuracy, coverage, planning, shifts, synthetic
from scripts.reproduce.accuracy import section
from scripts.reproduce.datasets import CLASSIFICATION, DESIGNS, REGRESSION

DOCS = Path(__file__).parents[2] / "docs"
NOT_RANKED = ("non-private tree", "drift, plain tree", "averaged", "public stack")


def main() -> None:
    """Replace every table of the pages by the current figures."""
    rows = read(accuracy.EXPECTED)
    tables = {
        "synthetic": sections(rows, DESIGNS),
        "ranks": ranks(rows, CLASSIFICATION, best_first=True),
        "classification": sections(rows, CLASSIFICATION),
        "regression ranks": ranks(rows, REGRESSION, best_first=False),
        "regression": sections(rows, REGRESSION),
        "coverage": covered(read(coverage.EXPECTED)),
        "shifts": shifts.tables(read(shifts.EXPECTED)),
    }
    fill(DOCS / "accuracy.md", tables)
    tuned = {
        f"synthetic, gamma {gamma}": synthetic.table(read(file))
        for gamma, file in synthetic.EXPECTED.items()
    }
    fill(DOCS / "reproduce.md", tuned)
    kept = read(planning.EXPECTED)
    fill(
        DOCS / "planning.md",
        {
            population: planning.markdown([r for r in kept if r["population"] == population])
            for population in (planning.ONE, planning.COLLECTED)
        },
    )


def sections(rows: Rows, names: Iterable[str]) -> str:
    """One table per set that was measured."""
    found = {name: [row for row in rows if row["set"] == name] for name in names}
    return "\n".join(section(name, part) for name, part in found.items() if part)


def covered(rows: Rows) -> str:
    """Labels, estimators and shifts down, holders and budgets across."""
    settings = list(dict.fromkeys((row["holders"], row["epsilon"]) for row in rows))
    found: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        key = tuple(str(row[name]) for name in ("label", "estimator", "shift"))
        found.setdefault(key, []).append(f"{float(row['covered']):.3f}")
    head = ["label", "estimator", "shift"]
    head += [f"n = {float(n):.0e}, ε = {float(e):g}" for n, e in settings]
    return markdown(head, [[*key, *shares] for key, shares in found.items()])


def ranks(rows: Rows, names: Sequence[str], *, best_first: bool) -> str:
    """Sums over the sets of each method's rank by its mean, 1 for the best; ties share theirs.

    The non-private tree sees what nobody may see, and Privet's other forms stand in the tables
    of the sets: both are left out. ``best_first`` if a larger mean is better.
    """
    measured = [row for row in rows if row["set"] in names and row["method"] not in NOT_RANKED]
    methods = list(dict.fromkeys(str(row["method"]) for row in measured))
    epsilons = sorted({float(row["epsilon"]) for row in measured if float(row["epsilon"]) > 0})
    sets = [name for name in names if any(row["set"] == name for row in measured)]
    mean = {(row["set"], row["method"], float(row["epsilon"])): row["mean"] for row in measured}
    sums = {}
    for epsilon in epsilons:
        total = np.zeros(len(methods))
        for name in sets:
            values = [mean.get((name, m, epsilon), mean.get((name, m, 0.0))) for m in methods]
            total += rankdata(np.array(values, dtype=float) * (-1.0 if best_first else 1.0))
        sums[epsilon] = total
    order = np.argsort(np.sum(list(sums.values()), axis=0), kind="stable")
    head = [f"rank sums over {len(sets)} sets", *(f"ε = {e:g}" for e in epsilons), "all"]
    lines = []
    for place in order:
        found = [sums[epsilon][place] for epsilon in epsilons]
        lines.append([methods[place], *(f"{each:g}" for each in (*found, sum(found)))])
    return markdown(head, lines)


if __name__ == "__main__":
    main()
