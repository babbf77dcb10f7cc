"""The first run of an uploaded ONNX model: in a separate process, within limits.

``try_model`` starts this module in a ``sandbox``. A curator later runs blocks of the sizes tried
here, which take as much memory and as long.
"""

import io
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privet.protocol.errors import InvalidPublicData
from privet.protocol.features import Classes, Label

from ..core.onnx import SIZES, check_size, refused
from ..core.public_data import PublicData, Single, class_count
from ..core.public_model import BaseModel, OnnxModel, from_onnx
from ..sandbox import ExceededLimit, ProcessLimits, confine, run_within

SEEN_ROWS = 256
CLEAR = 0.01
"""Lead in probability from which a class counts as clearly the likeliest."""


@dataclass(frozen=True)
class TrialLimits(ProcessLimits):
    """Limits also per row of a full block, and for a load, of which a task takes several."""

    row_seconds: float = 1e-3
    load_seconds: float = 10.0


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
    )
    try:
        fault = json.loads(run_within(limits, __name__, sent.getvalue()))["fault"]
    except TimeoutError:
        fault = "The public model did not finish its trial: use a smaller or simpler one."
    except ExceededLimit:
        fault = (
            "The public model did not survive its trial: it takes more than "
            f"{limits.memory_mib} MiB or {limits.cpu_seconds} s, or crashes onnxruntime. "
            "Use a smaller or simpler one."
        )
    if fault:
        raise InvalidPublicData(str(fault))


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


def main() -> None:
    """Try the model on standard input and write its fault, if any, to standard output."""
    limits = TrialLimits(**json.loads(sys.argv[1]))
    with np.load(io.BytesIO(sys.stdin.buffer.read()), allow_pickle=False) as sent:
        data, X = sent["model"].tobytes(), sent["X"]
        classes = sent["classes"].tolist()
    confine(limits)
    try:
        judge(data, X, classes, limits)
        fault = ""
    except InvalidPublicData as error:
        fault = error.detail
    sys.stdout.write(json.dumps({"fault": fault}))


def judge(data: bytes, X: Single, classes: Sequence[str], limits: TrialLimits) -> None:
    """Raise ``InvalidPublicData`` unless the model can be used; ``X`` is a full block."""
    started = time.process_time()
    base = from_onnx(data, X.shape[1], len(classes))
    took = time.process_time() - started
    if took > limits.load_seconds:
        raise refused(
            f"takes {took:.3g} s to load, and the limit is {limits.load_seconds:g} s: use a "
            "smaller or simpler one."
        )
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


if __name__ == "__main__":
    main()
