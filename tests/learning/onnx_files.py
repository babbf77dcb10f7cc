"""ONNX models made by hand: an oracle that no training finds, and files that must be refused."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from onnx import NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper
from onnx.helper import make_node as node

from privet.learning.core.public_data import Floats
from privet.learning.public_model import onnx_trial
from privet.learning.public_model.onnx_trial import TrialLimits, judge, trial_rows
from privet.protocol.features import Classes, Label

STRIPES = 64
SURE = 0.98
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def constant(name: str, value: Any, kind: type = np.float32) -> TensorProto:
    """A named constant."""
    return numpy_helper.from_array(np.array(value, dtype=kind), name)


def model(
    nodes: Sequence[NodeProto],
    constants: Sequence[TensorProto] = (),
    columns: int | None = 1,
    outputs: Sequence[tuple[str, int, list[Any]]] = (("p", FLOAT, ["rows", 2]),),
    inputs: Sequence[ValueInfoProto] = (),
    opset: int = 18,
) -> bytes:
    """A model from ``X`` to ``p``."""
    X = helper.make_tensor_value_info("X", FLOAT, ["rows", columns])
    graph = helper.make_graph(
        list(nodes),
        "made",
        list(inputs) or [X],
        [helper.make_tensor_value_info(*output) for output in outputs],
        list(constants),
    )
    sets = [helper.make_opsetid("", opset), helper.make_opsetid("ai.onnx.ml", 3)]
    made = helper.make_model(graph, opset_imports=sets, ir_version=9)
    return bytes(made.SerializeToString())


def stripes(columns: int, number: bool = False, opset: int = 18) -> bytes:
    """The first column's 64 stripes, of class 1 and 0 in turn; or as numbers 9.8 and 0.2."""
    nodes = [
        node("Gather", ["X", "first"], ["x"], axis=1),
        node("Mul", ["x", "half"], ["pair"]),  # which stripe, in pairs
        node("Floor", ["pair"], ["even"]),
        node("Sub", ["pair", "even"], ["rest"]),
        node("GreaterOrEqual", ["rest", "middle"], ["is_odd"]),
        node("Where", ["is_odd", "sure", "unsure"], ["one"]),
        node("Sub", ["unit", "one"], ["zero"]),
        node("Concat", ["zero", "one"], ["both"], axis=1),
        node("Mul", ["one", "ten"], ["number"]),
        node("Identity", ["number" if number else "both"], ["p"]),
    ]
    scalars = {"half": STRIPES / 2, "middle": 0.5, "sure": SURE, "unsure": 1.0 - SURE}
    scalars |= {"unit": 1.0, "ten": 10.0}
    constants = [constant("first", [0], np.int64)]
    constants += [constant(name, value) for name, value in scalars.items()]
    outputs = [("p", FLOAT, ["rows", 1 if number else 2])]
    return model(nodes, constants, columns, outputs, opset=opset)


def striped(rows: int, seed: int, number: bool = False) -> bytes:
    """Public records whose label is what ``stripes`` says, too few to learn it from."""
    x = np.random.default_rng(seed).uniform(0, 1, rows)
    odd = np.floor(STRIPES * x) % 2
    labels = np.where(odd, 9.8, 0.2) if number else np.where(odd, "yes", "no")
    return "\n".join(["x,y", *(f"{a:.9f},{b}" for a, b in zip(x, labels, strict=True))]).encode()


@pytest.fixture
def trial_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Uploaded models are judged without a process of their own, which takes seconds to start."""

    def judged(data: bytes, X: Floats, label: Label) -> None:
        classes = label.classes if isinstance(label, Classes) else ()
        judge(data, trial_rows(X), classes, TrialLimits(row_seconds=1.0))

    monkeypatch.setattr(onnx_trial, "try_model", judged)
