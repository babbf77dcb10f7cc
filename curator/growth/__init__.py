"""Growing partitions on public data: a name becomes a grower or a criterion in one dict.

``GROWERS[name](X, y, depth=..., classes=..., criterion=..., min_leaf=..., rng=...)`` returns a
``protocol.partition.Partition``. To add one, write its file and its line here.
"""

from curator.growth.cart import cart
from curator.growth.checks import Grower
from curator.growth.criterion import CRITERIA, default_criterion
from curator.growth.depth import default_depth
from curator.growth.distilled import distilled
from curator.growth.grid import grid, grid_partition
from curator.growth.max_edge import max_edge, random_max_edge

GROWERS: dict[str, Grower] = {
    "max_edge": max_edge,
    "random_max_edge": random_max_edge,
    "cart": cart,
    "grid": grid,
    "distilled": distilled,
}

__all__ = [
    "CRITERIA",
    "GROWERS",
    "Grower",
    "default_criterion",
    "default_depth",
    "grid_partition",
]
