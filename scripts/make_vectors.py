"""Write tests/vectors/mechanisms/*.json: fixed randomness -> payload -> sums -> estimate.

A client in another language is right if it turns the same ``randomness`` into the same
``payload``; a curator is right if it gets the same ``sums`` and, to rounding, the same
``estimate``, and refuses what is ``invalid``. ``integers`` are the probabilities in words, for
finding out where one went wrong. ``"defaults": false`` marks parameters that the task states.

    python -m scripts.make_vectors
"""

import hashlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np

from privet.protocol.mechanisms import (
    MECHANISMS,
    GeneralizedResponse,
    Mechanism,
    ProjectiveResponse,
    StratifiedMechanism,
    create_mechanism,
)
from privet.protocol.mechanisms.base import as_row
from privet.protocol.mechanisms.discrete_laplace import DiscreteLaplace
from scripts.pages import fill

FOLDER = Path(__file__).parents[1] / "tests" / "vectors" / "mechanisms"
PAGE = Path(__file__).parents[1] / "docs" / "mechanisms.md"

QUESTIONS: list[dict[str, Any]] = [
    {"epsilon": 1.0, "cells": 4, "slots": 2, "regression": False},
    {"epsilon": 0.1, "cells": 1, "slots": 2, "regression": False},
    {"epsilon": 4.0, "cells": 20, "slots": 3, "regression": False},
    {"epsilon": 2.0, "cells": 3, "slots": 2, "regression": True},
    {"epsilon": 50.0, "cells": 5, "slots": 1, "regression": False},
]

REPORTS = 6
"""Reports per question, in addition to those from all-zero and all-one randomness."""

WIDE: list[dict[str, Any]] = [
    {"epsilon": 3.0, "cells": 150, "slots": 2, "regression": False},
    {"epsilon": 3.0, "cells": 150, "slots": 2, "regression": True},
]
"""Questions of more than 256 categories, with fewer reports."""

LEVELLED: list[dict[str, Any]] = [
    {"epsilon": 1.0, "cells": 1, "slots": 13, "regression": True},
    {"epsilon": 2.0, "cells": 4, "slots": 64, "regression": True},
]
"""Questions about a number on more than two levels, for mechanisms that take them."""

WIDEST: dict[str, Any] = {"epsilon": 9.0, "cells": 35_000, "slots": 2, "regression": False}
"""A question of more than 65 536 categories, for mechanisms that send indices."""

WIDE_REPORTS = 2
KEPT_SUMS = 1_000
"""Sums and estimates longer than this are left out, and so are tables of noise."""

STRATIFIED: list[dict[str, Any]] = [
    {**QUESTIONS[0], "cells": 7, "strata": [0, 1, 2, 1, 2, 2, 0]},
    {**QUESTIONS[3], "cells": 6, "strata": [1, 0, 1, 1, 2, 2]},
    {**QUESTIONS[0], "cells": 3, "strata": [0, 0, 0]},
    *({**QUESTIONS[0], "cells": cells, "strata": [*range(cells)]} for cells in (256, 257)),
]
"""Questions with strata, of unequal numbers of cells; a stratum takes a byte, or two."""

PARAMETERS: dict[str, list[tuple[dict[str, Any], dict[str, Any] | None]]] = {
    "subset": [(QUESTIONS[0], {"k": 3}), (QUESTIONS[3], {"k": 1})],
    "projective": [
        (QUESTIONS[0], {"order": 11, "dimension": 2}),
        ({"epsilon": 3.2, "cells": 319, "slots": 1, "regression": False}, None),
        ({"epsilon": 3.2, "cells": 165, "slots": 2, "regression": False}, None),
    ],
    "laplace": [
        (QUESTIONS[0], {"resolution": 1}),
        (QUESTIONS[3], {"resolution": 3}),
        ({**QUESTIONS[1], "epsilon": 0.05}, {"resolution": 32}),
    ],
    "randomized_response": [(QUESTIONS[3], {"resolution": 3})],
}
"""Questions whose parameters are stated, or None where the default ones are hard to get right: the
two spaces lie just within and just beyond one per cent of the best. The last table of noise is a
long one."""


