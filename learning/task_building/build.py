"""Construction of a published task from an admin's settings and public columns.

Partitions are grown only on the public data; the same settings and data give the same bytes.
"""

from collections.abc import Callable, Collection, Hashable
from dataclasses import fields, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, sinh
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.protocol.errors import InvalidPublicData, InvalidRecord, InvalidTask
from privet.protocol.features import Feature, Label, Range, columns_of, encode_table
from privet.protocol.label_scale import Centring
from privet.protocol.mechanisms import MECHANISMS
from privet.protocol.partition import Partition, Tree
from privet.protocol.strata import Strata, disclosed_columns
from privet.protocol.task import Task
from privet.protocol.values import quoted

from ..core.growth import GrowthSpec
from ..core.public_data import PublicData, class_count, stated_prevalence
from ..core.public_model import BaseModel
from ..core.strata import Disclosure, explained_by_column, least_rows, unexplained
from ..core.trees import locate
from ..methods import GROWERS
from ..public_model.knowledge import (
    FEWEST_ROWS_TO_CENTRE,
    Knowledge,
    public_knowledge,
    residual_centring,
)
from .columns import Columns, units_of
from .label_part import chosen_part
from .register import encode_register, in_steps
from .renaming import prepared
from .schema import describe, infer_features, infer_label, label_alone
from .settings import OF_PUBLIC_DATA, TaskSettings

MOST_HIDDEN_LEVELS = 5
"""Tried where it is left open how many levels split on hidden columns, at most: each is a tree to
grow, and ``WORTH_HIDING`` mostly stops before. Chosen, not measured."""
WORTH_HIDING, WORTH_UP_TO = 0.1, 2.0
"""Share of the public model that a further hidden level must explain (ADR 0121), up to this
epsilon; above it in proportion to the noise of one count."""

CENTRED_ABOVE = 4.0
"""The epsilon up to which centres do not help predictions where all columns are hidden: -4 to +2 %
of the squared error on seven sets, and -3 to -15 % at 6 and 8."""
DEFAULT_BINS = 11
"""Levels of a number asked without public data: whole tenths of its range."""
MEAN_PART, MEAN_PART_BELOW = 1 / 3, 2.0
"""Part of the holders asked for the mean alone, beside bins, below this epsilon (ADR 0130)."""


Growing = tuple[str, tuple[GrowthSpec, ...]]
"""A grower's name and specifications to choose from; equal ones share a published partition."""
ModelFactory = Callable[[Label, PublicData], BaseModel]
"""Makes a public model of the caller's own, once label and encoded public data are known."""


def build_task(
    settings: TaskSettings,
    columns: Columns | None,
    make_base: ModelFactory | None = None,
    register: Columns | None = None,
) -> tuple[Task, PublicData]:
    """Grow the partitions on the public columns and build the task with its questions.

    Without ``columns`` (None) the task has no features: it asks for the label alone. ``make_base``
    makes a public model to use instead of Privet's own, for cells and centres. ``register`` are the
    people asked (``register.encode_register``).

    Raises ``InvalidPublicData`` for data nothing can be grown on, ``InvalidTask`` for settings
    that lead to no answerable task, and ``TooLarge`` above the published limits.
    """
    check_names(settings)
    if columns is None:
        if make_base is not None or register is not None:
            raise InvalidTask(
                "A public model and a register are about features, and there are none: give public "
                "data, or leave them out."
            )
        return build_without_features(settings), PublicData.none()
    if settings.bins is not None:
        raise InvalidTask(
            "bins are for a number asked without public data: leave them out, or the public data."
        )
    features, label, public = encode_columns(settings, columns)
    if register is not None:
        settings, public = with_register(settings, features, label, public, register)
    base = None if make_base is None else make_base(label, public)
    return TaskBuilder(features, label, public, base).task(settings), public


