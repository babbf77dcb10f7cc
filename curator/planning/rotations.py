"""Who plays which part: public data, holders, judges.

Strategy. The rows are dealt into five parts of like labels. In each of five rotations two parts
are the public data, two are the people whose reports are simulated, and the fifth judges; so every
row judges once, and never a model that any of its own data went into. The people's records are
used as evenly as possible until there are as many holders as planned. A few distinct records can
teach only what they know, however often they are used: with many more holders than public
records, the trial understates what a real population would teach.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from privet.curator.estimation.counts import Label
from privet.curator.planning.losses import Integers
from privet.curator.public_data import Floats, PublicData
from privet.protocol.errors import InvalidPublicData
from privet.protocol.features import Classes

PARTS = 5
FEWEST_RECORDS = 20


class Part(StrEnum):
    """Which of a rotation's rows are the public data."""

    HALF = "half of the known ones"
    KNOWN = "the known ones"
    MOST = "all but the judges"


@dataclass(frozen=True, eq=False)
class Rotation:
    """Row numbers by the part they play."""

    known: Integers
    people: Integers
    judges: Integers

    def public(self, part: Part) -> Integers:
        """The rows that are the public data."""
        if part is Part.MOST:
            return np.concatenate([self.known, self.people])
        return self.known[::2] if part is Part.HALF else self.known


def check_records(label: Label, public: PublicData) -> None:
    """Raise ``InvalidPublicData`` unless every part can have records of two labels."""
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


def deal(y: Floats, seed: int) -> tuple[Rotation, ...]:
    """Five rotations over parts that have like labels."""
    shuffled = np.random.default_rng(seed).permutation(len(y))
    by_label = shuffled[np.argsort(y[shuffled], kind="stable")]
    parts = [by_label[part::PARTS] for part in range(PARTS)]
    return tuple(
        Rotation(
            known=_joined(parts[(judge + step) % PARTS] for step in (1, 2)),
            people=_joined(parts[(judge + step) % PARTS] for step in (3, 4)),
            judges=parts[judge],
        )
        for judge in range(PARTS)
    )


def spread(holders: int, records: int, rng: np.random.Generator) -> Integers:
    """How many holders have each record: as evenly as possible, the rest drawn at random."""
    copies = np.full(records, holders // records, dtype=np.int64)
    copies[rng.permutation(records)[: holders % records]] += 1
    return copies


def _joined(parts: Iterable[Integers]) -> Integers:
    return np.concatenate(list(parts))
