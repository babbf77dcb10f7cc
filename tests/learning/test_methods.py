"""The dictionary of estimators: what each takes, and adding one at run time."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from privet.learning.core.counts import QuestionCounts
from privet.learning.core.estimator import Estimator, Parameter
from privet.learning.core.model import Model
from privet.learning.core.public_data import PublicData
from privet.learning.methods import ESTIMATORS, Fitting, fit
from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Label

from .examples import (
    BINARY,
    NUMBER,
    PUBLIC_ALONE,
    REPORTS_ALONE,
    THREE,
    complete,
    linear_model,
    public_rows,
    reports,
    unasked,
)

PUBLIC = public_rows(BINARY, 50, seed=0)
QUESTION = reports(complete(1), np.full((2, 2), 50), 1.0, seed=0)
ONE_QUESTION = [name for name, estimator in ESTIMATORS.items() if estimator.one_question]


def test_an_estimator_added_at_run_time_is_fitted_by_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One entry in the dictionary is all; the model states its name and parameters."""

    def fit_squared(
        label: Label, public: PublicData, questions: Sequence[QuestionCounts], *, power: float
    ) -> Model:
        model = fit("weighted", label, public, questions, **REPORTS_ALONE)
        return Model(**{**vars(model), "values": model.values**power})

    mine = Estimator("mine", "Powers.", fit_squared, {"power": Parameter(2.0, "The power.")})
    monkeypatch.setitem(ESTIMATORS, "mine", mine)
    model = fit("mine", BINARY, PUBLIC, [QUESTION])
    assert (model.estimator, dict(model.parameters)) == ("mine", {"power": 2.0})
    private = fit("weighted", BINARY, PUBLIC, [QUESTION], **REPORTS_ALONE)
    np.testing.assert_array_equal(model.values, private.values**2)


@pytest.mark.parametrize("name", ONE_QUESTION)
def test_estimators_of_one_question_refuse_others_and_name_those_that_take_them(name: str) -> None:
    """Two questions; and, where reports count, a question that asks for the cell alone."""
    with pytest.raises(InvalidRequest, match="one question, not 2: use pruned, histogram"):
        fit(name, BINARY, PUBLIC, [QUESTION, QUESTION])
    cells_alone = reports(complete(1), np.full((2, 1), 50), 1.0, seed=0)
    with pytest.raises(InvalidRequest, match="asks for the cell only"):
        fit(name, BINARY, PUBLIC, [cells_alone])


@pytest.mark.parametrize("name", ["drift", "weighted"])
def test_values_without_reports_are_those_of_the_same_fit_to_none(name: str) -> None:
    """They are kept from fit to fit, and worked out anew where anything but the counts differs."""
    fitting = Fitting.of(name, BINARY, PUBLIC)
    other_tree = reports(complete(2), np.full((4, 2), 50), 1.0, seed=0)
    other_epsilon = reports(QUESTION.partition, np.full((2, 2), 50), 4.0, seed=0)
    more = replace(QUESTION, sums=3 * QUESTION.sums, n=3 * QUESTION.n)
    stated = replace(PUBLIC, prevalence=np.array([0.9, 0.1]))
    kept = []
    for of, asked in (
        *((fitting, each) for each in (QUESTION, more, other_tree, other_epsilon, QUESTION)),
        (replace(fitting, public=public_rows(BINARY, 60, seed=1)), QUESTION),
        (replace(fitting, public=stated), QUESTION),
    ):
        kept.append(of.model([asked]).values_without_reports)
        np.testing.assert_array_equal(kept[-1], of.estimate([unasked(asked)]).values)
    assert kept[0] is kept[1]


def test_public_records_alone_need_no_question_about_the_label() -> None:
    """Nor reports; the estimator and the model say so, the latter in JSON."""
    cells_alone = reports(complete(1), np.full((2, 1), 50), 1.0, seed=0)
    weighted = ESTIMATORS["weighted"]
    assert [weighted.needs_reports({"weight": w}) for w in (0, 1e9, "inf")] == [True, True, False]
    assert ESTIMATORS["drift"].needs_reports({})
    model = fit("weighted", BINARY, PUBLIC, [cells_alone], **PUBLIC_ALONE)
    assert model.parameters["weight"] == "inf"


@pytest.mark.parametrize(
    ("name", "label", "kind"),
    [
        *((name, THREE, "3 classes") for name in ("pruned", "histogram")),
        ("pruned", NUMBER, "a numeric label"),
    ],
)
def test_labels_that_are_not_served_are_refused(name: str, label: Label, kind: str) -> None:
    """The error names the estimators that serve them."""
    with pytest.raises(InvalidRequest, match=f"does not serve {kind}: use another .*, weighted"):
        fit(name, label, PUBLIC, [QUESTION])


def test_a_public_model_of_ones_own_is_refused_where_it_has_no_use() -> None:
    """The error names the estimators that start from one."""
    own = linear_model(np.zeros((2, 2)), np.zeros(2))
    with pytest.raises(InvalidRequest, match="starts from no public model: use drift"):
        fit("weighted", BINARY, PUBLIC, [QUESTION], base=own)
    assert fit("drift", BINARY, PUBLIC, [QUESTION], base=own).facts["public model"] == "linear"
