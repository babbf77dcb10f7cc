"""From the wizard's document to the settings of a task, and what is said at its fields."""

import html
import json
import re
import threading
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import Field

from privet.client import Caps
from privet.curator.app import CuratorApp
from privet.curator.dashboard import study as study_module
from privet.curator.dashboard import wizard
from privet.curator.dashboard.pages import days_of, of_studies
from privet.curator.dashboard.precision import known_of
from privet.curator.dashboard.study import BY_HAND, INPUTS, OF_NO_FILE, PlannedWave, Study
from privet.curator.dashboard.wizard import plan_digest
from privet.curator.operations.tasks import planned
from privet.learning.core.amounts import of_hundred
from privet.learning.task_building.inputs import Asked, inputs_of
from privet.learning.task_building.publication import Publication
from privet.learning.task_building.review import propose
from privet.learning.task_building.table import read_table
from privet.protocol.features import Categorical, Classes, Numeric, Range
from privet.protocol.status import RelayDescription
from privet.protocol.task import Task
from tests.curator import samples
from tests.curator.http.conftest import Http
from tests.curator.studies import ASKER, FIELDS, as_file, changed, question_alone, study_of
from tests.learning.workbooks import Cell, Look, workbook
from tests.manual_clock import ManualClock

NOW = datetime(2029, 1, 1, tzinfo=UTC).timestamp()
FILES = {"public": ("a.csv", samples.survey())}
COLUMNS = ("age", "hours", "job", "member")
ROWS = "".join(f"{i % 10},{'ab'[i % 2]},{1 + i % 5}\n" for i in range(60))
PUBLIC = f"x,job,y\n{ROWS}".encode()
"""A number, a text, and a label of few whole numbers."""
GIVEN = {**FIELDS, "label": "y", "holders": "500"}
WAVES = {
    "wave_count": "2",
    "waves.0.first": "2030-01-01",
    "waves.0.last": "2030-01-31",
    "waves.1.first": "2030-04-01",
    "waves.1.last": "2030-04-30",
    "mode": "repeat",
}


def read(
    fields: Mapping[str, Any], public: bytes = PUBLIC
) -> tuple[Publication | None, dict[str, str]]:
    study = study_of(public, {**GIVEN, **fields})
    return Study.parse(json.dumps(study).encode()).read(NOW)


def settings_of(fields: Mapping[str, Any], public: bytes = PUBLIC) -> Publication:
    settings, faults = read(fields, public)
    assert settings is not None, faults
    return settings


def faults_of(fields: Mapping[str, Any], public: bytes = PUBLIC) -> dict[str, str]:
    return read(fields, public)[1]


def proposed(page: str) -> dict[str, Any]:
    """The document that came with a page."""
    found = re.search("data-study='(.*?)'", page)
    assert found
    study: dict[str, Any] = json.loads(found[1])
    return study


def with_study(study: Mapping[str, Any], files: Mapping[str, Any] = FILES) -> dict[str, Any]:
    return {**files, "study": as_file(study)}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, {}),
        ({"columns.0.low": "-1"}, {"features": {"x": {"low": -1.0}}}),
        ({"prevalence": "yes = .02\r\n\r\n"}, {"prevalence": {"yes": 0.02}}),
        ({"columns.0.kind": "categorical"}, {"features": {"x": {"kind": "categorical"}}}),
        (
            {"columns.1.categories": "a\r\nb\r\nc"},
            {"features": {"job": {"categories": ("a", "b", "c")}}},
        ),
        (
            {"columns.1.rename": "a = b\r\n c=d = \r\n", "decimal": "comma"},
            {"rename": {"job": {"a": "b", "c=d": ""}}, "decimal": "comma"},
        ),
        ({"columns.1.rename": "a = b", "columns.1.use": False}, {"ignore": ("job",)}),
        ({"columns.1.use": False}, {"ignore": ("job",)}),
        (
            {
                "columns.1.prompt": " Your job?",
                "columns.1.description": "Now.",
                "columns.0.unit": "years",
            },
            {
                "describe": {
                    "x": {"unit": "years"},
                    "job": {"prompt": "Your job?", "description": "Now."},
                }
            },
        ),
        ({"label_type": "range"}, {"label_type": "range", "label_range": (1.0, 5.0)}),
        ({"label_type": "classes"}, {"label_type": "classes"}),
        ({"columns.2.high": "6"}, {}),
        ({"columns.2.kind": "categorical"}, {"label_type": "classes"}),
        (
            {"label_type": "range", "columns.2.high": "6"},
            {"label_type": "range", "label_range": (1.0, 6.0)},
        ),
        (
            {"label": "job", "columns.1.categories": "b\r\na"},
            {"label": "job", "classes": ("b", "a")},
        ),
        (
            {"closes": "2030-12-31", "language": "de"},
            {"language": "de", "closes": datetime(2031, 1, 1, tzinfo=UTC)},
        ),
        ({"opens": "2030-12-01"}, {"opens": datetime(2030, 12, 1, tzinfo=UTC)}),
        (
            {"language": "en", "translations": [{"language": "de", "texts": [["a", "b"]]}]},
            {
                "language": "en",
                "translations": ({"language": "de", "texts": (("a", "b"),)},),
            },
        ),
        ({"draft": True, "invited": True}, {"draft": True, "invited": True}),
        ({"depth": "3", "grower": "cart"}, {"depth": 3, "grower": "cart"}),
        ({"parameters": '{"size": 2}', "quota": "9"}, {"parameters": {"size": 2}, "quota": 9}),
        ({"centred": "false", "looks": "once"}, {"centred": False, "looks": "once"}),
        ({"columns.0.disclosed": True}, {"disclosed": ("x",)}),
    ],
)
def test_what_was_changed_is_declared(fields: dict[str, Any], expected: dict[str, object]) -> None:
    """And nothing else, so that a form that was left alone infers what the API would."""
    whole = settings_of(fields).model_dump(exclude_defaults=True)
    plain = {"name": "by form", "label": "y", "epsilon": 1.0, "holders": 500, "asker": ASKER}
    declared = {name: value for name, value in whole.items() if plain.get(name) != value}
    x = {"x": {"low": -0.0}} if "features" not in expected else {}
    assert declared == expected or declared == {**expected, "features": x}


