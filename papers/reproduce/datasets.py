"""The data sets of the papers' tables.

The sets are split as their protocols say (see their folder's README). They are not part of the
project; ``--data`` names the folder that holds them.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv
from sklearn.model_selection import train_test_split

from privet.learning.core.public_data import PublicData
from privet.protocol.features import Categorical, Classes, Numeric, Range, encode_table

Floats = NDArray[np.float64]

PUBLIC_ROWS = {"anonymity": 50, "diabetes": 200, "email": 200, "employ": 200, "rice": 3510}
"""Sets in one file, whose first rows are public; of rice, which is sorted by class, random ones."""
CLASSIFICATION = (*PUBLIC_ROWS, "census")
REGRESSION = ("abalone", "airfoil", "concrete", "ccpp", "wine_red", "wine_white")
CLASSES = Classes(name="label", classes=("0", "1"))
KNOWN = {
    "anonymity": ("Internet", "Smartphone", "Sex", "Age", "Region"),
    "diabetes": ("Age", "Pregnancies", "BMI"),
    "employ": (
        *("GENERAL APPEARANCE", "MANNER OF SPEAKING"),
        *("PHYSICAL CONDITION", "Student Performance Rating"),
    ),
    "rice": ("Major_Axis_Length", "Minor_Axis_Length", "Perimeter"),
    "census": ("age", "sex", "race", "marital-status", "relationship"),
    "survey": ("age", "years_married", "children"),
    "abalone": ("sex_coded", "length", "diameter", "height"),
    "airfoil": ("frequency", "angle_of_attack", "chord_length"),
    "concrete": ("cement", "water", "fine_aggregate", "age"),
    "ccpp": ("AT", "AP"),
    "wine_red": ("fixed_acidity", "density", "pH", "alcohol"),
    "wine_white": ("fixed_acidity", "density", "pH", "alcohol"),
}
"""Columns that a collector would plausibly know: what a panel has on file of its members; what a
doctor sees; what anybody sees or hears, and the school has on file; what a caliper measures; what
a register holds; of numbers, what is measured first."""


@dataclass(frozen=True, eq=False)
class Split:
    """Public, private and test rows, encoded on the public rows' ranges.

    ``chance`` is P(y = 1 | x) at the test rows where it is known, or all classes' probabilities
    ``(rows, classes)``; their labels are not used then. ``known`` are the numbers of the columns
    that a collector would know of everybody.
    """

    public: PublicData
    private: PublicData
    test: PublicData
    label: Classes | Range
    chance: Floats | None = None
    known: tuple[int, ...] = ()


def files_of(name: str) -> tuple[str, ...]:
    """The names of a set's files."""
    parts = ("census_public", "census_private") if name == "census" else (name,)
    return tuple(f"{part}.csv.gz" for part in parts)


def classification(folder: Path, seed: int, *, name: str) -> Split:
    """LPCT's Table 2: public rows fixed, private rows split 80 : 20 at random.

    Of rice the paper drew 300 private rows at random and does not say which, so that every seed
    draws its own.
    """
    if name != "rice":
        return _eighty_twenty(*_encoded(folder, name), seed)
    table = _read(folder / "rice.csv.gz")
    order = np.random.default_rng([seed, 3]).permutation(table.num_rows)
    public, rest = np.split(order, [PUBLIC_ROWS[name]])
    return _eighty_twenty(*encode_tables(name, table.take(public), table.take(rest)), seed)


def first_rows_public(file: Path, rows: int, seed: int) -> Split:
    """The same of any CSV file with a last column ``label`` of 0 and 1, the first rows public."""
    table = _read(file)
    return _eighty_twenty(*encode_tables("", table.slice(0, rows), table.slice(rows)), seed)


def _eighty_twenty(
    public: PublicData, rest: PublicData, known: tuple[int, ...], seed: int
) -> Split:
    train, test = train_test_split(np.arange(len(rest)), test_size=0.2, random_state=seed)
    return Split(public, take(rest, train), take(rest, test), CLASSES, known=known)


