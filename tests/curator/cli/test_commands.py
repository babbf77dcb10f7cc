"""The curator's command line over real HTTP: what it prints, leaves behind and exits with."""

import csv
import json
import os
import re
import stat
from pathlib import Path

import httpx
import pytest
import typer
from typer.testing import CliRunner

from privet.client.cli import app as holder
from privet.protocol.report import REPORT_MEDIA_TYPE, make_report
from privet.protocol.task import TASK_MEDIA_TYPE, Task
from tests.curator import samples
from tests.curator.cli.conftest import TOKEN, Cli

PERSON = '{"age": 50, "hours": 40, "job": "smith", "member": true}'
CREATE = ("--label", "label", "--epsilon", "1", "--depth", "3")


def created(cli: Cli, survey: str, *more: str) -> str:
    result = cli("task", "create", survey, *CREATE, "--json", *more)
    assert result.code == 0, result.err
    return str(json.loads(result.out)["id"])


@pytest.fixture
def fitted(cli: Cli, survey: str) -> str:
    """The id of a task with a model of its public data."""
    task_id = created(cli, survey)
    cli("fit", task_id, "--estimator", "public")
    return task_id


def test_create_prints_the_task_for_people(cli: Cli, survey: str, curator_url: str) -> None:
    """Id, features, question, and how holders answer it; the name is the file's by default."""
    result = cli("task", "create", survey, *CREATE)
    assert result.code == 0
    for words in ("survey", "farmer, nurse, smith", "subset", "one of 0, 1"):
        assert words in result.out
    assert f"privet-holder answer {curator_url}/v1/tasks/" in result.err


def test_many_shown_cells_are_listed_from_the_smallest(cli: Cli, survey: str) -> None:
    """Few all; of many, with crowds of one, those in which fewest people are expected."""
    shown = ("--shown", "age", "--shown", "hours")
    few = cli("task", "create", survey, *CREATE, *shown)
    assert "Shown cells" in few.out
    assert "nothing openly" not in few.err
    none = cli("task", "create", survey, *CREATE, *shown, "--crowd", "9000", "--name", "none")
    assert "Reports tell nothing openly" in none.err
    fine = ("--crowd", "1", "--set", "hidden_depth=0", "--name", "fine", *shown)
    many = cli("task", "create", survey, *CREATE[:4], "--depth", "6", *fine)
    assert many.code == 0, many.err
    assert "The 40 smallest of 64 shown cells" in many.out
    listed = [int(n) for n in re.findall(r"^│ +(\d+) │ \w", many.out, re.MULTILINE)]
    assert listed == sorted(listed)
    assert len(listed) == 40


def test_create_passes_every_setting_on(cli: Cli, survey: str) -> None:
    """Options and --set end up in the task; values of --set are JSON, or else text."""
    more = ("--name", "n", "--grower", "cart", "--ignore", "job", "--draft", "--mechanism")
    text = ("--set", "description=in words", "--set", 'features={"age": {"low": 0}}')
    result = cli("task", "create", survey, *CREATE, *more, "laplace", *text, "--json")
    view = json.loads(result.out)
    assert (view["name"], view["state"]) == ("n", "draft")
    assert view["task"]["description"] == "in words"
    assert view["task"]["features"][0]["low"] == 0.0
    assert [f["name"] for f in view["task"]["features"]] == ["age", "hours", "member"]
    assert view["questions_in_numbers"][0]["mechanism"] == "laplace"


def test_creating_again_says_so(cli: Cli, survey: str) -> None:
    """The second time nothing changes, and the command says that."""
    created(cli, survey)
    result = cli("task", "create", survey, *CREATE)
    assert result.code == 0
    assert "nothing was changed" in result.err


def test_list_and_show(cli: Cli, survey: str) -> None:
    """Tasks are found by id, by the start of their id and by name."""
    task_id = created(cli, survey)
    assert task_id[:12] in cli("task", "list").out
    listed = json.loads(cli("task", "list", "--json").out)
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
    assert (again.code, "there already" in again.err) == (1, True)
    unsigned = cli("key", "show")
    assert (unsigned.code, "privet key make" in unsigned.err) == (1, True)