def test_waves_are_of_whole_days() -> None:
    """As many as were chosen, whatever stands in the other rows; none without their number."""
    made = settings_of(WAVES | {"waves.2.first": "2031-01-01"})
    assert made.waves == (
        "2030-01-01T00:00:00+00:00/2030-02-01T00:00:00+00:00",
        "2030-04-01T00:00:00+00:00/2030-05-01T00:00:00+00:00",
    )
    assert made.mode == "repeat"
    assert [days_of(PlannedWave.of(each)) for each in made.waves] == [
        ("1 January 2030", "31 January 2030"),
        ("1 April 2030", "30 April 2030"),
    ]
    alone = settings_of(WAVES | {"wave_count": ""})
    assert (alone.waves, alone.mode) == ((), "rotate")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"name": " "}, {"name": "fill this in"}),
        ({"label": ""}, {"label": "choose one"}),
        ({"name": "n" * 201}, {"name": "at most 200 characters"}),
        ({"holders": ""}, {}),  # as many as by default
        ({"holders": "0"}, {"holders": "at least 1"}),
        ({"holders": "-5"}, {"holders": "at least 1"}),
        ({"holders": "3000 people"}, {"holders": "write a whole number, such as 3000"}),
        ({"holders": "2.5"}, {"holders": "write a whole number, such as 3000"}),
        ({"epsilon": ""}, {"epsilon": "fill this in"}),
        ({"epsilon": "abc"}, {"epsilon": "write a number, such as 0.5"}),
        ({"epsilon": "0"}, {"epsilon": "more than 0"}),
        (
            {"epsilon": "2.01"},
            {"epsilon": "at most 2, which the answer page takes for one study"},
        ),
        ({"opens": "2030-02-02", "closes": "2030-02-01"}, {"closes": "before the first day"}),
        ({"closes": "2020-02-01"}, {"closes": "this day has passed"}),
        ({"depth": "17", "quota": "0"}, {"depth": "at most 16", "quota": "at least 1"}),
        ({"parameters": "{"}, {"parameters": "write it as JSON"}),
        ({"prevalence": "yes"}, {"prevalence": "'yes' is no NAME=NUMBER, such as yes=.02"}),
        (
            {"prevalence": "yes=1,125"},
            {"prevalence": "1,125 may be 1125 or 1.125: write the one that you mean"},
        ),
        (
            {"smallest_batch": "501"},
            {
                "smallest_batch": "smallest_batch is 501 and 500 holders are expected: relays "
                "would lose every report; give a smaller one, or more holders"
            },
        ),
        (
            {"hidden_depth": "1"},
            {
                "hidden_depth": "hidden_depth and smallest_group need disclosed columns: name "
                "some, or leave both out"
            },
        ),
        (
            {
                "asker": {
                    "name": "",
                    "link": "http://clinic.example",
                    "contact": " ",
                    "purpose": "p",
                }
            },
            {
                "asker.name": "fill this in",
                "asker.contact": "fill this in",
                "asker.link": "give a web address that begins with https:// and has no spaces",
            },
        ),
        (
            {"wave_count": "2"},
            {
                f"waves.{wave}.{end}": f"choose its {end} day"
                for wave in (0, 1)
                for end in ("first", "last")
            },
        ),
        (WAVES | {"waves.1.last": ""}, {"waves.1.last": "choose its last day"}),
        (
            WAVES | {"waves.1.first": "2030-01-31"},
            {"waves.1.first": "opens before wave 1 has closed"},
        ),
        (WAVES | {"waves.0.last": "2029-12-30"}, {"waves.0.first": "must open before it closes"}),
        (
            WAVES | {"closes": "2030-12-31"},
            {},
        ),
        (
            WAVES | {"epsilon": "1.5"},
            {
                "epsilon": "the answers to all 2 waves cost 3 together, and the answer page "
                "takes at most 2"
            },
        ),
        ({"columns.0.low": "many"}, {"columns.0.low": "write a number, such as 0.5"}),
        (
            {"columns.0.low": "10"},
            {"columns.0.high": "at least 10, where the numbers begin"},
        ),
        (
            {"columns.0.high": "1,125"},
            {"columns.0.high": "1,125 may be 1125 or 1.125: write the one that you mean"},
        ),
        (
            {"columns.1.rename": "a to b"},
            {"columns.1.rename": "'a to b': write the old name, =, and the new name"},
        ),
        ({"label": "job", "columns.1.categories": "a"}, {"columns.1.categories": "at least 2"}),
    ],
)
def test_what_is_wrong_is_said_at_its_field(
    fields: dict[str, Any], expected: dict[str, str]
) -> None:
    """In words that stand behind the field's label, and at no other field."""
    assert faults_of(fields) == expected


def test_every_fault_is_found_at_once() -> None:
    """Those of settings that contradict each other too, while others are not filled in."""
    fields = {"name": "", "asker": {}, "label": "", "opens": "2030-02-02", "closes": "2030-02-01"}
    found = faults_of(fields | {"epsilon": "x", "hidden_depth": "1", "label_part": "2"})
    asker = {f"asker.{name}" for name in ASKER}
    assert (
        found.keys() == {"name", "label", "closes", "epsilon", "hidden_depth", "label_part"} | asker
    )


def test_numbers_are_read_as_they_are_written() -> None:
    """A decimal comma is one; any mark between thousands of a whole number is none."""
    made = settings_of({"epsilon": "0,5", "columns.0.low": "-1,5", "label_part": "0,3"})
    assert (made.epsilon, made.label_part) == (0.5, 0.3)
    assert made.features["x"].low == -1.5
    assert settings_of({"prevalence": "b=0,02"}).prevalence == {"b": 0.02}
    for holders in ("3000", " 3000", "3 000", "3.000", "3,000", "3'000", "3\u202f000", "+3000"):
        assert settings_of({"holders": holders}).holders == 3000
    assert settings_of({"holders": "1.000.000"}).holders == 10**6
    assert settings_of({"epsilon": f"{Caps().task:g}"}).epsilon == Caps().task


WORDS = b"x,b,y\n0,WAHR,0\n1,FALSCH,1\n1,WAHR,1\n"


def test_zero_and_one_are_words_once_somebody_says_which() -> None:
    """Nobody is asked to type 1 for yes; half of it is refused."""
    made = settings_of({"columns.2.means": ["no", "yes"]}, WORDS)
    assert made.rename == {"b": {"False": "FALSCH", "True": "WAHR"}, "y": {"0": "no", "1": "yes"}}
    assert (made.label_range, made.label_type) == (None, None)
    feature = settings_of({"columns.0.means": ["no", "yes"]}, WORDS)
    assert feature.rename["x"] == {"0": "no", "1": "yes"}
    assert feature.features == {}
    undecided = {"columns.0.as_is": False}
    say = {"columns.0.means.0": "say what they mean, or leave them as they are"}
    assert faults_of(undecided, WORDS) == say
    assert faults_of(undecided | {"columns.0.use": False}, WORDS) == {}
    kept = {"columns.0.means": ["no", "yes"], "columns.0.as_is": True}
    assert settings_of(kept, WORDS).rename == {"b": made.rename["b"]}
    half = faults_of({"columns.0.means": ["no", ""]}, WORDS)
    assert half == {"columns.0.means.1": "fill this in"}
    same = faults_of({"columns.0.means": ["no", "no"]}, WORDS)
    assert same == {"columns.0.means.1": "another word than the one before"}


def test_truth_values_keep_the_words_of_the_file() -> None:
    """WAHR and FALSCH are no True and False to whoever reads them; the page asks as for 0 and 1."""
    (of_bytes, whether, _) = propose(read_table(WORDS))
    assert whether.words == (("False", "FALSCH"), ("True", "WAHR"))
    assert of_bytes.words == (("0", ""), ("1", ""))
    assert settings_of({"columns.1.means": ["False", "True"]}, WORDS).rename == {}


def test_what_may_be_missing_is_decided() -> None:
    """Of texts among numbers, of words for no answer, and of NA, which may be a code."""
    rows = "".join(
        f"{('many', '-')[i % 2] if i % 9 == 0 else i % 7},{('NA', 'a', 'b')[i % 3]},{'ny'[i % 2]}\n"
        for i in range(60)
    )
    public = f"x,job,y\n{rows}".encode()
    assert faults_of({}, public) == {"columns.0.blank": "choose one"}
    assert faults_of({"columns.0.use": False}, public) == {}
    number = settings_of({"columns.0.blank": "missing"}, public)
    assert number.rename == {"x": {"many": "", "-": ""}}
    assert number.features["x"].kind == "numeric"
    answer = {"columns.0.blank": "answer"}
    assert settings_of(answer, public).rename == {}
    called = answer | {"columns.1.void": "answer", "columns.1.void_name": "none of these"}
    assert settings_of(called, public).rename == {"job": {"NA": "none of these"}}
    unnamed = faults_of(answer | {"columns.1.void": "answer"}, public)
    assert unnamed == {"columns.1.void_name": "fill this in"}


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"holders": "2000"}, "about ± "),
        ({"label": "job", "holders": "2000"}, "If 35\u00a0% say smith, as in your file: about ± "),
        (
            {"label": "job", "holders": "2000", "prevalence": "smith=.02"},
            "If 2\u00a0% say smith, as stated: about ± ",
        ),
        ({"label": "job", "holders": "2000", "prevalence": "smith=.6\nbaker=.6"}, ""),
        ({"label": "hours", "holders": "20000"}, "mean about ± "),
        ({"holders": "3"}, "too few people to tell anything"),
        ({"holders": "many"}, ""),
        ({"label": "hours", "columns.1.high": "x"}, ""),
        ({"label": ""}, ""),
        ({"depth": "17"}, ""),
    ],
)
def test_the_precision_stands_beside_the_people(fields: dict[str, Any], text: str) -> None:
    """With the share in the file, where it has one; nothing while what it depends on is wrong."""
    study = study_of(samples.survey(), {**FIELDS, **fields})
    made = Study.parse(json.dumps(study).encode())
    known = known_of(made, *made.tried(NOW))
    assert known.text.startswith(text)
    assert bool(known.text) == bool(text)


