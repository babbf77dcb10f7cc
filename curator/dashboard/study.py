"""The wizard's document: the settings of a new task as somebody types them, and what becomes of
each column of the file.

A field of the form is named by its place in the document, such as ``columns.3.low``, and what is
wrong is said by the same name.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError
from pydantic_core import ErrorDetails

from privet.learning.core.amounts import amount, lowered
from privet.learning.methods import GROWERS
from privet.learning.task_building.inputs import inputs_of, typed_float
from privet.learning.task_building.publication import Publication, dates_of
from privet.learning.task_building.review import Proposal
from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Categorical, Numeric
from privet.protocol.limits import MAX_NAME_LENGTH, TASK_CAP
from privet.protocol.mechanisms import MECHANISMS
from privet.protocol.wire import fault_text, first_fault
from privet.tables.text_format import OF_FILE

from .pages import as_question

CHOICES = {"grower": tuple(GROWERS), "mechanism": tuple(MECHANISMS), "headline": ()}
"""The names among which the form lets people choose, by setting; a headline's are the answers,
which its script knows."""
INPUTS = {
    name: replace(each, kind="choice", choices=CHOICES[name]) if name in CHOICES else each
    for name, each in inputs_of(Publication).items()
}
BY_HAND = (
    *(*OF_FILE, "ignore", "features", "describe", "disclosed", "classes", "label_range", "rename"),
    *("years", "numbers", "name", "label", "epsilon", "holders", "description", "invited"),
    *(
        "opens",
        "closes",
        "waves",
        "mode",
        "asker",
        "language",
        "translations",
        "prevalence",
        "headline",
    ),
)
"""Settings with fields in the form's own words; those of all others are made."""
OF_COLUMNS = ("smallest_group", "prevalence")
"""Settings that a question without a file has no use for, beside those of the method."""
OF_NO_FILE = ("bins",)
"""Settings that only such a question has."""
WORDS = {
    "missing": "fill this in",
    "string_too_short": "fill this in",
    "greater_than_equal": "at least {ge}",
    "greater_than": "more than {gt}",
    "less_than_equal": "at most {le}",
    "less_than": "less than {lt}",
    "dates_swapped": "before the first day",
    "string_too_long": "at most {max_length} characters",
    "too_short": "at least {min_length}",
    "too_long": "at most {max_length}",
}
"""Faults in words, by pydantic's types of errors."""

ALONE = "answer"
"""The name of the column of a question that is asked without a file."""

Typed = Annotated[str, StringConstraints(strip_whitespace=True)]
Faults = dict[str, str]
Fault = Callable[[str, str], None]
"""Says of a field, by its name in a column, what is wrong."""


