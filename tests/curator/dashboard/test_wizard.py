"""From the wizard's form to the settings of a task."""

import html
import re
from base64 import urlsafe_b64decode
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from starlette.datastructures import FormData

from privet.client import Caps
from privet.curator.app import CuratorApp
from privet.curator.dashboard import wizard
from privet.curator.dashboard.pages import of_studies
from privet.curator.dashboard.wizard import (
    ADVANCED,
    IN_WORDS,
    OF_COLUMNS,
    OF_LABEL,
    ORDINARY,
    plan_digest,
    settings_of,
)
from privet.learning.core.amounts import of_hundred
from privet.learning.task_building.inputs import inputs_of
from privet.learning.task_building.review import propose
from privet.learning.task_building.settings import TaskSettings
from privet.learning.task_building.table import read_table
from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Categorical, Classes, Numeric, Range
from privet.protocol.status import RelayDescription
from privet.protocol.task import Task
from tests.curator import samples
from tests.curator.http.conftest import Http

ASKER = {
    "name": "A clinic",
    "contact": "survey@clinic.example",
    "purpose": "To learn who comes back.",
    "link": "https://clinic.example/survey",
}
FILES = {"public": ("a.csv", samples.survey())}
FORM = {
    "name": "survey",
    "label": "y",
    "epsilon": "1",
    "holders": "500",
    "name.0": "x",
    "use.0": "on",
    "inferred.0": "numeric",
    "kind.0": "numeric",
    "low.0": "0.0",
    "found_low.0": "0.0",
    "high.0": "9.0",
    "found_high.0": "9.0",
    "name.1": "job",
    "use.1": "on",
    "inferred.1": "categorical",
    "kind.1": "categorical",
    "categories.1": "a\r\nb",
    "found.1": "a\nb",
    "name.2": "y",
    "use.2": "on",
    "inferred.2": "numeric",
    "kind.2": "numeric",
    "low.2": "1.0",
    "found_low.2": "1.0",
    "high.2": "5.0",
    "found_high.2": "5.0",
}


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, {}),
        ({"low.0": "-1"}, {"features": {"x": {"low": -1.0}}}),
        ({"prevalence": "yes = .02\r\n\r\n"}, {"prevalence": {"yes": 0.02}}),
        ({"kind.0": "categorical"}, {"features": {"x": {"kind": "categorical"}}}),
        ({"categories.1": "a\r\nb\r\nc"}, {"features": {"job": {"categories": ("a", "b", "c")}}}),
        (
            {"rename.1": "a = b\r\n c=d = \r\n", "rename.0": "", "decimal": "comma"},
            {"rename": {"job": {"a": "b", "c=d": ""}}, "decimal": "comma"},
        ),
        ({"rename.1": "a = b", "use.1": ""}, {"ignore": ("job",)}),
        ({"use.1": ""}, {"ignore": ("job",)}),
        (
            {"prompt.1": "Your job?", "description.1": "Now.", "unit.0": "years"},
            {
                "describe": {
                    "job": {"prompt": "Your job?", "description": "Now."},
                    "x": {"unit": "years"},
                }
            },
        ),
        ({"label_type": "range"}, {"label_type": "range", "label_range": (1.0, 5.0)}),
        ({"as_label.2": "range", "low.2": "0.5"}, {"label_range": (0.5, 5.0)}),
        ({"as_label.2": "range", "label_type": "classes"}, {"label_type": "classes"}),
        ({"as_label.2": "classes", "high.2": "6"}, {}),
        ({"as_label.2": "range", "kind.2": "categorical"}, {"label_type": "classes"}),
        (
            {"label_type": "range", "high.2": "6"},
            {"label_type": "range", "label_range": (1.0, 6.0)},
        ),
        ({"label": "job", "categories.1": "b\r\na"}, {"label": "job", "classes": ("b", "a")}),
        (
            {"last_day": "2030-12-31", "language": "de"},
            {"language": "de", "closes": datetime(2031, 1, 1, tzinfo=UTC)},
        ),
        ({"first_day": "2030-12-01"}, {"opens": datetime(2030, 12, 1, tzinfo=UTC)}),
        (
            {f"asker_{name}": text for name, text in ASKER.items()},
            {"asker": ASKER},
        ),
        (
            {"language": "en", "translations": '[{"language": "de", "texts": [["a", "b"]]}]'},
            {
                "language": "en",
                "translations": ({"language": "de", "texts": (("a", "b"),)},),
            },
        ),
        ({"draft": "on", "invited": "on"}, {"draft": True, "invited": True}),
        ({"depth": "3", "grower": "cart"}, {"depth": 3, "grower": "cart"}),
        ({"parameters": '{"size": 2}', "quota": "9"}, {"parameters": {"size": 2}, "quota": 9}),
        ({"centred": "false", "looks": "once"}, {"centred": False, "looks": "once"}),
    ],
)
def test_what_was_changed_is_declared(changed: dict[str, str], expected: dict[str, object]) -> None:
    """And nothing else, so that a form that was left alone infers what the API would."""
    whole = settings_of(FormData(FORM | changed)).model_dump(exclude_defaults=True)
    plain = {"name": "survey", "label": "y", "epsilon": 1.0, "holders": 500}
    declared = {name: value for name, value in whole.items() if plain.get(name) != value}
    assert declared == expected