@pytest.mark.quick("classes", "once", "three", "number")
@pytest.mark.usefixtures("planned_alone")
@pytest.mark.parametrize(
    "fields",
    [
        {"holders": "3000"},
        {"holders": "21000", "looks": "once"},
        {"label": "job", "holders": "9000"},
        {"label": "job", "holders": "9000", "prevalence": "smith=.02"},
        {"label": "hours", "holders": "15000"},
        {"holders": "9000"} | {f"columns.{place}.disclosed": True for place in range(4)},
    ],
    ids=["classes", "once", "three", "stated", "number", "all disclosed"],
)
def test_the_precision_beside_the_people_is_the_plans(fields: dict[str, Any]) -> None:
    """In its digits, but for the last; before, "± 6" of a plan of ± 5.7, and of disclosed columns
    half as much again."""
    study = Study.parse(json.dumps(study_of(samples.survey(), {**FIELDS, **fields})).encode())
    settings, faults = study.tried(NOW)
    assert settings is not None
    found = planned(samples.survey(), settings, None)
    here, there = (
        float(re.findall(r"± ([\d.]+)", said)[0])
        for said in (known_of(study, settings, faults).text, found.verdict)
    )
    assert here == pytest.approx(there, rel=0.02, abs=0.0 if "label" in fields else 0.1)


@pytest.mark.parametrize("holders", [7_000, 21_000, 51_000])
@pytest.mark.parametrize("number", [False, True])
def test_the_precision_beside_one_question_is_its_plans(holders: int, *, number: bool) -> None:
    """To the letter, and its table's: 7 000 people were ± 4.5 points here and ± 5.0 there."""
    kind = {"columns.0.kind": "numeric", "columns.0.low": "0", "columns.0.high": "24"}
    fields = {"columns.0.prompt": "Have you ever?", "holders": str(holders)} | (
        kind if number else {}
    )
    study = Study.parse(json.dumps(question_alone(fields)).encode())
    settings, faults = study.tried(NOW)
    assert settings is not None
    said = known_of(study, settings, faults).text.removeprefix("mean ")
    found = planned(None, settings, None)
    assert found.verdict.startswith(f"{said.split(' whenever')[0]} with {holders // 1000}")
    few = planned(None, settings.model_copy(update={"holders": 300}), None)
    assert few.sample_sizes == found.sample_sizes


@pytest.mark.slow
def test_disclosed_columns_are_allowed_for_beside_the_people() -> None:
    """It says that the plan may be more precise, and it is hardly less so."""
    fields = {"holders": "9000", "columns.0.disclosed": True}
    study = Study.parse(json.dumps(study_of(samples.survey(), {**FIELDS, **fields})).encode())
    settings, faults = study.tried(NOW)
    assert settings is not None
    said = re.search(r"about ± ([\d.]+) points or less ", known_of(study, settings, faults).text)
    assert said
    found = planned(samples.survey(), settings, None)
    assert 100.0 * found.here.half_width < 1.05 * float(said[1])


