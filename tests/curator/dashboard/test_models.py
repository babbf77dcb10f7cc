"""The pages of models: every sentence is true of the figures in the API."""

import csv
import io
import re
from dataclasses import replace
from datetime import UTC, datetime
from html import unescape
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from privet.curator.app import CuratorApp
from privet.curator.dashboard import overview, tasks
from privet.curator.dashboard.models import Guess, estimators_for, given
from privet.curator.dashboard.pages import WHEN, templates
from privet.curator.operations.predictions import ExplainedPredictions
from privet.curator.operations.snapshot import Snapshot
from privet.learning.core.amounts import TELLING, date, figure, percent, when
from privet.learning.core.counts import Interval
from privet.learning.core.model import question_about
from privet.learning.display.picture import cells_untold
from privet.learning.export.formats import EXPORTS
from privet.learning.figures.compare import Insight
from privet.learning.figures.node_shares import reports_for_cells
from privet.learning.figures.results import CellDifference
from privet.learning.figures.sentences import (
    BEYOND_GROUPS,
    around_centres,
    finding,
    how_much_better,
    how_often_right,
    moved_in_words,
    right_more_often,
    unlike_reports,
    which_is_better,
    which_to_keep,
    why_less,
    worth_of_accuracy,
)
from privet.learning.methods import ESTIMATORS
from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Classes
from privet.protocol.results import Comparison
from tests.curator import samples
from tests.curator.http.conftest import Http
from tests.manual_clock import ManualClock

from .test_overview import ADMIN, answer_all, text_of


def untold_by_reports(app: CuratorApp, task: str, number: int) -> NDArray[np.bool_]:
    """The cells of a model of which the reports tell nothing."""
    found = Snapshot.of(app.state.curator, ADMIN, task).untold_in_cells(number)
    assert found is not None
    return found[0]


async def test_what_groups_take_counts_those_asked_for_the_label_alone(
    http: Http, app: CuratorApp, clock: ManualClock
) -> None:
    """Half of the people say nothing of groups, so it takes twice as many."""
    task = await http.task(holders=1_000, epsilon=1.0, depth=2, grower="cart", label_part=0.5)
    answer_all(app, task, clock, 300)
    await http.fit(task, estimator="weighted")
    snapshot = Snapshot.of(app.state.curator, ADMIN, task)
    model, found = snapshot.model(1).model, snapshot.untold_in_cells(1)
    question = question_about(model, snapshot.counts)
    assert found is not None
    assert question is not None
    among = found[0] if found[0].any() else None
    alone = reports_for_cells(model.label, snapshot.public, question, TELLING, among)
    assert found[1] == 2 * alone


async def test_a_model_begins_with_what_it_says(
    http: Http, app: CuratorApp, clock: ManualClock
) -> None:
    """Findings, how often it is right, cells and how far reports moved it: the API's own figures.
    A stranger reads no sentence that rests on the reports so far."""
    task = await http.task(holders=1_000, epsilon=8.0, depth=2, grower="cart")
    label = answer_all(app, task, clock, 300).label
    model = (await http.fit(task, estimator="weighted")).json()
    insight = (await http.get(f"/v1/tasks/{task}/models/1/insight", headers=http.admin)).json()
    found = finding(label, Comparison(**insight["overall"][-1]))
    right = how_often_right(Interval(**model["scores"]["accuracy"]))
    moved = moved_in_words(label, insight["moved"], insight["relabelled"], insight["cells"])
    path = f"/tasks/{task}/models/1"
    page = unescape((await http.get(path)).text)
    assert right in page
    then = datetime.fromtimestamp(clock(), UTC)
    assert f", fitted {date(then)}." in page
    assert f"<dt>Fitted</dt><dd>{date(then)}</dd>" in page  # no finer than the hour
    assert found not in page
    assert moved not in page
    await http.sign_in()
    page = unescape((await http.get(path)).text)
    assert f"<dt>Fitted</dt><dd>{when(then)}</dd>" in page
    than = Snapshot.of(app.state.curator, ADMIN, task).accuracy_in_context(1)
    assert than is not None
    why = why_less(than, Interval(**model["scores"]["accuracy"]))
    for sentence in (found, right, worth_of_accuracy(than), why, WHEN["weighted"]):
        assert sentence in page
    assert BEYOND_GROUPS not in page
    assert (await http.fit(task)).status_code == 201
    assert BEYOND_GROUPS in unescape((await http.get(f"/tasks/{task}/models/2")).text)
    order = (found, moved, "The tree and its groups", right, "Facts and scores", "Try a prediction")
    places = [page.index(part) for part in order]
    assert places == sorted(places)
    of_reports = untold_by_reports(app, task, 1)
    fitted = app.state.curator.models.get(task, 1).model
    untold = int(cells_untold(fitted, of_reports).sum())
    nothing = ">too few answers</span>"
    assert page.count(nothing) == untold
    assert ('<details class="untold' in page) == (untold > 0)
    if untold:
        told, _, folded = page.partition('<details class="untold')
        assert nothing not in told
        assert folded.count(nothing) == untold
        assert f"{untold} group{'s' * (untold > 1)} with too few answers" in folded
    cells = insight["cells"]
    (use,) = re.findall(r'id="use">([^<]*)<', page)
    some, none = " too few answers", f"All {cells} groups have an interval of their own, "
    said = "Do not use it yet" if untold == cells else some if untold else none
    assert said in use
    assert page.index('id="use"') > page.index(right)
    for export in EXPORTS.values():
        assert export.purpose in page
    assert "how far to trust it" in page


