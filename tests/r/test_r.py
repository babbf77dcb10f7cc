"""The R package: built, installed, documented in full, and saying what Python's client says."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from privet import CuratorClient
from scripts.servers import running_curator
from tests.end_to_end.population import answer_all

ROOT = Path(__file__).parent.parent.parent
HERE = Path(__file__).parent
CLINIC = ROOT / "docs" / "examples" / "clinic.csv"
PATIENTS = [
    {"age": 71.25, "days": 12, "ward": "heart"},
    {"age": 30 + 1 / 3, "days": 2, "ward": "medical"},
    {"age": 45, "days": 1000, "ward": "surgical"},
]

pytestmark = pytest.mark.needs("Rscript")


class Installed(NamedTuple):
    """A curator with a token, and R's environment with the package in it."""

    curator: CuratorClient
    environment: dict[str, str]

    def run(self, *command: str | Path, given: str = "") -> str:
        """What a command prints that succeeds."""
        done = subprocess.run(
            command, env=self.environment, input=given, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def read(self, **asked: Any) -> Any:
        """What ``read.R`` prints."""
        return json.loads(self.run("Rscript", HERE / "read.R", given=json.dumps(asked)))


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """The package in a library of its own, beside a running curator."""
    folder = tmp_path_factory.mktemp("r")
    built = subprocess.run(
        ["R", "CMD", "build", "--no-build-vignettes", ROOT / "r"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    assert "WARNING" not in built.stdout
    library = folder / "library"
    library.mkdir()
    (archive,) = folder.glob("privet_*.tar.gz")
    with running_curator(folder / "curator") as started:
        environment = {
            **os.environ,
            "R_LIBS": str(library),
            "PRIVET_URL": started.url,
            "PRIVET_TOKEN": started.token,
        }
        here = Installed(CuratorClient(started.url, started.token), environment)
        here.run("R", "CMD", "INSTALL", "--no-test-load", "-l", library, archive)
        yield here


@pytest.fixture(scope="module")
def classes(installed: Installed) -> str:
    """A collection of thirty patients."""
    wards = ("heart", "medical", "surgical")
    rng = np.random.default_rng(1)
    records = [
        {"age": int(age), "days": 5, "ward": wards[age % 3], "readmitted": "yes"}
        for age in rng.integers(40, 80, 30)
    ]
    settings: dict[str, Any] = {"label": "readmitted", "epsilon": 4.0, "holders": 30}
    task = installed.curator.create(CLINIC, **settings, name="clinic")
    answer_all(installed.curator.task_url(task), records)
    return str(task["id"])


def flat(answer: Any, row: int) -> dict[str, Any]:
    """A row of the API's predictions, as the columns that the package names."""
    numbers = {}
    for part in ("values", "cell_value", "cell_low", "cell_high"):
        name = part.removesuffix("s") if part == "values" else part
        for at, value in enumerate(answer[part][row]):
            class_name = answer["classes"][at] if answer["classes"] else None
            if class_name is not None or part != "values":
                numbers[f"{name}_{class_name}" if class_name else name] = pytest.approx(value)
    cell = answer["cell"][row]
    return {
        "label": answer["label"][row],
        "cell": cell,
        **numbers,
        "path": " and ".join(answer["paths"][str(cell)]),
        "outside": ", ".join(answer["outside"][row]),
    }


@pytest.mark.parametrize("factors", [False, True], ids=["texts", "factors"])
def test_data_frames_say_what_the_api_says(
    installed: Installed, classes: str, factors: bool
) -> None:
    curator = installed.curator
    names = [classes[:12], "clinic", curator.task_url(classes)]
    said = installed.read(task=classes, records=PATIENTS, factors=factors, names=names)
    (listed,) = [task for task in curator.tasks() if task["id"] == classes]
    (row,) = [task for task in said["tasks"] if task["id"] == classes]
    assert (
        row.items()
        >= {
            key: listed[key]
            for key in ("name", "state", "phase", "collecting", "label", "epsilon", "questions")
        }.items()
    )
    models = curator.models(classes)
    assert [model["number"] for model in said["models"]] == [m["number"] for m in models]
    first, again, weighted = models[-3:]
    assert said["fit"][0]["number"] == first["number"]
    alike = (first["estimator"], first["parameters"])
    same = [m["number"] for m in models if (m["estimator"], m["parameters"]) == alike]
    assert (said["again"][0]["number"], said["again"][0]["same_as"]) == (again["number"], same[0])
    assert said["fit"][0]["reports"] == 30
    assert said["fit"][0]["brier_score_high"] == pytest.approx(
        first["scores"]["Brier score"]["high"]
    )
    assert (weighted["estimator"], weighted["parameters"]["weight"]) == ("weighted", 2)
    assert [model["serving"] for model in said["models"]][-2:] == [False, True]
    answer = curator.predict(classes, PATIENTS)
    assert said["predictions"] == [flat(answer, row) for row in range(len(PATIENTS))]
    assert said["predictions"][2]["outside"] == "days"
    assert said["first"] == [flat(curator.predict(classes, PATIENTS[:1], model=1), 0)]
    insight = curator.insight(classes)
    assert said["sentence"] == insight["sentence"]
    overall = insight["overall"]
    assert said["insight"]["reported"][: len(overall)] == pytest.approx(
        [share["reported"] for share in overall]
    )
    assert said["insight"]["path"][0] == "overall"
    assert len(insight["groups"]) == 2
    assert said["groups"] == [
        {
            "path": " and ".join(group["path"]),
            "part": pytest.approx(group["part"]),
            "name": figure["name"],
            "reported": pytest.approx(figure["value"]),
            **{name: pytest.approx(figure[name]) for name in ("low", "high", "public")},
            "differs": figure["differs"],
        }
        for group in insight["groups"]
        for figure in group["figures"]
    ]
    assert said["by"] == [[model["number"] for model in models]] * 3
    assert said["row"] == said["by"][0]
    assert installed.environment["PRIVET_TOKEN"] not in said["printed"]


def test_refusals_are_conditions_of_their_kind(installed: Installed, classes: str) -> None:
    said = installed.read(task=classes, records=PATIENTS, names=[])["refusals"]
    kinds = {name: refusal["kinds"][0] for name, refusal in said.items()}
    assert kinds == {
        "estimator": "privet_invalid_request",
        "task": "privet_task_not_found",
        "token": "privet_not_authorized",
        "unnamed": "privet_invalid_request",
        "date": "privet_invalid_record",
        "infinite": "privet_invalid_record",
        "column": "privet_invalid_record",
        "scheme": "privet_invalid_request",
        "nobody": "privet_unreachable",
    }
    assert all(refusal["kinds"][-1] == "privet_error" for refusal in said.values())
    assert "days" in said["column"]["detail"]


def test_numbers_many_rows_and_awkward_names(installed: Installed) -> None:
    """A number as the label, more rows than a call takes, missing values, a quoted name."""
    rng = np.random.default_rng(2)
    rows = rng.uniform(0, 1, (300, 2))
    public = '"the ""x""",größe,y\n' + "".join(f"{a},{b},{10 * a}\n" for a, b in rows) + ".5,,5\n"
    task = installed.curator.create(public.encode(), label="y", epsilon=4.0, name="numbers in R")
    answer_all(
        installed.curator.task_url(task),
        [{'the "x"': float(a), "größe": float(b), "y": float(10 * a)} for a, b in rows[:40]],
    )
    installed.curator.fit(task)
    code = (
        "library(privet); set.seed(1); "
        "x <- data.frame(runif(20003), c(1 / 3, rep(NA, 20002))); "
        """names(x) <- c('the "x"', 'gr\\u00f6\\u00dfe'); """
        f'said <- privet_predict("{task["id"]}", x); '
        "cat(jsonlite::toJSON(list(x = x[[1]], said = said[c(1, 20003), ], rows = nrow(said), "
        f'none = nrow(privet_predict("{task["id"]}", x[0, ]))), digits = I(15), auto_unbox = TRUE))'
    )
    said = json.loads(installed.run("Rscript", "-e", code))
    assert (said["rows"], said["none"]) == (20_003, 0)
    ends = [{'the "x"': said["x"][at], "größe": size} for at, size in ((0, 1 / 3), (-1, None))]
    answer = installed.curator.predict(task, ends)
    for got, row in zip(said["said"], range(2), strict=True):
        expected = flat(answer, row)
        assert got["label"] == pytest.approx(expected.pop("label"))
        got.pop("_row", None)
        assert got | {"label": None} == expected | {"label": None}


def test_the_vignette_runs(installed: Installed, classes: str, tmp_path: Path) -> None:
    shown = tmp_path / "privet.md"
    vignette = ROOT / "r" / "vignettes" / "privet.Rmd"
    installed.run("Rscript", "-e", f"knitr::knit('{vignette}', '{shown}', quiet = TRUE)")
    text = shown.read_text()
    assert "accuracy_low" in text
    assert "cell_high_yes" in text
    assert "public records" in text.partition("found")[2]
    assert "oak" in text
    assert installed.environment["PRIVET_TOKEN"] not in text
    assert classes in text


def test_every_argument_is_documented(installed: Installed) -> None:
    """R's own checks of documentation against code find nothing."""
    checks = ("codoc", "checkDocFiles", "undoc")
    code = "; ".join(f"print(tools::{check}('privet'))" for check in checks)
    assert installed.run("Rscript", "-e", code).strip() == ""