async def test_a_check_reads_the_document_once_and_lets_others_go_on(
    http: Http, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked at every key, so it is validated once, and in a thread of its own."""
    form, tried, threads = await http.sign_in(), Study.tried, list[threading.Thread]()

    def noted(study: Study, now: float) -> tuple[Publication | None, dict[str, str]]:
        threads.append(threading.current_thread())
        return tried(study, now)

    monkeypatch.setattr(Study, "tried", noted)
    checked = (await form("/new/check", {"study": as_file(study_of(PUBLIC, GIVEN))})).json()
    assert checked["faults"] == {}
    assert checked["known"]["text"]
    (other,) = threads
    assert other is not threading.current_thread()


def test_a_question_alone_is_declared_whole() -> None:
    """Its text is the study's name, unless there is one; what is wrong is said at its fields."""
    asked = {"columns.0.prompt": "Have you ever?"}

    def read_alone(fields: Mapping[str, Any]) -> tuple[Publication | None, dict[str, str]]:
        return Study.parse(json.dumps(question_alone(fields)).encode()).read(NOW)

    made, _ = read_alone(asked)
    assert made is not None
    assert (made.name, made.label, made.classes) == ("Have you ever?", "answer", ("yes", "no"))
    assert made.describe["answer"].prompt == "Have you ever?"
    number = {"columns.0.kind": "numeric", "columns.0.low": "0", "columns.0.high": "2,5"}
    made, _ = read_alone(asked | number | {"columns.0.unit": "kg", "name": "Weights"})
    assert made is not None
    assert (made.name, made.label_range, made.classes) == ("Weights", (0.0, 2.5), None)
    assert made.describe["answer"].unit == "kg"
    assert read_alone({})[1] == {"columns.0.prompt": "fill this in"}
    one = asked | {"columns.0.categories": "yes"}
    assert read_alone(one)[1] == {"columns.0.categories": "at least 2"}
    same = asked | number | {"columns.0.low": "2", "columns.0.high": "2"}
    assert read_alone(same)[1] == {"columns.0.high": "more than 2, where the numbers begin"}
    nothing = read_alone(asked | {"columns.0.kind": "numeric"})[1]
    assert set(nothing) == {"columns.0.low", "columns.0.high"}
    study = Study.parse(json.dumps(question_alone(asked)).encode())
    known = known_of(study, *study.tried(NOW))
    here = r"± \d\.\d points"
    assert re.fullmatch(
        f"{here} whenever you look, {here} if you look once, at the end "
        r"\(Advanced: Looks at the figures\)",
        known.text,
    )
    assert known.tells


@pytest.mark.parametrize(("people", "is_few"), [(800, True), (20_000, False)])
async def test_few_people_are_called_few_where_they_are_typed(
    http: Http, people: int, *, is_few: bool
) -> None:
    """By an example with the half-width's own ends; the field that it names is in the form."""
    form = await http.sign_in()
    fields = question_alone({"columns.0.prompt": "Have you ever?", "holders": str(people)})
    study = Study.parse(json.dumps(fields).encode())
    said = known_of(study, *study.tried(NOW)).text
    found = re.match(r"± ([\d.]+) points", said)
    assert found
    half = float(found[1])
    assert (half > 10.0) == is_few
    least, most = f"{50 - half:.0f}\u00a0%", f"{50 + half:.0f}\u00a0%"
    few = f". Few: whenever you look, 50\u00a0% could be anything from {least} to {most}."
    assert said.endswith(few) == is_few == ("Few" in said)
    page = (await form("/new/question")).text
    advanced = page[page.index("<summary>Advanced</summary>") :]
    assert "<label>Looks at the figures" in advanced


class WithMore(Publication):
    """The settings of a later version, one of which was declared and no more."""

    shown: Annotated[bool | None, Asked("Answer on show", method=False)] = Field(
        default=None, description="Whether the answer is shown."
    )
    plain_one: int = Field(default=3, ge=2, description="How many are plain.")


async def test_a_setting_that_is_declared_has_its_field(
    http: Http, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its label or its name, with its help, and is checked and published by its declaration."""
    monkeypatch.setattr(study_module, "Publication", WithMore)
    more = {**INPUTS, **{k: v for k, v in inputs_of(WithMore).items() if k not in INPUTS}}
    for module in (study_module, wizard):
        monkeypatch.setattr(module, "INPUTS", more)
    form = await http.sign_in()
    page = html.unescape((await form("/new/columns", FILES)).text)
    for said in ("<label>Answer on show", "Whether the answer is shown.", 'name="shown"'):
        assert page.count(said) == 1, said
    for said in ("<label>Plain one (plain one)", "How many are plain.", 'name="plain_one"'):
        assert page.count(said) == 1, said
    fields = {**FIELDS, "plain_one": "1", "shown": "true"}
    study = changed(proposed(page), fields)
    faults = await form("/new/check", {"study": as_file(study)})
    assert faults.json()["faults"] == {"plain_one": "at least 2"}
    made = await form("/new", with_study(study | {"plain_one": "2"}), unplanned="on")
    assert made.status_code == 303, made.text
    (settings,) = (Study.parse(as_file(study | {"plain_one": "2"})[1].encode()).read(NOW)[0],)
    assert isinstance(settings, WithMore)
    assert (settings.shown, settings.plain_one) == (True, 2)


async def test_a_worker_gets_ready_while_a_file_is_chosen(
    http: Http, app: CuratorApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For whoever may publish; a stranger makes nothing start."""
    started = []
    monkeypatch.setattr(app.state.curator.workers, "warm", lambda: started.append(1))
    assert (await http.get("/new")).status_code == 401
    assert started == []
    await http.sign_in()
    assert (await http.get("/new")).status_code == 200
    assert started == [1]


EMPTY = (
    "x,y\n" + "".join(f"{i % 9},{('never', 'often', '')[i % 3]}\n" for i in range(60))
).encode()
"""A label in which nothing stands in each third row."""


def test_rows_without_the_answer_are_decided_where_it_is_chosen() -> None:
    """They are left out or have an answer of their own; of a column that is only asked besides
    nothing is to be decided, and a number has no such answer."""
    assert faults_of({}, EMPTY) == {"columns.1.empty": "choose one"}
    assert faults_of({"label": "x"}, EMPTY) == {}
    left_out = settings_of({"columns.1.empty": "missing"}, EMPTY)
    assert left_out.rename == {"y": {"": ""}}
    answer = {"columns.1.empty": "answer"}
    assert settings_of(answer, EMPTY).rename == {"y": {"": "no answer"}}
    unnamed = faults_of({**answer, "columns.1.empty_name": ""}, EMPTY)
    assert unnamed == {"columns.1.empty_name": "fill this in"}
    edited = {"columns.1.categories": "often\nnever\n(missing)"}
    for decided, classes in (
        ("missing", ("often", "never")),
        ("answer", ("often", "never", "no answer")),
    ):
        made = settings_of({**edited, "columns.1.empty": decided}, EMPTY)
        assert made.classes == classes
    numbers = b"x,y\n" + b"a,1.5\nb,2.5\na,\nb,17.5\n" * 9
    number = faults_of(answer, numbers)
    assert number == {"columns.1.empty": "a number has no such answer: leave these rows out"}
    assert settings_of({"columns.1.empty": "missing"}, numbers).label_range == (1.0, 18.0)
    words = {"columns.1.means": ["no", "yes"], "columns.1.empty": "answer"}
    made = settings_of(words, b"x,y\n" + b"a,0\nb,1\na,\nb,1\n" * 9)
    assert made.rename == {"y": {"0": "no", "1": "yes", "": "no answer"}}
    assert settings_of({}, EMPTY.replace(b",\n", b",NA\n")).rename == {"y": {"NA": ""}}


@pytest.mark.parametrize(
    ("decided", "classes", "share"),
    [("missing", ("never", "often"), 50), ("answer", ("never", "no answer", "often"), 33)],
)
async def test_a_file_with_empty_labels_is_published_as_it_was_decided(
    http: Http, decided: str, classes: tuple[str, ...], share: int
) -> None:
    """With the plan and the precision of the same rows; all empty rows are counted."""
    form = await http.sign_in()
    files = {"public": ("a.csv", EMPTY)}
    page = " ".join((await form("/new/columns", files)).text.split())
    assert "y: 20 rows are empty. What should become of them?" in page
    fields = FIELDS | {"label": "y", "columns.1.empty": decided}
    whole = with_study(changed(proposed(page), fields), files)
    plan = await form("/new/plan", whole)
    assert f"300 people are too few: {share}\u00a0% could be" in plan.text
    checked = (await form("/new/check", whole)).json()
    assert checked["faults"] == {}
    assert f"If {share}\u00a0% say often, as in" in checked["known"]["text"]
    made = await form("/new", whole, unplanned="on")
    task = await http.published(re.findall("[0-9a-f]{64}", made.headers["location"])[0])
    assert isinstance(task.label, Classes)
    assert task.label.classes == classes


MIXED = (
    "hours,y\n"
    + "".join(
        f"{('n/a', '40h')[i // 60] if i % 60 == 7 else 2 + (i * 7) % 76},{'ny'[i % 2]}\n"
        for i in range(120)
    )
).encode()
"""Numbers with two texts among them, from 2 to 77 as two people have them."""


def test_a_column_that_a_decision_makes_a_number_has_round_ends() -> None:
    """As a feature and as the answer that one wants to know, by a decision or by its kind; never
    the file's own least and greatest, and no number while texts are left."""
    decided = {"columns.0.blank": "missing"}
    made = settings_of(decided, MIXED)
    of_hours = {"kind": "numeric", "low": 0.0, "high": 80.0}
    assert made.features["hours"].model_dump(exclude_none=True) == of_hours
    typed = settings_of({**decided, "columns.0.high": "90", "columns.0.unit": "h"}, MIXED)
    assert (typed.features["hours"].high, typed.describe["hours"].unit) == (90.0, "h")
    label = settings_of({**decided, "label": "hours", "columns.0.unit": "h"}, MIXED)
    assert (label.label_type, label.label_range) == ("range", (0.0, 80.0))
    assert label.describe["hours"].unit == "h"
    left = {"columns.0.blank": "answer", "columns.0.kind": "numeric"}
    assert faults_of(left, MIXED) == {"columns.0.kind": "“n/a”, “40h” are no numbers"}
    by_name = {**left, "columns.0.rename": "n/a =\n40h = 40"}
    assert settings_of(by_name, MIXED).features["hours"].low == 0.0
    words = {"label": "y", "columns.1.kind": "numeric"}
    assert faults_of(decided | words, MIXED) == {"columns.1.kind": "“n”, “y” are no numbers"}
    scale = "".join(
        f"{('1 - bad', '2', '3', '4', '5 - good')[i % 5]},{'ny'[i % 2]}\n" for i in range(60)
    )
    ends = {"columns.0.one": ["yes", "yes"]}
    steps = settings_of(ends, f"x,y\n{scale}".encode()).features["x"]
    assert (steps.kind, steps.low, steps.high) == ("numeric", None, None)
    as_label = settings_of({**ends, "label": "x"}, f"x,y\n{scale}".encode())
    assert (as_label.label_range, as_label.rename["x"]) == (None, {"1 - bad": "1", "5 - good": "5"})


def test_a_column_that_may_be_a_number_is_not_left_out() -> None:
    """However many numbers it has: it is ticked, and asked about; as categories nobody could choose
    among them."""
    study = study_of(MIXED, GIVEN)
    hours = study["columns"][0]
    assert (hours["found"]["feature"], hours["found"]["remarks"], hours["use"]) == (None, [], True)
    assert faults_of({}, MIXED) == {"columns.0.blank": "choose one"}
    answer = faults_of({"columns.0.blank": "answer"}, MIXED)
    assert answer == {"columns.0.blank": "nobody could choose among so many answers"}


def test_a_column_that_is_left_out_says_so_once() -> None:
    """Not also that somebody should leave it out."""
    rows = "".join(f"P{i:04},{i % 7},{'ny'[i % 2]}\n" for i in range(300))
    (of_id, *_) = propose(read_table(f"id,x,y\n{rows}".encode()))
    said = "It has 300 different texts in 300 rows, such as 'P0000'. Nobody could choose among "
    said += "them, so it is left out."
    assert of_id.remarks == (said,)


async def test_a_file_as_people_have_it_is_decided_on_the_page(http: Http) -> None:
    """Dates, numbers among which a word stands, NA, and a unit in a name: each with its buttons;
    what is decided is what is published."""
    rows = "when;visits;ward;Height (m);back\n" + "".join(
        f"{1 + i % 28:02}.0{1 + i % 9}.{1990 + i % 20};{'many' if i % 9 == 0 else i % 7};"
        f"{('NA', 'heart', 'lung')[i % 3]};1,{60 + i % 30};{'yes' if i % 4 else 'no'}\n"
        for i in range(120)
    )
    files = {"public": ("a.csv", rows.encode())}
    form = await http.sign_in()
    page = html.unescape((await form("/new/columns", files)).text)
    for said in (
        "when holds dates. What should become of it?",
        "Ask for the year, from 1990 to 2009",
        "visits: “many” (14 rows) among numbers: an answer?",
        "ward: “NA” (40 rows): an answer?",
    ):
        assert said in page, said
    assert page.index("Which answer do you want to know?") < page.index(
        "The first rows of the file"
    )
    study = proposed(page)
    height = study["columns"][3]
    assert (height["prompt"], height["unit"]) == ("Height", "m")
    assert [each["use"] for each in study["columns"]] == ["", True, True, True, True]
    decisions = {"columns.0.use": "year", "columns.1.blank": "missing", "columns.2.void": "answer"}
    decisions |= {"columns.2.void_name": "no ward", "label": "back"}
    whole = with_study(changed(study, {**FIELDS, **decisions}), files)
    made = await form("/new", whole, unplanned="on")
    assert made.status_code == 303, made.text
    task = await http.published(made.headers["location"].split("/")[2].split("#")[0])
    when, visits, ward, height = task.features
    assert isinstance(when, Numeric)
    assert (when.low, when.high) == (1990.0, 2009.0)
    assert isinstance(visits, Numeric)
    assert (visits.low, visits.high) == (0.0, 6.0)
    assert isinstance(ward, Categorical)
    assert ward.categories == ("heart", "lung", "no ward")
    assert isinstance(height, Numeric)
    assert (height.prompt, height.unit) == ("Height", "m")


async def test_a_number_that_may_be_two_is_asked_about_before_anything_else(http: Http) -> None:
    """The columns come once the file's decimal mark is chosen; a typed end is refused."""
    form = await http.sign_in()
    rows = "".join(f"{20 + i};{1 + i % 3}.125;{'yes' if i % 4 else 'no'}\n" for i in range(60))
    files = {"public": ("a.csv", f"age;weight;back\n{rows}".encode())}
    page = (await form("/new/columns", files)).text
    assert "1.125 may be 1.125 or 1125, and no other number of the file tells which." in page
    assert ('name="label"' in page, 'name="decimal"' in page) == (False, True)
    for mark, high in (("point", "3.125"), ("comma", "3125")):
        study = changed(proposed(page), {"decimal": mark})
        again = proposed((await form("/new/columns", with_study(study, files))).text)
        assert (again["decimal"], again["columns"][1]["found"]["feature"]["high"]) == (
            mark,
            float(high),
        )


async def test_the_page_says_what_can_be_changed_after_publication(http: Http) -> None:
    """A closed task opens again, as the button on its page does."""
    form = await http.sign_in()
    page = " ".join((await form("/new/columns", FILES)).text.split())
    assert "it can be closed, opened again and deleted" in page
    task = await http.task(name="opened again")
    for move in ("close", "open"):
        moved = await form(f"/tasks/{task}/move", move=move)
        assert moved.status_code == 303
    assert (await http.get(f"/v1/tasks/{task}/status")).json()["state"] == "open"


async def test_methods_are_chosen_by_name_and_units_found(http: Http) -> None:
    """Nobody types the name of a grower; a column's name may end with its unit, which no class
    has."""
    form = await http.sign_in()
    file = "Größe (m),Stufe (1-9),y\n1.75,1.5,a\n1.62,2.5,b\n1.8,3.25,a\n".encode()
    page = (await form("/new/columns", {"public": ("a.csv", file)})).text
    for name, other in (("grower", "cart"), ("mechanism", "grr")):
        (choices,) = re.findall(f'<select name="{name}".*?</select>', page)
        assert f"<option>{other}</option>" in choices
    assert [each["unit"] for each in proposed(page)["columns"]] == ["m", "", ""]
    classes = settings_of({"columns.2.unit": "m", "label_type": "classes"})
    assert "y" not in classes.describe


async def test_every_setting_has_one_field(http: Http) -> None:
    """Two fields of one name would both be sent, and the empty one might win."""
    form = await http.sign_in()
    first = (await http.get("/new")).text
    pages = [first[first.index('id="wizard"') :], (await form("/new/columns", FILES)).text]
    names = re.findall(r' name="([\w.]+)"', pages[0] + pages[1][pages[1].index('id="columns"') :])
    assert {"smallest_group", "mechanism", "looks"} <= set(names)
    assert sorted(names) == sorted(set(names))


async def test_the_form_has_every_setting_with_its_help(http: Http) -> None:
    """Each in a field of its own, but for those that its columns' fields make, or in plain
    words."""
    form = await http.sign_in()
    page = html.unescape((await form("/new/columns", FILES)).text)
    alone = html.unescape((await form("/new/question")).text)
    for name, setting in INPUTS.items():
        named = {"asker": "asker.name", "waves": "waves.0.first"}.get(name, name)
        elsewhere = name in {
            "translations",
            "ignore",
            "features",
            "describe",
            "disclosed",
            "classes",
            "label_range",
            "rename",
            "years",
            "numbers",
            "sheet",  # of a workbook that has several
        }
        where = alone if name in OF_NO_FILE else page
        assert elsewhere or where.count(f' name="{named}"') == 1, name
        assert where is page or f' name="{named}"' not in page
        if name not in BY_HAND:
            assert of_studies(setting.help) in where
            assert f"<label>{name.replace('_', ' ').capitalize()}\n" not in page  # in words


async def test_fields_are_called_in_words_of_whoever_asks(http: Http) -> None:
    """Who asks wants to know an answer: no field speaks of predictions, labels or classes, but for
    a setting's name in brackets."""
    form = await http.sign_in()
    with_file = await form("/new/columns", {"public": ("a.csv", PUBLIC)})
    for answer in (await http.get("/new"), with_file, await form("/new/question")):
        named = re.findall(r"<(?:label|legend|summary)[^>]*>([^<]+)", answer.text)
        assert len(named) > 3
        plain = [re.sub(r" \([a-z ]+\)", "", each).lower() for each in named]
        assert [each for each in plain if re.search("predict|class|label", each)] == []


async def test_waves_of_one_question_stand_right_after_it(http: Http) -> None:
    """For whoever wants to know a change over time; of a study in one wave they are folded up."""
    form = await http.sign_in()
    in_order = {
        "change": ("columns.0.prompt", "wave_count", "asker.name", "epsilon"),
        "count": ("columns.0.prompt", "asker.name", "epsilon", "wave_count"),
    }
    for goal, names in in_order.items():
        page = (await form("/new/question", goal=goal)).text
        places = [page.index(f'name="{name}"') for name in names]
        assert places == sorted(places), goal


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        ("de-AT,de;q=0.9,en;q=0.5", "de"),
        ("ja,fr-CA;q=0.8", "fr"),
        ("zh-CN,zh;q=0.9", "zh-Hans"),
        ("zh-TW", ""),
        ("", ""),
    ],
)
async def test_texts_are_in_the_browsers_language_at_first(
    http: Http, accepted: str, language: str
) -> None:
    """If answer pages can show it, and until somebody chooses another."""
    form = await http.sign_in()
    http.headers["accept-language"] = accepted
    assert proposed((await form("/new/question")).text)["language"] == language


