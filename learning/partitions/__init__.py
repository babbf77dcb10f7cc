"""Growing partitions on public data: ``GROWERS`` by name.

``GROWERS[name](X, y, GrowthSpec(depth=...), classes=...)`` returns a
``privet.protocol.partition.Partition``.
To add a grower, write its file and its line here, or put a ``Grower`` into the dict at run time.
"""

from . import cart, distilled, grid, max_edge
from .grid import grid_partition
from .grower import Grower
from .growth import CRITERIA, Growth, GrowthSpec, default_criterion, lpct_depth
from .shown import Shown, least_rows, unexplained

GROWERS: dict[str, Grower] = {
    grower.name: grower
    for grower in (
        Grower("max_edge", max_edge.max_edge),
        Grower("random_max_edge", max_edge.random_max_edge),
        Grower("cart", cart.cart),
        Grower("grid", grid.grid, grid.grid_depth),
        Grower(
            "distilled",
            distilled.distilled,
            distilled.distilled_depth,
            uses_public_model=True,
            prepare=distilled.scored,
        ),
    )
}

__all__ = [
    "CRITERIA",
    "GROWERS",
    "Grower",
    "Growth",
    "GrowthSpec",
    "Shown",
    "default_criterion",
    "grid_partition",
    "least_rows",
    "lpct_depth",
    "unexplained",
]