def test_the_life_of_a_task(cli: Cli, survey: str) -> None:
    """Open, close and delete move it; the illegal move exits with 1 and says what is allowed."""
    task_id = created(cli, survey, "--draft")
    assert "is open" in cli("task", "open", task_id).err
    assert json.loads(cli("task", "close", task_id, "--json").out)["state"] == "closed"
    refused = cli("task", "close", task_id)
    assert refused.code == 1
    assert "it allows open, delete" in refused.err
    assert cli("task", "delete", task_id, "--yes").code == 0
    assert json.loads(cli("task", "list", "--json").out) == []


def test_delete_asks_first(cli: Cli, survey: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without --yes and without an answer nothing is deleted; the question names the task."""
    task_id = created(cli, survey)
    asked = []

    def refuse(question: str, *, abort: bool) -> None:
        asked.append(question)
        raise typer.Abort

    monkeypatch.setattr("typer.confirm", refuse)
    assert cli("task", "delete", task_id).code == 1
    assert "'survey'" in asked[0]
    assert "0 reports" in asked[0]
    assert len(json.loads(cli("task", "list", "--json").out)) == 1


def test_fit_models_and_status(cli: Cli, survey: str) -> None:
    """Without reports only the public estimator fits; models are listed with their numbers."""
    task_id = created(cli, survey)
    refused = cli("fit", task_id, "--estimator", "weighted", "-p", "weight=2")
    assert refused.code == 1
    assert "No report has come in yet" in refused.err
    fitted = cli("fit", task_id, "--estimator", "public", "--json")
    assert json.loads(fitted.out)["number"] == 1
    assert "public" in cli("fit", task_id, "--estimator", "public").out
    models = json.loads(cli("models", task_id, "--json").out)
    assert [model["number"] for model in models] == [1, 2]
    assert "public" in cli("models", task_id).out
    status = json.loads(cli("status", task_id, "--json").out)
    assert (status["reports"], status["models"]) == (0, 2)
    assert "takes reports now" in cli("status", task_id).out


def test_a_fit_says_how_the_reports_came(cli: Cli, survey: str, curator_url: str) -> None:
    """And how far as many false ones moved a value; if they are all, by whatever can be."""
    url = f"{curator_url}/v1/tasks/{created(cli, survey)}"
    task = Task.parse(httpx.get(url, headers={"Accept": TASK_MEDIA_TYPE}).content)
    body = make_report(task, {**json.loads(PERSON), "label": 1}, os.urandom).pack()
    sent = httpx.post(f"{url}/reports", content=body, headers={"Content-Type": REPORT_MEDIA_TYPE})
    assert sent.status_code == 201
    printed = " ".join(cli("fit", task.id, "--estimator", "weighted").out.split())
    said = (
        "direct reports │ 1; as many false ones, of those tried, moved a cell's value by up to 1 "
    )
    assert said in printed


def test_predict_one_record(cli: Cli, fitted: str) -> None:
    """For people the label, probabilities, the cell's shares and why; for scripts JSON."""
    printed = cli("predict", fitted, "--record", PERSON)
    assert printed.code == 0
    for words in ("label", "P(0)", "share of 0 in its cell", "95 % interval", "because"):
        assert words in printed.out
    scripted = json.loads(cli("predict", fitted, "--record", PERSON, "--json").out)
    assert scripted["probabilities"][scripted["label"]] >= 0.5


def test_a_value_outside_its_range_is_said(cli: Cli, survey: str, tmp_path: Path) -> None:
    """Someone of 700 years is predicted as of the oldest public age, and that is said."""
    task_id = created(cli, survey)
    cli("fit", task_id, "--estimator", "public")
    assert "outside" not in cli("predict", task_id, "--record", PERSON).err
    odd = json.dumps({**json.loads(PERSON), "age": 700})
    said = "1 of 1 records have a value outside the published range, of age"
    assert said in cli("predict", task_id, "--record", odd).err
    file = tmp_path / "odd.csv"
    lines = Path(survey).read_text().splitlines()
    file.write_text("\n".join([lines[0], lines[1], "700" + lines[2][lines[2].index(",") :]]))
    predicted = cli("predict", task_id, "--csv", str(file), "--json")
    assert json.loads(predicted.out)["outside"] == [[], ["age"]]


def test_predict_a_file(
    cli: Cli, survey: str, fitted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every row of a file is predicted in order, in several calls; --out writes them all."""
    monkeypatch.setattr("privet.curator.admin_client.ROWS_PER_CALL", 64)
    out = tmp_path / "predictions.csv"
    assert "Wrote 200" in cli("predict", fitted, "--csv", survey, "--out", str(out)).err
    rows = list(csv.DictReader(out.read_text().splitlines()))
    printed = json.loads(cli("predict", fitted, "--csv", survey, "--json").out)
    assert [row["prediction"] for row in rows] == printed["label"]
    assert [float(row["p 1"]) for row in rows] == [values[1] for values in printed["values"]]
    assert "The first 20 of 200 rows" in cli("predict", fitted, "--csv", survey).err
    assert {str(cell) for cell in printed["cell"]} == set(printed["paths"])
    assert len(printed["cell_influence"]) == len(printed["label"]) == 200


def test_truth_values_are_one_category_from_file_to_prediction(
    cli: Cli, curator_url: str, tmp_path: Path
) -> None:
    """The public file's lines fit as a holder's, and JSON and text predict the same."""
    rows = [(i, i % 3 == 0, f"{i % 2}.0", i % 2 == 0) for i in range(100)]
    file = tmp_path / "truth.csv"
    file.write_text("who,ok,times,label\n" + "".join("{},{},{},{}\n".format(*r) for r in rows))
    kinds = 'features={"times": {"kind": "categorical"}}'
    settings = ("--label", "label", "--epsilon", "1", "--ignore", "who", "--set", kinds)
    made = json.loads(cli("task", "create", str(file), *settings, "--json").out)
    shown = [made["task"]["features"][0]["categories"], made["task"]["label"]["classes"]]
    assert shown == [["False", "True"], ["False", "True"]]
    lines = ("--csv", str(file), "--subject-column", "who", "--dry-run")
    answer = ["answer", f"{curator_url}/v1/tasks/{made['id']}", *lines]
    answered = CliRunner().invoke(holder, [*answer, "--ledger", str(tmp_path / "ledger")])
    assert "100 records fit" in answered.stderr
    cli("fit", made["id"], "--estimator", "public")
    records = [
        {"ok": ok, "times": times} for ok in (True, "True", "true", 1) for times in (1, "1.0")
    ]
    predicted = {cli("predict", made["id"], "--record", json.dumps(r)).out for r in records}
    assert len(predicted) == 1
    written = cli("predict", made["id"], "--csv", str(file), "--ignore", "who", "--json")
    assert json.loads(written.out)["classes"] == ["False", "True"]


def test_predict_numbers(cli: Cli, tmp_path: Path) -> None:
    """A numeric label is printed with its interval, and written without class columns."""
    file = tmp_path / "line.csv"
    file.write_bytes(samples.line())
    result = cli("task", "create", str(file), "--label", "y", "--epsilon", "1", "--json")
    task_id = json.loads(result.out)["id"]
    cli("fit", task_id, "--estimator", "public")
    printed = cli("predict", task_id, "--record", '{"x": 0.5, "z": 0.1}')
    assert "mean of its cell" in printed.out
    out = tmp_path / "p.csv"
    cli("predict", task_id, "--csv", str(file), "-o", str(out))
    header = next(csv.reader(out.read_text().splitlines()))
    assert header == ["prediction", "cell_low", "cell_high", "cell"]


def test_card_is_printed(cli: Cli, survey: str) -> None:
    """The latest model's card goes to standard output."""
    task_id = created(cli, survey)
    assert "no model yet" in cli("card", task_id).err
    cli("fit", task_id, "--estimator", "public")
    assert cli("card", task_id).out.startswith("# survey: model 1")


def test_export_writes_the_model(cli: Cli, survey: str, tmp_path: Path) -> None:
    """The latest model goes to a file of its own name, to a given one, or to standard output."""
    task_id = created(cli, survey)
    refused = cli("export", task_id)
    assert refused.code == 1
    assert "no model yet" in refused.err
    cli("fit", task_id, "--estimator", "public")
    assert cli("export", task_id).code == 0
    exported = (tmp_path / f"privet-{task_id[:12]}-1.json").read_bytes()
    assert cli("export", task_id, "--out", "named.json").code == 0
    assert (tmp_path / "named.json").read_bytes() == exported
    assert json.loads(cli("export", task_id, "--out", "-").out) == json.loads(exported)
    assert "Cannot write" in cli("export", task_id, "-o", "no/such/folder").err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("task", "show", "nothing"), 1, "privet task list"),
        (("task", "show", "0" * 64), 1, "no task"),
        (("task", "create", "absent.csv", *CREATE), 2, "absent.csv"),
        (("task", "create", "{survey}", "--label", "y", "--epsilon", "1"), 1, "no column 'y'"),
        (("task", "create", "{survey}", "--label", "label", "--epsilon", "0"), 1, "epsilon"),
        (("task", "create", "{survey}", "--label", "label", "--epsilon", "x"), 2, "epsilon"),
        (("task", "create", "{survey}", *CREATE, "--set", "seed"), 1, "NAME=VALUE"),
        (("task", "create", "{survey}", *CREATE, "--set", "sed=1"), 1, "sed"),
        (("fit", "{survey}", "-p", "weight"), 1, "NAME=VALUE"),
        (("predict", "x"), 2, "--record"),
        (("predict", "x", "--record", "{}", "--out", "y"), 2, "--csv"),
        (("predict", "x", "--record", "{}", "--csv", "{survey}"), 2, "either"),
        (("nonsense",), 2, "nonsense"),
    ],
)
def test_errors_say_what_to_do(
    cli: Cli, survey: str, arguments: tuple[str, ...], code: int, said: str
) -> None:
    """Refused is 1, wrong usage is 2; the reason is on standard error, without a traceback."""
    given = [survey if argument == "{survey}" else argument for argument in arguments]
    result = cli(*given)
    assert result.code == code
    assert said in result.err
    assert "Traceback" not in result.err
    assert result.out == ""