async def test_a_small_file_is_said_to_show_little_when_it_is_read(http: Http) -> None:
    """With its number of rows; of a larger one nothing is said."""
    form = await http.sign_in()
    for rows in (200, 3_000):
        lines = "".join(f"{row % 7},{'no' if row % 3 else 'yes'}\n" for row in range(rows))
        files = {"public": ("a.csv", f"x,y\n{lines}".encode())}
        page = html.unescape((await form("/new/columns", files)).text)
        assert ('id="little"' in page) == (rows == 200)
        assert ("Your file has only 200 rows. Where half" in page) == (rows == 200)


async def test_how_the_file_was_read_is_shown_and_can_be_corrected(http: Http) -> None:
    """In a sentence with its first rows; what the form states is not detected."""
    form = await http.sign_in()
    german = "größe;anteil;y\n1,75;10 %;ja\n1,62;5 %;nein\n".encode("cp1252")
    files = {"public": ("a.csv", german)}
    page = (await form("/new/columns", files)).text
    assert "Windows-1252 (Western Europe), separated by semicolons, with decimal commas." in page
    for cell in ("1,75", "10 %", "nein"):
        assert f"<td>{cell}</td>" in page
    assert "It has &#39;1,75&#39;, which is read as 1.75." in page
    assert proposed(page)["columns"][1]["unit"] == "%"
    stated = changed(proposed(page), {"encoding": "cp1250", "decimal": "point"})
    again = (await form("/new/columns", with_study(stated, files))).text
    assert "Read as cp1250, separated by semicolons, with decimal points." in again
    assert proposed(again)["decimal"] == "point"
    wrong = await form("/new/columns", with_study(stated | {"separator": "colon"}, files))
    assert wrong.status_code == 422
    assert "separator" in wrong.text
    spelled = {"public": ("a.csv", b"x,y\n1,NO\n2,No\n3,No\n4,yes\n")}
    page = " ".join((await form("/new/columns", spelled)).text.split())
    assert "y: “NO”, “No” (3 rows) → “No”" in page


