"""The methods of the experiments by name: those of the papers with their grids, and ours."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from privet.baselines import (
    APHISTRegressor,
    DeconvolutionRegressor,
    LPCTPruneClassifier,
    LPDTClassifier,
    LPDTRegressor,
    NonPrivateTreeClassifier,
    NonPrivateTreeRegressor,
    PGLMClassifier,
    PHISTClassifier,
    PHISTRegressor,
    PSGDClassifier,
    SemiPrivateClassifier,
)
from privet.baselines.histogram import MAX_COLUMNS
from scripts.reproduce.ablations import ABLATIONS
from scripts.reproduce.contestants import DEPTHS, Lpct, Method, Timed, Tuned
from scripts.reproduce.coverage import CASES
from scripts.reproduce.datasets import Split
from scripts.reproduce.ours import Privet, WithoutPrivacy, planned, public_stack, references
from scripts.reproduce.shapes import Compared

RATES = tuple(10.0**k for k in range(-5, 1))
BANDWIDTHS = (None, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
"""In the features' unit, up to kernels far wider than the cube, and the default."""
LARGEST_ARRAY = 2**22
"""Places of a histogram above which a grid's point is left out; the papers ran out of memory."""
MOST_WEIGHTS = 20_000
"""Weights of PSGD-N's network, above which it has as many units as fit."""
LPDT_GRID = {"depth": tuple(range(1, 9)), "min_leaf": (1, 10, 40)}


def bins_that_fit(windows: bool) -> Callable[[Split], Mapping[str, Sequence[Any]]]:
    """1/h from 1 to 6, as far as the histogram fits into memory."""

    def grid(split: Split) -> Mapping[str, Sequence[Any]]:
        d = split.public.X.shape[1]
        fits = [k for k in range(1, 7) if (2 * k + 1 if windows else k) ** d <= LARGEST_ARRAY]
        return {"bins": fits if d <= MAX_COLUMNS else []}

    return grid


def units(split: Split) -> Mapping[str, Sequence[Any]]:
    """d/2, d and 2d hidden units, as far as there are not too many weights, and the rates."""
    d = split.public.X.shape[1]
    most = max(1, MOST_WEIGHTS // (d + 1))
    hidden = dict.fromkeys(min(h, most) for h in (max(1, d // 2), d, 2 * d))
    return {"hidden": tuple(hidden), "learning_rate": RATES}


SHALLOW, CONSTANTS = tuple(range(1, 9)), ("calibrated", "paper")
tree = partial(Tuned, estimator=NonPrivateTreeClassifier, private=False)
NAMED: tuple[Any, ...] = (
    Lpct("LPCT", "max_edge", SHALLOW, (0, 1)),
    Lpct("LPCT, subset selection", "max_edge", SHALLOW, (0, 1), "subset"),
    Lpct("LPCT-R", "random", SHALLOW, (0, 1)),
    Lpct("LPCT max-edge", "max_edge", DEPTHS, (1,)),
    Lpct("LPCT CART", "cart", DEPTHS, (1,)),
    Tuned("LPCT-prune", LPCTPruneClassifier, {"constants": CONSTANTS}),
    Tuned(
        "LPCT-prune max-edge", LPCTPruneClassifier, {"min_leaf": (1, 5)}, {"partition": "max_edge"}
    ),
    Tuned("LPCT-prune CART", LPCTPruneClassifier, {"min_leaf": (1, 5)}, {"partition": "cart"}),
    tree("CT-W", grid={"max_depth": range(1, 17)}, settings={"rows": "all"}),
    tree("CT-Q", grid={"max_depth": range(1, 17)}, settings={"rows": "public"}),
    Tuned("PHIST", PHISTClassifier, bins_that_fit(windows=True)),
    Tuned("PHIST cubes", PHISTClassifier, bins_that_fit(windows=False), {"windows": False}),
    Tuned("LPDT", LPDTClassifier, {"depth": DEPTHS, "min_leaf": (1,)}, {"partition": "cart"}),
    Tuned("PGLM", PGLMClassifier),
    Tuned("PSGD-L", PSGDClassifier, {"learning_rate": RATES}),
    Tuned("PSGD-N", PSGDClassifier, units),
    Tuned(
        "DT",
        NonPrivateTreeRegressor,
        {"max_depth": (None, *range(1, 13))},
        {"rows": "private"},
        private=False,
    ),
    Tuned("LPDT-M", LPDTRegressor, LPDT_GRID, {"partition": "max_edge"}),
    Tuned("LPDT-V", LPDTRegressor, LPDT_GRID, {"partition": "cart"}),
    Tuned("APHIST", APHISTRegressor, bins_that_fit(windows=False)),
    Tuned("DECONV", DeconvolutionRegressor, {"bandwidth": BANDWIDTHS}),
    WithoutPrivacy("public forest", RandomForestClassifier, RandomForestRegressor),
    WithoutPrivacy("public extra trees", ExtraTreesClassifier, ExtraTreesRegressor),
    WithoutPrivacy(
        "public boosting", HistGradientBoostingClassifier, HistGradientBoostingRegressor
    ),
    WithoutPrivacy("public linear", partial(LogisticRegression, max_iter=5000), Ridge),
    WithoutPrivacy("public tree", DecisionTreeClassifier, DecisionTreeRegressor),
    WithoutPrivacy("everybody's tree", DecisionTreeClassifier, DecisionTreeRegressor, "all"),
    WithoutPrivacy("everybody's forest", RandomForestClassifier, RandomForestRegressor, "private"),
)
METHODS: dict[str, Method] = {
    **{method.name: method for method in NAMED},
    "LPCT-prune p0": Tuned(
        "LPCT-prune",
        LPCTPruneClassifier,
        {"constants": CONSTANTS, "depth": SHALLOW},
        {"fallback": False},
    ),
    "LPDT leaves": Tuned(
        "LPDT-M", LPDTRegressor, {"depth": SHALLOW[1:], "min_leaf": tuple(range(15, 136, 20))}
    ),
    "PHIST for numbers": Tuned("PHIST", PHISTRegressor, bins_that_fit(windows=False)),
    "semi-private thresholds": Tuned(
        "semi-private learner",
        SemiPrivateClassifier,
        settings={"hypotheses": "thresholds", "public_records": 10**6},
    ),
    "Privet": Privet(),
    "public stack": public_stack,
    "references": references,
    "plan": planned,
    **CASES,
    "without the public shape": Compared(),
    **{f"ablation: {ablation.name}": ablation for ablation in ABLATIONS},
}

COMPARED = (
    "CT-W",
    "LPCT max-edge",
    "LPCT CART",
    "LPCT-prune max-edge",
    "LPCT-prune CART",
    "CT-Q",
    "PHIST",
    "PHIST cubes",
    "LPDT",
    "PGLM",
    "PSGD-L",
    "PSGD-N",
    "Privet",
)
"""The methods of LPCT's Table 2, and Privet."""
TIMED = {f"time of {name}": Timed(name, METHODS[name]) for name in COMPARED}
METHODS.update(TIMED)