async def test_the_table_has_the_predictions_of_groups_with_too_few_answers(
    http: Http, app: CuratorApp, clock: ManualClock
) -> None:
    """The range of what the API predicts for the public records there; the group's own figure where
    that lies outside. Of a group with answers too, where the table has it."""
    public, depth = samples.survey(600), 3
    task = await http.task(public, holders=1_000, epsilon=1.0, depth=depth, grower="cart")
    answer_all(app, task, clock, 300)
    await http.fit(task)
    model = app.state.curator.models.get(task, 1).model
    rows = list(csv.DictReader(io.StringIO(public.decode())))
    given: dict[str, list[Any]] = {
        name: [float(row[name]) for row in rows] for name in ("age", "hours")
    }
    given |= {"job": [row["job"] for row in rows]}
    given |= {"member": [row["member"] == "true" for row in rows]}
    asked = await http.post(f"/v1/tasks/{task}/predict", json={"columns": given})
    shares = dict[int, list[float]]()
    for cell, values in zip(asked.json()["cell"], asked.json()["values"], strict=True):
        shares.setdefault(cell, []).append(values[1])
    await http.sign_in()
    page = unescape((await http.get(f"/tasks/{task}/models/1")).text)
    _, _, table = page.partition('<details class="as-table">')
    heads, _, body = table.partition("</thead>")
    (place,) = [
        at for at, head in enumerate(re.findall(r"<th .*?>(.*?)</th>", heads)) if "predict" in head
    ]
    seen = 0
    for row in body.partition("</table>")[0].split("</tr>")[:-1]:
        (node,) = re.findall(r"/nodes/(\d+)", row)
        cell = int(model.partition.cell_of_node[int(node)])
        texts_of_row = [text_of(each).strip() for each in re.split(r"</t[hd]>", row)]
        least, most, own = min(shares[cell]), max(shares[cell]), float(model.values[cell, 1])
        held = least <= own <= most
        if "too few answers" in row:
            seen += 1
            said = f"{percent(least)} to {percent(most)}" if held else percent(own)
            assert texts_of_row[place] == text_of(said)
        elif held:
            assert texts_of_row[place] in {text_of(f"{percent(least)} to {percent(most)}"), "–"}
    assert 0 < seen < model.partition.cells


async def test_a_model_of_fewer_answers_says_which_figures_are_of_how_many(
    http: Http, app: CuratorApp, clock: ManualClock
) -> None:
    """Before, figures of all answers stood unlabelled beside those of the fit."""
    task = await http.task(holders=1_000, epsilon=8.0, depth=2, grower="cart")
    answer_all(app, task, clock, 60)
    await http.fit(task)
    form, path = await http.sign_in(), f"/tasks/{task}/models/1"
    assert "so-far" not in unescape((await http.get(path)).text)
    assert "of all 60" not in (await http.get(f"/tasks/{task}")).text
    answer_all(app, task, clock, 300)  # of which 60 are in already
    page = unescape((await http.get(path)).text)
    assert "240 answers came after this model was made, from 60:" in page
    assert "the people who answered (all 300), with" in page
    rest = "the rest by all 300. "
    assert f"{rest}Of 100 people" in page or f"{rest}The answers cannot" in page
    node = unescape((await http.get(f"{path}/nodes/1")).text)
    assert "answers only (all 300)" in node
    model = app.state.curator.models.get(task, 1).model
    at = int(model.partition.leaves[0])
    node = unescape((await http.get(f"{path}/nodes/{at}")).text)
    for said in ("model (of 60 answers)", "public model</th>"):
        assert said in node
    alone = "answers of other groups move" in node, "this group's own are too few" in node
    assert sum(alone) == 1
    assert model.values_without_reports is not None
    assert f">{percent(model.values_without_reports[0, 1])}</td>" in node
    whole = unescape((await http.get(f"/tasks/{task}")).text)
    assert "is of model 1, of 60 of the 300 answers; all else is of all 300" in whole
    (use,) = re.findall(r'id="use">([^<]*)<', page)
    assert use in whole
    assert "half of the groups have" not in whole
    settings = re.search(r'id="so-far".*?</form>', page, re.S)
    assert settings is not None
    fields = dict(re.findall(r'name="([^"]+)" value="([^"]*)"', settings[0]))
    assert (await form(f"/tasks/{task}/fit", **fields)).status_code == 303
    snapshot = Snapshot.of(app.state.curator, ADMIN, task)
    again = await form(f"/tasks/{task}/fit", **fields)
    assert again.status_code == 422
    assert "Model 2 has the same answers and settings: nothing was fitted." in again.text
    assert len(Snapshot.of(app.state.curator, ADMIN, task).models or ()) == 2
    newer, older = snapshot.info(2), snapshot.info(1)
    assert newer.reports == 300
    assert (newer.estimator, newer.parameters) == (older.estimator, older.parameters)
    http.cookies.clear()
    stranger = await http.get(path)
    assert "300 answers" not in stranger.text


async def test_the_tree_and_the_page_of_a_node_have_the_same_share_of_people(
    http: Http, app: CuratorApp, clock: ManualClock
) -> None:
    """Before, the tree counted no cell below nobody, and so other shares in the same intervals."""
    task = await http.task(holders=1_000, epsilon=1.0, depth=3, grower="cart")
    answer_all(app, task, clock, 150)
    await http.fit(task, estimator="weighted")
    snapshot = Snapshot.of(app.state.curator, ADMIN, task)
    drawn = snapshot.layout(snapshot.model(1).model).nodes
    of_pages = [snapshot.node(1, node.number) for node in drawn]
    paged = [of and of.mass.reported.value for of in of_pages]
    assert [node.mass for node in drawn] == pytest.approx(paged, abs=1e-12)
    (counts,) = snapshot.counts
    assert counts.counts.sum(axis=1).min() < 0.0


async def test_a_page_says_what_the_accuracy_was_corrected_from_where_that_differs(
    http: Http, app: CuratorApp, clock: ManualClock
) -> None:
    """Of a model that follows the noise of its answers; not of one that reports did not change, nor
    once more answers came, on which the accuracy would be another."""
    task = await http.task(holders=1_000, epsilon=8.0, depth=4, grower="cart")
    answer_all(app, task, clock, 150)
    for weight in ("0", "inf"):
        await http.fit(task, estimator="weighted", parameters={"weight": weight})
    await http.sign_in()

    async def said(number: int) -> bool:
        page = unescape((await http.get(f"/tasks/{task}/models/{number}")).text)
        return "Counted on the very answers" in page

    assert [await said(1), await said(2)] == [True, False]
    answer_all(app, task, clock, 300)  # of which 150 are in already
    assert [await said(1), await said(2)] == [False, False]


async def test_models_of_the_same_answers_say_the_same_of_what_these_tell(
    http: Http, app: CuratorApp, clock: ManualClock
) -> None:
    """By the reports' own intervals: before, by each model's, which public records may narrow."""
    task = await http.task(holders=1_000, epsilon=1.0, depth=2, grower="cart")
    answer_all(app, task, clock, 60)
    await http.sign_in()
    said = []
    for place, weight in enumerate((0.0, 1_000.0), 1):
        await http.fit(task, estimator="weighted", parameters={"weight": str(weight)})
        page = unescape((await http.get(f"/tasks/{task}/models/{place}")).text)
        said.append(re.findall(r'id="use">([^<]*)<', page))
    assert len(said[0]) == 1
    assert "the answers do not say anything about any of the 4 groups by itself" in said[0][0]
    assert said[0] == said[1]