WAVES = {
    "wave_count": "2",
    "wave_first.1": "2030-01-01",
    "wave_last.1": "2030-01-31",
    "wave_first.2": "2030-04-01",
    "wave_last.2": "2030-04-30",
    "mode": "repeat",
}


def test_waves_are_of_whole_days() -> None:
    """As many as were chosen, whatever stands in the other rows; none without their number."""
    made = settings_of(FormData(FORM | WAVES | {"wave_first.3": "2031-01-01"}))
    assert made.waves == (
        "2030-01-01T00:00:00+00:00/2030-02-01T00:00:00+00:00",
        "2030-04-01T00:00:00+00:00/2030-05-01T00:00:00+00:00",
    )
    assert made.mode == "repeat"
    alone = settings_of(FormData(FORM | WAVES | {"wave_count": ""}))
    assert (alone.waves, alone.mode) == ((), "rotate")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"wave_last.2": ""}, "The last day of wave 2 is not a date"),
        ({"wave_first.2": "2030-01-31"}, "Wave 2 opens before wave 1 has closed"),
        ({"wave_last.1": "2029-12-30"}, "Wave 1 must open before it closes"),
        ({"wave_count": "1"}, "2 to 12 waves"),
        ({"wave_count": "many"}, "2 to 12 waves"),
        ({"last_day": "2030-12-31"}, "leave those of the study empty"),
        ({"epsilon": "1.5"}, "All 2 waves together cost epsilon 3"),
    ],
)
def test_waves_that_cannot_be_are_named(changed: dict[str, str], said: str) -> None:
    """By their number, and what they cost together is refused as the answer page would."""
    with pytest.raises(InvalidRequest, match=said):
        settings_of(FormData(FORM | WAVES | changed))


def test_numbers_are_read_as_they_are_written() -> None:
    """A decimal comma is one; what marks thousands here and fractions there is refused."""
    made = settings_of(FormData(FORM | {"epsilon": "0,5", "low.0": "-1,5", "holders": "10 000"}))
    more = settings_of(FormData(FORM | {"label_part": "0,3", "prevalence": "b=0,02"}))
    assert (more.label_part, more.prevalence) == (0.3, {"b": 0.02})
    assert (made.epsilon, made.holders) == (0.5, 10_000)
    assert made.features["x"].low == -1.5
    for holders in ("10.000", "10,000"):
        with pytest.raises(InvalidRequest, match="whole number, without points or commas"):
            settings_of(FormData(FORM | {"holders": holders}))


