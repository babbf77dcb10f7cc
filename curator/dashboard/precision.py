"""The precision that stands beside the number of people, while somebody types."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from privet.learning.core.amounts import TELLING, amount, percent, points
from privet.learning.core.labels import as_answer, kind_of
from privet.learning.core.public_data import Floats, stated_prevalence
from privet.learning.figures.sentences import left_open
from privet.learning.planning.at_once import collection_at_once
from privet.learning.planning.planner import PlannerAlone
from privet.learning.task_building.publication import Publication
from privet.learning.task_building.schema import with_headline
from privet.protocol.errors import InvalidPublicData, InvalidRequest, InvalidTask
from privet.protocol.features import Label, Numeric, Range

from .study import INPUTS, Column, Faults, Study

FEW = 0.1
"""Part of all that is possible above which a half-width is shown by an example."""
SETTINGS = {
    "holders",
    "epsilon",
    "depth",
    "label_part",
    "looks",
    "mechanism",
    "parameters",
    "prevalence",
}
"""Settings on which the precision depends, beside the label."""
OF_LABEL = (
    *("kind", "low", "high", "categories", "means", "as_is", "blank", "void", "void_name", "one"),
    *("empty", "empty_name"),
)
"""Fields of the label's column on which it depends."""


@dataclass(frozen=True)
class Known:
    """A figure and its precision in a few words; ``tells`` unless that is all that is possible."""

    text: str = ""
    tells: bool = False


def known_of(study: Study, settings: Publication | None, faults: Faults) -> Known:
    """The precision of a study as far as it is filled in; no text where that is too little.

    ``settings`` and ``faults`` are of ``Study.tried``.
    """
    column = _label_column(study, faults)
    label, shares = (
        (None, None) if column is None or settings is None else _label_of(column, settings)
    )
    if settings is None or label is None:
        return Known()
    features = sum(bool(of.use) for of in study.columns if of is not column)
    try:
        if study.alone:
            collection = PlannerAlone(settings).collection()
        else:
            collection = collection_at_once(settings, label, features, shares)
    except InvalidTask:
        return Known()
    half, at_one_look = collection.here.half_width, collection.at_one_look().here.half_width
    if half >= label.span / 2.0:
        return Known("too few people to tell anything")
    # A tree stands in for that of a file, whose plan may differ in the last digit.
    about, digits = ("", 3) if study.alone else ("about ", 2)
    said, once = (
        points(each)
        if not isinstance(label, Range)
        else f"{amount(float(f'{each:.{digits}g}'))}{f' {label.unit}' if label.unit else ''}"
        for each in (half, at_one_look)
    )
    before = "mean " if isinstance(label, Range) else ""
    if shares is not None:
        kind = kind_of(label)
        share = percent(shares[kind.headline], whole=True)
        source = "stated" if settings.prevalence else "in your file"
        before = f"If {share} say {as_answer(kind.names[kind.headline])}, as {source}: "
    if 0 < len(settings.disclosed) < features:
        said = f"{said} or less"  # by the groups that the file allows
    when, few = " at one look, at the end", ""
    if half > FEW * label.span:
        of_file = None if shares is None else float(shares[kind_of(label).headline])
        often = "whenever you look, " * (settings.looks == "many")
        few = f". Few: {often}{left_open(label, half, of_file)}."
    if settings.looks == "many":
        where = f"Advanced: {INPUTS['looks'].label}"
        when = f" whenever you look, ± {once} if you look once, at the end ({where})"
    return Known(f"{before}{about}± {said}{when}{few}", half <= TELLING * label.span)


def _label_column(study: Study, faults: Faults) -> Column | None:
    """The column of the label; None while what its figures' precision depends on is wrong."""
    label = (study.model_extra or {}).get("label")
    for place, column in enumerate(study.columns):
        if column.found.name == label:
            depends = {*SETTINGS, *(f"columns.{place}.{field}" for field in OF_LABEL)}
            return None if any(depends & set(_wholes(each)) for each in faults) else column
    return None


def _wholes(field: str) -> list[str]:
    """A field and those of which it is a part."""
    parts = field.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts) + 1)]


def _label_of(column: Column, settings: Publication) -> tuple[Label | None, Floats | None]:
    """The label as far as its figures' precision depends on it, and the shares of its classes, as
    stated or in the file; None where nothing tells."""
    found, name = column.found, settings.label
    if (settings.label_type or found.label_type) == "range":
        if settings.label_range is None:
            return None, None
        low, high = settings.label_range
        return Range(name=name, low=low, high=high, unit=column.unit or None), None
    renamed, rows = settings.rename.get(name, {}), Counter[str]()
    for text, count in found.rows.items():
        rows[renamed.get(text, text)] += count
    for text, count in {**found.voids, "": found.empty}.items():
        rows[renamed.get(text, renamed.get("", ""))] += count if found.rows else 0
    del rows[""]
    rows = +rows
    classes = settings.classes or tuple(sorted(rows)) or tuple(text for text, _ in found.words)
    if not classes and isinstance(found.feature, Numeric):  # few whole numbers
        classes = tuple(map(str, range(int(found.feature.low), int(found.feature.high) + 1)))
    if len(classes) < 2:
        return None, None
    try:
        label = with_headline(name, classes, settings.headline)
        y = np.repeat(np.arange(len(classes)), [rows[name] for name in classes])
        stated = stated_prevalence(settings.prevalence, label, y.astype(np.float64))
    except (InvalidPublicData, InvalidRequest):
        return None, None
    known = np.bincount(y, minlength=len(classes))
    return label, known / len(y) if stated is None and len(y) else stated
