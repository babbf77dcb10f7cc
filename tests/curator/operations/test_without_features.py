"""Use cases of a task that asks for the label alone."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from privet.curator.operations.curator import OUTCOMES_KEPT, Curator
from privet.curator.operations.models import FitRequest, fit, read_figures, read_model
from privet.curator.operations.panels import read_waves, waves_to_fit
from privet.curator.operations.predictions import PredictRequest, predict
from privet.curator.operations.snapshot import Snapshot
from privet.curator.operations.tasks import close_task, create_task, preview_task, read_status
from privet.learning.task_building.publication import Publication
from privet.protocol.errors import InvalidRequest, InvalidTask, NotAuthorized
from privet.protocol.task import Task
from tests.curator.use_cases import ADMIN, Someone, answer, new_curator

STRANGER = Someone("", None)
NO_MODEL = "nothing about who answers, so there is no model"


def settings(**given: Any) -> Publication:
    return Publication.model_validate(
        {"name": "q", "label": "answer", "epsilon": 8.0, "classes": ("yes", "no"), **given}
    )


def created(curator: Curator, **given: Any) -> Task:
    stored, is_new = asyncio.run(create_task(curator, ADMIN, settings(**given), None))
    assert is_new
    return stored.task


@pytest.fixture
def curator() -> Curator:
    return new_curator()


def test_figures_are_there_without_a_model(curator: Curator) -> None:
    """For readers at any time, and for everybody once it has ended; of yes and no, yes leads."""
    task = created(curator)
    assert (task.features, len(curator.store.tasks.public_data(task.id))) == ((), 0)
    with pytest.raises(InvalidRequest, match="Nobody has answered yet"):
        read_figures(curator, ADMIN, task.id)
    assert read_status(curator, ADMIN, task.id).results is None
    answer(curator, task, [{"answer": "yes"}] * 30 + [{"answer": "no"}] * 10)
    found = read_figures(curator, ADMIN, task.id)
    assert (found.model, found.cells, found.public_records) == (None, 1, 0)
    assert found.headline.split("\u00a0")[0] in found.sentence
    assert found.headline.endswith(").")
    assert " say yes " in found.headline
    results = read_status(curator, ADMIN, task.id).results
    assert results is not None
    assert [row.value for row in results.figures] == [row.reported for row in found.overall]
    assert read_status(curator, STRANGER, task.id).results is None
    with pytest.raises(NotAuthorized):
        read_figures(curator, STRANGER, task.id)
    close_task(curator, ADMIN, task.id)
    assert read_status(curator, STRANGER, task.id).results == results


def test_an_outcome_that_is_forgotten_meanwhile_is_still_that_of_its_look(
    curator: Curator,
) -> None:
    """A look that found it in memory has read no counts to make it anew from."""
    task = created(curator)
    answer(curator, task, [{"answer": "yes"}] * 30)
    close_task(curator, ADMIN, task.id)
    first = read_status(curator, STRANGER, task.id).results
    look = Snapshot.of(curator, STRANGER, task.id, models=False)
    for number in range(OUTCOMES_KEPT):
        curator.outcomes.keep((str(number), None, None), None)
    assert task.id not in {key[0] for key in curator.outcomes.known()}
    assert look.results == first
    assert first is not None


def test_no_model_of_individuals_is_made(curator: Curator) -> None:
    """Fits, models and predictions are refused, with the reason."""
    task = created(curator)
    answer(curator, task, [{"answer": "yes"}] * 3)
    with pytest.raises(InvalidRequest, match=NO_MODEL):
        asyncio.run(fit(curator, ADMIN, task.id, FitRequest()))
    with pytest.raises(InvalidRequest, match=NO_MODEL):
        read_model(curator, ADMIN, task.id, 1)
    with pytest.raises(InvalidRequest, match=NO_MODEL):
        predict(curator, ADMIN, task.id, PredictRequest(records=[{}]))


def test_waves_are_beside_each_other(curator: Curator) -> None:
    """In one comparison for each pair, and none is to be fitted."""
    now = int(curator.clock())
    dates = [
        f"{day_of(now + start)}/{day_of(now + end)}"
        for start, end in ((-3600, 3600), (90_000, 99_000))
    ]
    panel = created(curator, waves=dates)
    answer(curator, panel.waves[0], [{"answer": "yes"}] * 5 + [{"answer": "no"}] * 5)
    found = read_waves(curator, ADMIN, panel.id)
    assert [(wave.reports, wave.to_fit) for wave in found.waves] == [(10, False), (0, False)]
    assert (found.comparisons, found.cells) == (1, [])
    with pytest.raises(InvalidRequest, match=NO_MODEL):
        waves_to_fit(curator, ADMIN, panel.id)


def day_of(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).isoformat()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"classes": None}, "declare classes, or label_range"),
        ({"ignore": ("x",)}, "ignore is about them"),
        ({"bins": 5}, "bins is for a number"),
        ({"label_part": 0.5}, "label_part is for a number"),
        ({"describe": {"age": {"prompt": "?"}}}, "do not describe 'age'"),
        ({"classes": None, "label_range": (0.0, 1.0), "headline": "x"}, "no headline"),
    ],
)
def test_settings_about_public_data_are_refused(
    curator: Curator, given: dict[str, Any], said: str
) -> None:
    """Each by its name, before anything is kept."""
    with pytest.raises(InvalidTask, match=said):
        asyncio.run(preview_task(curator, ADMIN, settings(**given), None))
