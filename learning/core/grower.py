"""A grower: its function from public data to a partition, with its default depth and checks."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privet.protocol.partition import Partition

from .growth import Growth, GrowthSpec, check, lpct_depth
from .public_data import Floats
from .public_model import BaseModel
from .strata import Disclosure, grow_strata


@dataclass(frozen=True)
class Grower:
    """Grows a partition of the encoded feature space on public data.

    ``grow`` divides the space by the records it gets; it does not need to know of disclosed
    columns, since for them it is called in parts, with some of the columns and of the records (a
    part's labels may be equal). ``prepare`` first replaces the public records, for ``distilled``
    by points with the scores of the public model.

    ``default_depth(holders, epsilon, columns=..., public_rows=..., centred=...)`` is at least 1;
    ``centred`` numbers are reported relative to a centre. ``uses_public_model``: its cells follow
    the public model, so that numeric labels are reported relative to the model's mean in their cell
    unless the settings say otherwise.
    """

    name: str
    grow: Callable[[Growth], Partition]
    default_depth: Callable[..., int] = lpct_depth
    uses_public_model: bool = False
    prepare: Callable[[Growth], Growth] | None = None

    def __call__(
        self,
        X: Floats,
        y: Floats,
        spec: GrowthSpec,
        *,
        classes: int,
        base: BaseModel | None = None,
        register: Floats | None = None,
        disclosure: Disclosure | None = None,
    ) -> Partition:
        """A partition of at most ``2**depth`` cells; arguments as in ``Growth``.

        With ``disclosure`` its upper part splits on disclosed columns only. The result depends on
        the arguments only. Raises ``InvalidTask`` for a depth that cannot be served or could make
        too many cells, and ``InvalidPublicData`` for unusable data.
        """
        growth = Growth(X, y, classes, spec, np.random.default_rng(spec.seed), base, register)
        check(growth)
        if self.prepare is not None:
            growth = self.prepare(growth)
        return (
            self.grow(growth) if disclosure is None else grow_strata(self.grow, growth, disclosure)
        )