def test_zero_and_one_are_words_once_somebody_says_which() -> None:
    """Nobody is asked to type 1 for yes; half of it is refused."""
    words = {"means_0.2": "no", "means_1.2": "yes", "label": "y"}
    made = settings_of(FormData(FORM | words))
    assert made.rename == {"y": {"0": "no", "1": "yes"}}
    assert (made.label_range, made.label_type) == (None, None)
    feature = settings_of(FormData(FORM | {"means_0.0": "no", "means_1.0": "yes"}))
    assert feature.rename == {"x": {"0": "no", "1": "yes"}}
    assert feature.features == {}
    for half in ({"means_0.0": "no"}, {"means_0.0": "no", "means_1.0": "no"}):
        with pytest.raises(InvalidRequest, match="x: say what 0 means and what 1 means"):
            settings_of(FormData(FORM | half))


def test_truth_values_keep_the_words_of_the_file() -> None:
    """WAHR and FALSCH are no True and False to whoever reads them; the page asks as for 0 and 1."""
    (whether, of_bytes, _) = propose(read_table(b"x,b,y\nWAHR,1,a\nFALSCH,0,b\nWAHR,1,a\n"))
    assert whether.words == (("False", "FALSCH"), ("True", "WAHR"))
    assert of_bytes.words == (("0", ""), ("1", ""))
    stands = {"stands_0.0": "False", "stands_1.0": "True"}
    made = settings_of(FormData(FORM | stands | {"means_0.0": "FALSCH", "means_1.0": "WAHR"}))
    assert made.rename == {"x": {"False": "FALSCH", "True": "WAHR"}}
    same = settings_of(FormData(FORM | stands | {"means_0.0": "False", "means_1.0": "True"}))
    assert same.rename == {}
    with pytest.raises(InvalidRequest, match="x: say what False means and what True means"):
        settings_of(FormData(FORM | stands | {"means_0.0": "FALSCH"}))


def test_what_may_be_missing_is_decided() -> None:
    """Of texts among numbers, of words for no answer, and of NA, which may be a code."""
    x = {"blanks.0": "many\r\n-", "is_number.0": "yes", "kind.0": "categorical"}
    x |= {"inferred.0": "categorical"}
    with pytest.raises(InvalidRequest, match="x: say whether 'many', '-' is an answer, or none"):
        settings_of(FormData(FORM | x))
    number = settings_of(FormData(FORM | x | {"blank.0": "missing"}))
    assert number.rename == {"x": {"many": "", "-": ""}}
    assert number.features["x"].kind == "numeric"
    assert settings_of(FormData(FORM | x | {"blank.0": "answer"})).rename == {}
    void = {"voids.1": "NA", "void.1": "missing"}
    assert settings_of(FormData(FORM | void)).rename == {}
    called = void | {"void.1": "answer", "void_name.1": "none of these"}
    assert settings_of(FormData(FORM | called)).rename == {"job": {"NA": "none of these"}}
    with pytest.raises(InvalidRequest, match="job: say how the answer is called"):
        settings_of(FormData(FORM | void | {"void.1": "answer"}))


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
        'name="prompt.3" maxlength="1000" value="Height"',
        'name="unit.3" maxlength="200" value="m"',
    ):
        assert said in page, said
    assert page.index("Which column should be predicted?") < page.index(
        "The first rows of the file"
    )
    fields = {
        f"name.{i}": n for i, n in enumerate(("when", "visits", "ward", "Height (m)", "back"))
    }
    fields |= {f"use.{i}": "on" for i in range(1, 4)} | {"use.0": "year", "prompt.3": "Height"}
    fields |= {"blanks.1": "many", "blank.1": "missing", "is_number.1": "yes", "unit.3": "m"}
    fields |= {"inferred.1": "categorical", "kind.1": "categorical", "voids.2": "NA"}
    fields |= {"inferred.2": "categorical", "kind.2": "categorical", "void.2": "answer"}
    fields |= {"void_name.2": "no ward", "categories.2": "heart\nlung", "found.2": "heart\nlung"}
    fields |= {"inferred.3": "numeric", "kind.3": "numeric", "inferred.4": "categorical"}
    fields |= {"label": "back", "name": "odd file", "epsilon": "1", "holders": "500"}
    fields |= {f"asker_{name}": text for name, text in ASKER.items()} | {"unplanned": "on"}
    made = await form("/new", files, **fields)
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


