"""Trees in bulk: traversal, cell tables, sums over nodes, descriptions."""

from privet.curator.trees.cell_table import locate
from privet.curator.trees.descriptions import describe_node, describe_path
from privet.curator.trees.nodes import ancestors, boxes, node_depth, node_sums
from privet.curator.trees.traversal import Traversal

__all__ = [
    "Traversal",
    "ancestors",
    "boxes",
    "describe_node",
    "describe_path",
    "locate",
    "node_depth",
    "node_sums",
]
