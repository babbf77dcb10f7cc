"""A model as an ONNX graph: raw features in, label, values, cell and its interval out.

One input per feature, ``feature <name>``, of shape ``(rows, 1)``: double for a number (NaN if
missing), string for a category (empty if missing). The graph encodes them as ``protocol.features``
does. An unlisted category for which the task has no stand-in is in none of the categories, since
a graph cannot refuse a record.
"""

from collections.abc import Callable
from contextlib import suppress
from itertools import count, starmap
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, checker, compose, helper, numpy_helper, version_converter

from privet.protocol.errors import InvalidRecord, InvalidRequest
from privet.protocol.features import Categorical, Classes, Feature, Numeric
from privet.protocol.partition import Partition
from privet.protocol.task import Task
from privet.protocol.values import MISSING_TEXTS

from ..core.model import FittedModel, Model
from ..core.onnx import ML, open_session, read_graph
from ..core.public_model import BaseModel, Component, Linear, OnnxModel, Trees

PREFIX = "public model/"
OLDEST_ENCODER = 2
"""Version of ai.onnx.ml since which LabelEncoder means what it does now."""
OPSET, ML_OPSET, IR_VERSION = 18, 3, 9
DOUBLE, INT64 = TensorProto.DOUBLE, TensorProto.INT64
WRITING = Lock()


def write_onnx(task: Task, fitted: FittedModel) -> bytes:
    """The serialized graph; its metadata say which model of which task it is.

    One is written at a time: a public model of a million nodes takes some 700 MB meanwhile.
    """
    facts = {
        "task": task.id,
        "model": fitted.number,
        "estimator": fitted.model.estimator,
        "reports": fitted.model.n,
        "epsilon": task.epsilon,
        **({} if fitted.model.span is None else {"span": fitted.model.span}),
        **fitted.model.facts,
    }
    with WRITING:
        graph = Graph(task)
        X = graph.add("Concat", *[encode(graph, feature) for feature in task.features], axis=1)
        predict(graph, fitted.model, X)
        model = graph.model
        model.producer_name = "privet"
        model.opset_import.extend(starmap(helper.make_opsetid, graph.versions.items()))
        helper.set_model_props(model, {name: str(value) for name, value in facts.items()})
        written = bytes(model.SerializeToString())
        checker.check_model(written)
        return written