async def test_a_panels_page_names_the_days_that_were_entered(
    http: Http, clock: ManualClock
) -> None:
    """As its plan does; of waves that begin or end within a day, the minutes."""
    year = datetime.fromtimestamp(clock(), UTC).year + 1
    dates = [each.replace("2030", str(year)) for each in settings_of(WAVES).waves]
    made = await http.create(waves=dates, epsilon=1, depth=1)
    assert made.status_code == 201, made.text
    task = made.json()["id"]
    page = (await http.get(f"/tasks/{task}")).text
    for wave in dates:
        first, last = days_of(PlannedWave.of(wave))
        assert f'<span class="number">{first}</span> to <span class="number">{last}</span>' in page
    within = PlannedWave.of("2030-01-01T00:00:00+00:00/2030-02-01T08:00:00+00:00")
    assert days_of(within) == ("1 January 2030, 00:00", "1 February 2030, 08:00")


async def test_the_sheet_of_a_workbook_is_asked_for(http: Http) -> None:
    """The columns come once one of several sheets is chosen; another can be chosen later."""
    form = await http.sign_in()
    rows: list[list[Cell]] = [["x", "y"], [1, "no"], [2, "yes"], [3, "no"], [4, "yes"]]
    book = workbook({"Data": rows, "Codes": [["code", "of"], [1, "a"], [2, "b"]]})
    files = {"public": ("survey.xlsx", book)}
    asked = (await form("/new/columns", files)).text
    assert "The workbook has cells on 2 sheets, &#39;Data&#39;, &#39;Codes&#39;: which one" in asked
    assert "<option>Data</option><option>Codes</option>" in asked
    assert "<fieldset data-column>" not in asked
    chosen = changed(proposed(asked), {"sheet": "Data"})
    page = (await form("/new/columns", with_study(chosen, files))).text
    assert "Read from the sheet &#39;Data&#39; of a workbook." in page
    assert proposed(page)["sheet"] == "Data"
    assert page.count("<fieldset data-column>") == 2
    assert "<option>Data</option><option>Codes</option>" in page
    study = changed(proposed(page), FIELDS | {"label": "y"})
    made = await form("/new", with_study(study, files), unplanned="on")
    task = await http.published(re.findall("[0-9a-f]{64}", made.headers["location"])[0])
    assert task.label.name == "y"


async def test_cells_with_a_unit_become_numbers_by_one_decision(http: Http) -> None:
    """Their column is left out until somebody decides; a number has round ends and the unit."""
    form = await http.sign_in()
    rows = [f"{50 + row % 40},{row % 9} kg;{'ja' if row % 3 else 'nein'}" for row in range(60)]
    files = {"public": ("a.csv", "\n".join(["weight;ill", *rows]).encode())}
    page = (await form("/new/columns", files)).text
    said = " ".join(page.split())
    assert "weight holds numbers with their unit. What should become of it?" in said
    assert "Ask for a number in kg, from" in said
    assert "“50,0 kg” is read as 50</label>" in said
    study = proposed(page)
    assert study["columns"][0]["use"] == ""
    study = changed(study, FIELDS | {"label": "ill", "columns.0.use": "number"})
    made = await form("/new", with_study(study, files), unplanned="on")
    task = await http.published(re.findall("[0-9a-f]{64}", made.headers["location"])[0])
    (weight,) = task.features
    assert isinstance(weight, Numeric)
    assert (weight.low, weight.high, weight.unit) == (50.0, 90.0, "kg")
    study = changed(study, {"label": "weight", "columns.1.use": True})
    made = await form("/new", with_study(study, files), unplanned="on")
    task = await http.published(re.findall("[0-9a-f]{64}", made.headers["location"])[0])
    assert isinstance(task.label, Range)
    assert (task.label.low, task.label.high, task.label.unit) == (50.0, 90.0, "kg")


async def test_hidden_rows_of_a_sheet_are_asked_about(http: Http) -> None:
    """One choice leaves all of them out; a hidden column is not ticked."""
    form = await http.sign_in()
    rows: list[list[Cell]] = [["age", "x", "y"]]
    rows += [[20 + row, row % 7, "ab"[row % 2]] for row in range(40)]
    sheet = workbook({"Data": rows}, look=Look(rows=[3, 4], columns=[2]))
    files = {"public": ("a.xlsx", sheet)}
    asked = (await form("/new/columns", files)).text
    assert "2 rows are hidden in the sheet, the first is row 2 (" in asked
    assert '<label>Rows: hidden <select name="skip_rows">' in asked
    chosen = changed(proposed(asked), {"skip_rows": "hidden"})
    page = (await form("/new/columns", with_study(chosen, files))).text
    _, x, _ = proposed(page)["columns"]
    assert x["use"] is False
    assert "It is hidden in the sheet: leave it out, or show the column." in page


async def test_rows_and_values_that_are_no_data_are_asked_about(http: Http) -> None:
    """A total is left out before there are columns, a code before anything is published."""
    form = await http.sign_in()
    rows = [f"{10 + row % 9},{row % 7},{'yes' if row % 3 else 'no'}" for row in range(60)]
    rows += ["999,3,no"] * 4
    total = sum(int(row.split(",")[1]) for row in rows)
    files = {"public": ("a.csv", "\n".join(["age,visits,y", *rows, f",{total},"]).encode())}
    asked = (await form("/new/columns", files)).text
    assert f"Row 65 (&#39;&#39;, &#39;{total}&#39;, &#39;&#39;) is the sum of" in asked
    assert '<option value="65">no record: leave it out</option>' in asked
    assert "<fieldset data-column>" not in asked
    chosen = changed(proposed(asked), {"skip_rows": "65"})
    page = (await form("/new/columns", with_study(chosen, files))).text
    assert proposed(page)["skip_rows"] == "65"
    assert "“999” (4 rows), far from the others: an answer?" in " ".join(page.split())
    study = changed(proposed(page), FIELDS | {"label": "y"})
    assert (study["columns"][0]["low"], study["columns"][0]["high"]) == ("10", "18")

    async def published(study: Mapping[str, Any]) -> Numeric:
        made = await form("/new", with_study(study, files), unplanned="on")
        task = await http.published(re.findall("[0-9a-f]{64}", made.headers["location"])[0])
        (age,) = (each for each in task.features if each.name == "age")
        assert isinstance(age, Numeric)
        return age

    undecided = await form("/new", with_study(study, files), unplanned="on")
    assert "columns.0.blank: choose one" in undecided.text
    left_out = await published(changed(study, {"columns.0.blank": "missing"}))
    assert (left_out.low, left_out.high, left_out.missing) == (10.0, 18.0, 14.0)
    kept = await published(changed(study, {"columns.0.blank": "answer"}))
    assert (kept.low, kept.high, kept.missing) == (10.0, 999.0, None)


