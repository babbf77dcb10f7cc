"""Write the measured tables into ``docs``, from the files in ``expected``.

python -m scripts.reproduce.tables
"""

from pathlib import Path

import numpy as np
from scipy.stats import rankdata

from scripts.pages import fill
from scripts.reproduce import consistency, planning
from scripts.reproduce.datasets import CLASSIFICATION, REGRESSION
from scripts.reproduce.real import Rows, read

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
NOT_RANKED = ("non-private tree", "drift, plain tree", "averaged", "public stack")


def main() -> None:
    """Replace every table of the pages by the current figures."""
    real, untuned = (read(HERE / "expected" / f"{name}.csv") for name in ("real", "untuned"))
    consistent = read(HERE / "expected" / "consistency.csv")
    tables = {
        "synthetic": sections(untuned, list(dict.fromkeys(str(row["set"]) for row in untuned))),
        "ranks": ranks(real, list(CLASSIFICATION), best_first=True),
        "classification": sections(real, list(CLASSIFICATION)),
        "regression ranks": ranks(real, list(REGRESSION), best_first=False),
        "regression": sections(real, list(REGRESSION)),
        "consistency": consistency.gains(consistent, consistency.PLAIN),
        "consistency of numbers": consistency.gains(consistent, consistency.PLAIN, numbers=True),
        "coverage": covered(read(HERE / "expected" / "coverage.csv")),
    }
    fill(DOCS / "accuracy.md", tables)
    kept = read(planning.EXPECTED)
    fill(
        DOCS / "planning.md",
        {
            population: planning.markdown([r for r in kept if r["population"] == population])
            for population in (planning.ONE, planning.COLLECTED)
        },
    )


def sections(rows: Rows, names: list[str]) -> str:
    """One table per set that was measured."""
    found = {name: [row for row in rows if row["set"] == name] for name in names}
    return "\n".join(markdown(name, part) for name, part in found.items() if part)


def markdown(name: str, rows: Rows) -> str:
    """Methods down, budgets across; a method without reports has one figure."""
    epsilons = sorted({float(row["epsilon"]) for row in rows if float(row["epsilon"]) > 0})
    head = [f"{name}, {rows[0]['splits']} runs", *(f"ε = {e:g}" for e in epsilons)]
    lines = [head, ["---"] * len(head)]
    for method in dict.fromkeys(str(row["method"]) for row in rows):
        cells = {float(row["epsilon"]): figure(row) for row in rows if row["method"] == method}
        lines.append([method, *(cells.get(e, cells.get(0.0, "")) for e in epsilons)])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def covered(rows: Rows) -> str:
    """Labels, estimators and shifts down, holders per cell and budgets across."""
    settings = list(dict.fromkeys((row["per_cell"], row["epsilon"]) for row in rows))
    found: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        key = tuple(str(row[name]) for name in ("label", "estimator", "shift"))
        found.setdefault(key, []).append(f"{float(row['covered']):.3f}")
    head = [f"{rows[0]['intervals']} intervals each", "estimator", "shift"]
    lines = [[*head, *(f"{n} per cell, ε = {float(e):g}" for n, e in settings)]]
    lines.append(["---"] * len(lines[0]))
    lines += [[*key, *shares] for key, shares in found.items()]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def ranks(rows: Rows, names: list[str], *, best_first: bool) -> str:
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
    lines = [head, ["---"] * len(head)]
    for place in order:
        found = [sums[epsilon][place] for epsilon in epsilons]
        lines.append([methods[place], *(f"{each:g}" for each in (*found, sum(found)))])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def figure(row: dict[str, str | float]) -> str:
    """Mean and standard error, three significant decimals."""
    mean, error = float(row["mean"]), float(row["standard_error"])
    digits = 4 if mean < 1 else 2
    return f"{mean:.{digits}f} ± {error:.{digits}f}"


if __name__ == "__main__":
    main()
