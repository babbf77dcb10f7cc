import json
import math
from collections.abc import Callable
from time import process_time
from typing import Any
from unicodedata import normalize

import httpx
import pytest
from typer.testing import CliRunner, Result

from privet.client import (
    CuratorUnreachable,
    StoredAnswer,
    UnexpectedResponse,
    departure,
)
from privet.client.cli import app
from privet.client.cli.states import ANSWER_STATES, EXIT_KEPT
from privet.client.explanation import Explanation, odds
from privet.protocol.errors import PROBLEMS, InvalidTask, PrivetError
from privet.protocol.features import Categorical, Classes
from privet.protocol.label_scale import Centring
from privet.protocol.partition import Partition, Tree
from privet.protocol.task import Question
from tests.client.command import Command
from tests.fake_curator import FakeCurator, serving
from tests.keeping import keeps
from tests.protocol.examples import FEATURES, RANGE, RECORD, make_task


def as_json(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_show_explains_in_plain_words(curator: FakeCurator, command: Command) -> None:
    """The reader learns what is read, what is sent, and what epsilon means, in numbers."""
    text = " ".join(command("show", curator.url).stdout.replace("│", " ").split())
    expected = [
        "age: a number, taken as 20 to 60",
        "answer: one of no, yes",
        "which of 4 published groups",
        "network address",
        "more than 2.72 times as likely",
        "at most 73.2% sure",
    ]
    for said in expected:
        assert said in text
    shown = as_json(command("show", curator.url, "--json"))
    assert (shown["task"], shown["epsilon"]) == (curator.task.id, 1.0)
    assert curator.posts == []


def test_answering_sends_one_report_after_asking(curator: FakeCurator, command: Command) -> None:
    """Yes sends; the receipt is on stderr and the ledger knows. A record may come from stdin."""
    result = command.answer(curator.url, stdin="y\n")
    assert (result.exit_code, len(curator.counted)) == (0, 1)
    assert "Draw a perturbed answer and send it?" in result.stderr
    assert "Counted." in result.stderr
    assert [answer.counted for answer in command.ledger.answers()] == [True]
    other = ("--subject", "other", "--record", "-", "--yes")
    assert command("answer", curator.url, *other, stdin=json.dumps(RECORD)).exit_code == 0
    assert len(curator.counted) == 2


@pytest.mark.parametrize("reply", ["n\n", "", "\n"])
def test_without_a_yes_nothing_happens(curator: FakeCurator, command: Command, reply: str) -> None:
    """No, silence and the end of input draw nothing, send nothing and spend nothing."""
    result = command.answer(curator.url, stdin=reply)
    assert result.exit_code == 1
    assert "Nothing was drawn" in result.stderr
    assert (curator.posts, command.ledger.answers()) == ([], [])


def test_a_dry_run_checks_everything_and_draws_nothing(
    curator: FakeCurator, command: Command
) -> None:
    """The record is checked against the task; nothing is drawn, stored or sent."""
    result = command.answer(curator.url, "--dry-run")
    assert result.exit_code == 0
    assert "The record fits" in result.stderr
    shown = as_json(command.answer(curator.url, "--dry-run", "--json"))
    assert (shown["dry_run"], shown["answered"]) == (True, False)
    assert (curator.posts, command.ledger.answers()) == ([], [])


@keeps(
    "threat-model: the caps are 2, 4 and 32",
    in_="protocol/limits.py",
    instead_of="YEAR_CAP, DISCLOSED_CAP = 2.0, 4.0, 32",
    plant="YEAR_CAP, DISCLOSED_CAP = 20.0, 40.0, 320",
)
def test_answering_again_costs_nothing(curator: FakeCurator, command: Command) -> None:
    """The second time the record is not even read, and nothing is asked or sent."""
    first = as_json(command.answer(curator.url, "--yes", "--json"))
    command.record.unlink()
    again = command.answer(curator.url)
    assert again.exit_code == 0
    assert "no epsilon was spent" in again.stderr
    assert "Answered before" in command.answer(curator.url, "--dry-run").stderr
    assert as_json(command("budget", "--json")) == {
        "subject": "me",
        "spent": 1.0,
        "spent_in_year": 1.0,
        "reserved": 0.0,
        "disclosed_in_year": 0.0,
        "caps": {"task": 2.0, "year": 4.0, "disclosed": 32.0},
        "answers": [{name: value for name, value in first.items() if name != "misfit"}],
    }
    assert len(curator.posts) == 1


@pytest.mark.parametrize("text", [None, "", "[]", "{", '"x"', "[" * 100_000], ids=str)
def test_what_is_no_record_is_one_sentence(
    curator: FakeCurator, command: Command, text: str | None
) -> None:
    """Exit status 1, no traceback, and the curator has not even been asked for the task."""
    command.record.unlink()
    if text is not None:
        command.record.write_text(text)
    said = assert_refused(command.answer(curator.url, "--yes"), 1)
    assert ("cannot be read" in said) is (text is None)
    assert (curator.calls, curator.posts, command.ledger.answers()) == ([], [], [])


MISFITS = {
    '{"age": 33}': "'answer' is missing",
    '{"age": NaN, "answer": "yes"}': "'age' is missing",
    '{"age": 33, "answer": "maybe"}': "it must be one of no, yes",
}


@pytest.mark.parametrize(("text", "why"), MISFITS.items())
def test_a_record_that_does_not_fit_can_be_mended_or_reported(
    curator: FakeCurator, command: Command, text: str, why: str
) -> None:
    """Asked, a person learns why and that silence shows; with --yes it is sent like any other."""
    command.record.write_text(text)
    dry = command.answer(curator.url, "--dry-run")
    assert (dry.exit_code, curator.posts) == (0, [])
    assert why in dry.stderr
    declined = command.answer(curator.url, stdin="n\n")
    assert (declined.exit_code, curator.posts, command.ledger.answers()) == (1, [], [])
    assert why in declined.stderr
    assert "the curator may notice" in declined.stderr
    sent = command.answer(curator.url, "--yes", "--json")
    assert len(curator.counted) == 1
    assert why in as_json(sent)["misfit"]
    assert "--dry-run shows why" in sent.stderr
    assert why not in sent.stderr  # it may be logged elsewhere


def assert_refused(result: Result, status: int) -> str:
    """One or two readable lines on stderr and the promised exit status."""
    assert result.exit_code == status, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert 0 < len(result.stderr.strip().splitlines()) <= 2
    return result.stderr


def test_the_holder_refuses_with_status_3(curator: FakeCurator, command: Command) -> None:
    """Past the cap or at an unsafe address, to protect the record; nothing is sent."""
    assert command("cap", "--task", "0.5").exit_code == 0
    assert "raise the cap" in assert_refused(command.answer(curator.url, "--yes"), 3)
    unsafe = f"http://curator.example/v1/tasks/{curator.task.id}"
    assert "--insecure-http" in assert_refused(command.answer(unsafe, "--yes"), 3)
    assert curator.posts == []


def test_what_a_relay_says_of_itself_is_shown(curator: FakeCurator, command: Command) -> None:
    """That one operator runs both servers, or that it passes on files."""
    for says, said in (
        ({}, ""),
        ({"one_operator": True}, "are run by the same people"),
        ({"as_files": True}, "passes reports on as files"),
    ):
        curator.says = says
        shown = " ".join(command("show", curator.url).stderr.split())
        assert said in shown
        assert bool(shown) == bool(said)


@pytest.mark.parametrize("epsilon", [0.0, 0.001, 0.5, 1.5, 2.5, 8.0, 699.0])
def test_odds_are_rounded_up(epsilon: float) -> None:
    """Never fewer than they can be, and at most one unit of the third digit more."""
    assert 1 <= float(odds(epsilon)) / math.exp(epsilon) < 1.01


def test_a_file_without_its_subjects_column_says_what_is_missing(
    curator: FakeCurator, command: Command
) -> None:
    """The refusal names the option, and the option's help says that a file needs it."""
    refused = command("answer", curator.url, "--csv", str(command.record))
    assert refused.exit_code == 2
    assert "--csv needs --subject-column" in " ".join(refused.stderr.replace("│", " ").split())
    shown = " ".join(CliRunner().invoke(app, ["answer", "--help"]).stdout.replace("│", " ").split())
    assert "Required with --csv" in shown


def test_caps_are_shown_and_changed_by_a_command(command: Command) -> None:
    """What a cap means is said in odds; one that is not named stays."""
    shown = command("cap").stdout
    assert "Limits on the odds of two records, after all answers" in shown
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in shown.splitlines()]
    assert ["one task", "2", "7.39 times", "88.1%"] in rows
    assert ["a year", "4", "54.6 times", "98.3%"] in rows
    assert command.ledger.path.exists() is False
    changed = {"subject": "me", "caps": {"task": 2.0, "year": 6.0, "disclosed": 32.0}}
    assert as_json(command("cap", "--year", "6", "--json")) == changed
    assert as_json(command("cap", "--json")) == changed