class Column(BaseModel):
    """The decisions on a column, beside what was ``found``.

    ``use`` is whether people are asked for it, "year" for the year of a date, "number" for the
    number of a cell with a unit. ``means`` has the names of the values in ``found.words``, unless
    they stay ``as_is``, and ``one`` the decision on each of ``found.merges``.
    Of one ``alone``, a question that is asked without a file, nothing was found.
    """

    model_config = ConfigDict(extra="forbid")

    found: Proposal
    alone: bool = False
    use: bool | Literal["", "year", "number"] = False
    kind: str = ""
    low: Typed = ""
    high: Typed = ""
    categories: Typed = ""
    rename: Typed = ""
    prompt: Typed = ""
    description: Typed = ""
    unit: Typed = ""
    disclosed: bool = False
    means: list[Typed] = []
    as_is: bool = False
    blank: Literal["", "missing", "answer"] = ""
    void: Literal["missing", "answer"] = "missing"
    void_name: Typed = ""
    one: list[Literal["", "yes", "no"]] = []

    @classmethod
    def proposed(cls, found: Proposal) -> Self:
        """The column as it was found, with round ends, and nothing decided."""
        f, number = found.feature, dict[str, Any]()
        if isinstance(f, Numeric):
            low, high = (f"{end:.15g}" for end in found.round)
            number = {"low": low, "high": high, "unit": "" if found.words else f.unit or ""}
        return cls(
            found=found,
            use="" if found.years or found.numbers else f is not None and not found.remarks,
            kind=f.kind if f else "",
            categories="\n".join(f.categories) if isinstance(f, Categorical) else "",
            prompt=as_question(found.title) if found.title != found.name else "",
            means=[word for _, word in found.words],
            one=["" for _ in found.merges],
            **number,
        )

    @classmethod
    def of_question(cls) -> Self:
        """The column of a question without a file, to which people say yes or no."""
        found = Proposal(ALONE, None, (), "", {}, (), "classes")
        return cls(found=found, alone=True, use=True, kind="categorical", categories="yes\nno")

    def settings(self, label: str, label_type: str, fault: Fault) -> dict[str, Any]:
        """The settings that the column makes, without those that agree with what was inferred."""
        if self.alone:
            return self._asked_alone(fault)
        name, made = self.found.name, dict[str, Any]()
        if name != label and not self.use:
            return {"ignore": [name]}
        if names := self._called(fault) | self._merged(fault) | self._renamed(fault):
            made["rename"] = {name: names}
        is_classes = name == label and (label_type or self.found.label_type) == "classes"
        texts = {"prompt": self.prompt, "description": self.description}
        texts |= {} if self.kind == "categorical" or is_classes else {"unit": self.unit}
        if any(texts.values()):
            made["describe"] = {name: {key: text for key, text in texts.items() if text}}
        if self.use == "number" and (numbers := self.found.numbers):
            ends = numbers.low, numbers.high
            made["numbers"] = [name]
            if name == label:
                made |= {"label_type": "range", "label_range": list(ends)}
            else:
                made["features"] = {name: dict(zip(("low", "high"), ends, strict=True))}
        elif name == label:
            made |= self._label(label_type, fault)
        elif self.use == "year":
            made["years"] = [name]
        elif declared := self._declared(fault):
            made["features"] = {name: declared}
        return made | ({"disclosed": [name]} if self.disclosed else {})

    def _asked_alone(self, fault: Fault) -> dict[str, Any]:
        """The settings of a question without a file, all of them declared."""
        if not self.prompt:
            fault("prompt", "fill this in")
        texts = {"prompt": self.prompt, "description": self.description}
        if self.kind == "categorical":
            made: dict[str, Any] = {"label_type": "classes", "classes": _lines(self.categories)}
        else:
            made, texts["unit"] = {"label_type": "range"}, self.unit
            low, high = self._ends(fault)
            if low < high:
                made["label_range"] = [low, high]
            elif self.low == self.high != "":
                fault("high", f"more than {self.low}, where the numbers begin")
        given = {key: text for key, text in texts.items() if text}
        return made | {"describe": {ALONE: given}}

    @property
    def _has_words(self) -> bool:
        """True if its two values are called by words of their own."""
        return bool(self.means) and not self.as_is

    def _declared(self, fault: Fault) -> dict[str, Any]:
        """The settings of a feature that differ from the inferred ones."""
        f = self.found.feature
        if self._has_words:  # which are inferred
            return {}
        if self.found.is_number and not isinstance(f, Numeric) and self._left_numbers():
            return {"kind": "numeric"}
        if self.kind != (f.kind if f else ""):
            return {"kind": self.kind}
        if isinstance(f, Numeric):
            low, high = self._ends(fault)
            return ({"low": low} if low != f.low else {}) | (
                {"high": high} if high != f.high else {}
            )
        if not isinstance(f, Categorical):
            return {}
        categories = _lines(self.categories)
        found = _lines("\n".join(f.categories))
        return {"categories": categories} if categories != found else {}

    def _left_numbers(self) -> bool:
        """True if all is numbers after what was decided of a column that is mostly numbers."""
        if self.found.blanks:
            return self.blank == "missing"
        return all(one == "yes" for one in self.one)

    def _label(self, kind: str, fault: Fault) -> dict[str, Any]:
        """The label's own settings, of a ``kind`` that was chosen.

        A number has the ends that the form shows, so that the file's own tell nobody's value.
        """
        f = self.found.feature
        if not kind and not self._has_words and f and self.kind != f.kind:
            kind = {"numeric": "range", "categorical": "classes"}.get(self.kind, "")
        made: dict[str, Any] = {"label_type": kind} if kind else {}
        if self._has_words:
            return made
        if isinstance(f, Numeric):
            is_range = (kind or self.found.label_type) == "range"
            return made | ({"label_range": list(self._ends(fault))} if is_range else {})
        categories = self._declared(fault).get("categories")
        return made | ({"classes": categories} if categories and kind != "range" else {})

    def _ends(self, fault: Fault) -> tuple[float, float]:
        ends = []
        for name, text in (("low", self.low), ("high", self.high)):
            try:
                ends.append(typed_float(text))
            except InvalidRequest as error:
                fault(name, lowered(error.detail))
        low, high = ends if len(ends) == 2 else (0.0, 0.0)
        if self.blank == "answer" and isinstance(self.found.feature, Numeric):
            numbers = [float(text) for text in self.found.blanks]
            low, high = min(low, *numbers), max(high, *numbers)
        if low > high:
            fault("high", f"at least {amount(low)}, where the numbers begin")
        return low, high

    def _called(self, fault: Fault) -> dict[str, str]:
        """New names of a column's two values."""
        if not self._has_words:
            return {}
        if not any(self.means):
            fault("means.0", "say what they mean, or leave them as they are")
        elif not all(self.means):
            fault(f"means.{self.means.index('')}", "fill this in")
        elif len(set(self.means)) == 1:
            fault("means.1", "another word than the one before")
        pairs = zip(self.found.words, self.means, strict=True)
        return {stands: word for (stands, _), word in pairs if stands != word}

    def _merged(self, fault: Fault) -> dict[str, str]:
        """New names of the categories that are one with another, as somebody has decided."""
        names = {}
        for number, (pair, one) in enumerate(zip(self.found.merges, self.one, strict=True)):
            if one == "yes":
                names[pair.old] = pair.new
            elif not one:
                fault(f"one.{number}", "choose one")
        return {old: names.get(new, new) for old, new in names.items()}

    def _renamed(self, fault: Fault) -> dict[str, str]:
        """New names of what may be missing, as somebody has decided, and those of the lines."""
        names = dict.fromkeys(self.found.blanks, "") if self.blank == "missing" else {}
        if self.found.blanks and not self.blank and self.found.years is None:
            fault("blank", "choose one")
        if self.void == "answer":
            names |= dict.fromkeys(self.found.voids, self.void_name)
            if not self.void_name:
                fault("void_name", "fill this in")
        for line in _lines(self.rename):
            old, equals, new = line.rpartition("=")
            if not equals:
                fault("rename", f"{line!r}: write the old name, =, and the new name")
            names[old.strip()] = new.strip()
        return names


