"""From an admin's settings and public columns to the task that is published.

Partitions are grown on the public data alone; the same settings and data give the same bytes.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.protocol.errors import InvalidPublicData, InvalidRecord, InvalidTask, TooLarge
from privet.protocol.features import Classes, Feature, Label, Range, encode_table, label_value
from privet.protocol.label_scale import Centring
from privet.protocol.limits import MAX_TASK_BYTES
from privet.protocol.mechanisms import AUTO, MECHANISMS, choose
from privet.protocol.partition import Partition, Tree
from privet.protocol.task import Task

from ..partitions import CRITERIA, GROWERS, default_criterion
from ..public_data import PublicData
from ..public_model.base import BaseModel
from ..public_model.knowledge import FEWEST_ROWS, public_knowledge, residual_centring
from .schema import describe, infer_features, infer_label
from .settings import TaskSettings, unix_seconds
from .table import MAX_VALUES, Columns, count_rows


@dataclass(frozen=True)
class _TreeSettings:
    """How one question's partition is grown; equal values share one published partition."""

    grower: str
    depth: int
    criterion: str
    min_leaf: int
    seed: int


ModelFactory = Callable[[Label, PublicData], BaseModel]
"""Makes a public model of the caller's own, once label and encoded public data are known."""


def build_task(
    settings: TaskSettings, columns: Columns, make_base: ModelFactory | None = None
) -> tuple[Task, PublicData]:
    """Grow the partitions on the public columns and build the task with its questions.

    ``make_base`` makes a public model to use instead of Privet's own, for cells and centres.

    Raises ``InvalidPublicData`` for data nothing can be grown on, ``InvalidTask`` for settings
    that lead to no answerable task, and ``TooLarge`` above the published limits.
    """
    check_names(settings)
    features, label, public = encode_columns(settings, columns)
    base = None if make_base is None else make_base(label, public)
    return build_encoded(settings, features, label, public, base), public


def build_encoded(
    settings: TaskSettings,
    features: tuple[Feature, ...],
    label: Label,
    public: PublicData,
    base: BaseModel | None = None,
) -> Task:
    """``build_task`` for encoded public records and the public model to start from, if any."""
    trees = [_tree_settings(settings, i, public, label) for i in range(len(settings.questions))]
    distinct = list(dict.fromkeys(trees))
    partitions = [_grow(tree, public, label, base) for tree in distinct]
    places = [distinct.index(tree) for tree in trees]
    centrings = [
        _centring(settings, i, tree.grower, label, public, partitions[place], base)
        for i, (tree, place) in enumerate(zip(trees, places, strict=True))
    ]
    return _task(settings, features, label, partitions, places, centrings)


def encode_columns(
    settings: TaskSettings, columns: Columns
) -> tuple[tuple[Feature, ...], Label, PublicData]:
    """Features and label as they would be published, and the public records encoded by them."""
    if settings.label not in columns:
        listed = ", ".join(list(columns)[:20])
        raise InvalidPublicData(
            f"The public data has no column {settings.label!r}: its columns are {listed}."
        )
    label = describe(infer_label(columns, settings), settings)
    features = tuple(describe(each, settings) for each in infer_features(columns, settings))
    return features, label, encode_public(features, label, columns)


def encode_public(features: tuple[Feature, ...], label: Label, columns: Columns) -> PublicData:
    """The public records in encoded form; raises ``InvalidPublicData`` where one does not fit."""
    width = sum(len(getattr(feature, "categories", (None,))) for feature in features)
    if width * count_rows(columns) > MAX_VALUES:
        raise TooLarge(
            f"The public data takes {width} encoded columns times {count_rows(columns)} rows; "
            f"the limit is {MAX_VALUES} values: send a sample of the rows."
        )
    try:
        X = encode_table(features, {feature.name: columns[feature.name] for feature in features})
        return PublicData(X, encode_labels(label, columns[label.name]))
    except InvalidRecord as error:
        raise InvalidPublicData(f"The public data does not fit the task. {error.detail}") from None


def encode_labels(label: Label, values: Any) -> NDArray[np.float64]:
    """Class indices, or label values clipped to the published range, shape ``(rows,)``."""
    if isinstance(label, Range) and isinstance(values, np.ndarray):
        return np.clip(values, label.low, label.high)
    codes = {value: label_value(label, value) for value in dict.fromkeys(values)}
    return np.array([codes[value] for value in values], dtype=np.float64)


def _grow(
    tree: _TreeSettings, public: PublicData, label: Label, base: BaseModel | None
) -> Partition:
    """One partition, from a generator seeded by the published seed."""
    return GROWERS[tree.grower](
        public.X,
        public.y,
        depth=tree.depth,
        classes=_classes(label),
        criterion=tree.criterion,
        min_leaf=tree.min_leaf,
        rng=np.random.default_rng(tree.seed),
        base=base,
    )