def test_what_is_shown_fits_a_narrow_terminal(curator: FakeCurator, command: Command) -> None:
    """Explanations and tables, without colours in a pipe."""
    answered = command.answer(curator.url, "--yes")
    shown = [answered, command("show", curator.url), command("budget"), command("cap")]
    for result in shown:
        assert result.exit_code == 0, result.output
        assert "\x1b" not in result.output
        assert max(map(len, result.stdout.splitlines())) <= 80


@pytest.mark.parametrize("count", [100, pytest.param(20_000, marks=pytest.mark.slow)])
def test_a_task_of_many_features_is_shown_at_once(command: Command, count: int) -> None:
    """Some features are shown and the others counted, in little time; JSON has them all."""
    categories = {"categories": ("a",), "missing": "a", "unknown": "a"}
    features = [{"kind": "categorical", "name": f"f{i}", **categories} for i in range(count)]
    made = make_task(features=features, partitions=(Tree.of(Partition.root(count)),))
    with serving(FakeCurator(made)) as curator:
        assert command("show", curator.url).exit_code == 0
        begun = process_time()
        shown = command("show", curator.url)
        taken = process_time() - begun
        assert f"and {count - 39} more, which --json lists" in shown.stdout
        assert len(as_json(command("show", curator.url, "--json"))["reads"]) == count
    assert taken < 3.0  # of processor time, the curator's included; 20 if all 20 000 were shown


