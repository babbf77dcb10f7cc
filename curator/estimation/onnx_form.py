"""Fitted models as ONNX files, for other programs to load.

Input ``X``, ``(rows, columns)``, are encoded records in double precision; output ``values``,
``(rows, S)``, equal ``Model.predict(X).values`` up to single precision. Splits of the partition
are compared in double precision and those of the public model in single, as ``Partition`` and
``BaseModel`` define them.
"""

import numpy as np
from onnx import TensorProto, numpy_helper

from curator.estimation.evidence import Floats
from curator.estimation.model import Model
from curator.estimation.public.graph import Graph, add_base, add_trees
from protocol.domain import Range
from protocol.partition import Partition


def model_graph(model: Model) -> bytes:
    """A fitted model as an ONNX file."""
    graph, columns = Graph(), model.partition.columns
    cells = model.values if model.base_values is None else model.values - model.base_values
    result = _partition(graph, model.partition, cells)
    if model.base is not None and model.base_values is not None:
        single = graph.add("Cast", "X", to=TensorProto.FLOAT)
        result = graph.add("Add", add_base(graph, single, model.base), result)
        result = _possible(graph, result, model)
    return graph.build(result, columns, model.values.shape[1], TensorProto.DOUBLE)


def _possible(graph: Graph, result: str, model: Model) -> str:
    bounds = (model.label.low, model.label.high) if isinstance(model.label, Range) else (0.0, 1.0)
    low, high = (graph.constant(np.array(end, dtype=np.float32)) for end in bounds)
    result = graph.add("Clip", result, low, high)
    if isinstance(model.label, Range):
        return result
    axis = graph.constant(np.array([1], dtype=np.int64))
    return graph.add("Div", result, graph.add("ReduceSum", result, axis, keepdims=1))


def _partition(graph: Graph, partition: Partition, cells: Floats) -> str:
    value = np.zeros((partition.nodes, cells.shape[1]))
    value[partition.leaves] = cells
    tensor = numpy_helper.from_array(partition.threshold)
    return add_trees(
        graph,
        "X",
        tree=np.zeros(partition.nodes, dtype=np.int64),
        node=np.arange(partition.nodes),
        feature=np.maximum(partition.feature, 0),
        threshold={"nodes_values_as_tensor": tensor},
        children=(partition.left, partition.right),
        leaf=partition.is_leaf,
        value=value,
        rule="BRANCH_LT",
        double=True,
        offset=np.zeros(cells.shape[1]),
    )
