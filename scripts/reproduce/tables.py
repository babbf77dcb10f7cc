"""Write the measured tables into ``docs/accuracy.md``, from the files in ``expected``.

    python -m scripts.reproduce.tables

Each table stands between ``<!-- table NAME -->`` and ``<!-- end -->``; what is there is replaced.
"""

import re
from pathlib import Path

from scripts.reproduce.datasets import CLASSIFICATION, REGRESSION
from scripts.reproduce.real import Rows, read

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "accuracy.md"


def main() -> None:
    """Replace every table of the page by the current figures."""
    real, untuned = (read(HERE / "expected" / f"{name}.csv") for name in ("real", "untuned"))
    tables = {
        "synthetic": sections(untuned, list(dict.fromkeys(str(row["set"]) for row in untuned))),
        "classification": sections(real, list(CLASSIFICATION)),
        "regression": sections(real, list(REGRESSION)),
    }
    text = PAGE.read_text()
    for name, table in tables.items():
        pattern = rf"(<!-- table {name} -->\n).*?(<!-- end -->)"
        text = re.sub(pattern, rf"\g<1>{table}\g<2>", text, flags=re.DOTALL)
    PAGE.write_text(text)


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


def figure(row: dict[str, str | float]) -> str:
    """Mean and standard error, three significant decimals."""
    mean, error = float(row["mean"]), float(row["standard_error"])
    digits = 4 if mean < 1 else 2
    return f"{mean:.{digits}f} ± {error:.{digits}f}"


if __name__ == "__main__":
    main()