@pytest.mark.usefixtures("impatient")
def test_an_undelivered_answer_is_kept_and_resent(command: Command) -> None:
    """Status 4 while it is kept, `resend` delivers the same bytes, then nothing is left to do."""
    with serving(FakeCurator(make_task(), busy=2)) as curator:
        result = command.answer(curator.url, "--yes", "--invitation", "inv-123")
        assert result.exit_code == 4
        assert "privet-holder resend" in result.stderr
        assert "Overloaded" in command("budget").stdout.replace("\n", "")
        curator.busy = 2
        assert command("resend").exit_code == 4
        (outcome,) = as_json(command("resend", "--json"))
        assert outcome["state"] == "counted"
        assert "Every answer that was sent from here has been counted" in command("resend").stderr
        assert (len(set(curator.posts)), len(curator.counted)) == (1, 1)
        assert set(curator.invitations) == {"inv-123"}


FAILURES = [*PROBLEMS, CuratorUnreachable, UnexpectedResponse]


@pytest.mark.quick(
    "CuratorUnreachable",
    "UnexpectedResponse",
    "Overloaded",
    "ReportConflict",
    "TaskNotOpen",
    "TaskNotFound",
)
@pytest.mark.parametrize("error", FAILURES, ids=lambda error: error.__name__)
def test_the_exit_status_is_that_of_the_ledgers_state(
    error: type[PrivetError],
    curator: FakeCurator,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However sending fails: answering, answering again, for a file, and sending again."""

    async def fail(*_: object) -> None:
        raise error("Not this one.")

    monkeypatch.setattr("privet.http_client.report_client.ReportClient.send", fail)
    monkeypatch.setattr(departure, "LEAST_SECONDS", 0.0)
    states = set()
    calls: list[Callable[[], Result]] = [
        lambda: command.answer(curator.url, "--yes"),
        lambda: command.answer_lines(curator.url, "me,30,shop,yes", "--yes"),
        lambda: command("resend"),
    ]
    for call in calls:
        result = call()
        (kept,) = command.ledger.answers()
        assert result.exit_code == ANSWER_STATES[kept.state].status, result.output
        assert ("kept" in result.stderr) == (result.exit_code == EXIT_KEPT)
        states.add(kept.state)
    assert len(states) == 1


def test_a_refused_answer_is_shown_with_its_reason(curator: FakeCurator, command: Command) -> None:
    """`budget` says why, and `resend` ends in 1 for as long as it is refused."""
    kept = StoredAnswer("me", curator.task.id, curator.url, 1.0, "0" * 32, b"damaged", 0.0)
    command.ledger.keep(kept)
    assert command("resend").exit_code == 1
    assert "refused:" in command("budget").stdout
    (listed,) = as_json(command("budget", "--json"))["answers"]
    assert (listed["state"], listed["reason"][:15]) == ("refused", "MalformedReport")


@pytest.mark.usefixtures("impatient")
def test_without_a_task_nothing_is_kept(curator: FakeCurator, command: Command) -> None:
    """An unknown task, and a curator that is down: one sentence each, before anything is drawn."""
    unknown = curator.url.replace(curator.task.id, "0" * 64)
    down = f"http://127.0.0.1:1/v1/tasks/{curator.task.id}"
    for url, says in ((unknown, "There is no such task"), (down, "No answer from 127.0.0.1:1")):
        for result in (command("show", url), command.answer(url, "--yes")):
            assert says in assert_refused(result, 1)
    assert command.ledger.answers() == []


def test_a_broken_ledger_is_one_sentence(curator: FakeCurator, command: Command) -> None:
    """Nothing is sent if the answer cannot be stored first."""
    command.ledger.path.mkdir()
    assert "Nothing was sent" in assert_refused(command("budget"), 1)
    result = command.answer(curator.url, "--yes", "--json")
    assert result.exit_code == 1
    assert curator.posts == []


@pytest.mark.parametrize(
    ("together", "said"),
    [
        (None, ""),
        (1, "by itself, with no others"),
        (2, "at least 1 other,"),
        (20, "at least 19 others,"),
    ],
)
def test_how_many_messages_go_together_is_said(together: int | None, said: str) -> None:
    """Nothing where the task does not say it, and no number of others where there may be none."""
    sends = Explanation.of(make_task(smallest_batch=together)).sends
    assert said in sends
    assert ("A relay" in sends) is (together is not None)
    assert "at least 0" not in sends


def test_a_person_reads_that_a_number_is_reported_by_its_distance() -> None:
    """Centres change what is computed on the device, so the words say it; the rest stays."""
    centring = Centring(centres=(1.0, 2.0, 3.0, 4.0), radius=12.5)
    ask = Question(partition=0, mechanism="subset", epsilon=1.0, centring=centring)
    explanation = Explanation.of(make_task(questions=(ask,), label=RANGE))
    without = Explanation.of(
        make_task(questions=(ask.model_copy(update={"centring": None}),), label=RANGE)
    )
    assert (
        "together with how far its answer is from the one that the task expects there, "
        "taken as at most 12.5 either way, perturbed by subset"
    ) in explanation.computes[0]
    assert "together with its answer, perturbed" in without.computes[0]
    assert (explanation.means, explanation.sends) == (without.means, without.sends)


def test_large_numbers_are_explained_without_an_exponent() -> None:
    """Nobody reads 2.5e+06, which is also not what the task says."""
    pay = RANGE.model_copy(update={"low": 0.0, "high": 2_512_345.0, "unit": "won"})
    centring = Centring(centres=(1.0, 2.0, 3.0, 4.0), radius=25_000.0)
    ask = Question(partition=0, mechanism="subset", epsilon=8.0, centring=centring)
    explanation = Explanation.of(make_task(questions=(ask,), label=pay))
    assert "in won, taken as 0 to 2512345" in explanation.label
    assert "taken as at most 25000 either way" in explanation.computes[0]
    assert "more than 2990 times as likely" in explanation.means


def test_every_kind_of_task_can_be_explained() -> None:
    """Cells alone, one question of several, numbers, and epsilons beyond what e^x can hold."""
    ask = [Question(partition=0, mechanism="subset", epsilon=e, asks="cell") for e in (0.5, 2.0)]
    explanation = Explanation.of(make_task(questions=tuple(ask), allocation="one", label=RANGE))
    assert "chosen by chance" in explanation.sends
    assert "income: a number, taken as 0 to 1000" in explanation.label
    assert explanation.epsilon == 2.0
    assert explanation.log_ratio <= explanation.epsilon
    assert "together with its answer" not in explanation.computes[0]


def test_a_file_answers_for_many_subjects(curator: FakeCurator, command: Command) -> None:
    """One report for each line's subject, whatever is run twice; the counts are said."""
    lines = "\n".join(f"p{row},{20 + row},shop,{'yes' if row % 2 else 'no'}" for row in range(5))
    asked = command.answer_lines(curator.url, lines, stdin="n\n")
    assert "Draw 5 perturbed answers" in asked.stderr
    assert (asked.exit_code, curator.posts) == (1, [])
    assert "5 records fit" in command.answer_lines(curator.url, lines, "--dry-run").stderr
    for said in ("5 lines: counted", "5 lines: answered before and counted"):
        done = command.answer_lines(curator.url, lines, "--yes")
        assert (done.exit_code, len(curator.posts)) == (0, 5)
        assert said in done.stderr
    more = f"{lines}\nnew,40,shop,no"
    said = command.answer_lines(curator.url, more, "--yes").stderr
    assert "5 lines: answered before and counted" in said
    assert "1 line: counted" in said
    assert len(curator.posts) == 6
    answered = {own.subject for own in command.ledger.answers()}
    assert answered == {"new", *(f"p{row}" for row in range(5))}
    assert len(as_json(command.answer_lines(curator.url, lines, "--yes", "--json"))) == 5


GERMAN = "answer; age ;work;who\r\nYes;30,5; Shop;Jörg\r\nNO;1.030,5;shop;Åse\r\n;;;\r\n"


def test_a_spreadsheets_file_is_read_as_people_have_it(
    curator: FakeCurator, command: Command
) -> None:
    """Its encoding, separator, decimal mark, spaces and capitals, which a dry run shows; and a
    subject with a space behind it is the same person."""
    file = command.record.with_name("german.csv")
    file.write_bytes(GERMAN.encode("cp1252"))
    answer = ("answer", curator.url, "--csv", str(file), "--subject-column", "who")
    dry = command(*answer, "--dry-run").stderr
    assert "2 records fit" in dry
    for said in ("Windows-1252", "semicolons", "decimal commas", "Jörg", "30,5"):
        assert said in " ".join(dry.split())
    stated = command(*answer, "--dry-run", "--decimal", "point").stderr
    assert "2 of 2 records do not fit" in stated
    assert "30,5" not in command(*answer, "--yes").stderr
    assert {each.subject for each in command.ledger.answers()} == {"Jörg", "Åse"}
    twice = command.answer_lines(curator.url, "p0,30,shop,yes\np0 ,31,shop,no\n", "--yes")
    assert "Lines 2 and 3 are about the same" in assert_refused(twice, 1)


def test_a_link_and_letters_as_people_have_them(command: Command) -> None:
    """A link to the answer page at a relay has the invitation with it; letters typed on a Mac are
    the published ones."""
    towns = Categorical(name="work", categories=("Bern", "Zürich", "Genf"))
    task = make_task(features=(FEATURES[0], towns), invited=True)
    decomposed = normalize("NFD", "Zürich")
    command.record.write_text(json.dumps({"age": 30, "work": decomposed, "answer": "yes"}))
    with serving(FakeCurator(task)) as curator:
        link = f"{curator.url.partition('/v1/')[0]}/answer/{task.id}#code-9"
        dry = command.answer(link, "--dry-run")
        assert "fit" in dry.stderr
        assert "do not fit" not in dry.stderr + dry.stdout
        assert "must be one of" not in dry.stderr + dry.stdout
        assert command.answer(link, "--yes").exit_code == 0
    (answered,) = command.ledger.answers()
    assert answered.invitation == "code-9"
    assert answered.misfit is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,30,shop,yes\na,31,shop,no", "Lines 2 and 3 are about the same"),
        (",30,shop,yes", "Line 2"),
        ("a,30,shop", "Line 2"),
    ],
)
def test_a_file_that_is_damaged_draws_nothing(
    curator: FakeCurator, command: Command, text: str, said: str
) -> None:
    """Not for any line: what is wrong is named by its line first; or the column that is missing."""
    assert said in assert_refused(command.answer_lines(curator.url, text, "--yes"), 1)
    elsewhere = command.answer_lines(curator.url, text, "--subject-column", "name", "--yes")
    assert "no column 'name'" in assert_refused(elsewhere, 1)
    assert (curator.posts, command.ledger.answers()) == ([], [])


