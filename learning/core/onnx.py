"""Public models that an admin uploads as ONNX: what they may contain, and how they are run.

A file is checked before it is run. Only listed operators are allowed: they are deterministic, call
nothing, do not loop, and give results whose size depends on the number of rows only. Tensors are in
the file itself, so reading a model opens no other file. A graph runs on blocks of a few fixed
sizes, the last one padded, so the time and memory measured by the trial (``onnx_trial``) hold for
any number of rows.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError, Message
from numpy.typing import NDArray
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, checker

from privet.protocol.errors import InvalidPublicData, TooLarge
from privet.protocol.installing import install_command

from .public_data import MAX_MODEL_BYTES, Floats, Single

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
TREE_IDS = ("nodes_treeids", "nodes_nodeids", "nodes_truenodeids", "nodes_falsenodeids")
SIZED_BY = {"ConstantOfShape": 0, "Expand": 1}
"""Operators whose result has the size given by one of their inputs, and which input."""


FLOATS = ("tensor(float)", "tensor(double)", "tensor(float16)")
LABELS = ("tensor(int64)", "tensor(int32)", "tensor(string)")
SIZES = (1, 8, 64, 512)
"""Rows per block."""
NO_MEMORY = re.compile("allocate memory|bad.alloc")
TOLERANCE = 1e-3
"""Probabilities in single precision add up to one within this."""


@dataclass(frozen=True, eq=False)
class OnnxSession:
    """A graph that is ready to run in any number of threads, and its inputs' and outputs' names."""

    session: Any
    input: str
    scores: str
    labels: str | None

    def predict(self, X: Single, width: int) -> Floats:
        """Probabilities, or numbers if ``width`` is 1, shape ``(rows, width)``.

        Raises ``InvalidPublicData`` where the graph fails or its scores are not probabilities.
        """
        parts = [self._scores(block, width) for block in blocks(X)]
        return np.concatenate([np.empty((0, width)), *parts])[: len(X)]

    def run(self, output: str, block: Single) -> NDArray[Any]:
        """One output for rows ``(rows, columns)``; raises ``InvalidPublicData``."""
        try:
            (answer,) = self.session.run([output], {self.input: block})
        except _failures() as error:
            raise _fault(
                error,
                f"cannot be run on {block.shape[1]} columns ({first_line(error)}): it must take "
                "the task's encoded columns, which `privet encode` shows.",
            ) from None
        return np.asarray(answer)

    def _scores(self, block: Single, width: int) -> Floats:
        scores = self.run(self.scores, block)
        if width == 1 and scores.shape == (len(block),):
            scores = scores[:, None]
        if scores.shape != (len(block), width):
            wanted = (
                "[rows] or [rows, 1], the expected label"
                if width == 1
                else f"[rows, {width}], a probability per class in the task's order"
            )
            raise refused(
                f"gives an output of shape {list(scores.shape)} for {len(block)} rows: "
                f"it must be {wanted}."
            )
        return checked(scores.astype(np.float64))


@lru_cache(maxsize=4)
def open_session(data: bytes) -> OnnxSession:
    """The session of a file's bytes; raises ``InvalidPublicData`` if it may not or cannot run."""
    try:
        import onnxruntime
    except ImportError:
        command = install_command("learning")
        raise refused(f"needs onnxruntime, which is not here: {command}.") from None
    read_graph(data)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        return OnnxSession(session, _input(session), *_outputs(session))
    except _failures() as error:
        fault = f"cannot be loaded ({first_line(error)}): convert it again."
        raise _fault(error, fault) from None


def blocks(X: Single) -> list[Single]:
    """Rows in blocks whose sizes are in ``SIZES``; the last is padded with its last row."""
    parts = [X[i : i + SIZES[-1]] for i in range(0, len(X), SIZES[-1])]
    if parts:
        rows = len(parts[-1])
        size = next(size for size in SIZES if size >= rows)
        parts[-1] = parts[-1][np.minimum(np.arange(size), rows - 1)]
    return [np.ascontiguousarray(part) for part in parts]


def checked(scores: Floats) -> Floats:
    """Finite ``scores``; where there are several, probabilities that add up to one.

    Raises ``InvalidPublicData`` for what is further from that than single precision explains.
    """
    if not np.isfinite(scores).all():
        raise refused("gives NaN or infinity for a record: train it on values in [0, 1].")
    if scores.shape[1] == 1:
        return scores
    off = np.abs(scores.sum(axis=1) - 1.0).max()
    if scores.min() < -TOLERANCE or off > TOLERANCE:
        raise refused(
            "gives scores that are not probabilities: they must not be negative and must add up "
            "to 1. Add a softmax, or convert the model with its probabilities."
        )
    scores = np.maximum(scores, 0.0)
    return np.asarray(scores / scores.sum(axis=1, keepdims=True))


def read_graph(data: bytes) -> ModelProto:
    """The model, if it may be run; raises ``InvalidPublicData`` or ``TooLarge``."""
    check_size(data)
    model = ModelProto()
    try:
        model.ParseFromString(data)
    except DecodeError:
        raise refused("is not an ONNX file: send the bytes that the converter wrote.") from None
    if not model.graph.node:
        raise refused("is not an ONNX file with a graph: send the bytes that the converter wrote.")
    try:
        _check_parts(model)
        checker.check_model(model)
        _check_sizes(model.graph)
    except UnicodeDecodeError:
        raise refused("has names that are not UTF-8 text: convert it again.") from None
    except (checker.ValidationError, ValueError) as error:
        raise refused(f"is no valid ONNX model ({first_line(error)}): convert it again.") from None
    return model