def shuffled(folder: Path, seed: int, *, name: str, public: int) -> Split:
    """All rows of a set shuffled: ``public`` of them, and the others 80 : 20."""
    first_rows, rest, known = _encoded(folder, name)
    pool = PublicData(np.vstack([first_rows.X, rest.X]), np.concatenate([first_rows.y, rest.y]))
    order = np.random.default_rng(seed).permutation(len(pool))
    first, second, third = np.split(order, [public, public + (len(pool) - public) * 4 // 5])
    return Split(take(pool, first), take(pool, second), take(pool, third), CLASSES, known=known)


def regression(folder: Path, seed: int, *, name: str) -> Split:
    """LPDT's Table 2: public, private and test rows 1 : 7 : 2 at random.

    The label's range is declared, as who asks for an age or a grade knows it: the whole set's.
    """
    table = _read(folder / f"{name}.csv.gz")
    order = np.random.default_rng(seed).permutation(table.num_rows)
    first, second = table.num_rows // 10, table.num_rows * 8 // 10
    public, rest, known = encode_tables(name, table.take(order[:first]), table.take(order[first:]))
    every = np.concatenate([public.y, rest.y])
    label = Range(name="label", low=float(every.min()), high=float(every.max()))
    private, test = np.split(np.arange(len(rest)), [second - first])
    return Split(public, take(rest, private), take(rest, test), label, known=known)


def wines(folder: Path, seed: int, red: float) -> Split:
    """White wines, a fifth of them for tests; public rows of which a share ``red`` are red wines.

    The other public rows are white wines. LPDT's section 4.3 does not say how many public rows
    there are; here they are as many as red wines.
    """
    white, reds = (_read(folder / f"wine_{colour}.csv.gz") for colour in ("white", "red"))
    rng = np.random.default_rng([seed, 4])
    n_red = round(red * reds.num_rows)
    order = rng.permutation(white.num_rows)
    n_white = reds.num_rows - n_red
    mixed = [reds.take(rng.permutation(reds.num_rows)[:n_red]), white.take(order[:n_white])]
    public, rest, _ = encode_tables("", pa.concat_tables(mixed), white.take(order[n_white:]))
    test, private = np.split(np.arange(len(rest)), [white.num_rows // 5])
    label = Range(name="label", low=0.0, high=10.0)
    return Split(public, take(rest, private), take(rest, test), label)


def take(data: PublicData, rows: NDArray[np.int64]) -> PublicData:
    """Some rows of encoded data."""
    return PublicData(data.X[rows], data.y[rows])


@cache
def _encoded(folder: Path, name: str) -> tuple[PublicData, PublicData, tuple[int, ...]]:
    if name == "census":
        parts = (_read(folder / f"census_{part}.csv.gz") for part in ("public", "private"))
        return encode_tables(name, *parts)
    table, rows = _read(folder / f"{name}.csv.gz"), PUBLIC_ROWS[name]
    return encode_tables(name, table.slice(0, rows), table.slice(rows))


@cache
def _read(file: Path) -> pa.Table:
    return csv.read_csv(file)


def encode_tables(
    name: str, public: pa.Table, rest: pa.Table
) -> tuple[PublicData, PublicData, tuple[int, ...]]:
    """Both tables of a set, whose last column is ``label``, and its ``known`` columns."""
    names = public.column_names[:-1]
    features = [_feature(name, public[name], rest[name]) for name in names]
    # two texts are one column, as the papers count them, and not one for each
    kept = np.concatenate([_kept(feature) for feature in features])

    def encoded(table: pa.Table) -> PublicData:
        columns = {name: table[name].to_numpy() for name in names}
        X = encode_table(features, columns)[:, kept]
        return PublicData(X, table["label"].to_numpy().astype(float))

    of_feature = np.concatenate([np.repeat(f.name, len(_kept(f))) for f in features])[kept]
    known = np.flatnonzero(np.isin(of_feature, KNOWN.get(name, ())))
    return encoded(public), encoded(rest), tuple(known.tolist())


def _kept(feature: Numeric | Categorical) -> list[bool]:
    if isinstance(feature, Numeric):
        return [True]
    return [len(feature.categories) > 2] + [True] * (len(feature.categories) - 1)


def _feature(name: str, public: pa.ChunkedArray, rest: pa.ChunkedArray) -> Numeric | Categorical:
    if pa.types.is_string(public.type):
        values = set(public.to_pylist()) | set(rest.to_pylist())
        return Categorical(name=name, categories=tuple(sorted({v.strip() for v in values})))
    values = public.to_numpy().astype(np.float64)
    return Numeric(name=name, low=float(values.min()), high=float(values.max()))