class Graph:
    """Nodes and constants as they are added; every result gets a name of its own.

    They go straight into the model's message, since those of large public models take much memory.
    """

    def __init__(self, task: Task) -> None:
        self.model = ModelProto(ir_version=IR_VERSION)
        self.versions = {"": OPSET, ML: ML_OPSET}
        self._graph = self.model.graph
        self._graph.name = "privet"
        self._graph.input.extend(
            helper.make_tensor_value_info(
                _input(feature), TensorProto.STRING if feature.names else DOUBLE, ["rows", 1]
            )
            for feature in task.features
        )
        self._numbers = count()

    def add(self, operator: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """The name of the result of one more node."""
        result = f"r{next(self._numbers)}"
        node = helper.make_node(operator, inputs, [result], domain=domain, **attributes)
        self._graph.node.append(node)
        return result

    def constant(self, value: Any) -> str:
        """The name of a constant: numbers as doubles, unless given as an array of another type."""
        name = f"c{next(self._numbers)}"
        array = value if isinstance(value, np.ndarray) else np.asarray(value, dtype=np.float64)
        self._graph.initializer.append(numpy_helper.from_array(array, name))
        return name

    def output(self, name: str, result: str, kind: int, shape: list[Any]) -> None:
        """Call a result an output."""
        self._graph.node.append(helper.make_node("Identity", [result], [name]))
        self._graph.output.append(helper.make_tensor_value_info(name, kind, shape))


def encode(graph: Graph, feature: Feature) -> str:
    """A feature's encoded columns, as ``privet.protocol.features`` has them."""
    columns: Callable[[Graph, Any, str], str] = _indicators if feature.names else _number
    return columns(graph, feature, _input(feature))


def predict(graph: Graph, model: Model, X: str) -> None:
    """``Model.predict`` on encoded columns, as outputs."""
    cells = locate(graph, model.partition, X)
    values, cell_low, cell_high = (
        graph.add("Gather", graph.constant(table), cells, axis=0)
        for table in (model.values, model.low, model.high)
    )
    if model.base is not None and model.base_values is not None:
        cell_means = graph.add("Gather", graph.constant(model.base_values), cells, axis=0)
        shift = graph.add("Sub", score(graph, model.base, X), cell_means)
        if model.base_slope is not None:
            slope = graph.add("Gather", graph.constant(model.base_slope), cells, axis=0)
            shift = graph.add("Mul", slope, shift)
        ends = [graph.constant(np.float64(end)) for end in model.label.bounds]
        values = graph.add("Clip", graph.add("Add", values, shift), *ends)
        if isinstance(model.label, Classes):
            total = graph.add("ReduceSum", values, graph.constant(np.array([1])), keepdims=1)
            values = graph.add("Div", values, graph.add("Max", total, graph.constant(1e-300)))
    tables = {"values": values, "cell_low": cell_low, "cell_high": cell_high}
    _outputs(graph, model, tables, cells)


def locate(graph: Graph, partition: Partition, X: str) -> str:
    """The cell of each row, int64 of shape ``(rows,)``: below the threshold is left."""
    numbers = np.maximum(partition.cell_of_node, 0).astype(np.float64)[:, None]
    leaf_values = _trees(
        graph,
        X,
        "BRANCH_LT",
        (partition.feature, partition.threshold, partition.left, partition.right),
        numbers,
        np.zeros(1, dtype=np.int64),
    )
    flat = graph.add("Reshape", leaf_values, graph.constant(np.array([-1])))
    return graph.add("Cast", flat, to=INT64)


def score(graph: Graph, base: BaseModel, X: str) -> str:
    """``BaseModel.predict``: columns are read in single precision."""
    single = graph.add("Cast", graph.add("Cast", X, to=TensorProto.FLOAT), to=DOUBLE)
    parts = [
        graph.add("Mul", _component(graph, component, single), graph.constant(np.float64(weight)))
        for component, weight in zip(base.components, base.weights, strict=True)
    ]
    return graph.add("Sum", *parts)


def _component(graph: Graph, component: Component, X: str) -> str:
    if isinstance(component, OnnxModel):
        return _uploaded(graph, component, X)
    if isinstance(component, Trees):
        trees = (component.feature, component.threshold, component.left, component.right)
        total = _trees(graph, X, "BRANCH_LEQ", trees, component.value, component.roots)
        raw = graph.add(
            "Add", graph.add("Cast", total, to=DOUBLE), graph.constant(component.offset)
        )
    elif isinstance(component, Linear):
        raw = graph.add("MatMul", X, graph.constant(component.coefficients))
        raw = graph.add("Add", raw, graph.constant(component.intercept))
    else:
        raise InvalidRequest(
            f"A public model of the kind {component.kind!r} cannot be exported: upload it as ONNX."
        )
    return graph.add("Softmax", raw, axis=1) if component.link == "softmax" else raw


def _uploaded(graph: Graph, component: OnnxModel, X: str) -> str:
    """Nodes that compute ``OnnxModel.predict``."""
    raw = _join(
        graph.model,
        graph.versions,
        component.data,
        graph.add("Cast", X, to=TensorProto.FLOAT),
    )
    shape = graph.constant(np.array([-1, component.width]))
    scores = graph.add("Cast", graph.add("Reshape", raw, shape), to=DOUBLE)
    if component.width == 1:
        return scores
    scores = graph.add("Max", scores, graph.constant(0.0))
    total = graph.add("ReduceSum", scores, graph.constant(np.array([1])), keepdims=1)
    return graph.add("Div", scores, total)


def _trees(
    graph: Graph,
    X: str,
    mode: str,
    arrays: tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]],
    values: NDArray[Any],
    roots: NDArray[Any],
) -> str:
    """The sum over trees of the value of each row's leaf, ``(rows, S)`` in single precision."""
    feature, threshold, left, right = arrays
    nodes = np.arange(len(left))
    tree = np.searchsorted(roots, nodes, side="right") - 1
    leaf, targets = left < 0, values.shape[1]
    leaves = np.repeat(nodes[leaf], targets)
    return graph.add(
        "TreeEnsembleRegressor",
        X,
        domain=ML,
        n_targets=targets,
        nodes_treeids=tree.tolist(),
        nodes_nodeids=nodes.tolist(),
        nodes_featureids=np.maximum(feature, 0).tolist(),
        nodes_modes=["LEAF" if is_leaf else mode for is_leaf in leaf],
        nodes_values_as_tensor=numpy_helper.from_array(threshold.astype(np.float64), "thresholds"),
        nodes_truenodeids=np.maximum(left, 0).tolist(),
        nodes_falsenodeids=np.maximum(right, 0).tolist(),
        target_treeids=tree[leaves].tolist(),
        target_nodeids=leaves.tolist(),
        target_ids=np.tile(np.arange(targets), int(leaf.sum())).tolist(),
        target_weights_as_tensor=numpy_helper.from_array(
            values[leaf].astype(np.float64).ravel(), "weights"
        ),
    )


