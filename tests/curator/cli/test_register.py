"""Models in MLflow: a real server, and what is loaded from it predicts what the curator does."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import httpx
import numpy as np
import pytest

from privet.curator.admin_client import CuratorClient
from scripts.servers import free_port
from tests.curator.cli.conftest import TOKEN, Cli
from tests.end_to_end.population import answer_all
from tests.end_to_end.population import survey as holders

NAME = "Survey: a/b"
RECORDS: list[dict[str, Any]] = [
    {"age": 30, "hours": 3.5, "job": "nurse", "member": True},
    {"age": 64, "hours": None, "job": "smith", "member": False},
]
LOAD = """
import json, sys
import mlflow, numpy as np, pandas as pd
uri, name, feed = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
mlflow.set_tracking_uri(uri)
loaded = mlflow.pyfunc.load_model(f"models:/{name}/1")
frame = pd.DataFrame(feed)
told = {key: np.asarray(value).tolist() for key, value in loaded.predict(frame).items()}
client = mlflow.MlflowClient()
made = client.get_model_version(name, "1")
inputs = [(each.name, str(each.type), each.shape) for each in loaded.metadata.signature.inputs]
files = [each.path for each in client.list_artifacts(made.run_id)]
print(json.dumps({"predicted": told, "tags": made.tags, "inputs": inputs, "files": files}))
"""


@pytest.fixture(scope="module")
def mlflow_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """MLflow of the client's version, in an environment of its own."""
    folder = tmp_path_factory.mktemp("mlflow")
    uv = (sys.executable, "-m", "uv")
    subprocess.run([*uv, "venv", "--quiet", "--python", sys.executable, folder / "env"], check=True)
    python = folder / "env/bin/python"
    wanted = f"mlflow=={version('mlflow-skinny')}"
    subprocess.run([*uv, "pip", "install", "--quiet", "--python", python, wanted], check=True)
    url = f"http://127.0.0.1:{free_port()}"
    command = [str(folder / "env/bin/mlflow"), "server", "--port", url.rpartition(":")[2]]
    command += ["--backend-store-uri", f"sqlite:///{folder}/mlflow.db", "--workers", "1"]
    command += ["--artifacts-destination", str(folder / "artifacts")]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    try:
        end = time.monotonic() + 120
        while not answers(url):
            assert server.poll() is None, (folder / "log").read_text()
            assert time.monotonic() < end, (folder / "log").read_text()
            time.sleep(0.2)
        yield url
    finally:
        os.killpg(server.pid, signal.SIGKILL)  # with the processes that it has started
        server.wait(30)


def answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health").is_success
    except httpx.TransportError:
        return False


def privet(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own, as MLflow keeps state in the one it is in."""
    command = [sys.executable, "-m", "privet.curator", *arguments]
    environment = os.environ | {"PRIVET_TOKEN": TOKEN, "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def fitted(api: CuratorClient, survey: str) -> dict[str, Any]:
    """A task with a model."""
    missing = {"hours": {"missing": 5.0}}
    made = api.create(survey, label="label", epsilon=2.0, depth=2, name=NAME, features=missing)
    answer_all(api.task_url(made), holders(40, 7))
    api.fit(made)
    return made


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_what_mlflow_loads_predicts_what_the_curator_does(
    mlflow_server: str, cli: Cli, curator_url: str, survey: str
) -> None:
    """With the signature of the graph, and card, ε and origin as tags of the version."""
    api = CuratorClient(curator_url, TOKEN)
    task = fitted(api, survey)
    done = privet("model", "register", task["id"], "--mlflow", mlflow_server, "--json")
    assert done.returncode == 0, done.stderr
    registered = json.loads(done.stdout)
    assert (registered["name"], registered["version"]) == ("Survey a b", "1")
    feed = {
        "feature age": [30.0, 64.0],
        "feature hours": [3.5, float("nan")],
        "feature job": ["nurse", "smith"],
        "feature member": ["true", "false"],
    }
    command = [sys.executable, "-c", LOAD, mlflow_server, "Survey a b", json.dumps(feed)]
    loaded = subprocess.run(command, capture_output=True, text=True, check=False)
    assert loaded.returncode == 0, loaded.stderr
    told = json.loads(loaded.stdout)
    expected: Any = api.predict(task, RECORDS)
    assert told["predicted"]["label"] == expected["label"]
    assert told["predicted"]["cell"] == expected["cell"]
    for kind, exact in (("values", 1e-6), ("cell_low", 1e-12), ("cell_high", 1e-12)):
        np.testing.assert_allclose(told["predicted"][kind], expected[kind], rtol=0, atol=exact)
    assert [name for name, _, _ in told["inputs"]] == list(feed)
    assert {tuple(shape) for _, _, shape in told["inputs"]} == {(-1, 1)}
    tags = told["tags"]
    assert tags["privet.card"] == api.card(task)
    assert (tags["privet.epsilon"], tags["privet.reports"]) == ("2.0", "40")
    assert (tags["privet.task"], tags["privet.model"]) == (task["id"], "1")
    assert told["files"] == ["card.md"]
    gone = privet("model", "register", task["id"], "--mlflow", mlflow_server, "--model", "7")
    assert (gone.returncode, "has no model 7" in gone.stderr) == (1, True)


@pytest.mark.slow
def test_an_mlflow_that_does_not_answer_is_named(cli: Cli, curator_url: str, survey: str) -> None:
    """In one sentence, and the exit status is 1."""
    task = fitted(CuratorClient(curator_url, TOKEN), survey)
    nobody = f"http://127.0.0.1:{free_port()}"
    done = privet("model", "register", task["id"], "--mlflow", nobody)
    assert done.returncode == 1
    assert f"MLflow at {nobody} did not take the model" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_mlflow_the_package_is_named(
    cli: Cli, survey: str, curator_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And how to install it."""
    monkeypatch.setitem(sys.modules, "mlflow", None)
    fitted(CuratorClient(curator_url, TOKEN), survey)
    refused = cli("model", "register", NAME, "--mlflow", "http://127.0.0.1:9")
    assert refused.code == 1
    assert "pip install 'privet[mlflow]'" in refused.err
