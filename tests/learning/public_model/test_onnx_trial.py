"""An uploaded model is refused, with words that help, unless it is harmless and fits."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper
from onnx.helper import make_node as node
from onnx.numpy_helper import from_array

from privet.learning.core.onnx import SIZES, read_graph
from privet.learning.core.public_data import MAX_MODEL_BYTES
from privet.learning.public_model.onnx_trial import TrialLimits, judge, trial_rows, try_model
from privet.protocol.errors import InvalidPublicData, TooLarge
from privet.protocol.features import Classes

from ..onnx_files import FLOAT, INT64, constant, model, stripes

TWO = Classes(name="y", classes=("no", "yes"))
HALVES = constant("halves", [[0.0, 0.0]])
EVEN = [node("MatMul", ["X", "halves"], ["zero"]), node("Softmax", ["zero"], ["p"], axis=1)]
"""One column to two probabilities of a half."""
BRANCH = helper.make_graph([node("Identity", ["X"], ["inner"])], "branch", [], [])


def public(columns: int = 1) -> np.ndarray:
    return np.random.default_rng(0).random((20, columns))


def judged(data: bytes, classes: tuple[str, ...] = ("no", "yes")) -> None:
    """Judge a model in this process."""
    judge(data, trial_rows(public()), classes, TrialLimits(row_seconds=1.0))


def external(where: str, **more: Any) -> TensorProto:
    """A tensor that says it is in another file."""
    tensor = TensorProto(
        name="halves", data_type=FLOAT, dims=[1, 2], data_location=TensorProto.EXTERNAL, **more
    )
    tensor.external_data.add(key="location", value=where)
    return tensor


def tree(true: list[int], false: list[int]) -> bytes:
    """Two splits, nodes 0 and 1, with these branches, and three leaves, to a number."""
    trees = node(
        "TreeEnsembleRegressor",
        ["X"],
        ["p"],
        domain="ai.onnx.ml",
        n_targets=1,
        nodes_treeids=[0] * 5,
        nodes_nodeids=[0, 1, 2, 3, 4],
        nodes_featureids=[0] * 5,
        nodes_modes=["BRANCH_LEQ"] * 2 + ["LEAF"] * 3,
        nodes_values=[0.5, 0.2, 0.0, 0.0, 0.0],
        nodes_truenodeids=[*true, 0, 0, 0],
        nodes_falsenodeids=[*false, 0, 0, 0],
        target_treeids=[0] * 3,
        target_nodeids=[2, 3, 4],
        target_ids=[0] * 3,
        target_weights=[1.0, 2.0, 3.0],
    )
    return model([trees], outputs=[("p", FLOAT, ["rows", 1])])


def labelled(labels: list[str]) -> bytes:
    """Stripes with an output of labels, for class 0 and class 1."""
    made = ModelProto.FromString(stripes(1))
    made.graph.node.append(node("ArgMax", ["p"], ["best"], axis=1, keepdims=0))
    made.graph.node.append(node("Gather", ["names", "best"], ["label"]))
    made.graph.initializer.append(from_array(np.array(labels, dtype=object), "names"))
    label = helper.make_tensor_value_info("label", TensorProto.STRING, ["rows"])
    made.graph.output.insert(0, label)
    return bytes(made.SerializeToString())


REFUSED: dict[str, tuple[bytes, str]] = {
    "other bytes": (b"PK\x03\x04 something else", "not an ONNX file"),
    "nothing": (b"", "not an ONNX file"),
    "cut short": (stripes(1)[:-40], "not an ONNX file|no valid ONNX"),
    "an external constant": (model(EVEN, [external("/etc/passwd")]), "external files"),
    "an external constant in a node": (
        model([node("Constant", [], ["halves"], value=external("w.bin")), *EVEN]),
        "external files",
    ),
    "another domain": (
        model([node("Evil", ["X"], ["p"], domain="com.microsoft")]),
        r"com\.microsoft\.Evil",
    ),
    "chance": (model([node("RandomUniformLike", ["X"], ["p"])]), "RandomUniformLike"),
    "a branch": (
        model([node("If", ["X"], ["p"], then_branch=BRANCH, else_branch=BRANCH)], []),
        "operator If",
    ),
    "a graph where none belongs": (
        model([node("Identity", ["X"], ["p"], body=BRANCH)]),
        "loops or branches",
    ),
    "a dictionary": (model([node("ZipMap", ["X"], ["p"], domain="ai.onnx.ml")]), "zipmap"),
    "a size that a record decides": (
        model([node("Cast", ["X"], ["size"], to=INT64), node("ConstantOfShape", ["size"], ["p"])]),
        "size depends on the values",
    ),
    "a number for classes": (stripes(1, number=True), r"shape \[\d+, 1\].*\[rows, 2\]"),
    "more columns": (stripes(3), "privet encode"),
    "a fixed number of rows": (
        model(
            EVEN,
            [HALVES],
            inputs=[helper.make_tensor_value_info("X", FLOAT, [10, 1])],
            outputs=[("p", FLOAT, [10, 2])],
        ),
        "10 rows only",
    ),
    "double precision": (
        model(
            [node("Concat", ["X", "X"], ["p"], axis=1)],
            inputs=[helper.make_tensor_value_info("X", TensorProto.DOUBLE, ["rows", 1])],
            outputs=[("p", TensorProto.DOUBLE, ["rows", 2])],
        ),
        r"tensor\(double\).*tensor\(float\) \[rows, columns\]",
    ),
    "scores that do not add up": (
        model([node("Concat", ["X", "X"], ["p"], axis=1)]),
        "not probabilities",
    ),
    "no numbers": (
        model(
            [
                node("Sub", ["X", "X"], ["nil"]),
                node("Log", ["nil"], ["log"]),
                node("Concat", ["log", "log"], ["p"], axis=1),
            ]
        ),
        "NaN or infinity",
    ),
    "rows that depend on the others": (
        model(
            [
                node("ReduceMax", ["X", "rows"], ["top"], keepdims=1),
                node("ReduceSum", ["X", "rows"], ["sum"], keepdims=1),
                node("Div", ["X", "sum"], ["share"]),
                node("Sub", ["one", "share"], ["rest"]),
                node("Concat", ["rest", "share"], ["p"], axis=1),
            ],
            [constant("rows", [0], np.int64), constant("one", 1.0)],
        ),
        "other rows",
    ),
    "classes in another order": (labelled(["yes", "no"]), "their order must be the task's"),
    "a tree that leads back": (tree([1, 0], [2, 3]), "leads back"),
    "a tree that leads nowhere": (tree([1, 3], [2, 9]), "nowhere"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused(case: str) -> None:
    """Each fault is named, with what to do about it."""
    made, words = REFUSED[case]
    with pytest.raises(InvalidPublicData, match=words):
        judged(made)


def test_what_fits_is_taken() -> None:
    """Probabilities alone, and with labels by name or by number; a tree; a number."""
    judged(stripes(1))
    judged(labelled(["no", "yes"]))
    judged(labelled(["0", "1"]))
    judged(tree([1, 3], [2, 4]), ())
    judged(stripes(1, number=True), ())


def test_a_process_of_its_own_judges() -> None:
    """The trial's process takes a model that fits."""
    try_model(stripes(2), public(2), TWO)