class TaskBuilder:
    """Builds tasks of encoded public records, and of the public model ``base``, if there is one.

    Trees, their parts and tasks are kept, since plans ask for few of them many times.
    """

    def __init__(
        self,
        features: tuple[Feature, ...],
        label: Label,
        public: PublicData,
        base: BaseModel | None = None,
    ) -> None:
        self.features, self.label, self.public, self.base = features, label, public, base
        self._tasks = dict[str, Task]()
        self._grown = dict[Hashable, Partition]()
        self._parts = dict[Hashable, dict[Hashable, Any]]()

    def task(self, settings: TaskSettings) -> Task:
        """The task of these settings; raises as ``build_task``."""
        key = settings.model_dump_json()
        if key not in self._tasks:
            self._tasks[key] = self._built(settings)
        return self._tasks[key]

    @cached_property
    def _knowledge(self) -> Knowledge:
        public, classes = self.public, class_count(self.label)
        return public_knowledge(public.X, public.y, classes, self.base, public.register)

    def _built(self, settings: TaskSettings) -> Task:
        if settings.disclosed:
            settings = self._hiding_half(settings)
        label, disclosure = self.label, self._disclosure(settings)
        partitions: dict[Growing, Partition] = {}
        questions = []
        for of, centred in settings_by_question(settings, label):
            growing = of.grower, self._specs(of, disclosure, centred=centred)
            if growing not in partitions:
                partitions[growing] = self._partition(growing, disclosure)
            cells, place = partitions[growing], list(partitions).index(growing)
            centring = None
            if centred and isinstance(label, Range):
                centring = self._centring(label, cells, wanted=bool(of.centred))
            asked = {"epsilon": of.epsilon, "asks": of.questions[0].asks}
            perturbed = {"mechanism": of.mechanism, "parameters": of.parameters}
            questions.append({"partition": place, "centring": centring, **asked, **perturbed})
        grown, asked_by = list(partitions.values()), {"allocation": settings.allocation}
        centred = questions[0]["centring"] is not None
        upper, hidden = Partition.root(self.public.X.shape[1]), grown[0].cells
        group_sizes: tuple[int, ...] = ()
        if disclosure is not None:
            strata = Strata.of(grown[0], disclosure.columns)
            group_sizes = self._group_sizes(grown[0], strata, disclosure, settings)
            upper, hidden = strata.tree(grown[0]), strata.most_hidden
        if part := chosen_part(settings, hidden, label.slots, centred=centred):
            grown.append(upper)
            questions.append(_about_label(settings, len(grown) - 1))
            asked_by = _by_parts(part)
        return _task(settings, self.features, label, grown, questions, asked_by, group_sizes)

    def _disclosure(self, settings: TaskSettings) -> Disclosure | None:
        """The disclosed columns and the smallest group; None if nothing is disclosed.

        Raises ``InvalidTask`` for a column that cannot be disclosed.
        """
        if not settings.disclosed:
            return None
        names, public = [feature.name for feature in self.features], self.public
        if self.label.name in settings.disclosed:
            raise InvalidTask(
                f"The label {self.label.name!r} cannot be disclosed: it is what reports protect."
            )
        if unknown := [name for name in settings.disclosed if name not in names]:
            raise InvalidTask(
                f"There is no column {unknown[0]!r} to be disclosed: the features are "
                f"{quoted(names)}."
            )
        if len(settings.questions) > 1:
            raise InvalidTask(
                "A task with disclosed columns has one question, about the label: reports to "
                "several would disclose several cells. Ask one question, or disclose nothing."
            )
        columns = disclosed_columns(self.features, settings.disclosed)
        group, worth = settings.smallest_group, _worth_hiding(settings.epsilon)
        if public.register is None:
            needed = least_rows(len(public), settings.holders, group)
            return Disclosure(columns, public.X, needed, worth)
        people = len(public.register)  # who are counted, so that there is no chance to allow for
        needed = 0 if group == 1 else ceil(group * people / settings.holders)
        return Disclosure(columns, public.register, needed, worth)

    def _hiding_half(self, settings: TaskSettings) -> TaskSettings:
        """The settings with fewer columns disclosed, where cells then follow the public model
        better by more than a hidden level is worth (ADR 0121).

        Where every cell is a stratum and groups allow few of these, hidden levels below fewer
        strata may tell more. Of the columns on which the tree splits the half stays disclosed whose
        splits explain most.
        """
        of = settings.by_question()[0]
        if (of.depth, of.hidden_depth) != (None, None) or not GROWERS[of.grower].uses_public_model:
            return settings
        tree = self._tree(settings)
        if Strata.of(tree, disclosed_columns(self.features, settings.disclosed)).most_hidden > 1:
            return settings
        known = self._knowledge
        explained = explained_by_column(tree, known.points, known.scores)
        by_name = dict.fromkeys(settings.disclosed, 0.0)
        for column, of_column in zip(columns_of(self.features), explained, strict=True):
            if column.feature.name in by_name:
                by_name[column.feature.name] += of_column
        used = sorted(filter(by_name.get, by_name), key=by_name.__getitem__, reverse=True)
        if len(used) < 2:
            return settings
        most = used[: (len(used) + 1) // 2]
        half = tuple(name for name in settings.disclosed if name in most)
        fewer = settings.model_copy(update={"disclosed": half})
        other = self._tree(fewer)
        of_all, left, left_by_fewer = (
            unexplained(partition, known.points, known.scores)
            for partition in (Partition.root(tree.columns), tree, other)
        )
        worth = _worth_hiding(settings.epsilon) * of_all
        return fewer if left_by_fewer < left - worth else settings

    def _tree(self, settings: TaskSettings) -> Partition:
        """The partition of a task with disclosed columns, which has one question."""
        disclosure = self._disclosure(settings)
        ((of, centred),) = settings_by_question(settings, self.label)
        growing = of.grower, self._specs(of, disclosure, centred=centred)
        return self._partition(growing, disclosure)

    def _group_sizes(
        self, tree: Partition, strata: Strata, disclosure: Disclosure, settings: TaskSettings
    ) -> tuple[int, ...]:
        """Holders expected in each stratum, by its public records; ``settings.holders`` in all.

        By a register they are the smallest group and whole steps more, rounded down.
        """
        holders = settings.holders
        rows = np.bincount(strata.of_cell[locate(tree, disclosure.rows)], minlength=len(strata))
        expected = holders * rows / len(disclosure.rows)
        if self.public.register is not None:
            least = settings.smallest_group
            return tuple(max(least + in_steps(size - least), 0) for size in expected + 1e-9)
        group_sizes = np.floor(expected).astype(np.int64)
        largest_remainders = np.argsort(group_sizes - expected, kind="stable")
        group_sizes[largest_remainders[: holders - group_sizes.sum()]] += 1
        return tuple(group_sizes.tolist())

    def _specs(
        self, of: TaskSettings, disclosure: Disclosure | None, *, centred: bool
    ) -> tuple[GrowthSpec, ...]:
        """The growth specification of a question's partition, with defaults for what is left open.

        Several ways where the number of levels for hidden columns is left open.
        """
        grower = GROWERS[of.grower]

        def spec(hidden_depth: int | None) -> GrowthSpec:
            depth = of.depth
            if depth is None:
                depth = grower.default_depth(
                    of.holders,
                    of.epsilon,
                    columns=self.public.X.shape[1],
                    public_rows=len(self.public),
                    centred=centred,
                    slots=self.label.slots,
                    hidden_depth=hidden_depth,
                )
            decided = {"depth": depth, "hidden_depth": min(hidden_depth or 0, depth)}
            return GrowthSpec(
                **{each.name: getattr(of, each.name) for each in fields(GrowthSpec)} | decided
            )

        if disclosure is None:
            return (spec(None),)
        if disclosure.columns.all():
            return (spec(0),)
        if of.hidden_depth is not None:
            return (spec(of.hidden_depth),)
        if not grower.uses_public_model:
            raise InvalidTask(
                f"Give hidden_depth, the number of {of.grower}'s levels that split on hidden "
                "columns, or use the grower distilled, which chooses it."
            )
        specs = [spec(hidden_depth) for hidden_depth in range(MOST_HIDDEN_LEVELS + 1)]
        return tuple(each for level, each in enumerate(specs) if each.depth >= level)

    def _partition(self, growing: Growing, disclosure: Disclosure | None) -> Partition:
        """A partition, from a generator seeded by the published seed.

        Of several that with the fewest hidden levels whose cells follow the public model nearly as
        well as the best.
        """
        key = growing, disclosure and disclosure.key
        if key not in self._grown:
            if disclosure is not None:
                of_grower = growing[0], disclosure.columns.tobytes()
                parts = self._parts.setdefault(of_grower, {})
                disclosure = replace(disclosure, parts=parts)
            self._grown[key] = self._best(growing, disclosure)
        return self._grown[key]

    def _best(self, growing: Growing, disclosure: Disclosure | None) -> Partition:
        (grower, specs), public = growing, self.public
        grown = [
            GROWERS[grower](
                public.X,
                public.y,
                spec,
                classes=class_count(self.label),
                base=self.base,
                register=public.register,
                disclosure=disclosure,
            )
            for spec in dict.fromkeys(specs)
        ]
        if len(grown) == 1 or disclosure is None:
            return grown[0]
        known = self._knowledge
        of_all = unexplained(Partition.root(public.X.shape[1]), known.points, known.scores)
        left = [unexplained(tree, known.points, known.scores) for tree in grown]
        enough = min(left) + disclosure.worth_hiding * of_all
        return next(tree for tree, rest in zip(grown, left, strict=True) if rest <= enough)

    def _centring(self, label: Range, partition: Partition, *, wanted: bool) -> Centring | None:
        """Centres from the public model's cell means; None for too few records, unless ``wanted``.

        They are published, so a register has no part in them.
        """
        public = self.public
        means, _ = public_knowledge(public.X, public.y, 0, self.base).cell_means(partition)
        centring = residual_centring(label, public, partition, means[:, 0])
        if centring is None and wanted:
            raise InvalidPublicData(
                f"Centres need at least {FEWEST_ROWS_TO_CENTRE} public records, and there are "
                f"{len(public)}: add some, or leave centred out."
            )
        return centring


def build_without_features(settings: TaskSettings) -> Task:
    """The task that asks everybody for the label, and nothing else.

    Of a number a part of the holders, ``label_part``, is asked for the mean alone. Raises
    ``InvalidTask`` for settings that say something about public data.
    """
    defaults = TaskSettings.model_fields
    for name in OF_PUBLIC_DATA:
        field = defaults[name]
        if getattr(settings, name) != field.get_default(call_default_factory=True):
            raise InvalidTask(
                f"There are no public data, and {name} is about them: leave it out, or give the "
                "file."
            )
    label = label_alone(settings)
    question = {"partition": 0, "mechanism": settings.mechanism, "epsilon": settings.epsilon}
    questions, asked_by = [{**question, "parameters": settings.parameters}], dict[str, Any]()
    part = settings.label_part
    if isinstance(label, Range):
        bins = DEFAULT_BINS if settings.bins is None else settings.bins
        questions[0]["levels"] = bins
        if part is None:
            part = MEAN_PART if settings.epsilon < MEAN_PART_BELOW else 0.0
        part *= bins > 2
        if part:
            questions.append(_about_label(settings, 0))
            asked_by = _by_parts(part)
    elif settings.bins is not None or part:
        name = "label_part" if part else "bins"
        raise InvalidTask(f"{name} is for a number where nothing else is asked: leave it out.")
    return _task(settings, (), label, [Partition.root(0)], questions, asked_by, ())


def with_register(
    settings: TaskSettings,
    features: tuple[Feature, ...],
    label: Label,
    public: PublicData,
    register: Columns,
) -> tuple[TaskSettings, PublicData]:
    """The public data with the people asked, all of whom are expected to answer by default."""
    people = encode_register(settings, features, label, register)
    if "holders" not in settings.model_fields_set:
        settings = settings.model_copy(update={"holders": len(people)})
    return settings, replace(public, register=people)


def encode_columns(
    settings: TaskSettings, columns: Columns
) -> tuple[tuple[Feature, ...], Label, PublicData]:
    """Features and label as published, and the public records encoded by them."""
    columns = prepared(columns, settings)
    units = units_of(columns)
    features = tuple(
        describe(feature, settings, units) for feature in infer_features(columns, settings)
    )
    label = describe(infer_label(columns, settings), settings, units)
    public = encode_public(features, label, columns)
    prevalence = stated_prevalence(settings.prevalence, label, public.y)
    return features, label, replace(public, prevalence=prevalence)


def encode_public(features: tuple[Feature, ...], label: Label, columns: Columns) -> PublicData:
    """The public records in encoded form; raises ``InvalidPublicData`` where one does not fit."""
    try:
        read = {field.name: field.read_cells(columns[field.name]) for field in (*features, label)}
        labels = read.pop(label.name)
        return PublicData(encode_table(features, read), encode_labels(label, labels))
    except InvalidRecord as error:
        raise InvalidPublicData(f"The public data does not fit the task. {error.detail}") from None


def encode_labels(label: Label, values: Any) -> NDArray[np.float64]:
    """Class indices, or label values clipped to the published range, shape ``(rows,)``."""
    if isinstance(label, Range) and isinstance(values, np.ndarray):
        return np.clip(values, label.low, label.high)
    codes = {value: label.encode(value) for value in dict.fromkeys(values)}
    return np.array([codes[value] for value in values], dtype=np.float64)


def _worth_hiding(epsilon: float) -> float:
    """Share of the public model that a further hidden level must explain.

    The standard error that one report adds to a cell's count is 1 / sinh(epsilon / 2) at least.
    """
    return WORTH_HIDING * min(1.0, sinh(WORTH_UP_TO / 2.0) / sinh(epsilon / 2.0))


def settings_by_question(settings: TaskSettings, label: Label) -> list[tuple[TaskSettings, bool]]:
    """The settings for each question, and whether numbers are reported relative to their centre.

    By default above ``CENTRED_ABOVE`` where all columns are hidden, the grower uses the public
    model, a part may be asked for the label alone, which states the mean, and no other question
    asks for it: counts of several questions are combined, which requires one range for all.
    """
    questions, centred = settings.by_question(), []
    alone = sum(of.asks_label for of in questions) == 1
    for of in questions:
        wanted = of.centred
        if wanted and not (isinstance(label, Range) and of.asks_label):
            raise InvalidTask("centred is for questions about a numeric label: leave it out.")
        if wanted is None:
            wanted = alone and of.asks_label and GROWERS[of.grower].uses_public_model
            wanted = wanted and of.label_part != 0.0 and not of.disclosed
            wanted = wanted and of.epsilon > CENTRED_ABOVE
        centred.append(wanted and isinstance(label, Range))
    return list(zip(questions, centred, strict=True))


def _about_label(settings: TaskSettings, partition: int) -> dict[str, Any]:
    """The question about the label alone, in the one cell of a partition or of each stratum."""
    return {"partition": partition, "mechanism": "subset", "epsilon": settings.epsilon}


def _by_parts(label_part: float) -> dict[str, Any]:
    """An allocation of about this share of the holders to the second of two questions."""
    share = Fraction(label_part).limit_denominator(1000)
    share = min(max(share, Fraction(1, 1000)), Fraction(999, 1000))
    return {
        "allocation": "one",
        "parts": (share.denominator - share.numerator, share.numerator),
    }


def _task(
    settings: TaskSettings,
    features: tuple[Feature, ...],
    label: Label,
    partitions: list[Partition],
    questions: list[dict[str, Any]],
    asked_by: dict[str, Any],
    group_sizes: tuple[int, ...],
) -> Task:
    """The task as it is published; raises ``InvalidTask`` for one that is too long."""
    return Task.published(
        {
            **settings.published(),
            "features": features,
            "label": label,
            "partitions": tuple(Tree.of(partition) for partition in partitions),
            "questions": questions,
            **asked_by,
            "group_sizes": group_sizes,
        }
    )


def check_names(settings: TaskSettings) -> None:
    """Raise ``InvalidTask`` for unknown growers and mechanisms, before any work."""
    valid: dict[str, Collection[str]] = {"grower": GROWERS, "mechanism": MECHANISMS}
    for of in settings.by_question():
        for what, choices in valid.items():
            named = getattr(of, what)
            if named not in choices:
                listed = ", ".join(sorted(choices))
                raise InvalidTask(f"Unknown {what} {named!r}: choose one of {listed}.")
