"""The curator's command line over real HTTP: what it prints, leaves behind and exits with."""

import csv
import json
import os
import re
import stat
from datetime import date
from pathlib import Path
from random import Random

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from typer.testing import CliRunner

from privet.client.cli import app as holder
from privet.protocol.calls import REPORT_MEDIA_TYPE, TASK_MEDIA_TYPE
from privet.protocol.report import make_report
from privet.protocol.task import Task
from tests.curator import samples
from tests.curator.cli.conftest import TOKEN, Cli

PERSON = '{"age": 50, "hours": 40, "job": "smith", "member": true}'
CREATE = ("--label", "label", "--epsilon", "1", "--depth", "3")


def created(cli: Cli, survey: str, *more: str) -> str:
    return str(cli.json("task", "create", survey, *CREATE, *more)["id"])


@pytest.fixture
def fitted(cli: Cli, survey: str) -> str:
    """The id of a task with a model of its public data."""
    task_id = created(cli, survey)
    cli("fit", task_id, "--estimator", "weighted", "-p", "weight=inf")
    return task_id


@pytest.fixture
def questions(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is asked at a terminal, where the answer is no."""
    asked = []

    def refuse(question: str, *, abort: bool) -> None:
        asked.append(question)
        raise typer.Abort

    monkeypatch.setattr("typer.confirm", refuse)
    return asked


def test_create_prints_the_task_for_people(cli: Cli, survey: str, curator_url: str) -> None:
    """Id, features, question, and how holders answer it; the name is the file's by default. The
    second time nothing changes, and the command says that."""
    result = cli("task", "create", survey, *CREATE)
    assert result.code == 0
    for words in ("survey", "farmer, nurse, smith", "subset", "one of 0, 1"):
        assert words in result.out
    assert f"privet-holder answer {curator_url}/v1/tasks/" in result.err
    again = cli("task", "create", survey, *CREATE)
    assert again.code == 0
    assert "nothing was changed" in again.err


def test_many_strata_are_listed_from_the_smallest(cli: Cli, survey: str) -> None:
    """Few all; of many, with groups of one, those in which fewest people are expected."""
    shown = ("--disclosed", "age", "--disclosed", "hours")
    few = cli("task", "create", survey, *CREATE, *shown)
    assert "Disclosed groups" in few.out
    assert "disclose nothing" not in few.err
    none = cli(
        "task", "create", survey, *CREATE, *shown, "--smallest-group", "9000", "--name", "none"
    )
    assert "Reports disclose nothing" in none.err
    fine = ("--smallest-group", "1", "--hidden-depth", "0", "--name", "fine", *shown)
    many = cli("task", "create", survey, *CREATE[:4], "--depth", "6", *fine)
    assert many.code == 0, many.err
    assert "The 40 smallest of 64 disclosed groups" in many.out
    listed = [int(n) for n in re.findall(r"^│ +(\d+) │ \w", many.out, re.MULTILINE)]
    assert listed == sorted(listed)
    assert len(listed) == 40


def test_create_says_for_how_many_the_tree_is_cut(cli: Cli, survey: str) -> None:
    """By default for ten thousand, and with a register for all of its people, who are fewer."""
    Path("people.csv").write_text("job,count\nfarmer,300\nnurse,400\nsmith,200\n")
    given = ("--label", "label", "--epsilon", "2", "--grower", "max_edge")
    known = ("--disclosed", "job", "--hidden-depth", "1", "--register", "people.csv")
    said = [cli("task", "create", survey, *given, *more).err for more in ((), known)]
    assert "The depth is chosen for 10000 reports" in said[0]
    assert "The depth is chosen for all in the register: set --holders" in said[1]
    beyond = cli("task", "create", survey, *given, *known, "--holders", "1000")
    assert "The register has 900 people, and 1000 are expected to answer" in beyond.err


def test_create_says_what_a_task_hides_though_it_may_disclose_it(cli: Cli, survey: str) -> None:
    """Where levels below groups tell more; with levels that are given all are disclosed."""
    every = [f"--disclosed={name}" for name in ("age", "hours", "job", "member")]
    given = ("--label", "label", "--epsilon", "8", "--smallest-group", "2000", *every)
    some = cli("task", "create", survey, *given, "--name", "some")
    (kept,) = re.findall(r"The task hides (.*) too: so few disclosed groups", some.err)
    (disclosed,) = re.findall(r"disclosed +(.*)", some.out)
    names = [*kept.split(", "), *disclosed.strip(" │").split(", ")]
    assert sorted(names) == ["age", "hours", "job", "member"]
    whole = cli("task", "create", survey, *given, "--hidden-depth", "0", "--name", "all")
    assert "The task hides" not in whole.err


def test_create_passes_every_setting_on(cli: Cli, survey: str) -> None:
    """Every option ends up in the task; objects are written as JSON, or as a file of it, and
    numbers by name with an equals sign."""
    more = ("--name", "n", "--grower", "cart", "--ignore", "job", "--draft", "--mechanism")
    Path("people.json").write_text('{"age": {"unit": "years"}}')
    text = ("--description", "in words", "--features", '{"age": {"low": 0}}')
    files = ("--describe", "people.json")
    given = (survey, *CREATE, *more, "laplace", *text, *files, "--prevalence")
    view = cli.json("task", "create", *given, "1=.02")
    assert "another prevalence" in cli("task", "create", *given, "1=.3").err
    assert (view["name"], view["state"]) == ("n", "draft")
    assert view["task"]["description"] == "in words"
    assert view["task"]["features"][0]["low"] == 0.0
    assert view["task"]["features"][0]["unit"] == "years"
    assert [f["name"] for f in view["task"]["features"]] == ["age", "hours", "member"]
    assert view["questions_in_numbers"][0]["mechanism"] == "laplace"


def test_list_and_show(cli: Cli, survey: str) -> None:
    """Tasks are found by id, by the start of their id and by name."""
    task_id = created(cli, survey)
    assert task_id[:12] in cli("task", "list").out
    listed = cli.json("task", "list")
    assert [task["id"] for task in listed] == [task_id]
    assert f"│ {listed[0]['created'][:10]} │" in cli("task", "list").out
    for name in (task_id, task_id[:6], "survey"):
        assert task_id in cli("task", "show", name).out


def test_text_from_elsewhere_cannot_steer_the_terminal(cli: Cli, survey: str) -> None:
    """Markup in a task's name is shown, and escape sequences are not obeyed."""
    cli("task", "create", survey, *CREATE, "--name", "[31mred[bold]")
    for printed in (cli("task", "list").out, cli("task", "show", "[31mred[bold]").out):
        assert "[31mred[bold]" in printed
    refused = cli("task", "create", survey, *CREATE, "--name", "\x1b[31mred")
    assert refused.code == 1
    assert "remove character 1, the control character U+001B" in refused.err
    assert "\x1b" not in cli("task", "show", "\x1b[31mred").err


def test_a_key_is_made_once_and_shown(cli: Cli, tmp_path: Path) -> None:
    """`key make` prints what holders pin; `key show` says how, where a curator signs nothing."""
    path = tmp_path / "privet.curator.key"
    made = cli("key", "make", str(path))
    assert re.fullmatch(r"[0-9a-f]{64}\n", made.out)
    again = cli("key", "make", str(path))
    assert (again.code, "already exists" in again.err) == (1, True)
    unsigned = cli("key", "show")
    assert (unsigned.code, "privet key make" in unsigned.err) == (1, True)


def test_the_life_of_a_task(cli: Cli, survey: str, questions: list[str]) -> None:
    """Open, close and delete move it; the illegal move exits with 1 and says what is allowed.
    Without --yes and without an answer nothing is deleted; the question names the task."""
    task_id = created(cli, survey, "--draft")
    assert "is open" in cli("task", "open", task_id).err
    assert cli.json("task", "close", task_id)["state"] == "closed"
    refused = cli("task", "close", task_id)
    assert refused.code == 1
    assert "it allows open, delete" in refused.err
    assert cli("task", "delete", task_id).code == 1
    assert "'survey'" in questions[0]
    assert "0 reports" in questions[0]
    assert len(cli.json("task", "list")) == 1
    assert cli("task", "delete", task_id, "--yes").code == 0
    assert cli.json("task", "list") == []


def test_models_are_fitted_promoted_and_compared(cli: Cli, survey: str) -> None:
    """Without reports only the public estimator fits; models are listed with their numbers, and the
    first one serves until another is promoted."""
    task_id = created(cli, survey)
    refused = cli("fit", task_id, "--estimator", "weighted", "-p", "weight=2")
    assert refused.code == 1
    assert "No report has come in yet" in refused.err
    for command in ("card", "export"):
        refused = cli(command, task_id)
        assert refused.code == 1
        assert "no model yet" in refused.err
    fit = ("fit", task_id, "--estimator", "weighted", "-p", "weight=inf")
    assert cli.json(*fit)["number"] == 1
    again = cli(*fit)
    assert "weighted" in again.out
    assert "Model 1 has the same answers and settings, so it predicts the same." in again.out
    models = cli.json("models", task_id)
    assert [(m["number"], m["aliases"]) for m in models] == [(1, ["serving"]), (2, [])]
    assert "weighted" in cli("models", task_id).out
    status = cli.json("status", task_id)
    assert (status["reports"], status["models"]) == (0, 2)
    assert "takes reports now" in cli("status", task_id).out
    compared = cli("compare", task_id, "1", "2").out
    assert "same likeliest class │ 100 % of records" in " ".join(compared.split())
    assert "mean change of a value │ 0 points" in " ".join(compared.split())
    assert "better" in compared
    assert "Model 2 is serving" in cli("promote", task_id, "2").err
    other = cli(
        "fit", task_id, "--estimator", "weighted", "-p", "weight=inf", "-p", "counts=clipped"
    )
    assert (other.code, "the same answers" in other.out) == (0, False)
    cli(*fit, "--promote")
    assert "serving" in cli("models", task_id).out.splitlines()[-2]
    assert "no model 9" in cli("promote", task_id, "9").err


def test_a_fit_says_how_the_reports_came(cli: Cli, survey: str, curator_url: str) -> None:
    """And how far one false one moved a value; how far all do is nothing to be found."""
    url = f"{curator_url}/v1/tasks/{created(cli, survey, '--label-part', '0')}"
    task = Task.parse(httpx.get(url, headers={"Accept": TASK_MEDIA_TYPE}).content)
    body = make_report(task, {**json.loads(PERSON), "label": 1}, os.urandom).pack()
    sent = httpx.post(f"{url}/reports", content=body, headers={"Content-Type": REPORT_MEDIA_TYPE})
    assert sent.status_code == 201
    printed = " ".join(cli("fit", task.id, "--estimator", "weighted").out.split())
    assert "direct reports │ 1 │" in printed
    assert "that many false reports" not in printed
    assert "one false report │ moved a group's figure by 100 points in the worst" in printed
    predicted = " ".join(cli("predict", task.id, "--record", PERSON).out.split())
    assert "share of 1 in its group │ too few answers" in predicted
    grows = "Open: figures may still change."
    assert grows in printed
    assert grows in " ".join(cli("status", task.id).out.split())
    cli("fit", task.id, "--estimator", "weighted")
    compared = " ".join(cli("compare", task.id, "1", "2").out.split())
    assert "accuracy of model 2's groups less model 1's │ 0 (0 to 0)" in compared
    assert "model 1 and model 2 are equally good" in compared.lower()
    draw = Random(0).randbytes
    for _ in range(9):
        body = make_report(task, {**json.loads(PERSON), "label": 1}, draw).pack()
        httpx.post(f"{url}/reports", content=body, headers={"Content-Type": REPORT_MEDIA_TYPE})
    printed = " ".join(cli("fit", task.id, "--estimator", "weighted").out.split())
    assert "accuracy │ not known yet" in printed
    assert "Brier score" not in printed


def test_predict_one_record(cli: Cli, fitted: str) -> None:
    """For people the label, probabilities, the cell's shares and why; for scripts JSON."""
    printed = cli("predict", fitted, "--record", PERSON)
    assert printed.code == 0
    for words in ("label", "P(0)", "share of 0 in its group", "95 % interval", "because"):
        assert words in printed.out
    read = [cli("insight", fitted).out, cli("compare", fitted, "1", "1").out]
    assert not re.search(r"\bcells?\b", " ".join([printed.out, *read]))
    scripted = cli.json("predict", fitted, "--record", PERSON)
    assert scripted["probabilities"][scripted["label"]] >= 0.5


def test_a_value_outside_its_range_is_said(
    cli: Cli, survey: str, fitted: str, tmp_path: Path
) -> None:
    """Someone of 700 years is predicted as of the oldest public age, and that is said."""
    assert "outside" not in cli("predict", fitted, "--record", PERSON).err
    odd = json.dumps({**json.loads(PERSON), "age": 700})
    said = "1 of 1 records have a value outside the published range of age"
    assert said in cli("predict", fitted, "--record", odd).err
    file = tmp_path / "odd.csv"
    lines = Path(survey).read_text().splitlines()
    file.write_text("\n".join([lines[0], lines[1], "700" + lines[2][lines[2].index(",") :]]))
    assert cli.json("predict", fitted, "--csv", str(file))["outside"] == [[], ["age"]]


def test_predict_a_file(
    cli: Cli, survey: str, fitted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every row of a file is predicted in order, in several calls; --out writes them all."""
    monkeypatch.setattr("privet.admin.client.ROWS_PER_CALL", 64)
    out = tmp_path / "predictions.csv"
    assert "Wrote 200" in cli("predict", fitted, "--csv", survey, "--out", str(out)).err
    rows = list(csv.DictReader(out.read_text().splitlines()))
    printed = cli.json("predict", fitted, "--csv", survey)
    assert [row["prediction"] for row in rows] == printed["label"]
    shares = [values[1] for values in printed["values"]]
    assert [float(row["p 1"]) for row in rows] == pytest.approx(shares, rel=1e-5)
    assert "The first 20 of 200 rows" in cli("predict", fitted, "--csv", survey).err
    assert {str(cell) for cell in printed["cell"]} == set(printed["paths"])
    assert len(printed["cell_high"]) == len(printed["label"]) == 200


def test_truth_values_are_one_category_from_file_to_prediction(
    cli: Cli, curator_url: str, tmp_path: Path
) -> None:
    """The public file's lines fit as a holder's, and JSON and text predict the same."""
    rows = [(i, i % 3 == 0, f"{i % 2}.0", i % 2 == 0) for i in range(100)]
    file = tmp_path / "truth.csv"
    file.write_text("who,ok,times,label\n" + "".join("{},{},{},{}\n".format(*r) for r in rows))
    kinds = '{"times": {"kind": "categorical"}}'
    settings = ("--label", "label", "--epsilon", "1", "--ignore", "who", "--features", kinds)
    made = cli.json("task", "create", str(file), *settings)
    shown = [made["task"]["features"][0]["categories"], made["task"]["label"]["classes"]]
    assert shown == [["False", "True"], ["False", "True"]]
    lines = ("--csv", str(file), "--subject-column", "who", "--dry-run")
    answer = ["answer", f"{curator_url}/v1/tasks/{made['id']}", *lines]
    answered = CliRunner().invoke(holder, [*answer, "--ledger", str(tmp_path / "ledger")])
    assert "100 records fit" in answered.stderr
    cli("fit", made["id"], "--estimator", "weighted", "-p", "weight=inf")
    records = [{"ok": ok, "times": times} for ok in (True, "True") for times in (1, 1.0, "1")]
    predicted = {cli("predict", made["id"], "--record", json.dumps(r)).out for r in records}
    assert len(predicted) == 1
    written = cli.json("predict", made["id"], "--csv", str(file), "--ignore", "who")
    assert written["classes"] == ["False", "True"]


def test_predict_numbers(cli: Cli, tmp_path: Path, curator_url: str) -> None:
    """A numeric label is printed with its interval, and written without class columns."""
    file = tmp_path / "line.csv"
    file.write_bytes(samples.line())
    task_id = cli.json("task", "create", str(file), "--label", "y", "--epsilon", "1")["id"]
    cli("fit", task_id, "--estimator", "weighted", "-p", "weight=inf")
    printed = cli("predict", task_id, "--record", '{"x": 0.5, "z": 0.1}')
    assert "mean of its group" in printed.out
    report = {"x": 0.5, "z": 0.1, "y": 1.0}
    url = f"{curator_url}/v1/tasks/{task_id}"
    task = Task.parse(httpx.get(url, headers={"Accept": TASK_MEDIA_TYPE}).content)
    body = make_report(task, report, os.urandom).pack()
    httpx.post(f"{url}/reports", content=body, headers={"Content-Type": REPORT_MEDIA_TYPE})
    cli("fit", task_id, "--estimator", "weighted", "-p", "weight=0", "--promote")
    few = " ".join(cli("predict", task_id, "--record", '{"x": 0.5, "z": 0.1}').out.split())
    assert "mean of its group │ too few answers" in few
    cli("promote", task_id, "1")
    out = tmp_path / "p.csv"
    cli("predict", task_id, "--csv", str(file), "-o", str(out))
    header = next(csv.reader(out.read_text().splitlines()))
    assert header == ["prediction", "group_low", "group_high", "group"]


def test_export_writes_the_model(cli: Cli, fitted: str, tmp_path: Path) -> None:
    """The latest model goes to a file of its own name, to a given one, or to standard output, where
    its card goes too."""
    assert cli("card", fitted).out.startswith("# survey: model 1")
    assert cli("export", fitted).code == 0
    exported = (tmp_path / f"privet-{fitted[:12]}-1.json").read_bytes()
    assert cli("export", fitted, "--out", "named.json").code == 0
    assert (tmp_path / "named.json").read_bytes() == exported
    assert json.loads(cli("export", fitted, "--out", "-").out) == json.loads(exported)
    assert "Cannot write" in cli("export", fitted, "-o", "no/such/folder").err


def test_errors_say_what_to_do(cli: Cli, survey: str, fitted: str) -> None:
    """Refused is 1, wrong usage is 2; the reason is on standard error, without a traceback, and
    without a token that was copied wrongly."""
    create, labelled = ("task", "create", survey), ("--label", "label", "--epsilon")
    one = ("predict", fitted, "--record")
    no_tokens = [("--token", token) for token in ("tök", "cut\noff", "cut off", " ", "\t\n")]
    no_curators = [("--url", f"{at}") for at in ("http://127.0.0.1:9", "http://", "nonsense://x")]
    for arguments, code, said in (
        (("task", "show", "nothing"), 1, "privet task list"),
        (("task", "show", "0" * 64), 1, "no task"),
        (("task", "create", "absent.csv", *CREATE), 2, "absent.csv"),
        ((*create, "--label", "y", "--epsilon", "1"), 1, "no column 'y'"),
        ((*create, *labelled, "0"), 1, "epsilon"),
        ((*create, *labelled, "x"), 2, "epsilon"),
        ((*create, *CREATE, "--features", "{age"), 2, "not JSON"),
        ((*create, *CREATE, "--features", "age.json"), 2, "neither JSON nor a file"),
        ((*create, *CREATE, "--features", '{"age": {"sed": 1}}'), 1, "sed"),
        ((*create, *CREATE, "--looks", "never"), 2, "once"),
        ((*create, *CREATE, "--closes", "2030-12-31T18:00"), 1, "time zone"),
        (("fit", fitted, "-p", "weight"), 1, "NAME=VALUE"),
        (("predict", "x"), 2, "--record"),
        (("predict", "x", "--record", "{}", "--out", "y"), 2, "--csv"),
        (("predict", "x", "--record", "{}", "--csv", survey), 2, "either"),
        ((*one, "{age: 3}"), 1, "not JSON"),
        ((*one, '{"age": 3}'), 1, "Row 1"),
        ((*one, "3"), 1, "records.0"),
        (("nonsense",), 2, "nonsense"),
        ((*create, *CREATE, "--token", "wrong"), 1, "PRIVET_ADMIN_TOKEN"),
        *(((*create, *CREATE, *given), 1, "copy it again") for given in no_tokens),
        *((("task", "list", *given), 1, "privet serve") for given in no_curators),
        (("task", "list", "--url", "localhost:8000"), 1, "put http:// or https://"),
    ):
        result = cli(*arguments)
        assert (result.code, result.out) == (code, ""), arguments
        assert said in result.err
        assert "Traceback" not in result.err
        given = arguments[-1] if "--token" in arguments else ""
        assert not given.strip() or given == "wrong" or given not in result.err


def test_tokens_are_issued_listed_and_revoked(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """A token is printed alone, works, and ends when it is revoked; the audit log shows who did it.
    Spaces that come along when one is copied do not matter."""
    token = cli("token", "issue", "ops").out.strip()
    assert cli.json("token", "list", "--token", token)[0]["name"] == "ops"
    monkeypatch.setenv("PRIVET_TOKEN", f" {TOKEN} ")
    listed = cli("token", "list")
    assert "ops" in listed.out
    assert TOKEN not in listed.out + listed.err
    assert cli("token", "issue", "a b", "--days", "9").code == 0
    assert cli("token", "revoke", "a b").code == 0
    assert cli("token", "revoke", "ops").code == 0
    assert cli("token", "list", "--token", token).code == 1
    shown = cli("audit").out
    assert "token issued" in shown
    assert "PRIVET_ADMIN_TOKEN" in shown
    (latest,) = cli.json("audit", "--limit", "1")
    assert latest["action"] == "sign-in failed"


def test_invitations_go_into_a_file_and_are_taken_back(
    cli: Cli, survey: str, tmp_path: Path
) -> None:
    """A new file that only its owner reads, else one a line or as a list; the counts follow."""
    task_id = created(cli, survey, "--invited")
    file = tmp_path / "codes.txt"
    invited = ("task", "invite", task_id, "--count", "3", "--out", str(file))
    made = cli(*invited, "--days", "30")
    assert (made.code, made.out) == (0, "")
    assert "--invited" not in made.err
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(file.read_text().split()) == 3
    assert "name a new file" in cli(*invited).err
    assert "3 invitations" in cli("task", "uninvite", task_id, "--file", str(file)).err
    assert cli("task", "uninvite", task_id).code == 2
    assert cli("task", "uninvite", task_id, "--all").code == 0
    counts = cli.json("task", "invitations", task_id)
    assert counts == {"issued": 3, "used": 0, "revoked": 3, "expired": 0}
    invite = ("task", "invite", task_id, "--count", "2")
    assert len(cli.json(*invite)["invitations"]) == 2
    assert len(set(cli(*invite).out.splitlines())) == 2
    refused = cli("task", "invite", created(cli, survey, "--name", "open"), "--count", "2")
    assert refused.code == 1
    assert "published for everybody" in refused.err


def test_what_looks_wrong_is_not_published_unasked(
    cli: Cli, tmp_path: Path, questions: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said; without a terminal --yes is needed, and at a terminal the answer counts."""
    file = tmp_path / "odd.csv"
    lines = [f"{'few' if row == 7 else row % 12},{row % 2}" for row in range(60)]
    file.write_text("\n".join(["hours,label", *lines]))
    create = ("task", "create", str(file), "--label", "label", "--epsilon", "1")
    refused = cli(*create)
    assert refused.code == 1
    for words in ("59 numbers and 1 texts", "10000 reports", "use --yes"):
        assert words in refused.err
    assert "categorical" in refused.out
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    assert cli(*create).code == 1
    assert "cannot be changed" in questions[0]
    assert cli.json("task", "list") == []
    assert cli(*create, "--yes").code == 0
    assert "task 'odd' already exists" in cli(*create).err


def test_copied_columns_stay_as_they_are(cli: Cli, fitted: str, tmp_path: Path) -> None:
    """A CSV file's own texts, and Parquet's own values; no two columns share a name."""
    file, out = tmp_path / "new.csv", tmp_path / "out.csv"
    file.write_text(
        "id;group;problem;sure;age;hours;job;member\n"
        "00123;9007199254740993;x;TRUE;30,5;3;nurse;true\n7;-1,50;;false;-;3;pilot;true\n"
    )
    names = ("id", "group", "problem", "sure")
    keep = [word for name in names for word in ("--keep", name)]
    predict = ("predict", fitted, "--csv", str(file), *keep)
    assert cli(*predict, "--out", str(out)).code == 0
    header, one, other = csv.reader(out.read_text().splitlines(), delimiter=";")
    assert len(header) == len({*header})
    assert header[:4] == ["id", "group (in the file)", "problem (in the file)", "sure"]
    assert one[:4] == ["00123", "9007199254740993", "x", "TRUE"]
    assert other[:4] == ["7", "-1,50", "", "false"]
    assert cli.json(*predict)["kept"]["id"] == ["00123", "7"]
    arrow = pa.table(
        {
            "id": [2**53 + 1],
            "sure": [True],
            "day": [date(2024, 1, 5)],
            "none": pa.array([None], pa.int64()),
            "age": [30],
            "hours": [3],
            "job": ["nurse"],
            "member": [True],
        }
    )
    parquet = tmp_path / "new.parquet"
    pq.write_table(arrow, parquet)
    keep = [word for name in ("id", "sure", "day", "none") for word in ("--keep", name)]
    kept = cli.json("predict", fitted, "--csv", str(parquet), *keep)["kept"]
    assert kept == {"id": [2**53 + 1], "sure": [True], "day": ["2024-01-05"], "none": [None]}


def test_a_file_of_which_no_row_fits_is_a_failure(cli: Cli, fitted: str, tmp_path: Path) -> None:
    """A script goes on only where there is a prediction."""
    file = tmp_path / "new.csv"
    file.write_text("age,hours,job,member\n30,3,pilot,true\n40,3,pilot,true\n")
    done = cli("predict", fitted, "--csv", str(file), "--json")
    assert done.code == 1
    assert "2 rows have no prediction" in done.err


def test_rows_that_do_not_fit_have_no_prediction(cli: Cli, fitted: str, tmp_path: Path) -> None:
    """Ids are kept, other columns ignored, and a file is not overwritten unasked."""
    file, out = tmp_path / "new.csv", tmp_path / "out.csv"
    file.write_text(
        "id,note,age,hours,job,member\n"
        "a1,x,30,3,nurse,true\na2,y,30,3,pilot,true\na3,z,,3,smith,false\na4,,50,40,smith,false\n"
    )
    predict = ("predict", fitted, "--csv", str(file), "--ignore", "note", "--keep", "id")
    done = cli(*predict, "--out", str(out))
    assert done.code == 0
    assert "2 rows have no prediction, the first: The field 'job' is 'pilot'" in done.err
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert [(row["id"], bool(row["prediction"]), row["problem"]) for row in rows] == [
        ("a1", True, ""),
        ("a2", False, "The field 'job' is 'pilot': it must be one of farmer, nurse, smith."),
        ("a3", False, "The field 'age' is missing: give it a value."),
        ("a4", True, ""),
    ]
    assert "--force" in cli(*predict, "--out", str(out)).err
    assert cli(*predict, "--out", str(out), "--force").code == 0
    assert "no column 'nr'" in cli(*predict[:4], "--keep", "nr").err
    assert "note" in cli(*predict[:4]).err


def test_the_version_is_printed(run: Cli) -> None:
    assert run("version").out.startswith("privet ")


def test_tables_fit_a_narrow_terminal(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the names are, and however many classes there are."""
    monkeypatch.setenv("COLUMNS", "80")
    names = [f"the class number {i} of seven" for i in range(7)]
    rows = [f"{i % 23},{i % 5},{names[i % 7]}" for i in range(140)]
    file = tmp_path / "wide.csv"
    file.write_text("\n".join(["age,a_feature_with_quite_a_long_name,ward", *rows]))
    name = "A collection whose name says at length what it is for"
    create = ("--label", "ward", "--epsilon", "1", "--depth", "2", "--name", name)
    printed = [cli("task", "create", str(file), *create, "--grower", "cart")]
    printed += [cli("fit", name, "--estimator", "weighted", "-p", "weight=inf")]
    record = '{"age": 3, "a_feature_with_quite_a_long_name": 2}'
    for command in (
        ("task", "list"),
        ("task", "show", name),
        ("task", "invitations", name),
        ("models", name),
        ("compare", name, "1", "1"),
        ("status", name),
        ("predict", name, "--record", record),
        ("predict", name, "--csv", str(file), "--ignore", "ward"),
        ("token", "list"),
        ("audit",),
        ("encode", str(file), "--label", "ward"),
    ):
        printed.append(cli(*command))
    for result in printed:
        assert result.code == 0, result.err
        assert "\x1b" not in result.out
        table = [line for line in result.out.splitlines() if line[:1] in "┏┃┡│└┌"]
        assert table
        assert max(map(len, table)) <= 80
        assert not [line for line in table if "…" in line]


def test_predictions_show_the_predicted_class_and_write_all(
    cli: Cli, survey: str, fitted: str, tmp_path: Path
) -> None:
    """On the screen there is room for one class; a file has the others as well."""
    predict = ("predict", fitted, "--csv", survey, "--ignore", "label")
    out = tmp_path / "out.csv"
    cli(*predict, "--out", str(out))
    first = next(csv.DictReader(out.read_text().splitlines()))
    assert list(first)[1:4] == ["p 0", "group_low 0", "group_high 0"]
    shown = [cell.strip() for cell in cli(*predict).out.splitlines()[4].strip("│").split("│")]
    kinds = ("p", "group_low", "group_high")
    likeliest = [float(first[f"{kind} {first['prediction']}"]) for kind in kinds]
    assert shown[0] == first["prediction"]
    assert shown[1:4] == [f"{value:.4g}" for value in likeliest]