def check_size(data: bytes) -> None:
    """Raise ``TooLarge`` if a file has more bytes than are taken."""
    if len(data) > MAX_MODEL_BYTES:
        raise TooLarge(
            f"The public model has {len(data)} bytes and the limit is {MAX_MODEL_BYTES}: "
            "use fewer or smaller trees or layers."
        )


def refused(what: str) -> InvalidPublicData:
    """The error for a model that cannot be used; ``what`` follows "The public model"."""
    return InvalidPublicData(f"The public model {what}")


def _fault(error: Exception, otherwise: str) -> InvalidPublicData:
    """The error to raise for onnxruntime's, which has no type of its own for lack of memory."""
    if NO_MEMORY.search(str(error)):
        return refused(
            "takes more memory than a worker process may have: use a smaller one, or ask the "
            "curator's operator to raise PRIVET_WORKER_MEMORY."
        )
    return refused(otherwise)


def first_line(error: Exception) -> str:
    """The first line of an error's text, shortened."""
    return str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__


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
            "maps or plain layers. docs/public-model.md lists the operators."
        )
    kinds = {AttributeProto.GRAPH, AttributeProto.GRAPHS}
    if any(attribute.type in kinds or attribute.HasField("g") for attribute in node.attribute):
        raise refused("has loops or branches: use a model without them.")
    if node.op_type.startswith("TreeEnsemble"):
        _check_trees({attribute.name: attribute for attribute in node.attribute})


def _check_trees(attributes: Mapping[str, AttributeProto]) -> None:
    """Raise unless every path through a tree ensemble ends at a leaf."""
    from scipy.sparse import coo_array  # slow to import
    from scipy.sparse.csgraph import connected_components  # slow to import

    ids = [
        np.array(attributes[name].ints, dtype=np.int64) for name in TREE_IDS if name in attributes
    ]
    modes = attributes["nodes_modes"].strings if "nodes_modes" in attributes else ()
    if len(ids) < len(TREE_IDS) or len({len(modes), *map(len, ids)}) > 1 or not modes:
        raise refused("has trees with parts missing: convert it again.")
    tree, *nodes = ids
    splits = np.array([mode != b"LEAF" for mode in modes])
    _, trees = np.unique(tree, return_inverse=True)
    names, numbers = np.unique(nodes, return_inverse=True)
    codes = trees * len(names) + numbers.reshape(len(nodes), -1)
    order = np.argsort(codes[0], kind="stable")
    sorted_codes, children = codes[0][order], codes[1:, splits]
    ends = order[np.minimum(np.searchsorted(sorted_codes, children), len(sorted_codes) - 1)]
    edges = coo_array(
        (np.ones(ends.size), (np.tile(np.flatnonzero(splits), 2), ends.ravel())),
        shape=(len(tree), len(tree)),
    )
    apart, _ = connected_components(edges, connection="strong")
    if (
        (sorted_codes[1:] == sorted_codes[:-1]).any()
        or (codes[0][ends] != children).any()
        or (ends == np.flatnonzero(splits)).any()
        or apart < len(tree)
    ):
        raise refused("has a tree that leads back into itself or nowhere: convert it again.")


def _check_sizes(graph: GraphProto) -> None:
    """Raise unless all sizes depend on the number of rows only, not on their values."""
    from_rows = {value.name for value in graph.input} - {c.name for c in graph.initializer}
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
        parts: Any = [value] if isinstance(value, Message) else value
        for part in parts:
            if isinstance(part, TensorProto):
                yield part
            yield from _tensors(part)


def _input(session: Any) -> str:
    """The name of the one input."""
    inputs = session.get_inputs()
    if len(inputs) != 1 or inputs[0].type != "tensor(float)" or len(inputs[0].shape) != 2:
        described = ", ".join(f"{i.name} {i.type} {i.shape}" for i in inputs) or "none"
        raise refused(
            f"has the inputs {described[:300]}: it must have one, tensor(float) [rows, columns], "
            "the task's encoded columns."
        )
    if isinstance(inputs[0].shape[0], int):
        raise refused(
            f"takes {inputs[0].shape[0]} rows only: leave the first dimension of its input open."
        )
    return str(inputs[0].name)


def _outputs(session: Any) -> tuple[str, str | None]:
    """The name of the output of probabilities or numbers, and of labels if it has one."""
    outputs = session.get_outputs()
    scores = [o.name for o in outputs if o.type in FLOATS]
    labels = [o.name for o in outputs if o.type in LABELS]
    if len(scores) != 1 or len(labels) > 1 or len(outputs) > 2:
        described = ", ".join(f"{o.name} {o.type}" for o in outputs)
        raise refused(
            f"has the outputs {described[:300]}: it must have one of floats, for probabilities or "
            "a number, and may have one of labels. With skl2onnx, convert it with "
            "options={'zipmap': False}."
        )
    return str(scores[0]), (str(labels[0]) if labels else None)


def _failures() -> tuple[type[Exception], ...]:
    """The exceptions that onnxruntime raises."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    kinds = [kind for kind in vars(state).values() if isinstance(kind, type)]
    return (*(kind for kind in kinds if issubclass(kind, Exception)), RuntimeError, ValueError)
