"""The model card: what a model is, what it was made from, and how far to trust it, in Markdown."""

from collections.abc import Mapping, Sequence
from math import sqrt

import numpy as np

from privet.admin.results import ReportSource
from privet.learning.core.amounts import (
    TOO_FEW_ANSWERS,
    amount,
    figure,
    in_digits,
    in_figures,
    of_hundred,
    percent,
    share_ends,
    tells_enough,
    tells_nothing,
    thousands,
)
from privet.learning.core.counts import Interval, QuestionCounts
from privet.learning.core.escaping import markdown
from privet.learning.core.labels import LabelKind, kind_of
from privet.learning.core.looks import MEANING, Looks
from privet.learning.core.model import FittedModel, Model, question_about
from privet.learning.core.public_data import PublicData
from privet.learning.display.picture import cells_untold, drawn_intervals
from privet.learning.figures.compare import insight
from privet.learning.figures.impossible import impossible
from privet.learning.figures.misfits import strata_in_words
from privet.learning.figures.node_shares import untold_cells
from privet.learning.figures.scores import known_scores
from privet.learning.figures.sentences import PUBLIC_FILE
from privet.learning.methods import DEFAULT_ESTIMATOR, ESTIMATORS
from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Classes, Range
from privet.protocol.results import Comparison
from privet.protocol.task import Task

SURE = 2.0
"""Standard errors from which on a difference is hardly chance."""


