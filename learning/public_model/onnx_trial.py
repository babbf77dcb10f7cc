"""The first run of an uploaded ONNX model: in a separate process, within limits.

``try_model`` starts this module as a process, which limits its own memory, time and files before
it reads the model. A curator later runs blocks of the sizes tried here, which take as much memory
and as long.
"""

import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from privet.protocol.errors import InvalidPublicData
from privet.protocol.features import Classes, Label

from ..core.onnx import SIZES, check_size, refused
from ..core.public_data import PublicData, Single, class_count
from ..core.public_model import BaseModel, OnnxModel, from_onnx

MIB = 2**20
SEEN_ROWS = 256
CLEAR = 0.01
"""Lead in probability from which a class counts as clearly the likeliest."""


@dataclass(frozen=True)
class TrialLimits:
    """Limits per row of a full block, and for the trial's process."""

    row_seconds: float = 1e-3
    cpu_seconds: int = 60
    wall_seconds: float = 300.0
    memory_mib: int = 4096


def try_model(
    data: bytes, X: NDArray[np.float64], label: Label, limits: TrialLimits | None = None
) -> None:
    """Raise ``InvalidPublicData`` or ``TooLarge`` unless the model can be used.

    ``X`` holds encoded public rows, ``(rows, columns)``; the model is run on some of them and on
    random points.
    """
    check_size(data)
    limits = limits or TrialLimits()
    sent = io.BytesIO()
    np.savez(
        sent,
        model=np.frombuffer(data, dtype=np.uint8),
        X=trial_rows(X),
        classes=np.array(label.classes if isinstance(label, Classes) else [], dtype=np.str_),
        limits=np.array(json.dumps(asdict(limits))),
    )
    fault = _start(sent.getvalue(), limits)
    if fault:
        raise InvalidPublicData(fault)


def tried_model(data: bytes, label: Label, public: PublicData) -> BaseModel:
    """A public model that has passed its trial; raises as ``try_model`` does."""
    try_model(data, public.X, label)
    return from_onnx(data, public.X.shape[1], class_count(label))


def trial_rows(X: NDArray[np.float64]) -> Single:
    """A full block of public rows and of rows drawn uniformly from [0, 1]."""
    rng = np.random.default_rng(0)
    rows = rng.random((SIZES[-1], X.shape[1]))
    seen = X[rng.permutation(len(X))[:SEEN_ROWS]]
    rows[: len(seen)] = seen
    rows[-2], rows[-1] = 0.0, 1.0
    return rows.astype(np.float32)


def _start(sent: bytes, limits: TrialLimits) -> str:
    """Run the trial in a process and return the model's fault, or an empty string."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PRIVET_")}
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    try:
        ended = subprocess.run(  # noqa: S603 - this module, with the interpreter that runs it
            [sys.executable, "-P", "-m", __name__],
            input=sent,
            capture_output=True,
            timeout=limits.wall_seconds,
            env=kept | threads | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "The public model did not finish its trial: use a smaller or simpler one."
    if ended.returncode == 0:
        return str(json.loads(ended.stdout)["fault"])
    return (
        "The public model did not survive its trial: it takes more than "
        f"{limits.memory_mib} MiB or {limits.cpu_seconds} s, or crashes onnxruntime. "
        "Use a smaller or simpler one."
    )


def main() -> None:
    """Try the model on standard input and write its fault, if any, to standard output."""
    with np.load(io.BytesIO(sys.stdin.buffer.read()), allow_pickle=False) as sent:
        limits = TrialLimits(**json.loads(str(sent["limits"])))
        data, X = sent["model"].tobytes(), sent["X"]
        classes = sent["classes"].tolist()
    _give_up(limits)
    try:
        judge(data, X, classes, limits)
        fault = ""
    except InvalidPublicData as error:
        fault = error.detail
    sys.stdout.write(json.dumps({"fault": fault}))


def judge(data: bytes, X: Single, classes: Sequence[str], limits: TrialLimits) -> None:
    """Raise ``InvalidPublicData`` unless the model can be used; ``X`` is a full block."""
    base = from_onnx(data, X.shape[1], len(classes))
    model = base.components[0]
    if not isinstance(model, OnnxModel):
        raise TypeError(model)
    scores = model.predict(X)
    started = time.process_time()
    again = model.predict(X[::-1])[::-1]
    took = (time.process_time() - started) / len(X)
    if took > limits.row_seconds:
        raise refused(
            f"takes {1e3 * took:.3g} ms per row, and the limit is {1e3 * limits.row_seconds:g} ms: "
            "use a smaller one."
        )
    fewer = [model.predict(X[:size]) for size in SIZES]
    size = np.maximum(np.abs(scores).max(), 1e-6)
    for other in [again, *fewer]:
        if np.abs(other - scores[: len(other)]).max() > 1e-4 * size:
            raise refused(
                "predicts differently for a row among other rows: use a deterministic model."
            )
    if classes:
        _check_order(model, X, scores, classes)


def _check_order(
    model: OnnxModel, X: Single, scores: NDArray[np.float64], classes: Sequence[str]
) -> None:
    """A model that names classes names the one whose probability is highest."""
    if model.session.labels is None:
        return
    ranked = np.sort(scores, axis=1)
    clear = ranked[:, -1] - ranked[:, -2] > CLEAR
    named = model.session.run(model.session.labels, X).astype(np.str_)[clear]
    best = scores.argmax(axis=1)[clear]
    by_number, by_name = best.astype(np.str_), np.array(classes)[best]
    if not ((named == by_number).all() or (named == by_name).all()):
        wrong = int(np.flatnonzero((named != by_number) & (named != by_name))[:1].sum())
        raise refused(
            f"says {str(named[wrong])[:100]!r} where its probabilities favour class "
            f"{best[wrong]}, {classes[best[wrong]]!r}: their order must be the task's, "
            f"{', '.join(classes)[:300]}."
        )


def _give_up(limits: TrialLimits) -> None:
    """Limit this process's memory and time, and forbid it to write files."""
    if sys.platform == "win32":
        return
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (limits.cpu_seconds, limits.cpu_seconds))
    if sys.platform == "linux":
        memory = limits.memory_mib * MIB
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


if __name__ == "__main__":
    main()
