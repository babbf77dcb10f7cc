"""The whole report of small tasks, enumerated: all questions, and records that do not fit."""

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any

import pytest

from privet.protocol.features import Categorical, Classes, Range, encode_record
from privet.protocol.label_scale import Centring
from privet.protocol.mechanisms.exact import WORD, exp_below
from privet.protocol.partition import LEAF, Partition, Tree
from privet.protocol.report import make_report
from privet.protocol.task import Question, Task
from tests.keeping import keeps
from tests.protocol.examples import counted
from tests.protocol.mechanisms.laws import Word, law_of, replay, words

HALVES = Tree.of(Partition.build(2, [0, LEAF, LEAF], [0.5, 0, 0], [1, LEAF, LEAF], [2, LEAF, LEAF]))
CLASSES = Classes(name="y", classes=("a", "b"))
RANGE = Range(name="y", low=0.0, high=4.0)
COARSE = {"resolution": 1}
CENTRED = Centring(centres=(1.0, 3.0), radius=1.0)

MISFITS: list[Any] = [None, {"x": "w", "y": "a"}, {"x": "u", "y": None}]
FITTING: dict[Classes | Range, list[dict[str, Any]]] = {
    CLASSES: [{"x": x, "y": y} for x in "uv" for y in "ab"],
    RANGE: [{"x": x, "y": y} for x in "uv" for y in (0, 1.5, 4)],
}


def question(mechanism: str, epsilon: float, partition: int = 0, **fields: Any) -> Question:
    return Question(partition=partition, mechanism=mechanism, epsilon=epsilon, **fields)


ALONE = Tree.of(Partition.root(2))
"""One cell: a question about it is about the label alone."""


def alone(label: Classes | Range, asked: Question) -> Task:
    """A task without features."""
    return Task.checked(
        {
            "name": "small",
            "features": (),
            "label": label,
            "partitions": (Tree.of(Partition.root(0)),),
            "questions": (asked,),
        }
    )


def task(
    label: Classes | Range, *questions: Question, allocation: str = "all", parts: Any = ()
) -> Task:
    return Task.checked(
        {
            "name": "small",
            "features": (Categorical(name="x", categories=("u", "v")),),
            "label": label,
            "partitions": (HALVES, ALONE),
            "questions": questions,
            "allocation": allocation,
            "parts": parts,
        }
    )


TASKS = {
    **{
        f"cell and label by {name}": task(
            CLASSES, question(name, 1.0), question("grr", 0.5, asks="cell")
        )
        for name in ("grr", "subset", "projective", "randomized_response")
    },
    "cell by laplace": task(
        CLASSES, question("laplace", 60.0, asks="cell", parameters=COARSE), question("grr", 1.0)
    ),
    "one of two questions": task(
        CLASSES, question("grr", 2.0), question("projective", 1.0, asks="cell"), allocation="one"
    ),
    "one of two questions about a number": task(
        RANGE, question("grr", 1.0, asks="cell"), question("subset", 1.0), allocation="one"
    ),
    "one of two questions by unequal parts": task(
        CLASSES,
        question("grr", 1.0),
        question("grr", 2.0, asks="cell"),
        allocation="one",
        parts=(1, 3),
    ),
    **{
        f"the label alone of a part, by {name}": task(
            CLASSES,
            question("subset", 1.0),
            question(name, 1.0, partition=1),
            allocation="one",
            parts=(52_429, 13_107),
        )
        for name in ("grr", "subset", "randomized_response")
    },
    "a number alone of a part": task(
        RANGE,
        question("subset", 1.0, centring=CENTRED),
        question("grr", 1.0, partition=1),
        allocation="one",
        parts=(1, 1),
    ),
    **{
        f"no features, by {name}": alone(CLASSES, question(name, 1.0))
        for name in ("grr", "subset", "projective", "randomized_response")
    },
    **{
        f"no features, a number on three levels, by {name}": alone(
            RANGE, question(name, 1.0, levels=3)
        )
        for name in ("grr", "subset", "projective")
    },
    "no features, a number on its ends": alone(RANGE, question("grr", 1.0)),
    "a number on five levels, alone of a part": task(
        RANGE,
        question("subset", 1.0, levels=3),
        question("grr", 1.0, partition=1, levels=5),
        allocation="one",
        parts=(2, 1),
    ),
    "three questions": task(
        CLASSES, *[question("grr", 0.3)] * 2, question("grr", 0.1, asks="cell")
    ),
    "a number": task(RANGE, question("grr", 1.0), question("subset", 0.5, asks="cell")),
    "a number around centres": task(
        RANGE, question("subset", 1.0, centring=CENTRED), question("grr", 1.0, asks="cell")
    ),
    "a number in one mechanism": task(
        RANGE, question("randomized_response", 25.0, parameters=COARSE)
    ),
}


