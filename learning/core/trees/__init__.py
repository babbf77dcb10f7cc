"""Trees in bulk: traversal, sums over nodes, descriptions."""

from .descriptions import describe_node, describe_path, name_of_group, path_to, readable_path
from .nodes import ancestors, boxes, cell_sums, common_node, node_sums
from .traversal import Traversal, locate

__all__ = [
    "Traversal",
    "ancestors",
    "boxes",
    "cell_sums",
    "common_node",
    "describe_node",
    "describe_path",
    "locate",
    "name_of_group",
    "node_sums",
    "path_to",
    "readable_path",
]
