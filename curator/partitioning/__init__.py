"""Growing partitions on public data: a name becomes a grower or a criterion in one dict.

``GROWERS[name](X, y, depth=..., classes=..., criterion=..., min_leaf=..., rng=...)`` returns a
``privet.protocol.partition.Partition``. To add one, write its file and its line here.
"""

from privet.curator.partitioning.cart import cart
from privet.curator.partitioning.checks import Grower
from privet.curator.partitioning.criterion import CRITERIA, default_criterion
from privet.curator.partitioning.depth import default_depth
from privet.curator.partitioning.distilled import distilled
from privet.curator.partitioning.grid import grid, grid_partition
from privet.curator.partitioning.max_edge import max_edge, random_max_edge

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