def test_no_other_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tensor in a file that is there, and would fit, is not fetched."""
    (tmp_path / "weights.bin").write_bytes(np.zeros(2, dtype=np.float32).tobytes())
    monkeypatch.chdir(tmp_path)
    for where in ("weights.bin", str(tmp_path / "weights.bin"), "../" + tmp_path.name):
        with pytest.raises(InvalidPublicData, match="external files"):
            judged(model(EVEN, [external(where)]))


def test_memory_is_bounded() -> None:
    """A product of two long vectors, 4 TB from a file of 8 MB, ends in a refusal."""
    long = [constant("tall", np.ones((10**6, 1))), constant("wide", np.ones((1, 10**6)))]
    nodes = [
        node("MatMul", ["tall", "wide"], ["square"]),
        node("ReduceMax", ["square"], ["top"], keepdims=0),
        node("Mul", ["X", "top"], ["more"]),
        node("Concat", ["more", "more"], ["p"], axis=1),
    ]
    with pytest.raises(InvalidPublicData, match="takes more memory"):
        try_model(model(nodes, long), public(), TWO)


def test_time_is_bounded() -> None:
    """The trial refuses a model that takes long per row, and ends one that goes on."""
    size = 1024
    nodes = [
        node("MatMul", ["X", "wide"], ["r0"]),
        *[node("MatMul", [f"r{i}", "square"], [f"r{i + 1}"]) for i in range(10)],
        node("MatMul", ["r10", "thin"], ["flat"]),
        node("Softmax", ["flat"], ["p"], axis=1),
    ]
    kept = [
        constant("wide", np.ones((1, size))),
        constant("square", np.full((size, size), 1.0 / size)),
        constant("thin", np.zeros((size, 2))),
    ]
    slow = model(nodes, kept)
    with pytest.raises(InvalidPublicData, match="ms per row"):
        try_model(slow, public(), TWO, TrialLimits(row_seconds=1e-6))
    below_a_tick = TrialLimits(load_seconds=-1.0)  # the clock of processor time may not have moved
    with pytest.raises(InvalidPublicData, match="s to load, and the limit is -1 s"):
        try_model(slow, public(), TWO, below_a_tick)
    with pytest.raises(InvalidPublicData, match="did not finish"):
        try_model(slow, public(), TWO, TrialLimits(wall_seconds=0.05))


def test_large_files_are_refused_unread() -> None:
    """The published limit comes before anything else."""
    with pytest.raises(TooLarge, match=str(MAX_MODEL_BYTES)):
        try_model(bytes(MAX_MODEL_BYTES + 1), public(), TWO)


def test_trial_rows_are_a_full_block() -> None:
    """A full block in [0, 1], however many public rows there are."""
    for rows in (1, 20, 5000):
        X = trial_rows(np.random.default_rng(0).random((rows, 3)))
        assert X.shape == (SIZES[-1], 3)
        assert X.min() >= 0.0
        assert X.max() <= 1.0


def test_damaged_files_are_read_or_refused() -> None:
    """Of 600 files with a few bytes changed at random, no one raises anything else."""
    rng, refusals = random.Random(0), []  # a fixed sequence, the same in every run
    for good in (stripes(1), labelled(["no", "yes"]), tree([1, 3], [2, 4])):
        for _ in range(200):
            bad = bytearray(good)
            for _ in range(rng.randint(1, 4)):
                bad[rng.randrange(len(bad))] = rng.randrange(256)
            try:
                read_graph(bytes(bad))
            except InvalidPublicData as error:
                refusals.append(error.detail)
    assert len(refusals) > 300
    assert all(detail.startswith("The public model ") for detail in refusals)