def test_record_must_be_json(cli: Cli, fitted: str) -> None:
    """A record that is no JSON or does not fit is refused with the reason."""
    assert "not JSON" in cli("predict", fitted, "--record", "{age: 3}").err
    assert "Row 1" in cli("predict", fitted, "--record", '{"age": 3}').err
    assert "records.0" in cli("predict", fitted, "--record", "3").err


def test_a_wrong_token_is_refused(cli: Cli, survey: str) -> None:
    """--token wins over the environment, and a wrong one says where the right one is."""
    result = cli("task", "create", survey, *CREATE, "--token", "wrong")
    assert result.code == 1
    assert "PRIVET_ADMIN_TOKEN" in result.err


@pytest.mark.parametrize("token", ["tök", "cut\noff", "cut off", " ", "\t\n"])
def test_a_token_that_cannot_be_sent_is_refused(cli: Cli, survey: str, token: str) -> None:
    """A slip in copying gets advice, and what was copied is not printed."""
    result = cli("task", "create", survey, *CREATE, "--token", token)
    assert (result.code, result.out) == (1, "")
    assert "copy it again" in result.err
    assert not token.strip() or token not in result.err


def test_spaces_around_a_token_do_not_matter(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """They come along when it is copied; the token is not printed."""
    monkeypatch.setenv("PRIVET_TOKEN", f" {TOKEN} ")
    listed = cli("token", "list")
    assert listed.code == 0
    assert TOKEN not in listed.out + listed.err


def test_the_audit_log_is_shown(cli: Cli, survey: str) -> None:
    """Who did what, on one line each."""
    created(cli, survey)
    shown = cli("audit").out
    assert "task created" in shown
    assert "PRIVET_ADMIN_TOKEN" in shown
    assert json.loads(cli("audit", "--limit", "1", "--json").out)[0]["action"] == "task created"


def test_no_curator_at_the_address(cli: Cli) -> None:
    """A dead address, a wrong one and one of something else all say what to do."""
    for url in ("http://127.0.0.1:9", "http://", "nonsense://x"):
        result = cli("task", "list", "--url", url)
        assert result.code == 1
        assert "privet serve" in result.err


def test_version(cli: Cli) -> None:
    """The version is printed on one line."""
    result = cli("version")
    assert result.code == 0
    assert result.out.startswith("privet ")


def test_tokens_are_issued_listed_and_revoked(cli: Cli) -> None:
    """A token is printed alone, works, and ends when it is revoked."""
    token = cli("token", "issue", "ops").out.strip()
    assert json.loads(cli("token", "list", "--token", token, "--json").out)[0]["name"] == "ops"
    assert "ops" in cli("token", "list").out
    assert cli("token", "issue", "a b", "--days", "9").code == 0
    assert cli("token", "revoke", "a b").code == 0
    assert cli("token", "revoke", "ops").code == 0
    assert cli("token", "list", "--token", token).code == 1


def test_invitations_are_printed_one_per_line(cli: Cli, survey: str) -> None:
    """They can be piped on; --json gives them as a list."""
    task_id = created(cli, survey)
    lines = cli("task", "invite", task_id, "--count", "3").out.splitlines()
    assert len(set(lines)) == 3
    made = json.loads(cli("task", "invite", task_id, "--count", "2", "--json").out)
    assert len(made["invitations"]) == 2


def test_invitations_go_into_a_file_and_are_taken_back(
    cli: Cli, survey: str, tmp_path: Path
) -> None:
    """A new file that only its owner reads; the counts follow."""
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
    counts = json.loads(cli("task", "invitations", task_id, "--json").out)
    assert counts == {"issued": 3, "used": 0, "revoked": 3, "expired": 0}
    plain = cli("task", "invite", created(cli, survey, "--name", "open"), "--count", "1")
    assert "create tasks with --invited" in plain.err


def test_models_are_promoted_and_compared(cli: Cli, fitted: str) -> None:
    """The first one serves until another is promoted."""
    cli("fit", fitted, "--estimator", "public")
    models = json.loads(cli("models", fitted, "--json").out)
    assert [model["aliases"] for model in models] == [["serving"], []]
    assert "100.0% of records" in cli("compare", fitted, "1", "2").out
    assert "Model 2 is serving" in cli("promote", fitted, "2").err
    cli("fit", fitted, "--estimator", "public", "--promote")
    assert "serving" in cli("models", fitted).out.splitlines()[-2]
    assert "no model 9" in cli("promote", fitted, "9").err


def test_what_looks_wrong_is_not_published_unasked(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said; without a terminal --yes is needed, and at a terminal the answer counts."""
    file = tmp_path / "odd.csv"
    lines = [f"{'?' if row == 7 else row % 12},{row % 2}" for row in range(60)]
    file.write_text("\n".join(["hours,label", *lines]))
    create = ("task", "create", str(file), "--label", "label", "--epsilon", "1")
    refused = cli(*create)
    assert refused.code == 1
    for words in ("59 numbers and 1 texts", "10000 reports", "say --yes"):
        assert words in refused.err
    assert "categorical" in refused.out
    asked = []
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)

    def refuse(question: str, *, abort: bool) -> None:
        asked.append(question)
        raise typer.Abort

    monkeypatch.setattr("typer.confirm", refuse)
    assert cli(*create).code == 1
    assert "cannot be changed" in asked[0]
    assert json.loads(cli("task", "list", "--json").out) == []
    assert cli(*create, "--yes").code == 0
    assert "is a task 'odd' already" in cli(*create).err


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
    assert "unknown" in cli(*predict[:4]).err.lower() or "note" in cli(*predict[:4]).err


def test_slips_are_told_apart(cli: Cli, survey: str) -> None:
    """An address without a scheme, and a closing time without a zone."""
    assert "put http:// or https://" in cli("task", "list", "--url", "localhost:8000").err
    naive = cli("task", "create", survey, *CREATE, "--set", 'closes="2030-12-31T18:00"')
    assert "time zone" in naive.err


def test_mechanisms_are_compared_without_a_curator(cli: Cli) -> None:
    """The least variance comes first, and auto chooses it unless a limit forbids it."""
    rows = json.loads(cli("mechanisms", "--epsilon", "1", "--cells", "64", "--json").out)
    variances = [row["variance"] for row in rows]
    assert variances == sorted(variances)
    (chosen,) = [row for row in rows if row["chosen"]]
    assert chosen["variance"] == pytest.approx(variances[0])
    limited = cli("mechanisms", "--epsilon", "1", "--cells", "64", "--max-bytes", "1")
    assert "projective (auto)" in limited.out
    assert "too long" in limited.out
    assert cli("mechanisms", "--epsilon", "0", "--cells", "64").code == 1


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
    printed += [cli("fit", name, "--estimator", "public")]
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
        ("mechanisms", "--epsilon", "1", "--cells", "512", "--classes", "7"),
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
    assert list(first)[1:4] == ["p 0", "cell_low 0", "cell_high 0"]
    shown = [cell.strip() for cell in cli(*predict).out.splitlines()[4].strip("│").split("│")]
    kinds = ("p", "cell_low", "cell_high")
    likeliest = [float(first[f"{kind} {first['prediction']}"]) for kind in kinds]
    assert shown[0] == first["prediction"]
    assert shown[1:4] == [f"{value:.4g}" for value in likeliest]
