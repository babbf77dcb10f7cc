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
from privet.protocol.values import NUMBER, some_of
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
    *("opens", "closes", "waves", "mode", "asker", "language", "translations", "prevalence"),
    "headline",
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
    they stay ``as_is``, and ``one`` the decision on each of ``found.merges``, of which the first
    ``spelled`` differ in case or spaces alone, and have the first one's. ``empty`` is what becomes
    of a label's rows in which nothing stands, and ``empty_name`` their answer.
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
    spelled: int = 0
    empty: Literal["", "missing", "answer"] = ""
    empty_name: Typed = "no answer"

    @classmethod
    def proposed(cls, found: Proposal) -> Self:
        """The column as it was found, with round ends, and nothing decided."""
        f, number = found.feature, dict[str, Any]()
        if isinstance(f, Numeric) or found.as_number:
            low, high = (f"{end:.15g}" for end in found.round)
            unit = f.unit if isinstance(f, Numeric) and not found.words else ""
            number = {"low": low, "high": high, "unit": unit or ""}
        return cls(
            found=found,
            use="" if found.years or found.numbers else found.can_be_asked and not found.remarks,
            kind=f.kind if f else "",
            categories="\n".join(f.choices) if isinstance(f, Categorical) else "",
            prompt=as_question(found.title) if found.title != found.name else "",
            means=[word for _, word in found.words],
            one=["" for _ in found.merges],
            spelled=sum(pair.by_case for pair in found.merges),
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
        if names := self._names(fault) | self._without_answer(label, label_type, fault):
            made["rename"] = {name: names}
        is_classes = name == label and self._label_type(label_type) == "classes"
        if texts := self._texts(is_classes=is_classes):
            made["describe"] = {name: texts}
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

    def _texts(self, *, is_classes: bool) -> dict[str, str]:
        """The texts at its question, by setting."""
        texts = {"prompt": self.prompt, "description": self.description}
        if not is_classes and (self._is_number or self.use == "number"):
            texts["unit"] = self.unit
        return {key: text for key, text in texts.items() if text}

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
        if self._is_number:
            number = self._number(fault)
            if number is None:
                return {}
            low, high = self._ends(fault)
            made: dict[str, Any] = {} if number is f else {"kind": "numeric"}
            return (
                made
                | ({"low": low} if low != number.low else {})
                | ({"high": high} if high != number.high else {})
            )
        if self.kind != (f.kind if f else ""):
            return {"kind": self.kind}
        categories = _lines(self.categories)
        found = _lines("\n".join(f.choices)) if isinstance(f, Categorical) else []
        return {"categories": categories} if categories != found else {}

    @property
    def _is_number(self) -> bool:
        """True if it counts as a number: by its kind, or since all that is left are numbers after
        what was decided of texts among them."""
        f = self.found.feature
        if self._has_words or self.kind == "numeric":
            return not self._has_words
        if not self.found.is_number or isinstance(f, Numeric):
            return False
        if self.found.blanks:
            return self.blank == "missing"
        return all(self._is_one(number) == "yes" for number in range(len(self.one)))

    def _number(self, fault: Fault) -> Numeric | None:
        """The numbers of the file; None if something else is left among them."""
        if isinstance(self.found.feature, Numeric):
            return self.found.feature
        names = self._names(lambda *_: None)
        texts = dict.fromkeys(names.get(text, text) for text in self.found.rows)
        left = [text for text in texts if text and not NUMBER.fullmatch(text)]
        if left:
            some = some_of(f"“{text}”" for text in left)
            fault("kind", f"{some} {'is no number' if len(left) == 1 else 'are no numbers'}")
        elif not self.found.as_number:
            fault("kind", "there are no two numbers in the column")
        return None if left else self.found.as_number

    def _label_type(self, chosen: str) -> str:
        """The type of label that it becomes: the ``chosen`` one, or else by its kind."""
        f = self.found.feature
        if chosen:
            return chosen
        if self._is_number and not isinstance(f, Numeric):
            return self.found.label_as_number
        of_file = self._is_number or self._has_words or not f
        return self.found.label_type if of_file else "classes"

    def _label(self, chosen: str, fault: Fault) -> dict[str, Any]:
        """The label's own settings, of a type that was ``chosen``.

        A number has the ends that the form shows, so that the file's own tell nobody's value.
        """
        f, kind = self.found.feature, self._label_type(chosen)
        is_switched = f is not None and not self._has_words and self.kind != f.kind
        stated = chosen or is_switched or kind != self.found.label_type
        made: dict[str, Any] = {"label_type": kind} if stated else {}
        if self._has_words:
            return made
        if kind == "range":
            number = self._number(fault)
            return made | ({"label_range": list(self._ends(fault))} if number else {})
        if not isinstance(f, Categorical) or self._is_number:
            return made
        categories = [each for each in _lines(self.categories) if each != f.missing]
        if categories == _lines("\n".join(f.choices)):
            return made
        return made | {"classes": [*categories, *self._answer_of_empty]}

    @property
    def _answer_of_empty(self) -> list[str]:
        """The name of the answer of a label's empty rows, if they have one."""
        return [self.empty_name] if self.found.empty and self.empty == "answer" else []

    def _without_answer(self, label: str, label_type: str, fault: Fault) -> dict[str, str]:
        """New names of what is missing in the label: an answer, or nothing, without the row."""
        if self.found.name != label:
            return {}
        names = dict.fromkeys(self.found.voids, "") if self.void == "missing" else {}
        if not self.found.empty:
            return names
        if not self.empty:
            fault("empty", "choose one")
        elif self.empty == "answer" and self._label_type(label_type) == "range":
            fault("empty", "a number has no such answer: leave these rows out")
        elif self.empty == "answer" and not self.empty_name:
            fault("empty_name", "fill this in")
        return names | {"": "".join(self._answer_of_empty)}

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

    def _names(self, fault: Fault) -> dict[str, str]:
        """New names of its answers, as far as somebody has decided."""
        return self._called(fault) | self._merged(fault) | self._renamed(fault)

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
        for number, pair in enumerate(self.found.merges):
            one = self._is_one(number)
            if one == "yes":
                names[pair.old] = pair.new
            elif not one and (number == 0 or number >= self.spelled):
                fault(f"one.{number}", "choose one")
        return {old: names.get(new, new) for old, new in names.items()}

    def _is_one(self, number: int) -> str:
        """The decision on a pair that may be one."""
        return self.one[0 if number < self.spelled else number]

    def _renamed(self, fault: Fault) -> dict[str, str]:
        """New names of what may be missing, as somebody has decided, and those of the lines."""
        names = dict.fromkeys(self.found.blanks, "") if self.blank == "missing" else {}
        if self.found.blanks and not self.blank and self.found.years is None:
            fault("blank", "choose one")
        elif self.blank == "answer" and not self.found.feature and self.kind != "numeric":
            fault("blank", "nobody could choose among so many answers")
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
