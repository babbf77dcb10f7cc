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

    def build(self, result: str, columns: int, width: int) -> bytes:
        """The finished model as bytes; its input ``X`` is in single precision."""
        self.nodes.append(helper.make_node("Identity", [result], ["values"]))
        graph = helper.make_graph(
            self.nodes,
            "privet",
            [helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, columns])],
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
    return graph.build(add_base(graph, "X", base), columns, width)


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
    node, leaf = np.arange(len(tree)) - start, component.left < 0
    leaves, width = np.flatnonzero(leaf), component.value.shape[1]
    return graph.add(
        "TreeEnsembleRegressor",
        single,
        domain="ai.onnx.ml",
        n_targets=width,
        aggregate_function="SUM",
        post_transform="NONE",
        base_values=component.offset.tolist(),
        nodes_treeids=tree.tolist(),
        nodes_nodeids=node.tolist(),
        nodes_featureids=component.feature.tolist(),
        nodes_values=component.threshold.tolist(),
        nodes_modes=np.where(leaf, "LEAF", "BRANCH_LEQ").tolist(),
        nodes_truenodeids=np.where(leaf, 0, component.left - start).tolist(),
        nodes_falsenodeids=np.where(leaf, 0, component.right - start).tolist(),
        target_treeids=np.repeat(tree[leaves], width).tolist(),
        target_nodeids=np.repeat(node[leaves], width).tolist(),
        target_ids=np.tile(np.arange(width), len(leaves)).tolist(),
        target_weights=component.value[leaves].ravel().tolist(),
    )
