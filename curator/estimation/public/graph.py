"""Trees and linear maps as ONNX operators, and public models built from them.

``base_graph`` is what a ``BaseModel`` runs: the same splits in single precision as its own slow
definition, evaluated by onnxruntime.
"""

from itertools import count
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from curator.estimation.evidence import Floats
from curator.estimation.public.base_model import BaseModel, Linear, Trees

OPSETS = (("", 17), ("ai.onnx.ml", 3))
IR_VERSION = 8


class Graph:
    """A graph under construction: nodes, constants, and fresh names."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._numbers = count()

    def add(self, operation: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """Append a node; the name of its output."""
        name = f"{operation}_{next(self._numbers)}"
        self.nodes.append(
            helper.make_node(operation, list(inputs), [name], domain=domain, **attributes)
        )
        return name

    def constant(self, value: NDArray[Any]) -> str:
        """Append a constant; its name."""
        name = f"constant_{next(self._numbers)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def build(self, result: str, columns: int, width: int, kind: int) -> bytes:
        """The finished model as bytes, its input of the given element type."""
        self.nodes.append(helper.make_node("Identity", [result], ["values"]))
        graph = helper.make_graph(
            self.nodes,
            "privet",
            [helper.make_tensor_value_info("X", kind, [None, columns])],
            [helper.make_tensor_value_info("values", TensorProto.FLOAT, [None, width])],
            self.constants,
        )
        opsets = [helper.make_opsetid(domain, version) for domain, version in OPSETS]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)
        onnx.checker.check_model(model)
        return bytes(model.SerializeToString())


def base_graph(base: BaseModel, columns: int, width: int) -> bytes:
    """A public model as an ONNX file whose input is in single precision."""
    graph = Graph()
    return graph.build(add_base(graph, "X", base), columns, width, TensorProto.FLOAT)


def add_base(graph: Graph, single: str, base: BaseModel) -> str:
    """Append a public model on a single-precision input; the name of its output."""
    parts = []
    for weight, component in zip(base.weights, base.components, strict=True):
        if isinstance(component, Linear):
            raw = _linear(graph, single, component)
        else:
            raw = _trees(graph, single, component)
        linked = graph.add("Softmax", raw, axis=1) if component.link == "softmax" else raw
        parts.append(graph.add("Mul", linked, graph.constant(np.array(weight, np.float32))))
    return graph.add("Sum", *parts)


def _linear(graph: Graph, single: str, component: Linear) -> str:
    coefficients = graph.constant(component.coefficients.astype(np.float32))
    intercept = graph.constant(component.intercept.astype(np.float32))
    return graph.add("Add", graph.add("MatMul", single, coefficients), intercept)


def _trees(graph: Graph, single: str, component: Trees) -> str:
    sizes = np.diff(np.append(component.roots, len(component.feature)))
    tree = np.repeat(np.arange(len(sizes)), sizes)
    start = np.repeat(component.roots, sizes)
    return add_trees(
        graph,
        single,
        tree=tree,
        node=np.arange(len(tree)) - start,
        feature=component.feature,
        threshold={"nodes_values": component.threshold.tolist()},
        children=(component.left - start, component.right - start),
        leaf=component.left < 0,
        value=component.value,
        rule="BRANCH_LEQ",
        double=False,
        offset=component.offset,
    )


def add_trees(
    graph: Graph,
    source: str,
    *,
    tree: NDArray[Any],
    node: NDArray[Any],
    feature: NDArray[Any],
    threshold: dict[str, Any],
    children: tuple[NDArray[Any], NDArray[Any]],
    leaf: NDArray[np.bool_],
    value: NDArray[Any],
    rule: str,
    double: bool,
    offset: Floats,
) -> str:
    """A ``TreeEnsembleRegressor`` that adds the leaves' values up."""
    leaves, width = np.flatnonzero(leaf), value.shape[1]
    weights = value[leaves].ravel()
    told = (
        {"target_weights_as_tensor": numpy_helper.from_array(weights.astype(np.float64))}
        if double
        else {"target_weights": weights.tolist()}
    )
    start = (
        {"base_values_as_tensor": numpy_helper.from_array(offset.astype(np.float64))}
        if double
        else {"base_values": offset.tolist()}
    )
    return graph.add(
        "TreeEnsembleRegressor",
        source,
        domain="ai.onnx.ml",
        n_targets=width,
        aggregate_function="SUM",
        post_transform="NONE",
        nodes_treeids=tree.tolist(),
        nodes_nodeids=node.tolist(),
        nodes_featureids=feature.tolist(),
        nodes_modes=np.where(leaf, "LEAF", rule).tolist(),
        nodes_truenodeids=np.where(leaf, 0, children[0]).tolist(),
        nodes_falsenodeids=np.where(leaf, 0, children[1]).tolist(),
        target_treeids=np.repeat(tree[leaves], width).tolist(),
        target_nodeids=np.repeat(node[leaves], width).tolist(),
        target_ids=np.tile(np.arange(width), len(leaves)).tolist(),
        **threshold,
        **told,
        **start,
    )
