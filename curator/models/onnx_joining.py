"""A public model that was brought as ONNX, made part of the graph of an exported model."""

from onnx import ModelProto, compose, helper, version_converter

from privet.curator.public_model.onnx import ML, open_session, read_graph
from privet.protocol.errors import InvalidRequest

PREFIX = "public model/"
OLDEST_ENCODER = 2
"""Version of ai.onnx.ml since which LabelEncoder means what it does now."""


def join(model: ModelProto, versions: dict[str, int], data: bytes, given: str) -> str:
    """Put the graph of ``data`` into ``model``, fed by ``given``; the name of its scores.

    ``versions`` of operator sets are raised to what both can be read with. Raises
    ``InvalidRequest`` if there are none.
    """
    session = open_session(data)
    own = _raised(read_graph(data), versions)
    for entry in own.opset_import:
        versions[entry.domain] = max(versions.get(entry.domain, 0), entry.version)
    model.ir_version = max(model.ir_version, own.ir_version)
    own = compose.add_prefix(own, PREFIX)
    model.graph.node.append(helper.make_node("Identity", [given], [PREFIX + session.input]))
    model.graph.node.extend(own.graph.node)
    model.graph.initializer.extend(own.graph.initializer)
    model.graph.sparse_initializer.extend(own.graph.sparse_initializer)
    return PREFIX + session.scores


def _raised(own: ModelProto, versions: dict[str, int]) -> ModelProto:
    """The brought model with operators of at least these versions."""
    ml = max((entry.version for entry in own.opset_import if entry.domain == ML), default=0)
    if ml < OLDEST_ENCODER and any(node.op_type == "LabelEncoder" for node in own.graph.node):
        raise _cannot(f"its LabelEncoder is that of {ML} {ml}")
    plain = max((entry.version for entry in own.opset_import if not entry.domain), default=0)
    if plain >= versions[""]:
        return own
    try:
        return version_converter.convert_version(own, versions[""])
    except (RuntimeError, version_converter.ConvertError) as error:
        raise _cannot(f"operator set {plain} cannot be raised to {versions['']}") from error


def _cannot(reason: str) -> InvalidRequest:
    return InvalidRequest(
        f"The public model cannot be made part of an ONNX file ({reason}): export JSON, or bring "
        f"it converted with target_opset={{'': 18, '{ML}': 3}}."
    )
