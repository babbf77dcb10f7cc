"""``privet model register``: a model into MLflow's registry, as ONNX."""

import os
import re
import sys
from contextlib import redirect_stdout
from importlib.metadata import version
from typing import Annotated, Any

import typer

from privet.protocol.errors import InvalidRequest, PrivetError

from ..admin_client import CuratorClient, Document
from .options import ModelNumber, TaskName, remote
from .output import print_facts

NOT_IN_NAMES = re.compile(r"\s*[/:.%\"']+\s*")
"""What MLflow does not take in the name of a model."""
NEEDED = ("onnx", "onnxruntime")

app = typer.Typer(no_args_is_help=True, help="Models in the registries of others.")


def _print_registered(registered: Document) -> None:
    print_facts(f"Version {registered['version']} of {registered['name']}", registered["tags"])


@app.command(
    epilog="Example: privet model register Readmission --mlflow https://mlflow.example --model 2"
)
@remote(_print_registered, doing="Registering ...")
def register(
    api: CuratorClient,
    task: TaskName,
    *,
    mlflow: Annotated[
        str, typer.Option(metavar="URI", help="MLflow's tracking server, or sqlite:///file.")
    ],
    name: Annotated[
        str | None, typer.Option(help="Name in the registry; by default the task's.")
    ] = None,
    model: ModelNumber = None,
) -> Document:
    """Register a model in MLflow: ONNX with its signature, its card, and what it cost, as tags.

    MLflow's own variables hold credentials and the experiment, such as MLFLOW_TRACKING_TOKEN.
    Registering a model again makes another version.
    """
    view = api.task(task)
    number = api.model_number(view) if model is None else model
    numbered = {each["number"]: each for each in api.models(view)}
    if number not in numbered:
        raise InvalidRequest(f"The task has no model {number}: see 'privet models'.")
    tags = {
        "privet.task": view["id"],
        "privet.model": number,
        "privet.epsilon": view["epsilon"],
        "privet.estimator": numbered[number]["estimator"],
        "privet.reports": numbered[number]["reports"],
        "privet.curator": api.url,
    }
    card = api.card(view, model=number)
    graph = api.export(view, model=number, format="onnx")
    return into_mlflow(
        mlflow,
        name or NOT_IN_NAMES.sub(" ", view["name"]).strip() or view["id"],
        graph,
        card,
        {key: str(value) for key, value in tags.items()},
    )


def into_mlflow(uri: str, name: str, graph: bytes, card: str, tags: dict[str, str]) -> Document:
    """Log a serialized ONNX graph as a run of its own, and register it; its name, version and run.

    The card is the file ``card.md`` of the run and, like ``tags``, a tag of the version. Raises
    ``InvalidRequest`` without MLflow's client, and ``PrivetError`` for what MLflow refuses.
    """
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")  # its own 7 take minutes
    try:
        import mlflow
        import mlflow.onnx
        from mlflow.exceptions import MlflowException
    except ModuleNotFoundError as error:
        raise InvalidRequest(
            f"Registering needs {error.name}, which is not installed: pip install 'privet[mlflow]'"
        ) from None
    import onnx

    loaded = onnx.load_model_from_string(graph)
    try:
        mlflow.set_tracking_uri(uri)
        mlflow.set_registry_uri(uri)
        run_name = f"{name} {tags['privet.model']}"
        with redirect_stdout(sys.stderr), mlflow.start_run(run_name=run_name, tags=tags):
            mlflow.log_text(card, "card.md")
            logged = mlflow.onnx.log_model(
                loaded,
                name="model",
                signature=signature_of(loaded),
                pip_requirements=[f"{package}=={version(package)}" for package in NEEDED],
                save_as_external_data=False,
                metadata=tags,
                registered_model_name=name,
            )
        client = mlflow.MlflowClient()
        made = str(logged.registered_model_version)
        for key, value in {**tags, "privet.card": card}.items():
            client.set_model_version_tag(name, made, key, value)
    except (MlflowException, OSError) as error:
        raise PrivetError(f"MLflow at {uri} did not take the model: {error}") from None
    return {"name": name, "version": made, "run": logged.run_id, "tags": tags}


def signature_of(graph: Any) -> Any:
    """MLflow's signature of an ONNX graph: tensors by name, of any number of rows."""
    import numpy as np
    from mlflow.models.signature import ModelSignature
    from mlflow.types.schema import Schema, TensorSpec
    from onnx import TensorProto, helper

    def schema(values: Any) -> Schema:
        specs = []
        for value in values:
            tensor = value.type.tensor_type
            kind = (
                np.dtype(str)
                if tensor.elem_type == TensorProto.STRING
                else helper.tensor_dtype_to_np_dtype(tensor.elem_type)
            )
            shape = [dim.dim_value or -1 for dim in tensor.shape.dim]
            specs.append(TensorSpec(kind, shape, name=value.name))
        return Schema(specs)

    return ModelSignature(inputs=schema(graph.graph.input), outputs=schema(graph.graph.output))
