"""An ONNX graph made ready to run by onnxruntime, shared by all that hold the same bytes."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.curator.public_model.base_model import Single
from privet.curator.public_model.onnx_graph import first_line, read_graph, refused

FLOATS = ("tensor(float)", "tensor(double)", "tensor(float16)")
LABELS = ("tensor(int64)", "tensor(int32)", "tensor(string)")


@dataclass(frozen=True, eq=False)
class OnnxSession:
    """A session, which any number of threads may use, and the names of what goes in and out."""

    session: Any
    given: str
    scores: str
    labels: str | None

    def run(self, output: str, block: Single) -> NDArray[Any]:
        """What the graph says of rows ``(rows, columns)``; raises ``InvalidPublicData``."""
        try:
            (answer,) = self.session.run([output], {self.given: block})
        except _failures() as error:
            raise refused(
                f"cannot be run on {block.shape[1]} columns ({first_line(error)}): it must take "
                "the task's encoded columns, which `privet encode` shows."
            ) from None
        return np.asarray(answer)


@lru_cache(maxsize=4)
def open_session(data: bytes) -> OnnxSession:
    """The session of a file's bytes; raises ``InvalidPublicData`` if it may not or cannot run."""
    try:
        import onnxruntime
    except ImportError:
        raise refused("needs onnxruntime, which is not here: install privet[curator].") from None
    read_graph(data)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        return OnnxSession(session, _given(session), *_outputs(session))
    except _failures() as error:
        raise refused(f"cannot be loaded ({first_line(error)}): convert it again.") from None


def _given(session: Any) -> str:
    """The name of the one input."""
    given = session.get_inputs()
    if len(given) != 1 or given[0].type != "tensor(float)" or len(given[0].shape) != 2:
        told = ", ".join(f"{i.name} {i.type} {i.shape}" for i in given) or "none"
        raise refused(
            f"has the inputs {told[:300]}: it must have one, tensor(float) [rows, columns], "
            "the task's encoded columns."
        )
    if isinstance(given[0].shape[0], int):
        raise refused(
            f"takes {given[0].shape[0]} rows only: leave the first dimension of its input open."
        )
    return str(given[0].name)


def _outputs(session: Any) -> tuple[str, str | None]:
    """The name of the output of probabilities or numbers, and of labels if it has one."""
    outputs = session.get_outputs()
    scores = [o.name for o in outputs if o.type in FLOATS]
    labels = [o.name for o in outputs if o.type in LABELS]
    if len(scores) != 1 or len(labels) > 1 or len(outputs) > 2:
        told = ", ".join(f"{o.name} {o.type}" for o in outputs)
        raise refused(
            f"has the outputs {told[:300]}: it must have one of floats, for probabilities or a "
            "number, and may have labels besides. With skl2onnx, convert it with "
            "options={'zipmap': False}."
        )
    return str(scores[0]), (str(labels[0]) if labels else None)


def _failures() -> tuple[type[Exception], ...]:
    """What onnxruntime raises."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    kinds = [kind for kind in vars(state).values() if isinstance(kind, type)]
    return (*(kind for kind in kinds if issubclass(kind, Exception)), RuntimeError, ValueError)