def test_numbers_that_cannot_be_are_named() -> None:
    """By the field's own name. Epsilon is at most what people's own page takes."""
    for name in ("epsilon", "holders", "low.0"):
        with pytest.raises(InvalidRequest, match=name.split(".", maxsplit=1)[0]):
            settings_of(FormData(FORM | {name: "many"}))
    assert settings_of(FormData(FORM | {"epsilon": f"{Caps().task:g}"})).epsilon == Caps().task
    for epsilon in ("2.01", "9"):
        with pytest.raises(InvalidRequest, match="answer page refuses more than 2"):
            settings_of(FormData(FORM | {"epsilon": epsilon}))


async def test_a_number_that_may_be_two_is_asked_about_before_anything_else(http: Http) -> None:
    """The columns come once the file's decimal mark is chosen; a typed end is refused."""
    form = await http.sign_in()
    rows = "".join(f"{20 + i};{1 + i % 3}.125;{'yes' if i % 4 else 'no'}\n" for i in range(60))
    files = {"public": ("a.csv", f"age;weight;back\n{rows}".encode())}
    page = (await form("/new/columns", files)).text
    assert "1.125 may be 1.125 or 1125, and no other number of the file tells which." in page
    assert ('name="label"' in page, 'name="decimal" required' in page) == (False, True)
    for mark, high in (("point", "3.125"), ("comma", "3125")):
        page = (await form("/new/columns", files, decimal=mark)).text
        assert f'name="found_high.1" value="{high}"' in page
        assert f"<option selected>{mark}</option>" in page
    with pytest.raises(InvalidRequest, match=r"1,125 may be 1125 or 1\.125: write"):
        settings_of(FormData(FORM | {"epsilon": "1,125"}))


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
    assert 'name="unit.0" maxlength="200" value="m"' in page
    assert 'name="unit.1" maxlength="200" value=""' in page
    classes = settings_of(FormData(FORM | {"unit.2": "m", "as_label.2": "classes"}))
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
    for setting in inputs_of(TaskSettings).values():
        assert of_studies(setting.help) in page or setting.name in (*IN_WORDS, *OF_COLUMNS)
        named = {"opens": "first_day", "closes": "last_day"}.get(setting.name, setting.name)
        assert setting.name in OF_COLUMNS or f'name="{named}"' in page
    for name in (*OF_LABEL, *ORDINARY, *ADVANCED):  # in words
        assert f"<label>{name.replace('_', ' ').capitalize()}\n" not in page


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
    assert 'name="unit.1" maxlength="200" value="%"' in page
    again = (await form("/new/columns", files, encoding="cp1250", decimal="point")).text
    assert "Read as cp1250, separated by semicolons, with decimal points." in again
    assert "<option selected>point</option>" in again
    wrong = await form("/new/columns", files, separator="colon")
    assert wrong.status_code == 422
    assert "separator" in wrong.text
    spelled = {"public": ("a.csv", b"x,y\n1,NO\n2,No\n3,No\n4,yes\n")}
    assert "y: “NO” (1 row) and “No” (2): one answer?" in (await form("/new/columns", spelled)).text


