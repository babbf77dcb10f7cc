"""A question that was answered before gets the answer that it got, and costs nothing.

Each answer drawn anew to the same question tells more about the same record; the same bytes again
tell nothing new. RAPPOR's permanent randomized response does so for one value (Erlingsson, Pihur
and Korolova, CCS 2014, sec. 3.1); Ding, Kulkarni and Yekhanin call it memoization (NeurIPS 2017).
The price: whoever sees both reports may link them by their equal payloads, and an answer stays what
it was if the record has changed since.

Two questions are the same if they ask for the same label in the same cells of the same features, by
the same mechanism at the same epsilon, whatever their tasks and other features are called.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256

import numpy as np

from privet.protocol import wire
from privet.protocol.features import Numeric
from privet.protocol.report import Report
from privet.protocol.task import Task

from .ledger import Answer

DIGEST_BYTES = 16


@dataclass(frozen=True)
class Cost:
    """What answering a task would spend, after what was answered before.

    ``reused`` has by question the payload that is sent again, ``same`` the ids of the tasks that
    these come from, and ``similar`` those of tasks that asked about the same features, cells and
    label by other means, so that another answer adds to what is known.
    """

    epsilon: float
    reused: Mapping[int, bytes]
    same: tuple[str, ...] = ()
    similar: tuple[str, ...] = ()


def cost_of(task: Task, earlier: Iterable[Answer]) -> Cost:
    """What ``task`` costs a subject with these answers."""
    earlier = [answer for answer in earlier if answer.questions]
    if not earlier:
        return Cost(task.epsilon, {})
    keys = question_keys(task)
    payloads: dict[str, tuple[str, bytes]] = {}
    asked: dict[str, dict[str, None]] = {}
    for answer in earlier:
        report = Report.unpack(answer.report)
        for key, (_, payload) in zip(answer.questions, report.answers, strict=True):
            payloads.setdefault(_exact(key), (answer.task, payload))
            asked.setdefault(_about(key), {})[answer.task] = None
    found = {index: payloads.get(_exact(key)) for index, key in enumerate(keys)}
    known = {index: own for index, own in found.items() if own is not None}
    same = dict.fromkeys(own[0] for own in known.values())
    similar = [
        other
        for index, key in enumerate(keys)
        if index not in known
        for other in asked.get(_about(key), ())
    ]
    if task.allocation == "one":
        reused = {index: payload for index, (_, payload) in list(known.items())[:1]}
        spent = 0.0 if reused else task.epsilon
    else:
        reused = {index: payload for index, (_, payload) in known.items()}
        fresh = [own.epsilon for index, own in enumerate(task.questions) if index not in known]
        spent = sum(fresh) if known else task.epsilon
    return Cost(spent, reused, tuple(same), tuple(dict.fromkeys(similar)))


@dataclass(frozen=True)
class _Identified:
    id: str
    task: Task = field(compare=False)


def question_keys(task: Task) -> tuple[str, ...]:
    """By question what it asks about and how exactly, each as a digest in hexadecimal.

    Where each holder answers one of several, the same are only those of tasks with the same
    choice, since the choice is a part of the answer. The keys of the last few tasks are kept.
    """
    return _question_keys(_Identified(task.id, task))


@lru_cache(maxsize=16)
def _question_keys(identified: _Identified) -> tuple[str, ...]:
    task = identified.task
    trees = {own.partition for own in task.questions}
    cells = {partition: _cells(task, partition) for partition in trees}
    label = wire.pack(task.label.model_dump())
    abouts, exact = [], []
    for own in task.questions:
        centring = b"" if own.centring is None else wire.pack(own.centring.model_dump())
        abouts.append(_digest(cells[own.partition], own.asks.encode(), centring, label))
        way = wire.pack([own.mechanism, own.epsilon, own.parameters])
        exact.append(_digest(abouts[-1].encode(), way))
    if task.allocation == "one" and len(exact) > 1:
        choice = "".join(exact).encode()
        exact = [_digest(choice, b"%d" % index) for index in range(len(exact))]
    return tuple(about + own for about, own in zip(abouts, exact, strict=True))


def _cells(task: Task, partition: int) -> bytes:
    """The features of a tree and its cells, independent of the task's other features."""
    tree = task.trees[partition]
    widths = [1 if isinstance(own, Numeric) else len(own.categories) for own in task.features]
    starts = np.cumsum([0, *widths])
    inner = np.flatnonzero(~tree.is_leaf)
    columns = tree.feature[inner]
    owners = np.searchsorted(starts, columns, side="right") - 1
    used, places = np.unique(owners, return_inverse=True)
    digest = sha256()
    for own in used.tolist():
        digest.update(wire.pack(task.features[own].model_dump()))
    for array in (inner, places, columns - starts[owners], tree.left[inner], tree.right[inner]):
        digest.update(array.astype("<i8").tobytes())
    digest.update(tree.threshold[inner].astype("<f8").tobytes())
    return digest.digest()


def _digest(*parts: bytes) -> str:
    """Of parts each of which has its length before it."""
    digest = sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.digest()[:DIGEST_BYTES].hex()


def _about(key: str) -> str:
    return key[: 2 * DIGEST_BYTES]


def _exact(key: str) -> str:
    return key[2 * DIGEST_BYTES :]
