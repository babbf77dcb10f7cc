"""The folds of a plan's simulated collections, and the public models of each fold.

Strategy. The public rows are split into five parts, stratified by label. In each of five folds two
parts are the public data, two are the holders whose reports are simulated, the fifth is the test
set; so every row is tested once, and never on a model that was fitted to it. The holders' records
are repeated as evenly as possible up to the planned number of holders. A few distinct records
contain only so much information, however often they are repeated: with many more holders than
public records, the trial understates the information in a real population.

The public models are the curator's own stack with fewer trees. All candidates are fitted to each
fold's rows except the test set. A fold's stacking weights come from the predictions for the other
folds' test sets, and its models of fewer rows have the same weights.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from privet.curator.estimation.counts import Label
from privet.curator.public_data import Floats, PublicData
from privet.curator.public_model.base import BaseModel
from privet.curator.public_model.candidates import VALIDATION_TREES, candidates
from privet.curator.public_model.stacking import constant, fitted, mixed, too_few, weights_for
from privet.protocol.errors import InvalidPublicData
from privet.protocol.features import Classes

Integers = NDArray[np.int64]

PARTS = 5
FEWEST_RECORDS = 20


class Part(StrEnum):
    """Which of a fold's rows are the public data."""

    HALF = "half of the known ones"
    KNOWN = "the known ones"
    MOST = "all but the test set"


@dataclass(frozen=True, eq=False)
class Fold:
    """Row numbers of a fold's parts."""

    known: Integers
    holders: Integers
    test: Integers

    def public(self, part: Part) -> Integers:
        """The rows that are the public data."""
        if part is Part.MOST:
            return np.concatenate([self.known, self.holders])
        return self.known[::2] if part is Part.HALF else self.known


def make_folds(label: Label, public: PublicData, seed: int) -> tuple[Fold, ...]:
    """Five folds, stratified by label.

    Raises ``InvalidPublicData`` unless every part can have records of two labels.
    """
    if len(public) < FEWEST_RECORDS:
        raise InvalidPublicData(
            f"Planning needs at least {FEWEST_RECORDS} public records, and there are "
            f"{len(public)}: add some, or create the task without a plan."
        )
    common = np.sort(np.unique(public.y, return_counts=True)[1])[::-1]
    if isinstance(label, Classes) and (len(common) < 2 or common[1] < PARTS):
        raise InvalidPublicData(
            f"Planning needs at least {PARTS} public records of each of two classes: "
            "add records of the rarer ones, or create the task without a plan."
        )
    shuffled = np.random.default_rng(seed).permutation(len(public))
    by_label = shuffled[np.argsort(public.y[shuffled], kind="stable")]
    parts = [by_label[part::PARTS] for part in range(PARTS)]
    return tuple(
        Fold(
            known=np.concatenate([parts[(place + step) % PARTS] for step in (1, 2)]),
            holders=np.concatenate([parts[(place + step) % PARTS] for step in (3, 4)]),
            test=parts[place],
        )
        for place in range(PARTS)
    )


def spread(holders: int, records: int, rng: np.random.Generator) -> Integers:
    """How many holders have each record: as evenly as possible, the rest drawn at random."""
    copies = np.full(records, holders // records, dtype=np.int64)
    copies[rng.permutation(records)[: holders % records]] += 1
    return copies


@dataclass(frozen=True, eq=False)
class FoldModels:
    """The public models, fitted once per fold and part; ``slots`` is 0 for a numeric label."""

    public: PublicData
    slots: int
    folds: tuple[Fold, ...]
    _models: dict[tuple[int, Part], BaseModel] = field(default_factory=dict)

    def rows(self, number: int, part: Part) -> PublicData:
        """The records that are a fold's public data."""
        chosen = self.folds[number].public(part)
        return PublicData(self.public.X[chosen], self.public.y[chosen])

    def model(self, number: int, part: Part) -> BaseModel:
        """The public model of these records."""
        key = (number, part)
        if key not in self._models:
            self._models[key] = self._fit(number, part)
        return self._models[key]

    def predictions(self, number: int, part: Part) -> Floats:
        """The public model's predictions for the fold's test rows, ``(test rows, S)``."""
        return self.model(number, part).predict(self.public.X[self.folds[number].test])

    def _fit(self, number: int, part: Part) -> BaseModel:
        data = self.rows(number, part)
        if too_few(data.y):
            return constant(data.y, data.X.shape[1], self.slots)
        members = candidates(len(data), data.X.shape[1], self.slots)
        weights = self._weights(number)
        if part is Part.MOST:
            return mixed(members, self._on_most[number], weights)
        trees = [VALIDATION_TREES if weight > 0.0 else 0 for weight in weights]
        models = fitted(members, data.X, data.y, self.slots, trees)
        return mixed(members, models, weights)

    @cached_property
    def _on_most(self) -> list[list[BaseModel]]:
        """For each fold, every candidate fitted to all rows except the test set."""
        by_fold = []
        for number in range(len(self.folds)):
            data = self.rows(number, Part.MOST)
            members = candidates(len(data), data.X.shape[1], self.slots)
            trees = [VALIDATION_TREES] * len(members)
            models = fitted(members, data.X, data.y, self.slots, trees)
            by_fold.append([model for model in models if model is not None])
        return by_fold

    @cached_property
    def _out_of_fold(self) -> Floats:
        """Each candidate's out-of-fold predictions, ``(members, rows, S)``."""
        predicted = np.zeros((len(self._on_most[0]), len(self.public), self.slots or 1))
        for fold, models in zip(self.folds, self._on_most, strict=True):
            for place, model in enumerate(models):
                predicted[place, fold.test] = model.predict(self.public.X[fold.test])
        return predicted

    def _weights(self, number: int) -> Floats:
        others = self.folds[number].public(Part.MOST)
        members = candidates(len(others), self.public.X.shape[1], self.slots)
        return weights_for(members, self._out_of_fold[:, others], self.public.y[others], self.slots)