async def test_two_spellings_of_one_answer_are_asked_about(http: Http) -> None:
    """A column with them is ticked, and nothing is made of it before somebody has decided."""
    form = await http.sign_in()
    rows = ["1,Bern,no", "2,bern,no", "3,bern,yes", "4,Chur,Yes"] * 2
    files = {"public": ("a.csv", "\n".join(["x,town,y", *rows, "5,Churr,no", *rows]).encode())}
    parts = (await form("/new/columns", files)).text.split("<fieldset data-column>")[1:]
    for part, asked in zip(parts, (0, 1, 1), strict=True):
        assert part.count(": one answer?") == asked
        assert " checked>" in part
    assert "Rows: Bern 4, bern 8, Chur 4, Churr 1." in parts[1]
    fields = dict(
        re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', "".join(parts))
    )
    for i, kind in enumerate(("numeric", "categorical", "categorical")):
        fields |= {f"use.{i}": "on", f"kind.{i}": kind}
        fields |= {f"categories.{i}": fields[f"found.{i}"]} if kind == "categorical" else {}
    fields |= {"low.0": fields["found_low.0"], "high.0": fields["found_high.0"]}
    fields |= {"label": "y", "name": "merged", "epsilon": "1", "holders": "50", "unplanned": "on"}
    fields |= {f"asker_{name}": text for name, text in ASKER.items()}
    assert (fields["old-0.1"], fields["new-0.1"]) == ("Bern", "bern")
    undecided = await form("/new", files, **fields)
    assert undecided.status_code == 422
    both = "one answer. town: 'Bern' and 'bern'; y: 'yes' and 'Yes'. Both would"
    assert both in html.unescape(undecided.text)
    halved = {name: text for name, text in fields.items() if name != "new-0.1"}
    rest = html.unescape((await form("/new", files, **halved)).text)
    assert "one answer. y: 'yes' and 'Yes'. Both would" in rest
    other = html.unescape((await form("/new", files, **fields, **{"one-0.2": "yes"})).text)
    assert "one answer. town: 'Bern' and 'bern'. Both would" in other
    one = {"one-0.1": "yes", "one-0.2": "no"}
    made = await form("/new", files, **fields, **one)
    task = await http.published(re.findall("[0-9a-f]{64}", made.headers["location"])[0])
    (town,) = (each for each in task.features if each.name == "town")
    assert isinstance(town, Categorical)
    assert town.categories == ("Chur", "Churr", "bern")
    assert isinstance(task.label, Classes)
    assert task.label.classes == ("Yes", "no", "yes")


async def test_a_column_that_cannot_be_one_is_asked_nothing(http: Http) -> None:
    """What is wrong with it stands below its name, and no question is to be written for it."""
    form = await http.sign_in()
    rows = "\n".join(f"{i % 7},person {i},{i % 2}" for i in range(60))
    files = {"public": ("a.csv", f"age,who,label\n{rows}\n".encode())}
    page = (await form("/new/columns", files)).text
    age, who, _ = page.split("<fieldset data-column>")[1:]
    assert 'name="prompt.0"' in age
    assert 'name="disclosed.0"' in age
    assert "prompt.1" not in who
    assert "disclosed.1" not in who
    assert who.index("<b>who</b>") < who.index("60 different texts")
    wrong = {"name.0": "age", "name.1": "who", "name.2": "label", "use.0": "on"}
    made = settings_of(FormData({**wrong, "label": "label", "name": "n", "epsilon": "1"}))
    assert made.ignore == ("who",)


async def test_a_register_comes_with_the_form(http: Http) -> None:
    """A second file, in which groups are counted; without one the form is as before."""
    form = await http.sign_in()
    assert 'name="register"' in (await http.get("/new")).text
    fields = {f"name.{i}": name for i, name in enumerate(("age", "hours", "job", "member"))}
    fields |= {f"use.{i}": "on" for i in range(4)} | {"disclosed.0": "on", "draft": "on"}
    fields |= {"label": "label", "name": "registered", "epsilon": "1", "holders": "900"}
    fields |= {"grower": "cart", "depth": "5", "hidden_depth": "0", "name.4": "label"}
    fields |= {f"asker_{name}": text for name, text in ASKER.items()} | {"unplanned": "on"}
    people = "\n".join(["age", *(str(18 + i % 52) for i in range(900))]).encode()
    files = {**FILES, "register": ("b.csv", people)}
    made = await form("/new", files, **fields)
    assert made.status_code == 303, made.text
    path = made.headers["location"].split("#")[0]
    view = (await http.get(f"/v1{path}", headers=http.admin)).json()
    assert view["registered"]
    assert sum(stratum["holders"] for stratum in view["strata"]) <= 900
    wrong = await form("/new", {**FILES, "register": ("b.csv", b"job\nnurse\n")}, **fields)
    assert "The register has no column &#39;age&#39;" in wrong.text