async def test_other_settings_begin_at_the_model(http: Http, app: CuratorApp) -> None:
    """Its estimator and parameters are in the form, and the trial is compared with it."""
    task = await http.task()
    await http.fit(task, **samples.PUBLIC_ALONE)
    await http.fit(task, estimator="weighted", parameters={"weight": "inf", "counts": "unbiased"})
    await http.sign_in()
    page = (await http.get(f"/tasks/{task}/models/2")).text
    assert '<option value="weighted" selected>' in page
    assert re.search(r'name="weight" inputmode="decimal" value="inf"', page)
    assert "<option selected>unbiased</option>" in page
    assert '<input type="hidden" name="against" value="2">' in page
    kept = re.findall(r'<template data-estimator="(.+?)">(.*?)</template>', page, re.S)
    names = [name for name, _ in kept]
    for name, fields in kept:
        asked = re.findall(r' name="(.+?)"', fields)  # what a page shows when it is chosen
        assert asked == ["estimator", *ESTIMATORS[name].parameters]
        assert f'<option value="{name}" selected>' in fields
    assert names == list(estimators_for(app.state.curator.store.tasks.read(task).task))
    trial = f"/tasks/{task}/trial?estimator=weighted&weight=inf&counts=clipped&against="
    assert "Compared with model 2" in (await http.get(f"{trial}2")).text
    assert "Compared with model 1" in (await http.get(trial)).text
    assert (await http.get(f"{trial}x")).status_code == 422
    assert (await http.get(f"{trial}9")).status_code == 404
    same = f"/tasks/{task}/trial?estimator=weighted&weight=inf&counts=unbiased&against="
    for against in ("2", "1"):
        page = (await http.get(f"{same}{against}")).text
        assert "The same answers and settings as model 2: nothing new." in page
        assert "Keep this model" not in page
        assert ("/compare?one=1&amp;other=2" in page) == (against == "1")


@pytest.mark.parametrize("questions", [None, "histogram"])
async def test_only_estimators_that_a_task_takes_are_offered(
    http: Http, app: CuratorApp, clock: ManualClock, questions: str | None
) -> None:
    """Whatever is offered can be fitted; a private histogram only to its own pair of questions."""
    asked = [{"asks": "cell"}, {"asks": "label"}]
    more: dict[str, Any] = (
        {"allocation": "one", "questions": asked, "mechanism": "laplace"} if questions else {}
    )
    task = await http.task(name=f"offer-{questions}", depth=2, **more)
    answer_all(app, task, clock, 300)
    await http.sign_in()
    offered = re.findall(r'<option value="(\w+)"', (await http.get(f"/tasks/{task}")).text)
    refused = (await http.fit(task, estimator="histogram")).status_code == 422
    assert ("histogram" in offered) == (not refused) == bool(questions)


async def test_a_comparison_begins_with_which_is_better(
    http: Http, app: CuratorApp, clock: ManualClock
) -> None:
    """By the API's own scores; a stranger is told who sees it."""
    task = await http.task(holders=1_000, epsilon=8.0, depth=2, grower="cart")
    label = answer_all(app, task, clock, 300).label
    for weight in (0.0, 1_000.0):
        await http.fit(task, estimator="weighted", parameters={"weight": weight})
    address, path = f"/v1/tasks/{task}/models/1/compare/2", f"/tasks/{task}/compare?one=1&other=2"
    assert "to see which one the answers favour" in (await http.get(path)).text
    await http.sign_in()
    change = (await http.get(address, headers=http.admin)).json()
    scores = {name: Interval(**of) for name, of in change["scores"].items()}
    page = unescape((await http.get(path)).text)
    assert which_is_better(label, "model 1", "model 2", scores) in page
    of = [
        (await http.get(f"/v1/tasks/{task}/models/{each}", headers=http.admin)) for each in (1, 2)
    ]
    one, other = (Interval(**each.json()["scores"]["accuracy"]) for each in of)
    assert right_more_often("model 1", "model 2", scores["accuracy"], (one, other)) in page
    assert page.index("confidence") < page.index("In detail")
    assert "Model 1 in use" in re.sub(r"<[^>]*>", "", page)
    assert "Model 2 in use" not in re.sub(r"<[^>]*>", "", page)
    assert how_much_better(label, "model 1", "model 2", scores) in page
    assert which_to_keep(label, "model 1", "model 2", scores) in page
    for number in (1, 2):
        document = (await http.get(f"/v1/tasks/{task}/models/{number}/export")).json()["model"]
        fitted = app.state.curator.models.get(task, number).model
        of_reports = untold_by_reports(app, task, number)
        for cell, untold in enumerate(cells_untold(fitted, of_reports)):
            value, low, high = (document[name][cell][1] for name in ("values", "low", "high"))
            nothing = "too few answers"
            assert (nothing if untold else figure(value, low, high, is_share=True)) in page
    assert page.count("<svg") == len(document["values"])
    both = [app.state.curator.models.get(task, each).model for each in (1, 2)]
    known = [~cells_untold(each, untold_by_reports(app, task, 1)) for each in both]
    of_yes, stated = [each.values[:, 1] for each in both], known[0] | known[1]
    gaps = np.abs(of_yes[0] - of_yes[1])
    pairs = zip(*of_yes, strict=True)
    differ = np.array([percent(each) != percent(of) for each, of in pairs])
    assert (differ & stated).any()
    assert (differ & ~stated).any()
    groups, *folded = page[page.index('id="cells-title"') :].split('class="alike"')
    assert groups.count('<svg class="interval"') == (differ & stated).sum(), "and no other"
    (unknown,) = (each for each in folded if "groups with too few answers</summary>" in each)
    assert unknown.count('<svg class="interval"') == (differ & ~stated).sum()
    row = groups.split("<li>")[1]
    for values in of_yes:
        assert f" {percent(values[np.where(stated, gaps, 0.0).argmax()])}" in row, "most unlike"
    first, second = both
    out = ((second.values < first.low) | (second.values > first.high)).any(axis=1) & known[0]
    some = f"{'all' if out.all() else f'{out.sum()} of the'} {known[0].sum()} groups with one."
    side = "outside" if out.any() else "within"
    assert f"Model 2's figure lies {side} model 1's interval in {some}" in page
    same, moved = percent(change["same_label"]), f"{100.0 * change['mean']:.2g}".removesuffix(".0")
    assert (
        f"For {same} of the {change['records']} people in your file both name the same likelier "
        f"answer; the percentages differ by {moved} points on average." in page
    )


