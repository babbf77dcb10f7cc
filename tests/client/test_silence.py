"""What a curator sees, and what a script sees, is the same for every record: nobody learns from a
report that does not come, from an exit status, or from a log."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.client.command import Command
from tests.fake_curator import FakeCurator, serving
from tests.keeping import keeps
from tests.protocol.examples import RECORD, make_task
from tests.protocol.vectors import DISCLOSING

LINES = 12
FITS, MISFIT, SECRET = "30,shop,yes", "?,shop,yes", "zq-canary,shop,yes"
FILES = {
    "all fit": [FITS] * LINES,
    "three known not to fit": [*[MISFIT] * 3, *[FITS] * (LINES - 3)],
    "three known not to fit, and one more": [*[MISFIT] * 3, SECRET, *[FITS] * (LINES - 4)],
    "half": [*[MISFIT] * 6, *[FITS] * (LINES - 6)],
    "none fits": [SECRET] * LINES,
    "odd values": [*[",,", "1e999,1e999,1e9", '"a\nb",shop,yes', "NaN,NA,null"] * 3],
}
RECORDS: list[Any] = [
    RECORD,
    {},
    {**RECORD, "answer": "zq-canary"},
    {**RECORD, "age": None},
    {**RECORD, "age": "zq-canary"},
    {**RECORD, "age": 10**400},
    {**RECORD, "age": [[["zq-canary"]]]},
    {**RECORD, "age": "\ud800\x1b[2J"},
    {**RECORD, "work": {"zq": "canary"}},
]


@contextmanager
def watched(folder: Path) -> Iterator[tuple[FakeCurator, Command]]:
    """A curator that keeps what it sees, and a command line with a ledger of its own."""
    folder.mkdir()
    with serving(FakeCurator(make_task())) as curator:
        yield curator, Command(folder)


def seen(curator: FakeCurator) -> list[Any]:
    """All that a curator sees of a holder but the reports' random bytes: calls, and sizes."""
    return [curator.calls, [len(body) for body in curator.posts]]


@keeps(
    "threat-model: a site's file is sent however many lines do not fit",
    in_="client/cli/site.py",
    instead_of="elif yes or",
    plant=(
        "elif yes and not any(validate(task, Spelled(task, line.fields, "
        "line.decimal)).findings for line in lines) or"
    ),
)
def test_a_site_tells_nothing_by_silence(tmp_path: Path) -> None:
    """However many lines do not fit: as many reports, the same exit status and output, and no value
    of a record in it. Three lines known not to fit once made the fourth decide for all."""
    everything: dict[str, Any] = {}
    for number, (name, lines) in enumerate(FILES.items()):
        with watched(tmp_path / str(number)) as (curator, command):
            rows = "\n".join(f"p{row},{line}" for row, line in enumerate(lines))
            done = command.answer_lines(curator.url, rows, "--yes")
            assert "zq-canary" not in done.output
            dry = command.answer_lines(curator.url, rows, "--dry-run")
            everything[name] = [done.exit_code, done.stdout, dry.exit_code, seen(curator)]
            said = f"of {LINES} records do" in done.stderr
            assert said is (name != "all fit")
    assert everything["all fit"][3][1] == [everything["all fit"][3][1][0]] * LINES
    assert all(each == everything["all fit"] for each in everything.values()), everything


@keeps(
    "threat-model: no value is refused",
    in_="client/opening.py",
    instead_of="""
    return OpenedRecord(task""",
    plant="""
    if encode_record(task.features, task.label, record).faults:
        raise InvalidRecord("It does not fit.")
    return OpenedRecord(task""",
)
@keeps(
    "threat-model: no exit status says whether a record fits",
    in_="client/cli/record.py",
    instead_of="ANSWER_STATES[answered.state].status",
    plant="ANSWER_STATES[answered.state].status or answered.misfit is not None",
)
def test_a_person_tells_nothing_by_silence(tmp_path: Path) -> None:
    """Of one record, with --yes: the same calls, sizes, exit status and panel."""
    everything = []
    for number, record in enumerate(RECORDS):
        with watched(tmp_path / str(number)) as (curator, command):
            command.record.write_text(json.dumps(record))
            done = command.answer(curator.url, "--yes")
            assert "canary" not in done.output
            dry = command.answer(curator.url, "--dry-run")
            everything.append([done.exit_code, done.stdout, dry.exit_code, seen(curator)])
    assert all(each == everything[0] for each in everything), everything


@keeps(
    "threat-model: a name that a task does not ask for is refused",
    in_="client/opening.py",
    instead_of="check_record_names(task, record)",
    plant="pass",
)
@pytest.mark.parametrize("names", [("aeg",), ("age", "shoe"), ("",)])
def test_a_name_that_the_task_does_not_ask_for_is_refused(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    """Whatever stands under it: names are the program's, and a misspelt one wastes a collection."""
    for number, value in enumerate((30, "zq-canary")):
        with watched(tmp_path / str(number)) as (curator, command):
            record = {"work": "shop", "answer": "yes", **dict.fromkeys(names, value)}
            command.record.write_text(json.dumps(record))
            refused = command.answer(curator.url, "--yes")
            assert (refused.exit_code, curator.posts, command.ledger.answers()) == (1, [], [])
            assert "Unknown fields" in refused.stderr
            assert "canary" not in refused.output
            rows = f"p,{','.join(map(str, record.values()))}"
            refused = command.answer_lines(curator.url, rows, "--yes")
            assert (refused.exit_code, curator.posts, command.ledger.answers()) == (1, [], [])
            assert ("has no name" if names == ("",) else "Unknown fields") in refused.stderr
            assert "canary" not in refused.output


def test_a_file_without_a_column_of_the_task_is_refused(tmp_path: Path) -> None:
    """It is the file's, and not a person's: all lines would be misfits."""
    with watched(tmp_path / "site") as (curator, command):
        command.record.write_text(json.dumps({"work": "shop", "answer": "yes"}))
        refused = command.answer_lines(curator.url, "p,shop,yes", "--yes")
        assert (refused.exit_code, curator.posts) == (1, [])
        assert "Missing fields 'age'" in refused.stderr


def test_what_is_disclosed_does_not_show_in_the_exit_status(tmp_path: Path) -> None:
    """In whichever stratum a record is."""
    ended = []
    for number, age in enumerate((25, 35, 60, "?")):
        folder = tmp_path / str(number)
        folder.mkdir()
        command = Command(folder, {"age": age, "ward": "heart", "work": "shop", "answer": "yes"})
        with serving(FakeCurator(DISCLOSING)) as curator:
            done = command.answer(curator.url, "--yes")
            ended.append([done.exit_code, seen(curator)])
    assert all(each == ended[0] for each in ended), ended