def test_lines_that_do_not_fit_are_said_and_reported(
    curator: FakeCurator, command: Command
) -> None:
    """As for a single record: the operator may mend them, or the reports say so, perturbed."""
    lines = "a,30,shop,yes\nb,?,shop,no\n"
    asked = command.answer_lines(curator.url, lines, stdin="n\n")
    assert "Line 3:" in asked.stderr
    assert "1 of 2 records does not fit" in asked.stderr
    assert curator.posts == []
    assert command.answer_lines(curator.url, lines, "--yes").exit_code == 0
    assert len(curator.counted) == 2


@pytest.mark.usefixtures("impatient")
def test_a_line_that_was_not_drawn_is_not_called_kept(command: Command) -> None:
    """There is nothing to resend: exit status 1. What was drawn and not sent is kept: 4."""

    class Vanishing(FakeCurator):
        def __call__(self, request: httpx.Request) -> httpx.Response:
            self.down = self.calls != []
            return super().__call__(request)

    lines = "a,30,shop,yes\nb,31,shop,no\n"
    with serving(FakeCurator(make_task(invited=True))) as curator:
        done = command.answer_lines(curator.url, lines, "--yes")
    assert (done.exit_code, command.ledger.answers()) == (1, [])
    assert "2 lines: This task counts invited reports only" in done.stderr
    assert "kept" not in done.stderr
    with serving(Vanishing(make_task())) as curator:
        done = command.answer_lines(curator.url, lines, "--yes")
    assert (done.exit_code, len(command.ledger.answers())) == (4, 2)
    assert "kept" in done.stderr


