"""What an ONNX model may contain before it is run: checked on its bytes, without running it.

Operators come from a list: they are deterministic, call nothing, do not loop, and make results
whose size follows from the number of rows. Tensors are in the file itself, so that reading a model
opens no other file.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError, Message
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, checker
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from privet.protocol.errors import InvalidPublicData, TooLarge

MAX_MODEL_BYTES = 64 * 2**20
ML = "ai.onnx.ml"
NEWEST_ML = 4

PLAIN_OPERATORS = """
    Abs Add And ArgMax ArgMin BatchNormalization Cast Ceil Celu Clip Concat Constant
    ConstantOfShape CumSum Div Dropout Elu Equal Erf Exp Expand Flatten Floor Gather Gelu Gemm
    Greater GreaterOrEqual HardSigmoid HardSwish Identity IsInf IsNaN LayerNormalization LeakyRelu
    Less LessOrEqual Log LogSoftmax MatMul Max Mean Min Mish Mul Neg Not Or PRelu Pow Reciprocal
    ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd
    ReduceSum ReduceSumSquare Relu Reshape Round Selu Shape Sigmoid Sign Slice Softmax Softplus
    Softsign Split Sqrt Squeeze Sub Sum Tanh Transpose Unsqueeze Where Xor
"""
ML_OPERATORS = """
    ArrayFeatureExtractor Binarizer FeatureVectorizer Imputer LabelEncoder LinearClassifier
    LinearRegressor Normalizer OneHotEncoder SVMClassifier SVMRegressor Scaler
    TreeEnsembleClassifier TreeEnsembleRegressor
"""
OPERATORS: Mapping[str, frozenset[str]] = {
    "": frozenset(PLAIN_OPERATORS.split()),
    ML: frozenset(ML_OPERATORS.split()),
}
SIZED_BY = {"ConstantOfShape": 0, "Expand": 1}
"""Operators whose result has the size that one of their inputs says, and which input."""


def read_graph(data: bytes) -> ModelProto:
    """The model, if it may be run; raises ``InvalidPublicData`` or ``TooLarge``."""
    if len(data) > MAX_MODEL_BYTES:
        raise TooLarge(
            f"The public model has {len(data)} bytes and the limit is {MAX_MODEL_BYTES}: "
            "use fewer or smaller trees or layers."
        )
    model = ModelProto()
    try:
        model.ParseFromString(data)
    except DecodeError:
        raise refused("is not an ONNX file: send the bytes that the converter wrote.") from None
    if not model.graph.node:
        raise refused("is not an ONNX file with a graph: send the bytes that the converter wrote.")
    try:
        _check_parts(model)
        _check_form(model)
        _check_sizes(model.graph)
    except UnicodeDecodeError:
        raise refused("has names that are not UTF-8 text: convert it again.") from None
    return model


def refused(what: str) -> InvalidPublicData:
    """The error for a model that cannot be used; ``what`` follows "The public model"."""
    return InvalidPublicData(f"The public model {what}")


def first_line(error: Exception) -> str:
    """An error's own words, cut short."""
    return str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__


def _check_form(model: ModelProto) -> None:
    """What ONNX itself asks for."""
    try:
        checker.check_model(model)
    except (checker.ValidationError, ValueError) as error:
        raise refused(f"is no valid ONNX model ({first_line(error)}): convert it again.") from None


def _check_parts(model: ModelProto) -> None:
    if model.functions or model.training_info:
        raise refused("has functions or training steps of its own: export it for inference.")
    if any(entry.domain == ML and entry.version > NEWEST_ML for entry in model.opset_import):
        raise refused(
            f"uses {ML} beyond version {NEWEST_ML}: convert it with "
            f"target_opset={{'': 18, '{ML}': 3}}."
        )
    for tensor in _tensors(model):
        if tensor.external_data or tensor.data_location == TensorProto.EXTERNAL:
            raise refused("keeps tensors in external files: save it as one file.")
    for node in model.graph.node:
        _check_node(node)


def _check_node(node: NodeProto) -> None:
    domain = "" if node.domain == "ai.onnx" else node.domain
    if node.op_type == "ZipMap":
        raise refused(
            "gives its probabilities as dictionaries (ZipMap): convert it with "
            "options={'zipmap': False}."
        )
    if node.op_type not in OPERATORS.get(domain, ()):
        name = f"{domain}.{node.op_type}" if domain else node.op_type
        raise refused(
            f"uses the operator {name[:100]}, which is not run here: use a model of trees, linear "
            "maps or plain layers. docs/estimation.md lists the operators."
        )
    kinds = {AttributeProto.GRAPH, AttributeProto.GRAPHS}
    if any(attribute.type in kinds or attribute.HasField("g") for attribute in node.attribute):
        raise refused("has loops or branches: use a model without them.")
    if node.op_type.startswith("TreeEnsemble"):
        _check_trees({attribute.name: attribute for attribute in node.attribute})


def _check_trees(given: Mapping[str, AttributeProto]) -> None:
    """No path through an ensemble comes back to where it was, or leads nowhere."""
    ids = [np.array(given[name].ints, dtype=np.int64) for name in TREE_IDS if name in given]
    modes = given["nodes_modes"].strings if "nodes_modes" in given else ()
    if len(ids) < len(TREE_IDS) or len({len(modes), *map(len, ids)}) > 1 or not modes:
        raise refused("has trees with parts missing: convert it again.")
    tree, *nodes = ids
    splits = np.array([mode != b"LEAF" for mode in modes])
    _, trees = np.unique(tree, return_inverse=True)
    names, numbers = np.unique(nodes, return_inverse=True)
    codes = trees * len(names) + numbers.reshape(len(nodes), -1)
    order = np.argsort(codes[0], kind="stable")
    known, children = codes[0][order], codes[1:, splits]
    ends = order[np.minimum(np.searchsorted(known, children), len(known) - 1)]
    edges = coo_array(
        (np.ones(ends.size), (np.tile(np.flatnonzero(splits), 2), ends.ravel())),
        shape=(len(tree), len(tree)),
    )
    apart, _ = connected_components(edges, connection="strong")
    if (
        (known[1:] == known[:-1]).any()
        or (codes[0][ends] != children).any()
        or (ends == np.flatnonzero(splits)).any()
        or apart < len(tree)
    ):
        raise refused("has a tree that leads back into itself or nowhere: convert it again.")


TREE_IDS = ("nodes_treeids", "nodes_nodeids", "nodes_truenodeids", "nodes_falsenodeids")


def _check_sizes(graph: GraphProto) -> None:
    """Sizes follow from the number of rows, never from what the rows say."""
    from_rows = {given.name for given in graph.input} - {kept.name for kept in graph.initializer}
    for node in graph.node:
        sized_by = SIZED_BY.get(node.op_type)
        if sized_by is not None and node.input[sized_by : sized_by + 1][0] in from_rows:
            raise refused(
                f"has a {node.op_type} whose size depends on the values of a record: "
                "use a model without it."
            )
        if node.op_type != "Shape" and from_rows.intersection(node.input):
            from_rows.update(node.output)


def _tensors(message: Message) -> Iterator[TensorProto]:
    """Every tensor in a message, wherever it is."""
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        parts: Any = value if _is_many(value) else [value]
        for part in parts:
            if isinstance(part, TensorProto):
                yield part
            yield from _tensors(part)


def _is_many(value: Any) -> bool:
    return not isinstance(value, Message)