def _number(graph: Graph, feature: Numeric, value: str) -> str:
    if feature.missing is not None:
        stand_in = graph.constant([[feature.missing]])
        value = graph.add("Where", graph.add("IsNaN", value), stand_in, value)
    if feature.high == feature.low:
        return graph.add("Mul", value, graph.constant([[0.0]]))
    above = graph.add("Sub", value, graph.constant([[feature.low]]))
    share = graph.add("Div", above, graph.constant([[feature.high - feature.low]]))
    return graph.add(
        "Clip", share, graph.constant(np.float64(0.0)), graph.constant(np.float64(1.0))
    )


def _indicators(graph: Graph, feature: Categorical, value: str) -> str:
    names, size = feature.categories, len(feature.categories)
    places = _places(feature)
    index = graph.add(
        "LabelEncoder",
        value,
        domain=ML,
        keys_strings=list(places),
        values_int64s=list(places.values()),
        default_int64=size if feature.unknown is None else names.index(feature.unknown),
    )
    same = graph.add("Equal", index, graph.constant(np.arange(size)[None, :]))
    return graph.add("Cast", same, to=DOUBLE)


def _places(feature: Categorical) -> dict[str, int]:
    """Texts that fit a feature, and the places of their categories."""
    places = {}
    for text in (*feature.categories, *MISSING_TEXTS):
        with suppress(InvalidRecord):
            places[text] = feature.encode(text).index(1.0)
    return places


def _outputs(graph: Graph, model: Model, results: dict[str, str], cells: str) -> None:
    label, S = model.label, model.values.shape[1]
    if isinstance(label, Classes):
        best = graph.add("ArgMax", results["values"], axis=1, keepdims=0)
        names = graph.constant(np.array(label.classes, dtype=object))
        graph.output("label", graph.add("Gather", names, best), TensorProto.STRING, ["rows"])
    else:
        flat = graph.add("Reshape", results["values"], graph.constant(np.array([-1])))
        graph.output("label", flat, DOUBLE, ["rows"])
    for name, result in results.items():
        graph.output(name, result, DOUBLE, ["rows", S])
    graph.output("cell", cells, INT64, ["rows"])


def _input(feature: Feature) -> str:
    """A name that no result of the graph has."""
    return f"feature {feature.name}"


def _join(model: ModelProto, versions: dict[str, int], data: bytes, X: str) -> str:
    """Put the graph of ``data`` into ``model``, fed by ``X``; the name of its scores.

    ``versions`` of operator sets are raised to what both can be read with. Raises
    ``InvalidRequest`` if there are none.
    """
    session = open_session(data)
    uploaded = _at_least(read_graph(data), versions)
    for entry in uploaded.opset_import:
        versions[entry.domain] = max(versions.get(entry.domain, 0), entry.version)
    model.ir_version = max(model.ir_version, uploaded.ir_version)
    uploaded = compose.add_prefix(uploaded, PREFIX)
    model.graph.node.append(helper.make_node("Identity", [X], [PREFIX + session.input]))
    model.graph.node.extend(uploaded.graph.node)
    model.graph.initializer.extend(uploaded.graph.initializer)
    model.graph.sparse_initializer.extend(uploaded.graph.sparse_initializer)
    return PREFIX + session.scores


def _at_least(uploaded: ModelProto, versions: dict[str, int]) -> ModelProto:
    """The uploaded model with operators of at least these versions."""
    ml = max((entry.version for entry in uploaded.opset_import if entry.domain == ML), default=0)
    if ml < OLDEST_ENCODER and any(node.op_type == "LabelEncoder" for node in uploaded.graph.node):
        raise _cannot(f"its LabelEncoder is that of {ML} {ml}")
    plain = max((entry.version for entry in uploaded.opset_import if not entry.domain), default=0)
    if plain >= versions[""]:
        return uploaded
    try:
        return version_converter.convert_version(uploaded, versions[""])
    except (RuntimeError, version_converter.ConvertError) as error:
        raise _cannot(f"operator set {plain} cannot be raised to {versions['']}") from error


def _cannot(reason: str) -> InvalidRequest:
    return InvalidRequest(
        f"The public model cannot be made part of an ONNX file ({reason}): export JSON, or upload "
        f"it converted with target_opset={{'': 18, '{ML}': 3}}."
    )
