"""docs/conformance.md, the table of clauses and the archive's schema are those of the code."""

import json
import re
import zipfile
from math import exp
from pathlib import Path

import jsonschema
import pytest
from scipy.stats import binom, binomtest

from privet.conformance.clauses import ALPHA, CLAUSES
from privet.conformance.vectors import Vectors
from privet.protocol.errors import InvalidRequest
from scripts.vectors_archive import write

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "conformance.md").read_text(encoding="utf-8")
CATEGORIES = 5


def test_the_page_lists_every_clause() -> None:
    """Its name, what it says, and the section that says so."""
    below = PAGE.split("\n## Clauses\n")[1]
    rows = re.findall(r"^\| `([\w-]+)` \| (.*) \| \[.*\]\(([\w.#-]+)\) \|$", below, re.MULTILINE)
    assert rows == [(name, clause.says, clause.section) for name, clause in CLAUSES.items()]


def share(epsilon: float) -> float:
    return exp(epsilon) / (exp(epsilon) + CATEGORIES - 1)


def power(epsilon: float, reports: int) -> float:
    """The probability that the count of the true category alone shows what was spent."""
    level = ALPHA / CATEGORIES
    seen = [k for k in range(reports + 1) if binomtest(k, reports, share(2)).pvalue < level]
    return float(sum(binom.pmf(seen, reports, share(epsilon))))


def test_the_page_states_the_power_of_the_statistical_clauses() -> None:
    assert f"answers, {100 * share(2):.0f} are the true category" in PAGE
    assert f"in place of 2 with a probability of {power(4, 100):.2f}" in PAGE
    assert power(3, 400) > 0.99
    assert "400 find ε = 3 with a probability of 0.99" in PAGE


def test_the_archive_keeps_its_schema_and_is_always_the_same(tmp_path: Path) -> None:
    """One schema for all its files, which a damaged one breaks."""
    for name in ("one.zip", "other.zip"):
        write(tmp_path / name)
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "other.zip").read_bytes()
    files = Vectors.read(tmp_path / "one.zip").files
    assert set(files["manifest.json"]["files"]) == set(files) - {"manifest.json"}
    validator = jsonschema.Draft202012Validator(files["schema.json"])
    validator.check_schema(files["schema.json"])
    validator.validate(files)
    del files["messages/tasks.json"][0]["bytes"]
    assert not validator.is_valid(files)


def test_what_is_no_archive_of_this_form_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.zip"
    path.write_bytes(b"nothing")
    with pytest.raises(InvalidRequest, match="no archive"):
        Vectors.read(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("manifest.json", json.dumps({"version": 99}))
    with pytest.raises(InvalidRequest, match="form 99"):
        Vectors.read(path)
