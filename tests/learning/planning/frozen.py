"""What plans of a dozen small collections say.

``frozen.json`` has each plan as a document. ``python -m tests.learning.planning.frozen`` makes them
anew, for a change that is meant to change them. Public models are given, so that how Privet's own
is stacked moves nothing here.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from privet.learning.core.public_data import Floats
from privet.learning.core.public_model import BaseModel
from privet.learning.planning import Plan, plan, planner
from privet.learning.public_model import stacking

from ..examples import linear_model

FILE = Path(__file__).with_name("frozen.json")
ROWS = 400


def records(kind: str) -> dict[str, Any]:
    """Public records with two columns of numbers, one of words, and a label ``y`` of a kind."""
    rng = np.random.default_rng(len(kind))
    a, b, place = rng.random(ROWS), rng.random(ROWS), rng.integers(3, size=ROWS)
    lean, u = 0.2 + 0.5 * a + 0.2 * (place == 1), rng.random(ROWS)
    labels: dict[str, Any] = {
        "classes": np.where(u < lean, "yes", "no"),
        "three": np.where(u < lean, "c", np.where(u < 0.5 + 0.5 * lean, "b", "a")),
        "rare": np.where(u < 0.1 * lean, "yes", "no"),
        "number": np.round(20.0 * (lean + 0.3 * (u - 0.5)), 3),
    }
    words = np.array(["south", "north", "west"])[place]
    return {"a": a.tolist(), "b": b.tolist(), "c": words.tolist(), "y": labels[kind].tolist()}


def people(number: int) -> dict[str, Any]:
    """A register of so many."""
    rng = np.random.default_rng(number)
    return {"a": rng.random(number).tolist(), "id": [f"p{place}" for place in range(number)]}


NUMBER: dict[str, Any] = {
    "label_range": [0.0, 24.0],
    "describe": {"y": {"prompt": "Hours?", "unit": "h"}},
}
CASES: dict[str, dict[str, Any]] = {
    "two classes": {"of": "classes"},
    "three classes, one look": {"of": "three", "looks": "once", "target_shift": 0.3},
    "three classes, few": {"of": "three", "holders": 60, "epsilon": 0.3},
    "a rare class": {"of": "rare", "epsilon": 4.0, "label_part": 0.2},
    "two classes, prevalence": {"of": "classes", "prevalence": {"yes": 0.1}, "half_width": 0.04},
    "a number": {"of": "number", **NUMBER, "centred": False, "power": 0.9},
    "a centred number": {"of": "number", **NUMBER, "centred": True, "epsilon": 4.0},
    "a centred number, label part": {
        "of": "number",
        **NUMBER,
        "centred": True,
        "label_part": 0.3,
        "looks": "once",
    },
    "two questions": {
        "of": "classes",
        "questions": [{"asks": "cell"}, {}],
        "allocation": "one",
        "estimator": "histogram",
    },
    "strata": {"of": "three", "disclosed": ["a"], "hidden_depth": 1, "epsilon": 4.0},
    "a register": {
        "of": "classes",
        "disclosed": ["a"],
        "register": people(30_000),
        "smallest_group": 40,
        "hidden_depth": 2,
    },
    "waves": {"of": "classes", "waves": 4, "label_part": 0.2},
    "waves of a centred number": {
        "of": "number",
        **NUMBER,
        "centred": True,
        "waves": 3,
        "mode": "repeat",
        "looks": "once",
    },
    "behind a relay": {"of": "classes", "epsilon": None, "central_epsilon": 0.3, "batch": 2_000},
    "behind a relay, mechanism chosen": {
        "of": "number",
        **NUMBER,
        "epsilon": 4.0,
        "central_epsilon": 0.5,
        "mechanism": "grr",
    },
}


def planned(case: Mapping[str, Any]) -> Plan:
    """A case's plan, with a public model that leans as its rows do."""
    given = {"holders": 20_000, "epsilon": 1.0, "grower": "max_edge", "depth": 3, **case}

    def leaning(X: Floats, y: Floats, slots: int, *_: object) -> BaseModel:
        steep = np.zeros((X.shape[1], slots or 1))
        if slots:
            share = (np.bincount(y.astype(int), minlength=slots) + 1.0) / (len(y) + slots)
            steep[0, -1], steep[1, 0] = 1.5, 0.3
            return linear_model(steep, np.log(share) - 0.5 * steep[0])
        steep[0] = 0.8 * y.std()
        return linear_model(steep, [y.mean() - 0.5 * steep[0, 0]], "identity")

    def cross_validated(X: Floats, y: Floats, slots: int) -> tuple[None, Floats]:
        return None, leaning(X, y, slots).predict(X)

    with (
        patch.object(planner, "DRAWS", 2),
        patch.object(stacking, "stacked", leaning),
        patch.object(stacking, "cross_validated", cross_validated),
    ):
        return plan(records(given.pop("of")), label="y", **given)


def document(case: Mapping[str, Any]) -> Any:
    """A case's plan as JSON has it, and as it is printed."""
    made = planned(case)
    said = {"verdict": made.verdict, "printed": str(made), "notebook": made._repr_html_()}
    return json.loads(json.dumps({**made.to_document(), **said}))


def main() -> None:
    lines = [f"{json.dumps(name)}: {json.dumps(document(case))}" for name, case in CASES.items()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