class Study(BaseModel):
    """The document: days and columns, and as extra fields the other settings as they were typed."""

    model_config = ConfigDict(extra="allow")

    columns: list[Column] = []
    asker: dict[str, Typed] = {}
    opens: str = ""
    closes: str = ""
    wave_count: int | Literal[""] = ""
    waves: list[dict[str, str]] = []
    mode: str = "rotate"

    @property
    def alone(self) -> bool:
        """True if it asks one question, without a file."""
        return any(column.alone for column in self.columns)

    @classmethod
    def parse(cls, text: bytes) -> Self:
        """The document from JSON; raises ``InvalidRequest`` unless the form's script made it."""
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise InvalidRequest(f"Load the page again. {first_fault(error)}") from None

    def read(self, now: float) -> tuple[Publication | None, Faults]:
        """The settings that the document makes, None if there are faults, and these by field.

        Every fault is found at once: validation goes on without the settings that have one.
        """
        settings, faults = self.tried(now)
        return (None if faults else settings), faults

    def tried(self, now: float) -> tuple[Publication | None, Faults]:
        """The same without the settings at fault, which have their defaults."""
        faults: Faults = {}
        values = dict(self._written(faults))
        label = values.get("label", "")
        for place, column in enumerate(self.columns):

            def fault(field: str, said: str, place: int = place) -> None:
                faults.setdefault(f"columns.{place}.{field}", said)

            for name, value in column.settings(label, values.get("label_type", ""), fault).items():
                values[name] = _joined(values.get(name), value)
        if self.alone:
            values.setdefault("name", (self.columns[0].prompt or ALONE)[:MAX_NAME_LENGTH])
        for name, given in INPUTS.items():
            if given.required and name not in values:
                faults.setdefault(name, "choose one" if name == "label" else "fill this in")
        while True:
            try:
                stand_ins = {"name": "-", "label": "-", "epsilon": 1.0}
                settings = Publication.model_validate_json(json.dumps(stand_ins | values))
                break
            except ValidationError as error:
                found = error.errors(include_url=False)
                faults = {self._field(each, label): _words(each) for each in found} | faults
                at_fault = {_setting(each) for each in found}
                if not at_fault & values.keys():
                    return None, faults
                at_fault |= {"mode"} if "waves" in at_fault else set()
                values = {name: value for name, value in values.items() if name not in at_fault}
        return settings, _of_pages(settings, now) | faults

    def _written(self, faults: Faults) -> Iterator[tuple[str, Any]]:
        """The settings that stand in the document, without those left empty."""
        yield "asker", {name: text for name, text in self.asker.items() if text}
        for name, value in (self.model_extra or {}).items():
            text = value.strip() if isinstance(value, str) else value
            if name in INPUTS and text not in (None, "", False, []):
                try:
                    yield name, INPUTS[name].value(text) if isinstance(text, str) else text
                except InvalidRequest as error:
                    faults[name] = lowered(error.detail)
        if self.opens and not self.wave_count:  # waves have days of their own
            yield "opens", _midnight(self.opens)
        if self.closes and not self.wave_count:
            yield "closes", _midnight(self.closes, days=1)
        waves = []
        for number, wave in enumerate(self.waves[: self.wave_count or 0]):
            missing = [end for end in ("first", "last") if not wave.get(end)]
            faults |= {f"waves.{number}.{end}": f"choose its {end} day" for end in missing}
            if not missing:
                waves.append(f"{_midnight(wave['first'])}/{_midnight(wave['last'], days=1)}")
        if waves and len(waves) == self.wave_count:
            yield from (("waves", waves), ("mode", self.mode))

    def _field(self, error: ErrorDetails, label: str) -> str:
        """The field at fault, of those that make a setting."""
        name, rest = _setting(error), [str(part) for part in error["loc"][1:]]
        places = {column.found.name: place for place, column in enumerate(self.columns)}
        if name == "asker":
            return ".".join([name, *rest])
        if name == "waves":
            return f"waves.{error.get('ctx', {}).get('wave', 1) - 1}.first"
        if name in ("features", "describe", "rename") and rest:
            part = rest[1] if len(rest) > 1 and name != "rename" else name
            return f"columns.{places[rest[0]]}.{part}"
        if name in ("classes", "label_range"):
            return f"columns.{places[label]}.{'categories' if name == 'classes' else 'high'}"
        return name