def write_card(
    task: Task,
    fitted: FittedModel,
    public: PublicData,
    questions: Sequence[QuestionCounts],
    sources: Sequence[ReportSource] = (),
    *,
    worst_of_one: float | None = None,
    growth: str = "",
) -> str:
    """The card of a model; ``questions`` are the debiased counts of the reports so far.

    ``sources`` and ``worst_of_one`` are of this model's ``ModelSummary``; ``growth`` says why the
    collection's counts may still grow, if they may.
    """
    model = fitted.model
    sections = [
        f"# {markdown(task.name)}: model {fitted.number}",
        "\n".join(map(markdown, task.description.splitlines())),
        "## The model\n\n" + _facts(task, fitted) + f"\n\n{growth}".rstrip(),
        "## What each answer tells\n\n" + _questions(task),
        _said(task, model, public, questions),
        "## Reliability\n\n" + _trust(model, questions),
        _sources(kind_of(task.label), sources, worst_of_one) if sources else "",
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def offset(model: Model, questions: Sequence[QuestionCounts]) -> tuple[float, float] | None:
    """Mean over the holders of their cell's value less their number, and its standard error.

    Unbiased for given cell values, only from the reports. None for classes, for numbers around
    centres, and without reports to a question about the model's own partition.
    """
    label = model.label
    question = question_about(model, questions)
    if question is None or not isinstance(label, Range):
        return None
    scale = question.scale_of(label)
    t = scale.to_unit(np.arange(len(model.values)), model.values[:, 0])
    weights = np.stack([t, t - 1.0], axis=1)
    mean = question.mean(weights)
    return scale.width * mean.value, scale.width * sqrt(mean.variance)


def _facts(task: Task, fitted: FittedModel) -> str:
    model, label = fitted.model, task.label
    labels = (
        f"one of {', '.join(label.classes)}"
        if isinstance(label, Classes)
        else f"a number from {amount(label.low)} to {amount(label.high)}"
    )
    is_default = model.estimator == DEFAULT_ESTIMATOR
    parameters = ", ".join(
        f"{name} = {value}"
        for name, value in model.parameters.items()
        if not is_default or value != ESTIMATORS[DEFAULT_ESTIMATOR].parameters[name].default
    )
    way = "default" if is_default else model.estimator
    rows = {
        "study": task.id,
        "predicts": f"{label.name}, {labels}",
        "from": ", ".join(feature.name for feature in task.features),
        "way to fit": f"{way} ({parameters})" if parameters else way,
        "fitted": in_figures(fitted.created),
        "answers": thousands(model.n),
        "groups": thousands(model.partition.cells),
        "public model": "none" if model.base is None else model.base.name,
        **{name: str(value) for name, value in model.facts.items()},
    }
    return _table(("", ""), [list(row) for row in rows.items()])


def _questions(task: Task) -> str:
    rows = [
        [
            question.mechanism,
            f"{question.epsilon:g}",
            f"{mechanism.log_ratio():.6g}",
            question.asks
            if question.centring is None
            else f"label ± {amount(question.centring.radius)}",
            thousands(mechanism.cells),
            thousands(mechanism.report_bytes),
        ]
        for question, mechanism in zip(task.questions, task.mechanisms, strict=True)
    ]
    private = (
        f"ε = {task.epsilon:g}, locally differentially private: somebody who thought two answers "
        f"equally likely is at most {of_hundred(task.epsilon)}\u00a0% sure of either after seeing "
        "the message, whatever becomes of the server"
    )
    spent = f"Each person's device changes the answers at random. {private}."
    if task.disclosed:
        least = thousands(min(task.group_sizes))
        spent = (
            "Each person's device changes the answers at random, but for "
            f"{', '.join(map(markdown, task.disclosed))}: those put the person into one of "
            f"{len(task.group_sizes)} disclosed groups, each of at least {least} people who were "
            f"expected. Within such a group: {private}."
        )
    header = ("mechanism", "epsilon", "exact epsilon", "asks", "groups", "bytes")
    centred = any(question.centring is not None for question in task.questions)
    reported = (
        "\n\nWhere `asks` says ±, people answered relative to the public model's mean in their "
        "group. Each person's number further away than that counts as one at that "
        "distance."
    )
    return f"{spent}\n\n{_table(header, rows)}{reported if centred else ''}"


def _said(task: Task, model: Model, public: PublicData, questions: Sequence[QuestionCounts]) -> str:
    title = "## Answers beside the earlier file"
    try:
        comparison = insight(task.label, public, questions, model, PUBLIC_FILE)
    except InvalidRequest as refusal:
        return "" if model.states_cells else f"{title}\n\n{markdown(refusal.detail)}"
    if comparison.impossible is not None:
        return f"{title}\n\n{comparison.sentence}"
    rows = [_compared(kind_of(task.label), row) for row in comparison.overall]
    table = _table(("", "who answered", "95 % interval", "earlier file"), rows)
    said = f"{comparison.sentence} {comparison.of_register}".rstrip()
    sentence, looks = markdown(said), MEANING[comparison.looks]
    asked = question_about(model, questions)
    if asked is not None:
        of_strata = markdown(strata_in_words(asked, questions, task, public.register))
        sentence = f"{sentence} {of_strata}".rstrip()
    after = f"From {thousands(comparison.reports)} answers; these intervals {looks}."
    after = f"{after} {markdown(comparison.if_false)}"
    return f"{title}\n\n{sentence}\n\n{table}\n\n{after}"


def _trust(model: Model, questions: Sequence[QuestionCounts]) -> str:
    false = impossible(questions)
    if false is not None:
        return f"- {false.sentence}"
    lines = [_widths(model, questions)]
    bias, scores = offset(model, questions), known_scores(model, questions)
    if scores:
        lines.insert(0, _scores(scores, questions[-1].looks, _later(model, questions)))
    if bias is not None:
        lines.insert(0, _offset(kind_of(model.label), *bias))
    return "\n".join(lines)


def _widths(model: Model, questions: Sequence[QuestionCounts]) -> str:
    """The widths of the cells' intervals, where pages state one."""
    if not model.states_cells:
        return "- Nothing is stated of groups: their figures are predictions."
    asked, (low, high) = question_about(model, questions), drawn_intervals(model)
    width = high - low
    known = width[~cells_untold(model, None if asked is None else untold_cells(model.label, asked))]
    if not len(known):
        return "- Too few answers to say anything of any group."
    moved = kind_of(model.label).moved
    half = moved(float(np.median(known)))
    if len(known) == len(width):
        most = moved(float(known.max()))
        return (
            f"- Half of the groups' 95 % intervals are at most {half} wide, and all at most {most}."
        )
    unknown = len(width) - len(known)
    have = "has" if unknown == 1 else "have"
    return (
        f"- {unknown} of {len(width)} groups {have} too few answers to say anything; half of the "
        f"other groups' 95 % intervals are at most {half} wide."
    )


def _sources(kind: LabelKind, sources: Sequence[ReportSource], worst_of_one: float | None) -> str:
    total = sum(source.reports for source in sources)
    rows = [
        [
            "direct, from anybody" if source.relay is None else f"in batches of {source.relay}",
            thousands(source.reports),
            percent(source.reports / total),
            _worst(kind, source, total),
        ]
        for source in sources
    ]
    header = ("way", "answers", "share", "worst found")
    one = ""
    if worst_of_one is not None:
        one = f" For one false answer it is {kind.moved(worst_of_one)}."
    return (
        f"## Sources of the answers\n\n{_table(header, rows)}\n\n"
        "The worst found is how far that number of false answers moved "
        f"a value of the model when some ways to choose them were tried.{one} Others may move it "
        "further."
    )


def _compared(kind: LabelKind, row: Comparison) -> list[str]:
    value, ends = kind.stated(row.reported, row.low, row.high).rstrip(")").split(" (")
    if tells_nothing(row.low, row.high, *kind.bounds):
        value = TOO_FEW_ANSWERS
    public = "–" if row.public is None else kind.beside(row.public, row.low, row.high)
    return [row.name, value, ends, public]


def _worst(kind: LabelKind, source: ReportSource, reports: int) -> str:
    if source.worst_found is None:
        return "not tried"
    return "anything" if source.reports == reports else kind.moved(source.worst_found)


def _later(model: Model, questions: Sequence[QuestionCounts]) -> str:
    """The number of reports that scores are of, if the model was fitted to fewer; else nothing."""
    asked = question_about(model, questions)
    if asked is None or asked.n <= model.n:
        return ""
    return f", all {thousands(asked.n)} so far and not only the {thousands(model.n)} of its fit"


def _scores(scores: Mapping[str, Interval], looks: Looks, later: str) -> str:
    right, brier, loss = scores.values()
    if not tells_enough(right.low, right.high):
        return (
            "- Too few answers to estimate how many people have the class that is the likeliest in "
            f"their group: anything from {share_ends(right.low, right.high)}."
        )
    stated = figure(right.value, right.low, right.high, is_share=True)

    def number(of: Interval) -> str:
        return figure(of.value, of.low, of.high, is_share=False)

    return (
        f"- Of people like those who answered, {stated} "
        "have the class that is the likeliest in their group. The groups' "
        f"probabilities have a Brier score of {number(brier)} and a log loss of {number(loss)}. "
        f"These are estimated from answers changed at random{later}, corrected for the model "
        "having been fitted to them; what the public model adds within a group is not in them. The "
        f"95 % intervals {MEANING[looks]}."
    )


def _offset(kind: LabelKind, mean: float, error: float) -> str:
    value, unsure = map(kind.with_unit, in_digits(error, abs(mean), error))
    side = "above" if mean >= 0 else "below"
    sure = "" if abs(mean) > SURE * error else ", which may be chance"
    return (
        f"- On average over those who answered, a group's figure is {value} {side} their answers "
        f"(standard error {unsure}){sure}. "
        "Answers tell squared errors only as differences between models; `privet plan` estimates "
        "them from the earlier file."
    )


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [[markdown(cell) for cell in line] for line in (header, *rows)]
    lines.insert(1, ["---"] * len(header))
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