def vectors(name: str) -> dict[str, Any]:
    """The contents of one mechanism's file."""
    return {
        "mechanism": name,
        "format": "bytes are hexadecimal; words are 64-bit integers in decimal, as text",
        "vectors": [
            *(answer_vector(name, question, REPORTS) for question in QUESTIONS),
            *(answer_vector(name, question, WIDE_REPORTS) for question in WIDE),
            *(answer_vector(name, question, 0) for question in (QUESTIONS[0], QUESTIONS[3])),
            *(answer_vector(name, question, REPORTS) for question in STRATIFIED),
            *(
                [answer_vector(name, each, WIDE_REPORTS) for each in (WIDEST, *LEVELLED)]
                if name in ("grr", "subset", "projective")
                else []
            ),
            *(
                answer_vector(name, question, WIDE_REPORTS, set_to)
                for question, set_to in PARAMETERS.get(name, ())
            ),
        ],
    }


def answer_vector(
    name: str, question: dict[str, Any], count: int, set_to: dict[str, Any] | None = None
) -> dict[str, Any]:
    mechanism = create_mechanism(name, **question, parameters=set_to)
    reports = _reports(mechanism, question, count) if count else _edge_reports(mechanism)
    payloads = np.concatenate([as_row(bytes.fromhex(r["payload"])) for r in reports])
    sums = mechanism.accumulate(payloads)
    short = len(sums) <= KEPT_SUMS
    n = len(reports)
    estimates = {
        "estimate": mechanism.estimate(sums, n).tolist(),
        "misfits": mechanism.misfits(sums, n),
    }
    return {
        **question,
        **({} if set_to is None else {"defaults": False}),
        "parameters": mechanism.parameters(),
        "levels": mechanism.levels,
        "report_bytes": mechanism.report_bytes,
        "log_ratio": mechanism.log_ratio(),
        "integers": _integers(mechanism),
        "reports": reports,
        "n": n,
        **({"sums": sums.tolist(), **estimates} if short else {}),
        "invalid": _invalid(mechanism, bytes.fromhex(reports[-1]["payload"])),
    }