def words_of(asked: Task, index: int) -> list[Word]:
    """The words that a question draws: one for the level if it asks for the label, then its own."""
    own = words(asked.mechanisms[index])
    if asked.questions[index].asks == "cell":
        return own
    # a number in these tasks lies at a multiple of an eighth of its span
    step = WORD // 8
    parts = 8 if isinstance(asked.label, Range) else 1
    level = [((i * step).to_bytes(8, "big"), WORD // parts) for i in range(parts)]
    return [level, *own]


def draws(asked: Task) -> Iterator[tuple[Word, ...]]:
    """The words after the id, for each question that may be chosen."""
    count, parts = len(asked.questions), asked.asked_parts
    if asked.allocation == "all":
        yield tuple(word for i in range(count) for word in words_of(asked, i))
        return
    ends = [-(-before * WORD // sum(parts)) for before in (0, *accumulate(parts))]
    for i, (start, end) in enumerate(pairwise(ends)):
        yield ([(start.to_bytes(8, "big"), end - start)], *words_of(asked, i))


Answers = tuple[tuple[int, bytes], ...]


def law(asked: Task, record: Any) -> dict[Answers, Fraction]:
    """The probability of everything in a report but its id, which is drawn before all."""
    whole: dict[Answers, Fraction] = defaultdict(Fraction)
    for drawn in draws(asked):
        found = law_of(
            drawn, lambda parts: make_report(asked, record, replay([bytes(16), *parts])).answers
        )
        for answers, probability in found.items():
            whole[answers] += probability
    return dict(whole)


GROUP = Categorical(name="s", categories=("p", "q"))
BY_GROUP = Partition.build(  # s is q ? (x is v ?)
    4,
    [1, LEAF, 3, LEAF, LEAF],
    [0.5, 0, 0.5, 0, 0],
    [1, LEAF, 3, LEAF, LEAF],
    [2, LEAF, 4, LEAF, LEAF],
)
HIDDEN_FIRST = Partition.build(  # x is v ? (s is q ?)
    4,
    [3, LEAF, 1, LEAF, LEAF],
    [0.5, 0, 0.5, 0, 0],
    [1, LEAF, 3, LEAF, LEAF],
    [2, LEAF, 4, LEAF, LEAF],
)


def disclosing_task(
    label: Classes | Range,
    asked: Question,
    disclosed: tuple[str, ...] = ("s",),
    tree: Partition = BY_GROUP,
    parts: tuple[int, ...] = (),
) -> Task:
    cells = len(disclosed) + 1 if tree is BY_GROUP else 1
    strata = Partition.build(4, [1, LEAF, LEAF], [0.5, 0, 0], [1, LEAF, LEAF], [2, LEAF, LEAF])
    by_parts: dict[str, Any] = {"allocation": "one", "parts": parts} if parts else {}
    return Task.checked(
        {
            "name": "small",
            "features": (GROUP, Categorical(name="x", categories=("u", "v"))),
            "label": label,
            "partitions": (Tree.of(tree), Tree.of(strata)) if parts else (Tree.of(tree),),
            "questions": (asked, asked.model_copy(update={"partition": 1}))[: len(parts) or 1],
            **by_parts,
            "disclosed": disclosed,
            "group_sizes": [20] * cells,
        }
    )


AROUND = Centring(centres=(1.0, 3.0, 2.0), radius=1.0)
DISCLOSING_TASKS = {
    **{
        f"half disclosed, by {name}": disclosing_task(CLASSES, question(name, 1.0))
        for name in ("grr", "subset", "projective", "randomized_response")
    },
    "half disclosed, the label alone of a third": disclosing_task(
        CLASSES, question("subset", 1.0), parts=(2, 1)
    ),
    "a number, half disclosed, alone of a third": disclosing_task(
        RANGE, question("grr", 1.0), parts=(2, 1)
    ),
    "all disclosed": disclosing_task(CLASSES, question("grr", 1.0), ("s", "x")),
    "a number, half disclosed": disclosing_task(RANGE, question("subset", 1.0)),
    "a number around centres, half disclosed": disclosing_task(
        RANGE, question("grr", 1.0, centring=AROUND)
    ),
    "a number, all disclosed": disclosing_task(
        RANGE, question("projective", 1.0, centring=AROUND), ("s", "x")
    ),
    "disclosed, and split on what is hidden first": disclosing_task(
        CLASSES, question("grr", 1.0), ("s",), HIDDEN_FIRST
    ),
}
DISCLOSING_MISFITS: list[Any] = [
    None,
    {},
    *({"s": s, "x": "w", "y": "a"} for s in "pq"),
    *({"s": s, "x": x, "y": None} for s in "pq" for x in "uv"),
    *({"s": s, "x": "v", "y": "a", "more": 1} for s in "pq"),
    {"s": "r", "x": "v", "y": "a"},
    {"x": "v", "y": "b"},
]
"""In what is hidden, in what is disclosed, in the label, and in all."""


ALL = TASKS | DISCLOSING_TASKS


def fitting(asked: Task) -> list[dict[str, Any]]:
    """Records that fit: in tasks with disclosed columns, of both groups."""
    records = FITTING[asked.label]
    if not asked.features:
        return [{"y": each["y"]} for each in records if each["x"] == "u"]
    return [{**each, "s": s} for each in records for s in "pq"] if asked.disclosed else records


def misfits(asked: Task) -> list[Any]:
    if not asked.features:
        return [None, {}, {"y": "c"}, {"x": "u", "y": FITTING[asked.label][0]["y"]}]
    return DISCLOSING_MISFITS if asked.disclosed else MISFITS


@keeps(
    "threat-model: a misfit lies in its stratum",
    in_="protocol/mechanisms/stratified.py",
    instead_of="return self.misfit + self.strata[cell]",
    plant="return self.misfit",
)
@keeps(
    "threat-model: the same number of bytes is drawn for a misfit",
    in_="protocol/report.py",
    instead_of="level = label_level",
    plant="level = 0 if record.faults else label_level",
)
@keeps(
    "threat-model: a record that does not fit is answered as a misfit",
    in_="protocol/report.py",
    instead_of="return (misfit, category)[fits]",
    plant="return category",
)
@pytest.mark.parametrize("name", ALL)
def test_the_whole_answer_by_enumeration(name: str) -> None:
    """Between any two records, misfits included, the whole report's ratio is at most e^epsilon.

    In a task with disclosed columns, between any two of one stratum, which every record's report
    tells for certain. In fractions, from every outcome of the real ``make_report``. All misfits (of
    a stratum) have one law, also those that do not fit in a disclosed column, and it reaches every
    report that other records (of it) do.
    """
    asked = ALL[name]
    by_cell: dict[int, list[tuple[bool, dict[Answers, Fraction]]]] = defaultdict(list)
    for record in fitting(asked) + misfits(asked):
        x, _, faults, _ = encode_record(asked.features, asked.label, record)
        assert (not faults) is (record in fitting(asked))
        strata = asked.strata
        cell = 0 if strata is None else int(strata.of_cell[asked.tree_of(0).locate_one(x)])
        by_cell[cell].append((not faults, law(asked, record)))
    assert len(by_cell) == max(len(asked.group_sizes), 1)
    worst = Fraction(1)
    for cell, found in by_cell.items():
        laws = [each for _, each in found]
        assert all(sum(each.values()) == 1 for each in laws)
        unfit = [each for fits, each in found if not fits]
        assert all(each == unfit[0] for each in unfit)
        assert len({frozenset(each) for each in laws}) == 1
        assert not asked.disclosed or {answers[0][1][0] for answers in laws[0]} == {cell}
        worst = max([worst, *(one[r] / other[r] for one in laws for other in laws for r in one)])
    epsilons = [Fraction(each.epsilon) for each in asked.questions]
    total = sum(epsilons) if asked.allocation == "all" else max(epsilons)
    assert 1 < worst <= exp_below(Fraction(total))


@pytest.mark.parametrize("name", ALL)
def test_what_is_drawn_and_sent_does_not_depend_on_the_record(name: str) -> None:
    """The same requests for random bytes and one length, for all records and misfits."""
    asked, traces = ALL[name], set()
    for record in fitting(asked) + misfits(asked):
        drawn, randomness = counted()
        report = make_report(asked, record, randomness)
        traces.add((tuple(drawn), len(report.pack())))
    assert len(traces) == 1
