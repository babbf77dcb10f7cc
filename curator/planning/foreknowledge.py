"""The public models of a study: fitted once per rotation and part, then shared by all trials.

They are the curator's own stack with fewer trees. All candidates are fitted to each rotation's rows
but the judges'. What they say of their judges settles a rotation's weights, without that of its own
judges, and the models of fewer rows have the same weights.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from privet.curator.planning.rotations import Part, Rotation
from privet.curator.public_data import Floats, PublicData
from privet.curator.public_model.base import BaseModel
from privet.curator.public_model.candidates import VALIDATION_TREES, candidates
from privet.curator.public_model.knowledge import Knowledge
from privet.curator.public_model.stacking import constant, fitted, mixed, too_few, weights_for


@dataclass(frozen=True, eq=False)
class Foreknowledge:
    """What public records alone say, by the number of the rotation and the part they play.

    ``slots`` is the number of classes, or 0 for a numeric label.
    """

    public: PublicData
    slots: int
    rotations: tuple[Rotation, ...]
    _models: dict[tuple[int, Part], BaseModel] = field(default_factory=dict)
    _judged: dict[tuple[int, Part], Floats] = field(default_factory=dict)

    def rows(self, number: int, part: Part) -> PublicData:
        """The records that are the public data."""
        chosen = self.rotations[number].public(part)
        return PublicData(self.public.X[chosen], self.public.y[chosen])

    def model(self, number: int, part: Part) -> BaseModel:
        """The public model of these records."""
        key = (number, part)
        if key not in self._models:
            self._models[key] = self._stack(number, part)
        return self._models[key]

    def knowledge(self, number: int, part: Part) -> Knowledge:
        """The public model with its scores at reference points."""
        return Knowledge.of(self.model(number, part), self.rows(number, part).X)

    def judged(self, number: int, part: Part) -> Floats:
        """What the public model says of the rotation's judges, ``(judges, S)``."""
        key = (number, part)
        if key not in self._judged:
            judges = self.public.X[self.rotations[number].judges]
            self._judged[key] = self.model(number, part).predict(judges)
        return self._judged[key]

    def _stack(self, number: int, part: Part) -> BaseModel:
        records = self.rows(number, part)
        if too_few(records.y):
            return constant(records.y, records.X.shape[1], self.slots)
        members = candidates(len(records), records.X.shape[1], self.slots)
        weights = self._weights(number)
        models = (
            self._on_most[number]
            if part is Part.MOST
            else fitted(members, records.X, records.y, self.slots, weights, VALIDATION_TREES)
        )
        return mixed(members, models, weights)

    @cached_property
    def _on_most(self) -> list[list[BaseModel]]:
        """Every candidate fitted to all rows but a rotation's judges, by rotation."""
        found = []
        for number in range(len(self.rotations)):
            records = self.rows(number, Part.MOST)
            X, y = records.X, records.y
            members = candidates(len(X), X.shape[1], self.slots)
            models = fitted(members, X, y, self.slots, np.ones(len(members)), VALIDATION_TREES)
            found.append([model for model in models if model is not None])
        return found

    @cached_property
    def _out_of_fold(self) -> Floats:
        """What each candidate says of each row when the row is a judge, ``(members, rows, S)``."""
        said = np.zeros((len(self._on_most[0]), len(self.public), self.slots or 1))
        for rotation, models in zip(self.rotations, self._on_most, strict=True):
            for place, model in enumerate(models):
                said[place, rotation.judges] = model.predict(self.public.X[rotation.judges])
        return said

    def _weights(self, number: int) -> Floats:
        others = self.rotations[number].public(Part.MOST)
        members = candidates(len(others), self.public.X.shape[1], self.slots)
        return weights_for(members, self._out_of_fold[:, others], self.public.y[others], self.slots)
