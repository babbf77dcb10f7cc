"""A public model of one's own, through a curator in a process of its own that is killed between."""

import json
import signal
from pathlib import Path

import numpy as np
from onnx import TensorProto
from onnx.helper import make_node

from privet.curator.datastore import open_engine, open_store
from privet.curator.datastore.backup import verify
from tests.end_to_end.population import answer_all
from tests.end_to_end.running_curator import RunningCurator
from tests.learning.onnx_files import FLOAT, STRIPES, model, striped, stripes

SETTINGS = {
    "name": "stripes",
    "label": "y",
    "epsilon": 1.0,
    "depth": 2,
    "features": {"x": {"low": 0.0, "high": 1.0}},
}


def elsewhere(file: Path) -> bytes:
    """A model of one column whose constant is in a file that is there."""
    tensor = TensorProto(name="w", data_type=FLOAT, dims=[1, 2], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value=str(file))
    return bytes(model([make_node("MatMul", ["X", "w"], ["p"])], [tensor]).SerializeToString())


def test_it_outlives_a_kill_and_is_where_predictions_start(tmp_path: Path) -> None:
    """What the model alone can know is predicted from SQLite, by a process that never saw it come.

    A hostile file is refused before, by the same process, which goes on serving.
    """
    weights = tmp_path / "weights.bin"
    weights.write_bytes(np.zeros(2, dtype=np.float32).tobytes())
    with RunningCurator(tmp_path) as curator:

        def bring(onnx: bytes) -> tuple[int, dict[str, str]]:
            with curator.http() as http:
                answer = http.post(
                    "/v1/tasks",
                    headers=curator.admin,
                    files={"public": ("p.csv", striped(40, 0)), "public_model": ("m.onnx", onnx)},
                    data={"settings": json.dumps(SETTINGS)},
                )
            return answer.status_code, answer.json()

        status, problem = bring(elsewhere(weights))
        assert status == 422
        assert "external files" in problem["detail"]
        status, task = bring(stripes(1))
        assert status == 201
        address = f"/v1/tasks/{task['id']}"
        answer_all(curator.url + address, [{"x": i / 5, "y": "no"} for i in range(5)])
        curator.restart(signal.SIGKILL)
        fitted = curator.post(f"{address}/models", {})
        assert task["public_model"] in fitted["facts"]["public model"]
        curator.restart(signal.SIGKILL)
        middles = ((np.arange(STRIPES) + 0.5) / STRIPES).tolist()
        predicted = curator.post(f"{address}/predict", {"columns": {"x": middles}})
        assert predicted["label"] == ["no", "yes"] * (STRIPES // 2)
    engine = open_engine(curator.database)
    assert [finding.faults for finding in verify(engine)] == [()]
    engine.dispose()
    store = open_store(curator.database)
    assert store.public_data(task["id"]).onnx == stripes(1)
    store.close()