async def test_two_spellings_of_one_answer_are_asked_about(http: Http) -> None:
    """A column with them is ticked, and nothing is made of it before somebody has decided."""
    form = await http.sign_in()
    rows = ["1,Bern,no", "2,bern,no", "3,bern,yes", "4,Chur,Yes"] * 2
    files = {"public": ("a.csv", "\n".join(["x,town,y", *rows, "5,Churr,no", *rows]).encode())}

    async def faults(study: Mapping[str, Any]) -> dict[str, str]:
        checked = await form("/new/check", {"study": as_file(study)})
        found: dict[str, str] = checked.json()["faults"]
        return found

    page = (await form("/new/columns", files)).text
    parts = page.split("<fieldset data-column>")[1:]
    for part, asked in zip(parts, (0, 1, 1), strict=True):
        assert part.count("Count as one answer") == asked
    assert "town: “Bern”, “bern” (12 rows) → “bern”" in " ".join(parts[1].split())
    assert "Rows: Bern 4, bern 8, Chur 4, Churr 1." in parts[1]
    study = changed(proposed(page), FIELDS | {"label": "y"})
    assert [each["use"] for each in study["columns"]] == [True] * 3
    open_pairs = {"columns.1.one.0": "choose one", "columns.2.one.0": "choose one"}
    assert await faults(study) == open_pairs
    undecided = await form("/new", with_study(study, files), unplanned="on")
    assert undecided.status_code == 422
    assert "columns.1.one.0: choose one" in undecided.text
    half = changed(study, {"columns.2.one.0": "yes"})
    assert await faults(half) == {"columns.1.one.0": "choose one"}
    whole = changed(study, {"columns.1.one.0": "yes", "columns.2.one.0": "no"})
    made = await form("/new", with_study(whole, files), unplanned="on")
    task = await http.published(re.findall("[0-9a-f]{64}", made.headers["location"])[0])
    (town,) = (each for each in task.features if each.name == "town")
    assert isinstance(town, Categorical)
    assert town.categories == ("Chur", "Churr", "bern")
    assert isinstance(task.label, Classes)
    assert task.label.classes == ("Yes", "no", "yes")


async def test_all_spellings_of_a_column_are_one_question(http: Http) -> None:
    """Of those that differ in case alone; what may be a slip is a question of its own."""
    answers = ("NO", "No", "no", "no", "YES", "yes", "yes", "maybe", "maybe", "maybe") * 4
    rows = "".join(f"{i},{answer}\n" for i, answer in enumerate((*answers, "maybee")))
    public = f"x,y\n{rows}".encode()
    form = await http.sign_in()
    page = " ".join((await form("/new/columns", {"public": ("a.csv", public)})).text.split())
    said = "y: “NO”, “No”, “no” (16 rows) → “no”; “YES”, “yes” (12) → “yes”"
    assert page.count(said) == page.count("Count as one answer") == 1
    assert page.count(": one answer?") == 1
    fields = {"label": "y"}
    open_pairs = {"columns.1.one.0": "choose one", "columns.1.one.3": "choose one"}
    assert faults_of(fields, public) == open_pairs
    decided = {"columns.1.one.0": "yes", "columns.1.one.3": "no"}
    names = {"NO": "no", "No": "no", "YES": "yes"}
    assert settings_of(fields | decided, public).rename == {"y": names}
    apart = {"columns.1.one.0": "no", "columns.1.one.3": "yes"}
    assert settings_of(fields | apart, public).rename == {"y": {"maybee": "maybe"}}


