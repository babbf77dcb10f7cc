"""The number of answers that a study's page asks for: before they tell one, that of its plan."""

from typing import Any

import pytest

from privet.curator.operations.curator import Curator
from privet.curator.operations.snapshot import Snapshot
from privet.curator.operations.tasks import create_task, planned
from privet.learning.task_building.publication import Publication
from privet.protocol.task import Task
from tests.curator import samples
from tests.curator.small_models import planned_alone, small_public_models, without_gains
from tests.curator.use_cases import ADMIN, answer, done, new_curator

__all__ = ["planned_alone", "small_public_models", "without_gains"]

SURVEY = samples.survey()
STUDIES: dict[str, tuple[bytes | None, dict[str, Any]]] = {
    "classes": (SURVEY, {"label": "label"}),
    "once": (SURVEY, {"label": "label", "looks": "once"}),
    "number": (SURVEY, {"label": "age"}),
    "stated": (SURVEY, {"label": "label", "prevalence": {"1": 0.05}}),
    "disclosed": (SURVEY, {"label": "label", "disclosed": ("job",), "hidden_depth": 1}),
    "question": (None, {"label": "answer", "classes": ("yes", "no", "perhaps")}),
    "bins": (None, {"label": "cups", "label_range": (0, 10), "bins": 5}),
}


def study_of(case: str, curator: Curator) -> tuple[Publication, Task]:
    """Settings and the task that they publish."""
    public, settings = STUDIES[case]
    given = {"name": case, "epsilon": 1.0, "holders": 3_000, "depth": 3, "grower": "max_edge"}
    if public is None:
        del given["depth"], given["grower"]
    asked = Publication.model_validate(given | settings)
    return asked, done(create_task(curator, ADMIN, asked, public))[0].task


@pytest.mark.usefixtures("planned_alone")
@pytest.mark.parametrize("case", STUDIES)
def test_the_page_asks_for_as_many_as_the_plan(case: str) -> None:
    curator = new_curator()
    settings, task = study_of(case, curator)
    plan = planned(STUDIES[case][0], settings, None)
    snapshot = Snapshot.of(curator, ADMIN, task.id)
    for needed in (snapshot.reports_needed(), snapshot.reports_needed(as_planned=True)):
        assert needed is not None
        assert needed(plan.half_width) == pytest.approx(plan.stop_after, rel=0.03)
        assert needed(plan.here.half_width) == pytest.approx(plan.holders, rel=0.03)


@pytest.mark.parametrize("case", ["classes", "number", "bins"])
def test_a_few_answers_ask_for_no_other_number_than_none(case: str) -> None:
    """Of which it is not yet clear how many fit: their own variance may be anything."""
    curator = new_curator()
    _, task = study_of(case, curator)
    none = Snapshot.of(curator, ADMIN, task.id).reports_needed()
    person = {"age": 50, "hours": 40.0, "job": "smith", "member": True, "label": "1", "cups": 3}
    answer(curator, task, [person] * 5)
    few = Snapshot.of(curator, ADMIN, task.id).reports_needed()
    assert none is not None
    assert few is not None
    for half_width in (0.2, 0.05):
        assert few(half_width * task.label.span) == none(half_width * task.label.span)
