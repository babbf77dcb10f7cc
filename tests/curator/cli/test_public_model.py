"""A public model of one's own, from the command line to a running curator and its holders."""

import csv
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from tests.curator.cli.conftest import Cli
from tests.end_to_end.population import answer_all
from tests.end_to_end.population import survey as people
from tests.learning.onnx_files import STRIPES, striped, stripes

RANGE = '{"x": {"low": 0, "high": 1}}'


@pytest.mark.usefixtures("trial_in_this_process")
def test_a_model_of_ones_own_is_served(cli: Cli, curator_url: str, tmp_path: Path) -> None:
    """With five holders all stripes are predicted right: 40 records cannot teach that."""
    Path("stripes.csv").write_bytes(striped(40, seed=0))
    Path("stripes.onnx").write_bytes(stripes(1))
    options = ("--label", "y", "--epsilon", "1", "--depth", "2", "--features", RANGE)
    made = cli.json("task", "create", "stripes.csv", "--public-model", "stripes.onnx", *options)
    task = made["id"]
    assert "uploaded ONNX" in cli("task", "show", task).out
    answer_all(f"{curator_url}/v1/tasks/{task}", [{"x": i / 5, "y": "no"} for i in range(5)])
    assert made["public_model"] in cli.json("fit", task)["facts"]["public model"]
    middles = (np.arange(STRIPES) + 0.5) / STRIPES
    (tmp_path / "ask.csv").write_text("\n".join(["x", *map(str, middles)]))
    printed = cli("predict", task, "--csv", "ask.csv", "--out", "predicted.csv")
    assert printed.code == 0, printed.err
    with Path("predicted.csv").open() as file:
        labels = [row["prediction"] for row in csv.DictReader(file)]
    assert labels == ["no", "yes"] * (STRIPES // 2)
    assert cli("export", task, "--format", "onnx", "--out", "model.onnx").code == 0
    found = onnxruntime.InferenceSession("model.onnx").run(
        ["label"], {"feature x": middles[:, None]}
    )
    assert found[0].tolist() == labels


@pytest.mark.slow
def test_the_documented_way_leads_there(
    cli: Cli, survey: str, curator_url: str, tmp_path: Path
) -> None:
    """Encode, train, convert, create: the steps of docs/public-model.md, as they are written."""
    pytest.importorskip("skl2onnx")
    guide = (Path(__file__).parents[3] / "docs/public-model.md").read_text()
    program = guide.split("```python\n")[1].split("```")[0]
    options = ("--label", "label")
    assert cli("encode", survey, *options, "--out", "encoded.csv").code == 0
    exec(compile(program, "docs/public-model.md", "exec"), {})
    create = ("task", "create", survey, "--public-model", "model.onnx", *options)
    task = cli.json(*create, "--epsilon", "2", "--depth", "2")["id"]
    answer_all(f"{curator_url}/v1/tasks/{task}", people(20, seed=1))
    assert cli("fit", task).code == 0
    assert cli("card", task).out.count("uploaded ONNX") == 1
    assert cli("export", task, "--format", "onnx", "--out", "served.onnx").code == 0


def test_encode_shows_columns_in_their_order(cli: Cli, survey: str) -> None:
    """Numbers have a column each, and texts one per category; the label comes last."""
    shown = cli.json("encode", survey, "--label", "label", "--out", "encoded.csv")
    assert shown["columns"] == [
        *("age", "hours", "job=farmer", "job=nurse", "job=smith"),
        *("member=False", "member=True"),
    ]
    with Path("encoded.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == shown["rows"] == 200
    assert list(rows[0]) == [*shown["columns"], "label"]
    values = np.array([[float(row[name]) for name in shown["columns"]] for row in rows])
    assert values.min() == 0.0
    assert values.max() == 1.0
    assert (values[:, 2:5].sum(axis=1) == 1.0).all()
    assert {row["label"] for row in rows} == {"0", "1"}
    fewer = cli("encode", survey, "--label", "label", "--ignore", "job")
    assert "job" not in fewer.out
    assert "member=True" in fewer.out


@pytest.mark.usefixtures("trial_in_this_process")
def test_a_refused_model_is_said_in_words(cli: Cli, survey: str, tmp_path: Path) -> None:
    """The curator's reason is printed, and the exit code is 1."""
    (tmp_path / "bad.onnx").write_bytes(b"no model")
    refused = cli(
        "task", "create", survey, "--label", "label", "--epsilon", "1", "--public-model", "bad.onnx"
    )
    assert refused.code == 1
    assert "not an ONNX file" in " ".join(refused.err.split())