async def test_what_the_comparison_advises_against_is_not_offered_first(
    http: Http, app: CuratorApp, clock: ManualClock
) -> None:
    """The button stands below a title of its own where the model in use is to be kept."""
    task = await http.task(holders=1_000, epsilon=8.0, depth=2, grower="cart")
    answer_all(app, task, clock, 300)
    await http.fit(task, estimator="weighted", parameters={"weight": 0.0})
    for weight in (0.01, "inf"):
        await http.fit(task, estimator="weighted", parameters={"weight": weight})
    await http.sign_in()
    for number in (2, 3):
        page = unescape((await http.get(f"/tasks/{task}/compare?one=1&other={number}")).text)
        assert '<p class="next">Keep model 1' in page
        folded = f"<details><summary>Put model {number} in use all the same</summary>"
        assert folded in page
        assert page.count(f"Put model {number} in use</button>") == 1
        assert page.index(folded) < page.index(f"Put model {number} in use</button>")


async def test_models_of_unlike_trees_show_all_that_they_predict(
    http: Http, app: CuratorApp, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where answers are too few for an interval; here as if the trees had no group alike."""
    monkeypatch.setattr("privet.curator.dashboard.models.pairs_of", lambda *_: [])
    task = await http.task(holders=1_000, epsilon=1.0, depth=3, grower="cart")
    answer_all(app, task, clock, 60)
    for estimator in ("weighted", "pruned"):
        await http.fit(task, estimator=estimator)
    await http.sign_in()
    page = unescape((await http.get(f"/tasks/{task}/compare?one=1&other=2")).text)
    sides = page.split('aria-label="Groups of model')[1:]
    assert len(sides) == 2
    assert "<details" not in "".join(sides).split("<footer")[0]
    for number, side in zip((1, 2), sides, strict=True):
        fitted = app.state.curator.models.get(task, number).model
        unseen = cells_untold(fitted, untold_by_reports(app, task, number))
        assert unseen.any()
        for value in fitted.values[unseen][:, 1]:
            assert f"too few answers, predicts 1 {percent(value)}" in side


async def test_models_of_unlike_answers_are_compared_with_a_word_on_that(
    http: Http, app: CuratorApp, clock: ManualClock
) -> None:
    """After the verdict, with a button that fits the older one's settings to all answers."""
    task = await http.task(name="unlike", holders=1_000, epsilon=8.0, depth=2, grower="cart")
    await http.fit(task, **samples.PUBLIC_ALONE)
    answer_all(app, task, clock, 300)
    await http.fit(task, estimator="weighted", parameters={"weight": 0.0})
    await http.sign_in()
    said = unlike_reports("model 1", "model 2", (0, 300))
    page = unescape((await http.get(f"/tasks/{task}/compare?one=1&other=2")).text)
    assert page.index('class="known"') < page.index(said) < page.index('id="cells-title"')
    assert "Fit the settings of model 1 to all answers" in page
    trial = f"/tasks/{task}/trial?estimator=weighted&weight=0&counts=clipped&against="
    tried = unescape((await http.get(f"{trial}1")).text)
    assert unlike_reports("model 1", "the model of these settings", (0, 300)) in tried
    (form,) = re.findall(r'<form [^>]+data-into="trial"><input.+?</form>', tried, re.S)
    own = dict(re.findall(r'name="(.+?)" value="(.+?)"', form))
    assert own == {"against": "1", "estimator": "weighted", "weight": "inf", "counts": "automatic"}
    tried = unescape((await http.get(f"/tasks/{task}/trial", params=own)).text)
    assert "Compared with model 1" in tried
    assert "Refit the settings" not in tried  # which it is
    assert "was fitted to" not in unescape((await http.get(f"{trial}2")).text)
    same = await http.get(f"/tasks/{task}/compare?one=2&other=2")
    assert same.status_code == 422
    assert "Choose two different models" in same.text
    await http.fit(task, estimator="weighted", parameters={"weight": "inf"})
    alike = unescape((await http.get(f"/tasks/{task}/compare?one=1&other=3")).text)
    assert "the same settings, and model 3 has more answers: put it in use." in alike
    assert "Fit the settings of" not in alike, "which would make model 3 again"
    curator = app.state.curator
    of_reports = untold_by_reports(app, task, 1)
    told = [~cells_untold(curator.models.get(task, n).model, of_reports) for n in (1, 2)]
    rows = page[page.index('id="cells-title"') :].split("<li>")[1:]
    for row, *known in zip(rows, *told, strict=True):
        read = text_of(re.sub(r'<span aria-hidden="true".*?</span>', "", row))
        for number in (1, 2):
            assert f"model {number}: " in read, known
    for sign, drawn in (('class="sign">●', told[0]), ('class="sign second">◆', told[1])):
        assert sum(sign in row for row in rows) == drawn.sum(), sign


@pytest.mark.parametrize(
    ("guard", "draft", "said"),
    [
        (False, False, "Anybody with the link"),
        (True, False, "Only people who sign in"),
        (False, True, "Only people who sign in"),
    ],
)
async def test_the_page_says_who_can_open_its_link(
    http: Http, app: CuratorApp, guard: bool, draft: bool, said: str
) -> None:
    """True of what a stranger then gets."""
    task = await http.task(draft=draft)
    await http.fit(task, **samples.PUBLIC_ALONE)
    app.state.curator.guard_models = guard
    await http.sign_in()
    path = f"/tasks/{task}/models/1"
    assert said in (await http.get(path)).text
    http.cookies.clear()
    assert ((await http.get(path)).status_code == 200) == said.startswith("Anybody")
    if said.startswith("Anybody"):
        open_to_all, results = (
            "the figure of all people once the study is closed",
            f"/tasks/{task}/results",
        )
        before = (await http.get(path)).text
        await http.post(f"/v1/tasks/{task}/close", headers=http.admin)
        for page, has_ended in ((before, False), ((await http.get(path)).text, True)):
            assert (results in page, open_to_all in page) == (has_ended, not has_ended)


def test_a_typed_comma_before_three_digits_is_asked_about() -> None:
    assert tasks.wanted_of("2,500") == (2.5, "")  # at most 100
    with pytest.raises(InvalidRequest, match=r"1,125 may be 1125 or 1\.125"):
        given("weighted", {"weight": "1,125"})


async def test_a_prediction_takes_decimal_commas(http: Http) -> None:
    """As the API with a point; what is no number is refused."""
    task = await http.task()
    await http.fit(task, **samples.PUBLIC_ALONE)
    form, path = await http.sign_in(), f"/tasks/{task}/models/1/predict"
    asked = {"field.0": "37", "field.1": "12,5", "field.2": "nurse", "field.3": "0"}
    page = await form(path, **asked)
    record = {"age": 37, "hours": 12.5, "job": "nurse", "member": False}
    body = {"records": [record], "model": 1}
    (known,) = (await http.post(f"/v1/tasks/{task}/predict", json=body)).json()["predictions"]
    shares = known["probabilities"]
    mine = known["label"]
    assert f"robably {mine} ({percent(shares[mine])})" in unescape(page.text)
    told = all(
        known["cell_low"][mine] > known["cell_high"][other] for other in shares if other != mine
    )
    assert ("label: not known<" in page.text) == (not told)
    nothing = all((known["cell_low"][x], known["cell_high"][x]) == (0, 1) for x in shares)
    assert ("too few people like this answered" in page.text) == (nothing and not told)
    refused = await form(path, **{**asked, "field.1": "twelve"})
    assert refused.status_code == 422
    assert "hours" in refused.text
    assert "Row 1" not in refused.text
    refused = await form(path, **{"field.1": "12", "field.3": "0"})
    assert refused.status_code == 422
    assert "Fill in what is empty: “age”; “job”." in refused.text


async def test_a_record_that_differs_from_its_cell_is_told_from_it(
    http: Http, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answers say of its cell which class is the likeliest, though the model says another."""
    task = await http.task()
    await http.fit(task, **samples.PUBLIC_ALONE)
    form = await http.sign_in()

    as_records = ExplainedPredictions.as_records

    def within_a_cell(answers: ExplainedPredictions) -> Any:
        (known,) = as_records(answers)["predictions"]
        mine, other = known["probabilities"]
        of_cell = {"cell_low": {mine: 0.1, other: 0.7}, "cell_high": {mine: 0.3, other: 0.9}}
        return {"predictions": [{**known, "label": mine, **of_cell}]}

    monkeypatch.setattr(ExplainedPredictions, "as_records", within_a_cell)
    asked = {"field.0": "37", "field.1": "12,5", "field.2": "nurse", "field.3": "0"}
    page = unescape((await form(f"/tasks/{task}/models/1/predict", **asked)).text)
    assert "label: not known<" in page
    assert re.search(
        r"Of everybody in its group, the answers say that \w+ is the likeliest answer\.", page
    )
    assert "do not tell yet" not in page


async def test_a_number_whose_interval_is_all_there_can_be_tells_nothing_yet(http: Http) -> None:
    """As a share does, at a prediction and at a cell; what one false answer did has two digits."""
    task = await http.task(samples.line(), label="y", epsilon=0.5)
    await http.report(task, {"x": 0.5, "z": 0.5, "y": 5.0})
    await http.fit(task)
    form = await http.sign_in()
    path = f"/tasks/{task}/models/1"
    asked = {"field.0": "0,5", "field.1": "0,5"}
    page = unescape((await form(f"{path}/predict", **asked)).text)
    assert page.count("but too few people like this answered to rely on that") == 1
    assert "too few answers" not in page, "which the sentence says already"
    shown = (await http.get(path)).text
    moved = re.search(r"moved a group's figure by ([\d.]+) in the worst case found", shown)
    assert moved
    assert len(moved[1].replace(".", "").lstrip("0")) <= 2
    nodes = re.search(rf'href="({path}/nodes/\d+)"', shown)
    assert nodes
    cells = [(await http.get(f"{path}/nodes/{node}")).text for node in range(3)]
    assert any(">too few answers<" in cell for cell in cells)


def table_of(page: str) -> dict[str, list[str]]:
    """The texts of the columns of a node's panel, by their names."""
    found = dict[str, list[str]]()
    for name, text in re.findall(r'<td class="number" data-label="([^"]+)">(.*?)</td>', page):
        found.setdefault(name, []).append(text_of(text))
    return found


async def test_a_panel_states_the_public_part_of_averages_only_and_each_column_once(
    http: Http, app: CuratorApp, clock: ManualClock
) -> None:
    """Before, 100 % of a share of 53 % came from public data that said 0 %, as noise had made the
    group's count negative; and the public records of LPCT were called a public model."""
    task = await http.task(holders=1_000, epsilon=3.0, depth=4, grower="cart")
    answer_all(app, task, clock, 400)
    methods: list[tuple[str, dict[str, Any]]] = [("drift", {}), ("pruned", {})]
    methods += [("weighted", {"weight": weight}) for weight in (0.0, 1.0, 30.0, "inf")]
    for estimator, parameters in methods:
        assert (await http.fit(task, estimator=estimator, parameters=parameters)).is_success
    await http.sign_in()
    stated, whole, hidden = 0, 0, 0
    untold = {
        number: cells_untold(app.state.curator.models.get(task, number).model, of)
        for number in range(1, len(methods) + 1)
        for of in [untold_by_reports(app, task, number)]
    }
    for number, (estimator, _) in enumerate(methods, 1):
        model = app.state.curator.models.get(task, number).model
        for cell, node in enumerate(model.partition.leaves.tolist()):
            page = unescape((await http.get(f"/tasks/{task}/models/{number}/nodes/{node}")).text)
            columns, part = table_of(page), model.public_share[cell]
            heads = re.findall(r'<th scope="col">([^<]+)</th>', page)
            assert len(set(heads)) == len(heads)
            assert ("public model" in columns) == (estimator == "drift")
            public = columns["public model" if estimator == "drift" else "your file"]
            values = [text.split(" (")[0] for text in columns["model"]]
            if "of the model's value comes from your file" not in page:
                hidden += 1
                continue
            stated += 1
            assert estimator != "drift"
            assert not untold[number][cell], "or the rest would come from answers that tell nothing"
            assert f"{percent(part)} of the model's value comes from your file" in page
            whole += part == 1.0
            if part == 1.0:
                assert values == public
            if part > 0.0:
                for value, own in zip(model.values[cell], public, strict=True):
                    rest = value - part * float(own.removesuffix(" %").lstrip("<>")) / 100.0
                    assert -0.01 < rest < 1.0 - part + 0.01
    assert stated
    assert whole
    assert hidden


async def test_a_guess_goes_by_what_the_panel_of_its_group_says(
    http: Http, app: CuratorApp, clock: ManualClock
) -> None:
    """Before, 81 % were said to be what public records say, where these say 50 %."""
    task = await http.task(holders=1_000, epsilon=0.5, depth=4, grower="cart")
    answer_all(app, task, clock, 200)
    for estimator in ("drift", "weighted"):
        await http.fit(task, estimator=estimator)
    form = await http.sign_in()
    guesses = 0
    for number in (1, 2):
        path = f"/tasks/{task}/models/{number}"
        for age, hours in ((20, 10), (37, 12.5), (60, 40), (80, 20)):
            asked = {"field.0": str(age), "field.1": str(hours), "field.2": "nurse", "field.3": "0"}
            page = unescape((await form(f"{path}/predict", **asked)).text)
            said = re.search(
                r"The model says (\w+), but too few people like this answered to rely on that\. "
                r"Of this group's people in your file (\S+\s%) say (\w+)"
                r"(?:; the public model expects (\S+\s%))?\.</p>",
                page,
            )
            if said is None:
                assert "too few people like this" not in page
                continue
            before, _, figures = page.partition("<summary>The model's figures</summary>")
            assert figures
            assert len(re.findall(r"\d\s%", before.partition('<div id="prediction">')[2])) <= 2
            guesses += 1
            record = {"age": age, "hours": hours, "job": "nurse", "member": False}
            body = {"records": [record], "model": number}
            answer = await http.post(f"/v1/tasks/{task}/predict", json=body)
            (known,) = answer.json()["predictions"]
            assert said[1] == said[3] == str(known["label"])
            assert (said[4] is None) == (number == 2)
            partition = app.state.curator.models.get(task, number).model.partition
            node = await http.get(f"{path}/nodes/{partition.leaves[known['cell']]}")
            columns, at = table_of(unescape(node.text)), [*known["probabilities"]].index(said[1])
            assert text_of(said[2]) == columns["your file"][at]
            assert said[4] is None or text_of(said[4]) == columns["public model"][at]
            assert "too few answers" not in page
    assert guesses


async def test_a_value_out_of_range_is_warned_of_first(http: Http) -> None:
    """Below the answer at once; before, as the last of all lines."""
    task = await http.task()
    await http.fit(task, **samples.PUBLIC_ALONE)
    form, path = await http.sign_in(), f"/tasks/{task}/models/1/predict"
    asked = {"field.0": "370", "field.1": "12,5", "field.2": "nurse", "field.3": "0"}
    page = unescape((await form(path, **asked)).text)
    _, _, after = page.partition("</h3>")
    assert after.lstrip().startswith(
        '<p class="warning">Outside the published range: age: 370 counts '
    )
    assert page.count("Outside the published range") == 1


async def test_only_who_can_read_a_splits_numbers_is_sent_to_it(
    http: Http, app: CuratorApp, clock: ManualClock
) -> None:
    """A split's page has figures of the answers, which a stranger does not see."""
    task = await http.task(holders=1_000, epsilon=8.0, depth=2, grower="cart")
    answer_all(app, task, clock, 200)
    await http.fit(task)
    path, invited = f"/tasks/{task}/models/1", "> or split</span> for its numbers"
    for reads in (False, True):
        if reads:
            await http.sign_in()
        page = (await http.get(path)).text
        assert "Select a group" in page
        split = (await http.get(f"{path}/nodes/0")).text
        assert (invited in page) == reads == ("answers only" in split)


async def test_a_predicted_number_has_the_digits_of_its_interval(
    http: Http, app: CuratorApp
) -> None:
    """Before, 21.09 years stood beside 12.6 to 23."""
    task = await http.task(samples.line(), label="y", epsilon=8.0, depth=1, centred=False)
    published = await http.published(task)
    for place in range(100):
        await http.report(published, {"x": place / 99.0, "z": 0.5, "y": place / 9.9})
    await http.fit(task)
    form = await http.sign_in()
    asked = {"field.0": "0.31", "field.1": "0.5"}
    page = unescape((await form(f"/tasks/{task}/models/1/predict", **asked)).text)
    said = re.search(r'mean: <b class="number">([\d.]+)</b>', page)
    ends = re.search(r'in its group <span class="number">(?:\S+ \()?([\d.]+) to ([\d.]+)\)?<', page)
    assert said
    assert ends
    decimals = [len(text.partition(".")[2]) for text in (said[1], *ends.groups())]
    assert decimals[0] <= max(decimals[1:])
    assert f"About {said[1]}" in page or f"about {said[1]}" in page


async def test_a_number_has_the_digits_of_the_tree_on_the_page_of_its_node(
    http: Http, app: CuratorApp
) -> None:
    """Before, the tree had 5.3 (0.0 to 23.3) where the page of the cell had 5 (0 to 23)."""
    task = await http.task(samples.line(), label="y", epsilon=8.0, depth=1, centred=False)
    published = await http.published(task)
    for place in range(100):
        await http.report(published, {"x": place / 99.0, "z": 0.5, "y": place / 9.9})
    await http.fit(task)
    await http.sign_in()
    snapshot = Snapshot.of(app.state.curator, ADMIN, task)
    cells = [node for node in snapshot.layout(snapshot.model(1).model).nodes if node.value]
    assert any(not node.value.untold for node in cells if node.value)
    for node in cells:
        assert node.value
        page = unescape((await http.get(f"/tasks/{task}/models/1/nodes/{node.number}")).text)
        assert node.value.untold or f">{node.value.figure}</td>" in page
        assert node.value.public is not None
        assert f">{node.value.text_of(node.value.public)}</td>" in page


@pytest.mark.parametrize("part", [None, 0.0], ids=["the mean alone", "no figure"])
async def test_pages_say_why_nothing_is_stated_of_numbers_around_centres(
    http: Http, part: float | None
) -> None:
    """Study, model, comparison, prediction and card: the mean of those asked for it alone, if any
    are, predictions, and no figure of a cell."""
    asks = {"epsilon": 8.0, "depth": 2, "centred": True, "label_part": part, "looks": "once"}
    task = await http.task(samples.line(), label="y", **asks)
    published, why = await http.published(task), around_centres(alone=part is None)
    for place in range(100):
        await http.report(published, {"x": place / 99.0, "z": 0.5, "y": place / 9.9})
    for estimator in ("drift", "weighted"):
        await http.fit(task, estimator=estimator)
    form = await http.sign_in()
    study, model, prediction, compared = (
        unescape(answer.text)
        for answer in (
            await http.get(f"/tasks/{task}"),
            await http.get(f"/tasks/{task}/models/1"),
            await form(f"/tasks/{task}/models/1/predict", **{"field.0": "0.5", "field.1": "0.5"}),
            await http.get(f"/tasks/{task}/compare?one=1&other=2"),
        )
    )
    card = (await http.get(f"/v1/tasks/{task}/models/1/card", headers=http.admin)).text
    for page in (study, model, prediction, card):
        assert page.count(why) == 1
    assert "Which is better is not known" in compared
    assert re.search(
        r"Predictions for the \S+ people in your file differ by \S+ .*?on average", compared
    )
    assert "on its whole range" in compared
    assert "4 groups of which nothing is stated" in model
    assert "no interval is stated of a group" in compared
    assert compared.count("</span> predicts ") == 8
    assert "with the 95 % interval" not in compared
    for page in (study, model, prediction, compared, card):
        assert "too few answers" not in page.lower()
        assert "not known<" not in page
        assert "in its group" not in page
    assert "Nothing is stated of groups: their figures are predictions." in card
    stated = "The mean is " in study
    assert stated is (part is None)
    insight = await http.get(f"/v1/tasks/{task}/models/1/insight", headers=http.admin)
    assert insight.status_code == (200 if part is None else 422)
    assert why in insight.text


async def test_a_fault_of_a_prediction_is_at_its_field(http: Http) -> None:
    """In the words of the page, which still has what was typed; before, by the column's name."""
    describe = {"age": {"prompt": "How old are you?", "unit": "years"}}
    task = await http.task(describe=describe)
    await http.fit(task, **samples.PUBLIC_ALONE)
    form, path = await http.sign_in(), f"/tasks/{task}/models/1"
    asked = {"field.0": "old", "field.1": "12", "field.2": "nurse", "field.3": ""}
    refused = await form(f"{path}/predict", **asked)
    page = unescape(refused.text)
    assert refused.status_code == 422
    assert "“How old are you? (years)” is 'old': it must be a number." in page
    assert "Fill in what is empty: “member”." in page
    assert "The field" not in page
    fields = re.findall(r'<(?:input|select) name="(field\.\d)"([^>]*)>', page)
    assert [name for name, rest in fields if "aria-invalid" in rest] == ["field.0", "field.3"]
    assert 'data-invalid="field.0 field.3"' in page
    assert re.search(r'name="field.0"[^>]* value="old"', page)
    assert "<option selected>nurse</option>" in page


async def test_a_file_that_does_not_fit_is_refused_on_the_page_of_its_model(http: Http) -> None:
    """By the columns that it lacks, which stand beside the field; before, on a page of its own."""
    task = await http.task()
    await http.fit(task, **samples.PUBLIC_ALONE)
    form, path = await http.sign_in(), f"/tasks/{task}/models/1"
    needed = "Needed columns: age, hours, job, member."
    assert needed in unescape((await http.get(path)).text)
    for body, said in (
        (b"job;age\nnurse;37\n", "This file lacks these columns: hours, member."),
        (b"", "empty"),
    ):
        refused = await form(f"{path}/predict-file", {"file": ("a.csv", body)})
        page = unescape(refused.text)
        assert refused.status_code == 422
        assert "<h1>Model 1</h1>" in page
        (fault,) = re.findall(r'id="file-fault" role="alert">(.*?)</p>', page)
        assert said in fault
        assert 'aria-invalid="true" autofocus' in page
        assert needed in page


async def test_the_file_has_one_name_on_the_pages_of_models(
    http: Http, app: CuratorApp, clock: ManualClock
) -> None:
    """Your file, and to strangers the earlier file; before, public records and public data too."""
    task = await http.task(holders=1_000, epsilon=8.0, depth=2, grower="cart")
    answer_all(app, task, clock, 300)
    for estimator in ("drift", "weighted"):
        await http.fit(task, estimator=estimator)
    path = f"/tasks/{task}"
    ends = ["/models/1", "/models/2", "/models/1/nodes/0", "/models/2/nodes/3"]
    ends.append("/compare?one=1&other=2")
    for mine, others in (("the earlier file", "your file"), ("your file", "the earlier file")):
        if mine == "your file":
            await http.sign_in()
        for end in ends:
            page = (await http.get(f"{path}{end}")).text.partition("<footer")[0].lower()
            for name in (others, "public record", "public data", "holder", "estimator:"):
                assert name not in text_of(page), (
                    end,
                    re.findall(f".{{0,40}}{name}.{{0,40}}", text_of(page)),
                )
        assert mine in (await http.get(f"{path}/models/1")).text
    card = (await http.get(f"/v1/tasks/{task}/models/1/card", headers=http.admin)).text
    for name in ("your file", "holder", "estimator", "plain", "public records", "report", "task"):
        assert name not in card.lower(), name
    assert "| way to fit | default |" in card
    assert card.count("ε = 8, locally differentially private") == 1
    assert "is at most 100\u00a0% sure of either after seeing the message" in card


async def test_a_stranger_reads_what_a_model_shows_now_and_what_comes(http: Http) -> None:
    """Before, the card of an open study had a question and buttons only; nor does a sentence begin
    with a small letter."""
    task = await http.task()
    await http.fit(task, **samples.PUBLIC_ALONE)
    path, said = f"/tasks/{task}/models/1", "You can see the model and its groups' figures now"
    page = (await http.get(path)).text
    assert page.count(said) == 1
    assert "In use. Fewer than 2" in page
    await http.post(f"/v1/tasks/{task}/close", headers=http.admin)
    assert said not in (await http.get(path)).text


async def test_a_prediction_asks_as_people_are_asked(http: Http) -> None:
    """By question and unit; what may stay empty says so, and only that is accepted empty."""
    describe = {"age": {"prompt": "How old are you?", "unit": "years"}}
    task = await http.task(describe=describe, features={"hours": {"missing": 35}})
    await http.fit(task, **samples.PUBLIC_ALONE)
    form = await http.sign_in()
    page = unescape((await http.get(f"/tasks/{task}/models/1")).text)
    assert "How old are you? (years)" in page
    assert "May stay empty: then it counts as 35" in page
    path, asked = f"/tasks/{task}/models/1/predict", {"field.2": "nurse", "field.3": "0"}
    assert (await form(path, **asked, **{"field.0": "37"})).status_code == 200
    refused = await form(path, **asked)
    assert "Fill in what is empty: “How old are you? (years)”." in unescape(refused.text)


async def test_cells_are_named_by_what_people_read(
    http: Http, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On every page that names one, in its picture, list and table: by a question, not a column."""
    differing = CellDifference(0, None, 0.5, 0.4, 0.6, 0.1, 0.0)
    insight_before = overview.insight_of

    def with_difference(*given: Any) -> Insight:
        found = insight_before(*given)
        assert found
        return replace(found, differences=(differing,))

    monkeypatch.setattr(tasks, "insight_of", with_difference)
    questions = {"age": "How old?", "hours": "How long?", "job": "Which job?", "member": "In it?"}
    describe = {name: {"prompt": of} for name, of in questions.items()}
    task = await http.task(describe=describe)
    await http.report(task)
    for _ in range(2):
        await http.fit(task, **samples.PUBLIC_ALONE)
    form, path = await http.sign_in(), f"/tasks/{task}"
    record = {f"field.{at}": text for at, text in enumerate(("37", "12", "nurse", "1"))}
    pages = [
        await http.get(path),
        await http.get(f"{path}/models/1"),
        await http.get(f"{path}/models/1/nodes/1"),
        await http.get(f"{path}/compare?one=1&other=2"),
        await http.get(f"{path}/trial?estimator=weighted"),
        await form(f"{path}/models/1/predict", **record),
    ]
    for page in pages:
        text = unescape(page.text)
        assert page.status_code == 200, text
        assert re.search(r"(How old|How long)[?] (under |over )?\d|(Which job|In it)[?] \w", text)
        assert not re.search(r"\b(age|hours|job|member)(:| is| not| [<>≥≤])|[<≤] \w", text)


def typed_number(text: str) -> float:
    """A number of at most six digits with a decimal comma."""
    assert "." not in text
    assert len(text.replace(",", "").lstrip("0")) <= 6
    return float(text.replace(",", "."))


async def test_a_file_to_predict_for_is_read_as_its_decimal_mark_is_stated(http: Http) -> None:
    """Where no number of the file tells which it is."""
    task = await http.task()
    await http.fit(task, **samples.PUBLIC_ALONE)
    form, path = await http.sign_in(), f"/tasks/{task}/models/1/predict-file"
    files = {"file": ("a.csv", b"age;hours;job;member\n37;1.125;nurse;TRUE\n")}
    refused = await form(path, files)
    assert "1.125 may be 1.125 or 1125, and no other number of the file tells which" in refused.text
    answers = {mark: (await form(path, files, decimal=mark)).text for mark in ("point", "comma")}
    assert all("1.125" in answer.splitlines()[1] for answer in answers.values())
    assert answers["point"] != answers["comma"]
    assert (await form(path, files, decimal="semicolon")).status_code == 422


async def test_a_file_comes_back_with_predictions(http: Http) -> None:
    """Those of the API, beside the file's own columns as they stand; a row that does not fit says
    why, and a file without one that does is refused."""
    task = await http.task()
    await http.fit(task, **samples.PUBLIC_ALONE)
    form, path = await http.sign_in(), f"/tasks/{task}/models/1/predict-file"
    file = "id;age;hours;job;member\n007;37;12,5;nurse;TRUE\n008;38;3,0;pilot;FALSE\n"
    answer = await form(path, {"file": ("a.csv", file.encode())})
    assert answer.headers["content-type"].startswith("text/csv")
    first, second = csv.DictReader(io.StringIO(answer.text), delimiter=";")
    record = {"age": 37, "hours": 12.5, "job": "nurse", "member": True}
    body = {"records": [record], "model": 1}
    (known,) = (await http.post(f"/v1/tasks/{task}/predict", json=body)).json()["predictions"]
    assert (first["id"], first["hours"], first["prediction"]) == ("007", "12,5", known["label"])
    shares = {name: typed_number(first[f"p {name}"]) for name in known["probabilities"]}
    assert shares == pytest.approx(known["probabilities"], rel=1e-5)
    assert (second["id"], second["prediction"]) == ("008", "")
    assert "pilot" in second["problem"]
    none = file.replace("nurse", "pilot").encode()
    assert (await form(path, {"file": ("a.csv", none)})).status_code == 422
    assert (await form(path)).status_code == 422


def test_each_sign_stands_for_one_thing_and_cells_have_their_colour() -> None:
    """Before, a ring was three things, and a cell of which nothing is known was green."""
    macros = '{% from "macros.html" import interval, key_of %}'
    drawn = "{{ interval(0.4, 0.2, 0.6, 0.5, 0, 1, none, sign, color) }}"
    drawing = templates.from_string(macros + drawn)
    marks = {"ring": "<circle", "diamond": 'class="ring" d=', "triangle": 'class="triangle"'}
    for sign in marks:
        said = drawing.render(sign=sign, color="#858585")
        assert 'color="#858585"' in said
        rest = said.replace('<circle class="dot"', "")
        assert [name for name, mark in marks.items() if mark in rest] == [sign]
    key = templates.from_string(macros + "{{ key_of([]) }}").render()
    assert "◇ that of your file" in key


async def test_methods_that_leave_out_the_label_alone_are_of_all_answers_too(
    http: Http, app: CuratorApp, clock: ManualClock
) -> None:
    """Or a page would offer to fit them to the rest, again and again."""
    task = await http.task(holders=1_000, epsilon=8.0, depth=2, grower="cart", label_part=0.4)
    answer_all(app, task, clock, 300)
    for estimator in ("drift", "pruned"):
        await http.fit(task, estimator=estimator)
    await http.sign_in()
    for number in (1, 2):
        page = (await http.get(f"/tasks/{task}/models/{number}")).text
        assert 'id="so-far"' not in page
        told = (await http.get(f"/v1/tasks/{task}/models/{number}", headers=http.admin)).json()
        assert told["reports"] == 300
    compared = unescape((await http.get(f"/tasks/{task}/compare?one=1&other=2")).text)
    assert "was fitted to" not in compared
    assert "The intervals of model 2 are of the answers and your file together" in compared


def test_a_class_of_more_than_half_is_the_likeliest() -> None:
    """Whatever the others' intervals reach, as their shares cannot be more than the rest."""
    label = Classes(name="travel", classes=("bus", "car", "foot"))
    high = {"bus": 1.0, "car": 0.36, "foot": 0.63}
    for low, said in ((0.53, "bus"), (0.49, None)):
        of_cell = {"cell_low": {"bus": low, "car": 0.0, "foot": 0.0}, "cell_high": high}
        assert Guess(label, of_cell).likeliest == said