async def test_a_form_that_was_not_changed_is_left_to_inference(http: Http) -> None:
    """It gives the task of the same file without any declaration but round ends, once it says who
    asks."""
    form = await http.sign_in()
    page = await form("/new/columns", FILES)
    fields = dict(re.findall(r'<input[^>]*name="([^"]+)"[^>]*value="([^"]*)"', page.text))
    fields.pop("form_token")
    for place, kind in enumerate(("numeric", "numeric", "categorical", "categorical")):
        fields |= {f"use.{place}": "on", f"kind.{place}": kind}
        if kind == "categorical":
            fields[f"categories.{place}"] = fields[f"found.{place}"].replace("\n", "\r\n")
    fields |= {"label": "label", "name": "survey", "epsilon": "1.0", "holders": "10000"}
    asker = {f"asker_{name}": text for name, text in ASKER.items()} | {"unplanned": "on"}
    wrong = [{name: ""} for name in asker if name != "unplanned"]
    wrong += [{"low.0": "x"}, {"label": "nobody"}, {"epsilon": "-1"}]
    for change in wrong:
        answer = await form("/new", FILES, **{**fields, **asker, **change})
        assert answer.status_code == 422, change
        assert "asker" in answer.text or change not in wrong[:4], change
    assert "Say who is asking" in (await form("/new", FILES, **fields)).text
    assert (await http.get("/v1/tasks")).json() == []
    made = await form("/new", FILES, **fields, **asker)
    assert made.status_code == 303, made.text
    ends = {"age": {"low": 15.0, "high": 70.0}, "hours": {"low": 0.0, "high": 60.0}}
    words = {"member": {"False": "false", "True": "true"}}  # as the file has them
    more: dict[str, Any] = {"asker": ASKER, "features": ends, "rename": words}
    plain = await http.create(depth=None, grower="distilled", **more)
    assert made.headers["location"] == f"/tasks/{plain.json()['id']}#holders"
    assert plain.status_code == 200  # the same task was there already


@pytest.mark.parametrize(
    ("ends", "published"), [({}, (800.0, 4200.0)), ({"high.1": "5e3"}, (800.0, 5000.0))]
)
async def test_a_numeric_label_has_the_ends_that_the_form_shows(
    http: Http, ends: dict[str, str], published: tuple[float, float]
) -> None:
    """Or those typed there: the lowest and the highest income of the file are two people's."""
    form = await http.sign_in()
    rows = [f"{i % 40},{858.2 + (4152.1 - 858.2) * i / 79}" for i in range(80)]
    files = {"public": ("a.csv", "\n".join(["age,income", *rows]).encode())}
    shown = (await form("/new/columns", files)).text
    fields = dict(re.findall(r'<input[^>]*name="(\w+\.\d)"[^>]*value="([^"]*)"', shown))
    assert (fields["low.1"], fields["high.1"], fields["as_label.1"]) == ("800", "4200", "range")
    fields |= {f"use.{i}": "on" for i in range(2)} | {f"kind.{i}": "numeric" for i in range(2)}
    fields |= {"label": "income", "name": "income", "epsilon": "1", "holders": "50"} | ends
    fields |= {f"asker_{name}": text for name, text in ASKER.items()} | {"unplanned": "on"}
    made = await form("/new", files, **fields)
    task = await http.published(re.findall("[0-9a-f]{64}", made.headers["location"])[0])
    assert isinstance(task.label, Range)
    assert (task.label.low, task.label.high) == published
    assert not {858.2, 4152.1} & {task.label.low, task.label.high}