def _of_pages(settings: Publication, now: float) -> Faults:
    """Faults that people's pages would find, and days that have passed."""
    lifetime, faults = settings.lifetime, Faults()
    if settings.epsilon > TASK_CAP:
        faults["epsilon"] = f"at most {TASK_CAP:g}, which the answer page takes for one study"
    elif lifetime > TASK_CAP:
        faults["epsilon"] = (
            f"the answers to all {len(settings.waves)} waves cost {lifetime:g} together, and the "
            f"answer page takes at most {TASK_CAP:g}"
        )
    if settings.ends is not None and settings.ends <= now:
        faults["waves.0.last" if settings.waves else "closes"] = "this day has passed"
    return faults


def _midnight(day: str, days: int = 0) -> str:
    """The beginning of a day in UTC, or so many days later; the text itself if it is no day."""
    try:
        begins = datetime.combine(date.fromisoformat(day), time(), UTC)
    except ValueError:
        return day
    return (begins + timedelta(days=days)).isoformat()


@dataclass(frozen=True)
class PlannedWave:
    """A wave as its settings have it."""

    opens: datetime
    closes: datetime

    @classmethod
    def of(cls, wave: str) -> "PlannedWave":
        return cls(*(datetime.fromtimestamp(each, UTC) for each in dates_of(wave)))


def _setting(error: ErrorDetails) -> str:
    """The setting at fault; empty if the error names none."""
    said = error.get("ctx", {})
    return str("waves" if "wave" in said else said.get("setting") or [*error["loc"], ""][0])


def _words(error: ErrorDetails) -> str:
    """The fault in words that stand behind a field's label."""
    said, kind = error.get("ctx", {}), error["type"]
    if kind in WORDS:
        numbers = {name: amount(float(n)) for name, n in said.items() if isinstance(n, int | float)}
        return WORDS[kind].format(**numbers)
    return lowered(fault_text(kind, error["msg"]).removeprefix(f"wave {said.get('wave')} "))


def _joined(one: Any, other: Any) -> Any:
    """Two parts of a setting of several columns; of any other the second."""
    if isinstance(one, dict):
        return one | other
    return one + other if isinstance(one, list) else other


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]