@pytest.mark.parametrize(
    "usage",
    [["answer"], ["answer", "url"], ["answer", "url", "--csv", "x"], ["cap", "--year", "-1"]],
)
def test_wrong_usage_is_status_2(command: Command, usage: list[str]) -> None:
    """Also a record and a file, or neither, and a file without the column of its subjects."""
    assert command(*usage).exit_code == 2


@keeps(
    "threat-model: a task's description drives no terminal",
    in_="protocol/task.py",
    instead_of="if control is not None:",
    plant="if False:",
)
def test_who_asks_is_told_first_in_words_that_cannot_drive_the_terminal(command: Command) -> None:
    """Before what is read; a task with escape sequences is none, and markup is shown as text."""
    asker = {
        "name": "A clinic",
        "contact": "survey@clinic.example",
        "purpose": "To learn who comes back.",
        "link": "https://clinic.example/survey",
    }
    hostile = Classes(name="[red]label[/red]", classes=("a", "b"))
    with pytest.raises(InvalidTask, match="character 1 of the description"):
        make_task(description="\x1b[2J\x1b]0;title\x07")
    made = make_task(asker=asker, label=hostile, name="[bold]x", description="[link]\nagain")
    with serving(FakeCurator(made)) as curator:
        shown = command("show", curator.url).stdout
        told = as_json(command("show", curator.url, "--json"))
    assert "[bold]x" in shown
    assert "[link]" in shown
    assert "[red]label[/red]" in shown
    words = ["Who asks, in their words", *asker.values(), "Read on this device"]
    places = [shown.index(text) for text in words]
    assert places[0] == min(places)
    assert places[-1] == max(places)
    assert told["asked_by"][0] == "A clinic"