async def test_a_plan_and_two_models_are_shown(http: Http, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan of the form's settings; models side by side, each with its tree."""
    monkeypatch.setattr("privet.learning.public_model.candidates.BOOSTING_COLUMNS", 0)
    form = await http.sign_in()
    fields = {"name": "plan", "label": "label", "epsilon": "1", "holders": "300"}
    fields |= {f"asker_{name}": text for name, text in ASKER.items()}
    for place, name in enumerate(("age", "hours", "job", "member")):
        fields |= {f"name.{place}": name, f"use.{place}": "on"}
    named = samples.survey(60).replace(b"label", b"collection")
    answer = await form(
        "/new/plan", {"public": ("a.csv", named)}, **fields | {"label": "collection"}
    )
    assert answer.status_code == 200, answer.text
    assert "people for collection and never receive" in answer.text  # its name, whatever it means
    assert "If the public data are fair" in answer.text
    assert "People needed, by precision" in answer.text
    assert re.search(
        r'<th scope="row">±\s1.0\spoints</th><td class="number">[\d\s]+</td>', answer.text
    )
    assert "“To learn who comes back.” No closing date." in answer.text
    panel = fields | WAVES | {"depth": "1", "grower": "cart"}
    waves = (await form("/new/plan", {"public": ("a.csv", samples.survey(60))}, **panel)).text
    assert "They are asked 2 times. Each person may answer every time." in waves
    assert "together cost ε 2 at most" in waves
    assert "<li>2030-04-01 to 2030-04-30</li>" in waves
    assert "No closing date" not in waves
    assert not re.search(
        r"\d%", re.sub("<svg.*?</svg>|<head.*?</head>", "", answer.text, flags=re.S)
    )
    task = await http.task(grower="cart")
    for _ in range(2):
        await http.fit(task, **samples.PUBLIC_ALONE)
    page = (await http.get(f"/tasks/{task}/compare?one=1&other=2")).text
    assert 'class="cells pairs"' in page
    assert "Both predict the same for 100\u00a0%" in page


async def test_a_plan_comes_first_or_is_refused_knowingly(http: Http) -> None:
    """Of the settings that are published; texts may change after it."""
    form = await http.sign_in()
    fields = {"name": "plan", "label": "label", "epsilon": "1", "holders": "300", "grower": "cart"}
    fields |= {f"asker_{name}": text for name, text in ASKER.items()} | {"depth": "2"}
    for place, name in enumerate(("age", "hours", "job", "member")):
        fields |= {f"name.{place}": name, f"use.{place}": "on"}
    files = {"public": ("a.csv", samples.survey(60))}
    refused = (await form("/new", files, **fields)).text
    assert "Plan first" in refused
    assert "<h1>Something is to be done or changed first</h1>" in refused
    planned = plan_digest(samples.survey(60), settings_of(FormData(fields)))
    other = fields | {"holders": "200", "planned": planned}
    assert "Plan first" in (await form("/new", files, **other)).text
    assert (await http.get("/v1/tasks")).json() == []
    made = await form("/new", files, **fields, planned=planned, description="New words.")
    assert made.status_code == 303, made.text


async def test_a_preview_is_the_task_that_would_be_published(
    http: Http, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind the hash of the relay's page, and nothing is kept; without a relay it says why."""
    form = await http.sign_in()
    fields = {"name": "seen", "label": "label", "epsilon": "1", "holders": "300", "grower": "cart"}
    fields |= {f"asker_{name}": text for name, text in ASKER.items()} | {"depth": "2"}
    for place, name in enumerate(("age", "hours", "job", "member")):
        fields |= {f"name.{place}": name, f"use.{place}": "on", f"prompt.{place}": f"Your {name}?"}
    assert "Name a relay first" in (await form("/new/preview", FILES, **fields)).text
    said = RelayDescription(
        curator_key=None, least=1, smallest_batch=1, as_files=False, one_operator=True
    )
    monkeypatch.setattr("privet.curator.operations.relays.described_at", lambda _: said)
    named = await form("/new/relay", FILES, **fields, relay="https://relay.example")
    assert "One operator, for a trial" in named.text
    shown = (await form("/new/preview", FILES, **fields)).text
    german = (await form("/new/preview", FILES, **fields, language="de")).text
    assert 'href="https://relay.example/answer/preview?language=de#' in german
    found = re.search(r'href="https://relay.example/answer/preview#([\w-]+)"', shown)
    assert found
    task = Task.parse(urlsafe_b64decode(found[1] + "==="))
    assert [feature.prompt for feature in task.features] == [
        f"Your {name}?" for name in ("age", "hours", "job", "member")
    ]
    assert (await http.get("/v1/tasks")).json() == []
    made = await form("/new", FILES, **fields, unplanned="on")
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
    fields = {"name": "n", "label": "label", "epsilon": "1", "holders": "300", "name.0": "age"}
    fields |= {"use.0": "on", "name.1": "who", "use.1": "on", "name.2": "label", "use.2": "on"}
    refused = (await form("/new/plan", files, **fields)).text
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
