"""Models as files for other programs: a name becomes a format in one dict. Never a pickle."""

import json
from collections.abc import Callable
from dataclasses import dataclass

from privet.curator.models.cache import FittedModel
from privet.protocol.task import Task


@dataclass(frozen=True)
class Export:
    """One file format: how a model of a task is written in it."""

    media_type: str
    suffix: str
    write: Callable[[Task, FittedModel], bytes]


def write_json(task: Task, fitted: FittedModel) -> bytes:
    """The whole model with the features it reads and the task it belongs to, as JSON."""
    document = {
        "features": [feature.model_dump(mode="json") for feature in task.features],
        **fitted.to_document(),
    }
    return json.dumps(document, allow_nan=False).encode()


def write_onnx(task: Task, fitted: FittedModel) -> bytes:
    """The model as an ONNX graph over raw features."""
    from privet.curator.models import onnx

    return onnx.write_onnx(task, fitted)


EXPORTS: dict[str, Export] = {
    "json": Export("application/json", "json", write_json),
    "onnx": Export("application/octet-stream", "onnx", write_onnx),
}