def _tree_settings(
    settings: TaskSettings, index: int, public: PublicData, label: Label
) -> _TreeSettings:
    question = settings.questions[index]
    depth = settings.depth if question.depth is None else question.depth
    grower = question.grower or settings.grower
    if depth is None:
        depth = GROWERS[grower].default_depth(
            settings.holders,
            settings.epsilons[index],
            columns=public.X.shape[1],
            public_rows=len(public),
            centred=_is_centred(settings, index, grower, label),
        )
    return _TreeSettings(
        grower=grower,
        depth=depth,
        criterion=question.criterion or settings.criterion or default_criterion(_classes(label)),
        min_leaf=settings.min_leaf if question.min_leaf is None else question.min_leaf,
        seed=settings.seed if question.seed is None else question.seed,
    )


def _classes(label: Label) -> int:
    """Number of classes; 0 for a numeric label."""
    return label.slots if isinstance(label, Classes) else 0


def _is_centred(settings: TaskSettings, index: int, grower: str, label: Label) -> bool:
    """Whether a question's numbers are reported relative to the centre of their cell.

    By default where the grower uses the public model and no other question asks for the label:
    counts of several questions are combined, which requires one range for all.
    """
    question = settings.questions[index]
    wanted = settings.centred if question.centred is None else question.centred
    if (wanted and not isinstance(label, Range)) or (question.centred and question.asks == "cell"):
        raise InvalidTask("centred is for questions about a numeric label: leave it out.")
    if not isinstance(label, Range) or question.asks == "cell":
        return False
    if wanted is None:
        alone = sum(each.asks == "label" for each in settings.questions) == 1
        return GROWERS[grower].uses_public_model and alone
    return wanted


def _centring(
    settings: TaskSettings,
    index: int,
    grower: str,
    label: Label,
    public: PublicData,
    partition: Partition,
    base: BaseModel | None,
) -> Centring | None:
    """Centres from the public model's cell means, if the question is to have them."""
    if not (_is_centred(settings, index, grower, label) and isinstance(label, Range)):
        return None
    means, _ = public_knowledge(public.X, public.y, 0, base).cell_means(partition)
    centring = residual_centring(label, public, partition, means[:, 0])
    if centring is None and (settings.centred or settings.questions[index].centred):
        raise InvalidPublicData(
            f"Centres need at least {FEWEST_ROWS} public records, and there are {len(public)}: "
            "add some, or leave centred out."
        )
    return centring


def _task(
    settings: TaskSettings,
    features: tuple[Feature, ...],
    label: Label,
    partitions: list[Partition],
    places: list[int],
    centrings: list[Centring | None],
) -> Task:
    """The task with every mechanism's parameters spelled out, so that holders need no defaults."""
    task = Task.checked(
        {
            "name": settings.name,
            "description": settings.description,
            "features": features,
            "label": label,
            "partitions": tuple(Tree.of(partition) for partition in partitions),
            "questions": [
                {**_question(settings, i, place, partitions[place], label), "centring": centring}
                for i, (place, centring) in enumerate(zip(places, centrings, strict=True))
            ],
            "allocation": settings.allocation,
            "opens": unix_seconds(settings.opens),
            "closes": unix_seconds(settings.closes),
            "invited": settings.invited,
        }
    )
    questions = [
        {**question.model_dump(), "parameters": mechanism.parameters()}
        for question, mechanism in zip(task.questions, task.mechanisms, strict=True)
    ]
    task = task.model_copy(update={"questions": questions})
    if len(task.canonical) > MAX_TASK_BYTES:
        raise InvalidTask(
            f"The task takes {len(task.canonical)} bytes and the limit is {MAX_TASK_BYTES}: "
            "use fewer cells (less depth), fewer questions, or fewer categories."
        )
    return task


def _question(
    settings: TaskSettings, index: int, place: int, partition: Partition, label: Label
) -> dict[str, Any]:
    question = settings.questions[index]
    name, epsilon = question.mechanism or settings.mechanism, settings.epsilons[index]
    parameters = settings.parameters if question.parameters is None else question.parameters
    if name == AUTO:
        chosen = choose(
            epsilon,
            partition.cells,
            label.slots if question.asks == "label" else 1,
            regression=isinstance(label, Range) and question.asks == "label",
            max_report_bytes=settings.max_report_bytes,
        )
        name, parameters = chosen.name, {**chosen.parameters(), **parameters}
    return {
        "partition": place,
        "mechanism": name,
        "epsilon": epsilon,
        "parameters": parameters,
        "asks": question.asks,
    }


def check_names(settings: TaskSettings) -> None:
    """Raise ``InvalidTask`` for unknown growers, mechanisms and criteria, before any work."""
    for question in settings.questions:
        _check_known("grower", question.grower or settings.grower, GROWERS)
        _check_known("mechanism", question.mechanism or settings.mechanism, (*MECHANISMS, AUTO))
        criterion = question.criterion or settings.criterion
        if criterion is not None:
            _check_known("criterion", criterion, CRITERIA)


def _check_known(what: str, name: str, known: Collection[str]) -> None:
    if name not in known:
        raise InvalidTask(f"Unknown {what} {name!r}: choose one of {', '.join(sorted(known))}.")