def _reports(mechanism: Mechanism, question: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Reports of categories from the first to the last that has a cell, and two of misfits."""
    size = mechanism.random_bytes
    # named as when they were first drawn, so that their bytes stay
    name = "shown" if "strata" in question else mechanism.name
    named = {"shown" if key == "strata" else key: value for key, value in question.items()}
    seeds = [f"{name} {sorted(named.items())} {i}" for i in range(count + 1)]
    drawn = [hashlib.shake_256(seed.encode()).digest(size) for seed in seeds]
    cases = [
        (i * (mechanism.misfit - 1) // (count + 1), randomness)
        for i, randomness in enumerate([*drawn[:-1], bytes(size), b"\xff" * size])
    ]
    cases += [(mechanism.misfit, drawn[-1]), (mechanism.categories - 1, bytes(size))]
    return [_report(mechanism, category, randomness) for category, randomness in cases]


def _report(mechanism: Mechanism, category: int, randomness: bytes) -> dict[str, Any]:
    payload = mechanism.privatize(category, io.BytesIO(randomness).read)
    return {"category": category, "randomness": randomness.hex(), "payload": payload.hex()}


def _edge_reports(mechanism: Mechanism) -> list[dict[str, Any]]:
    """Reports whose words all lie at a threshold, or one below it."""
    words = [word for edge in _edges(mechanism) for word in (edge - 1, edge)]
    category = mechanism.categories // 2
    count = mechanism.random_bytes // 8
    return [_report(mechanism, category, word.to_bytes(8, "little") * count) for word in words]


def _edges(mechanism: Mechanism) -> list[int]:
    """Words at which the report changes."""
    match mechanism:
        case GeneralizedResponse():
            return [mechanism.own_words, mechanism.own_words + mechanism.other_words]
        case ProjectiveResponse():
            A, B = mechanism.words
            orthogonal = mechanism.space.hyperplane_size * A
            return [A, orthogonal, orthogonal + B]
    edges = [*mechanism.integers.values()]
    if mechanism.lattice is not None:
        noise, C = mechanism.lattice.weights, mechanism.lattice.radius
        edges += [sum(noise[:length]) for length in (1, C, C + 1, 2 * C)]
    return edges


def _invalid(mechanism: Mechanism, payload: bytes) -> list[dict[str, str | None]]:
    same = len(payload)
    tried = [b"", payload[:-1], payload + b"\0", b"\0" * same, b"\xff" * same]
    if isinstance(mechanism, StratifiedMechanism):
        width = mechanism.width
        if mechanism.stratum_count < 2 ** (8 * width):
            tried.append(mechanism.stratum_count.to_bytes(width, "little") + payload[width:])
        tried.append(payload[width:])
    faults = {bad.hex(): mechanism.fault(bad) for bad in tried}
    return [{"payload": bad, "fault": fault} for bad, fault in faults.items() if fault]


def _integers(mechanism: Mechanism) -> dict[str, Any]:
    """The probabilities that the mechanism acts on, as text."""
    integers = {key: _text(value) for key, value in mechanism.integers.items()}
    if mechanism.lattice is None:
        return integers
    return {**integers, "noise": _text(_outer(mechanism.lattice))}


def _outer(noise: DiscreteLaplace) -> tuple[int, ...]:
    """w_C, ..., w_0: the half that the other one mirrors; of a long table the two ends only."""
    outer = noise.weights[: noise.radius + 1]
    return outer if len(outer) <= 10 * KEPT_SUMS else (outer[0], outer[-1])


def _text(value: int | tuple[int, ...]) -> str | list[str]:
    return str(value) if isinstance(value, int) else [str(weight) for weight in value]


def render(name: str) -> str:
    """The file's text: JSON with one entry, report or invalid payload to a line."""
    contents = vectors(name)
    head = [f" {json.dumps(key)}: {json.dumps(contents[key])}," for key in ("mechanism", "format")]
    body = ",\n".join(_lines(vector) for vector in contents["vectors"])
    return "\n".join(["{", *head, ' "vectors": [', body, " ]", "}"]) + "\n"


def _lines(vector: dict[str, Any]) -> str:
    entries = ",\n".join(f"   {json.dumps(k)}: {_value(v)}" for k, v in vector.items())
    return f"  {{\n{entries}\n  }}"


def _value(value: Any) -> str:
    if not (isinstance(value, list) and value and isinstance(value[0], dict)):
        return json.dumps(value, ensure_ascii=False)
    rows = ",\n".join("    " + json.dumps(row, ensure_ascii=False) for row in value)
    return f"[\n{rows}\n   ]"


def examples() -> str:
    """One report of each mechanism for the page, and those of numeric labels that differ."""
    strata = [(name, 0) for name in MECHANISMS]
    strata += [(name, 3) for name in ("laplace", "randomized_response")]
    return "```\n" + "\n\n".join(_example(*example) for example in strata) + "\n```"


def _example(name: str, place: int) -> str:
    vector = answer_vector(name, QUESTIONS[place], REPORTS)
    report = vector["reports"][2]
    cell, level = divmod(report["category"], vector["levels"])
    numbers = vector["parameters"] | vector["integers"]
    if "noise" in numbers:
        table = numbers.pop("noise")
        numbers |= {"C": len(table) - 1, "w_C": table[0], "w_1": table[-2], "w_0": table[-1]}
    kind = "a number" if vector["regression"] else "2 classes"
    return "\n".join(
        [
            f"{name}, ε = {vector['epsilon']:g}, {vector['cells']} cells, {kind}",
            "  " + ", ".join(f"{key} {value}" for key, value in numbers.items()) if numbers else "",
            f"  category {report['category']}: cell {cell}, level {level}",
            *wrapped("words  ", report["randomness"]),
            *wrapped("payload", report["payload"]),
        ]
    )


def wrapped(title: str, digits: str) -> list[str]:
    """Hexadecimal digits in lines of 32 bytes, eight bytes to a group."""
    groups = [digits[i : i + 16] for i in range(0, len(digits), 16)]
    lines = [" ".join(groups[i : i + 4]) for i in range(0, len(groups), 4)]
    return [f"  {title if not i else ' ' * len(title)} {line}" for i, line in enumerate(lines)]


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in MECHANISMS:
        (FOLDER / f"{name}.json").write_text(render(name))
    fill(PAGE, {"examples": examples()})


if __name__ == "__main__":
    main()
