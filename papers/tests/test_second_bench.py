"""The second blind bench: its draw by the rules of its page, on made tables."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from privet.protocol.features import Classes, Range
from reproduce import ROOT, blind, second_bench

ROWS = 6000
PAGE = (ROOT / "tables" / "second-bench.md").read_text(encoding="utf-8")


def made(number: int) -> pd.DataFrame:
    """A table of its own columns: three classes, a number, its copy, an id, a date, two groups."""
    rng = np.random.default_rng(number)
    value = rng.normal(size=ROWS)
    columns = {
        "class": rng.choice(["x", "y", "z"], ROWS),
        "value": value,
        "copy": np.exp(value),
        "id": np.arange(ROWS),
        "name": [f"person {k}" for k in range(ROWS)],
        "constant": 1,
        "group": rng.choice(["g", "h"], ROWS),
        "other": rng.choice(["s", "t", "u"], ROWS),
        "size": rng.integers(0, 9, ROWS),
    }
    return pd.DataFrame({f"{name}{number}": column for name, column in columns.items()})


@pytest.fixture(autouse=True)
def _index(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Twenty made tables of ten packages stand in for the index; one's name is a word in use, and
    another has its columns."""
    tables = {f"item{number}": made(number) for number in range(20)}
    tables["item1"] = tables["item0"].copy()
    rows = [
        (f"package{k % 10}", name, len(table), table.shape[1])
        for k, (name, table) in enumerate(tables.items())
    ]
    listed = pd.DataFrame(rows, columns=["Package", "Item", "Rows", "Cols"])
    monkeypatch.setattr(second_bench, "index", lambda: listed)
    monkeypatch.setattr(second_bench, "words_of_the_repository", lambda: {"item0"})
    monkeypatch.setattr(blind, "read", lambda _package, item: tables[item])
    monkeypatch.setattr(second_bench, "SETS", tmp_path / "sets.csv")
    for kept in (second_bench.sets, second_bench.table_of):
        kept.cache_clear()
    yield
    for kept in (second_bench.sets, second_bench.table_of):
        kept.cache_clear()


def test_the_draw_depends_on_the_seed_alone_and_leaves_out_what_was_used() -> None:
    """Nor a set whose name is in use, nor one with its columns; two of a package at most."""
    sets = second_bench.draw("a", second_bench.SETS)
    assert sets["name"].tolist() == [*second_bench.NAMES]
    assert sets.equals(second_bench.draw("a", second_bench.SETS))
    other = second_bench.draw("b", second_bench.SETS)
    assert sets["item"].tolist() != other["item"].tolist()
    for drawn in (sets, other):
        assert not {"item0", "item1"} & {*drawn["item"]}
        assert drawn["package"].value_counts().max() <= second_bench.PER_PACKAGE


def test_labels_are_of_the_kind_and_their_copies_are_no_features() -> None:
    """Five of classes, three of numbers; ids, names and constants are nowhere, public rows as found
    are all of the part and nobody else is."""
    second_bench.draw("a", second_bench.SETS)
    drawn = second_bench.sets().set_index("name")
    for place, name in enumerate(second_bench.NAMES):
        table, part, label = second_bench.table_of(name)
        assert isinstance(label, Classes if place < second_bench.OF_CLASSES else Range)
        one = drawn.loc[name]
        known = {column.rstrip("0123456789") for column in table.column_names}
        assert not {"id", "name", "constant"} & known
        assert not {one["label"], one["column"]} & {*table.column_names}
        if one["label"].startswith(("value", "copy")):
            assert not {"value", "copy"} & known
        assert second_bench.FOUND_IN[0] <= part.sum() <= second_bench.FOUND_IN[1] * len(part)
        labels = table["label"].to_numpy()
        slots = len(label.classes) - 1 if isinstance(label, Classes) else label.high
        assert labels.max() == slots
        split = second_bench.second(Path(), 0, name=name, public=blind.NATURAL)
        assert len(split.public) == blind.PUBLIC_ROWS
        assert len(split.private) + len(split.test) == (~part).sum()


def test_another_default_is_not_measured_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the draw the bench is skipped, and after it by all but the default that drew it."""
    monkeypatch.setattr(blind, "package_absent", list)
    (missing,) = second_bench.absent()
    assert "made at a release" in missing
    second_bench.draw(blind.hash_of_default(), second_bench.SETS)
    assert second_bench.absent() == []
    second_bench.sets.cache_clear()
    second_bench.draw("f" * 64, second_bench.SETS)
    (other,) = second_bench.absent()
    assert other.startswith("the default ffffffffffff (here: ")


def test_words_of_the_repository_are_those_of_its_files() -> None:
    """The first bench's items are among them, so that they are not drawn."""
    words = {*second_bench.words("`AER/CPS1988` and my.table_2; β")}
    assert words == {"aer", "cps1988", "and", "my.table_2"}


@pytest.mark.slow
def test_what_the_first_bench_used_is_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    used = second_bench.words_of_the_repository()
    assert {item.lower() for _, item in (one.source for one in blind.SETS.values())} <= used


def test_the_page_states_the_rules() -> None:
    """The numbers of the plan, as its code has them."""
    said = " ".join(PAGE.split())
    fewest, most = second_bench.ROWS
    low, high = second_bench.COLUMNS
    assert f"{fewest:,} rows or more, {low} to {high} columns".replace(",", " ", 1) in said
    assert f"of more than {most:,} rows".replace(",", " ") in said
    assert "first five with classes and the first three with numbers, two of a package" in said
    assert (second_bench.OF_CLASSES, second_bench.OF_NUMBERS, second_bench.PER_PACKAGE) == (5, 3, 2)
    assert "rank correlation .95, or .95 of its classes right" in said
    assert second_bench.SAME == 0.95
    assert f"texts of more than {second_bench.MOST_TEXTS} kinds" in said
    assert (
        f"2 to {second_bench.MOST_CLASSES} classes, none below {second_bench.RAREST:.0%}".replace(
            "%", " %"
        )
        in said
    )
    assert f"a number with {second_bench.FEWEST_NUMBERS} values" in said
    assert "1 000 rows or more, at most half" in said
    assert f"{blind.PACKAGE}=={blind.RELEASE}" in said