DAYS = b"when,x,y\n" + b"".join(
    b"%d.%d.%02d,%d,%s\n" % (1 + i % 28, 1 + i // 28, 23 + i % 2, i % 7, (b"no", b"yes")[i % 2])
    for i in range(120)
)
"""A column of days whose years have two digits, and two columns that can be asked."""


async def test_dates_of_which_no_year_is_read_are_left_out_with_what_to_do(http: Http) -> None:
    """And no kind is offered that must fail; of texts that are no numbers neither."""
    form = await http.sign_in()
    page = (await form("/new/columns", {"public": ("a.csv", DAYS)})).text
    when, x, y = page.split("<fieldset data-column>")[1:]
    said = "It holds dates or durations, which cannot be asked here, so it is left out. To use it,"
    assert said in when
    assert "columns.0.kind" not in when
    assert "columns.0.use" not in when
    assert '<option value="numeric">' in x
    assert '<option value="numeric">' not in y
    assert settings_of({"label": "y"}, DAYS).ignore == ("when",)


PETS = b"pet,y\n" + b"no,0\nyes,1\n,1\n" * 20
"""A column in a third of whose cells nothing stands."""


async def test_an_empty_cell_is_no_answer_that_people_read(http: Http) -> None:
    """They may leave the question open: neither form nor preview lists the task's category."""
    form = await http.sign_in()
    files = {"public": ("a.csv", PETS)}
    page = (await form("/new/columns", files)).text
    study = proposed(page)
    assert study["columns"][0]["categories"] == "no\nyes"
    assert "People may leave it open." in page
    assert "A missing value" not in page
    whole = with_study(changed(study, FIELDS | {"label": "y"}), files)
    preview = (await form("/new/preview", whole)).text
    assert "no, yes; may be left empty</li>" in preview
    assert "(missing)" not in preview
    made = await form("/new", whole, unplanned="on")
    task = await http.published(re.findall("[0-9a-f]{64}", made.headers["location"])[0])
    (pet,) = task.features
    assert pet.names == ("no", "yes", "(missing)")
    assert pet.asked == "one of no, yes"
    shown = (await http.get(f"/tasks/{task.id}")).text
    assert "(missing)" not in shown


async def test_a_column_that_cannot_be_one_is_asked_nothing(http: Http) -> None:
    """What is wrong with it stands below its name, and no question is to be written for it."""
    form = await http.sign_in()
    rows = "\n".join(f"{i % 7},person {i},{i % 2}" for i in range(60))
    files = {"public": ("a.csv", f"age,who,label\n{rows}\n".encode())}
    page = (await form("/new/columns", files)).text
    age, who, _ = page.split("<fieldset data-column>")[1:]
    assert 'name="columns.0.prompt"' in age
    assert 'name="columns.0.disclosed"' in age
    assert "columns.1.prompt" not in who
    assert "columns.1.disclosed" not in who
    assert who.index("<b>who</b>") < who.index("60 different texts")
    made = settings_of({"label": "label"}, files["public"][1])
    assert made.ignore == ("who",)


async def test_a_register_comes_with_the_form(http: Http) -> None:
    """A second file, in which groups are counted; without one the form is as before."""
    form = await http.sign_in()
    assert 'name="register"' in (await http.get("/new")).text
    fields = {**FIELDS, "holders": "900", "columns.0.disclosed": True, "draft": True}
    fields |= {"grower": "cart", "depth": "5", "hidden_depth": "0"}
    people = "\n".join(["age", *(str(18 + i % 52) for i in range(900))]).encode()
    whole = with_study(study_of(samples.survey(), fields))
    made = await form("/new", {**whole, "register": ("b.csv", people)}, unplanned="on")
    assert made.status_code == 303, made.text
    path = made.headers["location"].split("#")[0]
    view = (await http.get(f"/v1{path}", headers=http.admin)).json()
    assert view["registered"]
    assert sum(stratum["holders"] for stratum in view["strata"]) <= 900
    wrong = await form("/new", {**whole, "register": ("b.csv", b"job\nnurse\n")}, unplanned="on")
    assert "The register has no column &#39;age&#39;" in wrong.text


async def test_a_form_that_was_not_changed_is_left_to_inference(http: Http) -> None:
    """It gives the task of the same file without any declaration but round ends, once it says who
    asks."""
    form = await http.sign_in()
    page = await form("/new/columns", FILES)
    study = changed(proposed(page.text), FIELDS | {"name": "survey", "holders": "10000"})
    wrong = [{f"asker.{name}": ""} for name in ASKER]
    wrong += [{"columns.0.low": "x"}, {"label": "nobody"}, {"epsilon": "-1"}]
    for fields in wrong:
        answer = await form("/new", with_study(changed(study, fields)), unplanned="on")
        assert answer.status_code == 422, fields
    assert (await http.get("/v1/tasks")).json() == []
    made = await form("/new", with_study(study), unplanned="on")
    assert made.status_code == 303, made.text
    ends = {"age": {"low": 15.0, "high": 70.0}, "hours": {"low": 0.0, "high": 60.0}}
    words = {"member": {"False": "false", "True": "true"}}  # as the file has them
    more: dict[str, Any] = {"asker": ASKER, "features": ends, "rename": words}
    plain = await http.create(depth=None, grower="distilled", **more)
    assert made.headers["location"] == f"/tasks/{plain.json()['id']}#holders"
    assert plain.status_code == 200  # the same task was there already


@pytest.mark.parametrize(
    ("ends", "published"), [({}, (800.0, 4200.0)), ({"columns.1.high": "5e3"}, (800.0, 5000.0))]
)
async def test_a_numeric_label_has_the_ends_that_the_form_shows(
    http: Http, ends: dict[str, str], published: tuple[float, float]
) -> None:
    """Or those typed there: the lowest and the highest income of the file are two people's."""
    form = await http.sign_in()
    rows = [f"{i % 40},{858.2 + (4152.1 - 858.2) * i / 79}" for i in range(80)]
    files = {"public": ("a.csv", "\n".join(["age,income", *rows]).encode())}
    shown = (await form("/new/columns", files)).text
    study = proposed(shown)
    assert (study["columns"][1]["low"], study["columns"][1]["high"]) == ("800", "4200")
    study = changed(study, {**FIELDS, "label": "income", "holders": "50", **ends})
    made = await form("/new", with_study(study, files), unplanned="on")
    task = await http.published(re.findall("[0-9a-f]{64}", made.headers["location"])[0])
    assert isinstance(task.label, Range)
    assert (task.label.low, task.label.high) == published
    assert not {858.2, 4152.1} & {task.label.low, task.label.high}


async def test_a_plan_and_two_models_are_shown(http: Http, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan of the form's settings; models side by side, each with its tree."""
    monkeypatch.setattr("privet.learning.public_model.candidates.BOOSTING_COLUMNS", 0)
    form = await http.sign_in()
    named = samples.survey(60).replace(b"label", b"collection")
    study = study_of(named, {**FIELDS, "label": "collection"})
    answer = await form("/new/plan", with_study(study, {"public": ("a.csv", named)}))
    assert answer.status_code == 200, answer.text
    assert "people a question that is not written yet and never receive" in answer.text
    assert "If your file is like the people who are asked" in answer.text
    assert "People needed, by precision" in answer.text
    assert re.search(
        r'<th scope="row">±\s1.0\spoints</th><td class="number">[\d\s]+</td>', answer.text
    )
    assert "“To learn who comes back.” No closing date." in answer.text
    survey = samples.survey(60)
    panel = study_of(survey, FIELDS | WAVES | {"depth": "1", "grower": "cart"})
    waves = (await form("/new/plan", with_study(panel, {"public": ("a.csv", survey)}))).text
    assert "They are asked 2 times. Each person may answer every time." in waves
    assert "together cost ε 2 at most" in waves
    assert "<li>1 April 2030 to 30 April 2030</li>" in waves
    assert "No closing date" not in waves
    assert not re.search(
        r"\d%", re.sub("<svg.*?</svg>|<head.*?</head>", "", answer.text, flags=re.S)
    )
    task = await http.task(grower="cart")
    for _ in range(2):
        await http.fit(task, **samples.PUBLIC_ALONE)
    page = (await http.get(f"/tasks/{task}/compare?one=1&other=2")).text
    assert 'class="cells pairs"' in page
    assert re.search(r"Both predict the same for the \d+ people in your file\.", page)


async def test_a_plan_of_too_few_is_none_to_publish_by(
    http: Http, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says so first, and its buttons plan for the numbers that they show."""
    monkeypatch.setattr("privet.learning.public_model.candidates.BOOSTING_COLUMNS", 0)
    form, survey = await http.sign_in(), samples.survey(60)
    for people, is_few in (("60", True), ("20000", False)):
        study = study_of(survey, {**FIELDS, "holders": people})
        page = (await form("/new/plan", with_study(study, {"public": ("a.csv", survey)}))).text
        assert ("people are too few: " in page) == is_few
        assert ('name="planned"' in page) != is_few
        buttons = re.findall(r'data-people="(\d+)">Plan for ([\d\s]+)<', page)
        assert buttons
        assert all(number == "".join(shown.split()) for number, shown in buttons)


async def test_a_plan_comes_first_or_is_refused_knowingly(http: Http) -> None:
    """Of the settings that are published; texts may change after it."""
    form = await http.sign_in()
    survey = samples.survey(60)
    files = {"public": ("a.csv", survey)}
    study = study_of(survey, FIELDS | {"grower": "cart", "depth": "2"})
    refused = (await form("/new", with_study(study, files))).text
    assert "Plan first" in refused
    assert "<h1>Something is to be done or changed first</h1>" in refused
    settings, _ = Study.parse(json.dumps(study).encode()).read(NOW)
    assert settings is not None
    planned = plan_digest(survey, None, settings)
    other = with_study(study | {"holders": "200"}, files)
    assert "Plan first" in (await form("/new", other, planned=planned)).text
    registered = with_study(study, files | {"register": ("b.csv", b"age\n30\n")})
    assert "Plan first" in (await form("/new", registered, planned=planned)).text
    assert (await http.get("/v1/tasks")).json() == []
    other_words = with_study(study | {"description": "New words."}, files)
    made = await form("/new", other_words, planned=planned)
    assert made.status_code == 303, made.text


async def test_a_preview_is_the_task_that_would_be_published(
    http: Http, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind the hash of the relay's page, and nothing is kept; without a relay it says why."""
    form = await http.sign_in()
    fields = {f"columns.{i}.prompt": f"Your {name}?" for i, name in enumerate(COLUMNS)}
    study = study_of(samples.survey(), {**FIELDS, "grower": "cart", "depth": "2", **fields})
    whole = with_study(study)
    early = (await form("/new/preview", whole)).text
    assert "Name a relay first" in early
    assert "Open the preview" not in early
    for name in COLUMNS:
        assert f"<b>Your {name}?</b>" in early, "the questions at least"
    assert "smith" in early
    said = RelayDescription(
        curator_key=None, least=1, smallest_batch=1, as_files=False, one_operator=True
    )
    monkeypatch.setattr("privet.curator.operations.relays.described_at", lambda _: said)
    named = await form("/new/relay", whole, relay="https://relay.example")
    assert "One operator, for a trial" in named.text
    shown = (await form("/new/preview", whole)).text
    german = (await form("/new/preview", with_study(study | {"language": "de"}))).text
    assert 'href="https://relay.example/answer/preview?language=de#' in german
    found = re.search(r'href="https://relay.example/answer/preview#([\w-]+)"', shown)
    assert found
    task = Task.parse(urlsafe_b64decode(found[1] + "==="))
    assert [feature.prompt for feature in task.features] == [f"Your {name}?" for name in COLUMNS]
    assert (await http.get("/v1/tasks")).json() == []
    made = await form("/new", whole, unplanned="on")
    assert made.headers["location"] == f"/tasks/{task.id}#holders"


async def test_the_form_asks_the_relay_and_says_how_to_start_one(http: Http) -> None:
    """A dead one, and a wrong address, leave the form where it is."""
    form = await http.sign_in()
    dead = (await form("/new/relay", FILES, relay="http://127.0.0.1:9")).text
    assert "No relay answers at http://127.0.0.1:9" in dead
    assert "Show how to start one" in dead
    assert "needs https" in (await form("/new/relay", FILES, relay="http://a.example")).text
    started = (await form("/new/relay", FILES, start="yes")).text
    assert "PRIVET_RELAY_TOKEN=" in started


def test_epsilon_is_said_in_words() -> None:
    """As the answer page's picture says it."""
    assert [of_hundred(epsilon) for epsilon in (0.5, 1.0, 2.0)] == [63, 74, 89]


async def test_no_remark_speaks_in_options(http: Http) -> None:
    """Those that name some for the command line are shown without them, in both steps."""
    rows = "\n".join(f"{i},person {i},{i % 2}" for i in range(60))
    files = {"public": ("a.csv", f"age,who,label\n{rows}\n".encode())}
    form = await http.sign_in()
    shown = (await form("/new/columns", files)).text
    assert "60 different texts" in shown
    study = study_of(files["public"][1], FIELDS | {"columns.1.use": True})
    refused = (await form("/new/plan", with_study(study, files))).text
    assert "60 different texts" in refused
    assert "--" not in re.sub(r"<!--|-->", "", shown + refused)


def test_no_page_speaks_in_options() -> None:
    """Whoever reads the pages has no command line: none of its flags stands there."""
    home = Path(wizard.__file__).parent
    files = [*(home / "templates").glob("*.html"), *home.glob("static/*.js")]
    assert len(files) > 25
    texts = {file.name: file.read_text() for file in files}
    flags = {name: re.findall(r"[^-\w]--[a-z][a-z-]+", text) for name, text in texts.items()}
    assert {name: found for name, found in flags.items() if found} == {}
