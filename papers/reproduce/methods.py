"""The methods of the experiments by name: those of the papers with their grids, and ours."""

from collections.abc import Callable, Iterator, Mapping, Sequence
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

from baselines import (
    APHISTRegressor,
    DeconvolutionRegressor,
    LPCTClassifier,
    LPCTPruneClassifier,
    LPDTClassifier,
    LPDTRegressor,
    NonPrivateTreeClassifier,
    NonPrivateTreeRegressor,
    PGLMClassifier,
    PHISTClassifier,
    PHISTRegressor,
    PSGDClassifier,
    PublishedLPDTRegressor,
    RandomizedLabelsClassifier,
    SemiPrivateClassifier,
)
from baselines.histogram import MAX_DIMENSIONS
from baselines.trees import theorem_4
from reproduce import disclosure
from reproduce.ablations import ABLATIONS
from reproduce.blind import reported_share
from reproduce.contestants import (
    DEPTHS,
    FULL_GRID_DEPTH,
    Costs,
    Lpct,
    Method,
    Point,
    Scored,
    Timed,
    Tuned,
    fitted,
    scores,
)
from reproduce.coverage import CASES
from reproduce.datasets import Split
from reproduce.effects import CHOSEN, LABEL_ALONE
from reproduce.few_disclosed import hold_with_few
from reproduce.intervals import hold
from reproduce.label_shifts import contradict, follow
from reproduce.no_difference import say
from reproduce.ours import (
    CrossValidated,
    Privet,
    WithoutPrivacy,
    behind_a_relay,
    planned,
    public_stack,
    references,
    with_more_cells,
)
from reproduce.promises import keep
from reproduce.remembering import remember
from reproduce.scored import judge
from reproduce.sent_falsely import alarms
from reproduce.shapes import Compared
from reproduce.statements import list_differences, look_often
from reproduce.waves import earlier_waves, equal_lifetimes, listed_changes

RATES = tuple(10.0**k for k in range(-5, 1))
BANDWIDTHS = (None, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
"""Bandwidths in the features' unit, up to kernels far wider than the cube, and the default."""
LARGEST_ARRAY = 2**22
"""Places of a histogram above which a grid's point is left out; the papers ran out of memory."""
MOST_WEIGHTS = 20_000
"""Weights of PSGD-N's network, above which it has as many units as fit."""
LPDT_GRID = {"depth": tuple(range(1, 9)), "min_leaf": (1, 10, 40)}
RULES = "published rules"
PUBLISHED_GRID = {
    "depth": tuple(range(1, 7)),
    "min_leaf": (10, 20, 40, 60, 80, 100, 500, 1000, 2000),
    "share": (0.3, 0.5, 0.7),
}
"""The grid of LPDT's only published script, which is for the sine."""


def bins_that_fit(windows: bool) -> Callable[[Split], Mapping[str, Sequence[Any]]]:
    """1/h from 1 to 6, as far as the histogram fits into memory."""

    def grid(split: Split) -> Mapping[str, Sequence[Any]]:
        d = split.public.X.shape[1]
        fits = [k for k in range(1, 7) if (2 * k + 1 if windows else k) ** d <= LARGEST_ARRAY]
        return {"bins": fits if d <= MAX_DIMENSIONS else []}

    return grid


def units(split: Split) -> Mapping[str, Sequence[Any]]:
    """d/2, d and 2d hidden units, as far as there are not too many weights, and the rates."""
    d = split.public.X.shape[1]
    most = max(1, MOST_WEIGHTS // (d + 1))
    hidden = dict.fromkeys(min(h, most) for h in (max(1, d // 2), d, 2 * d))
    return {"hidden": tuple(hidden), "learning_rate": RATES}


SHALLOW, LEAVES = tuple(range(1, 9)), (0, 1, 5)
"""Leaf sizes: 0 is the full grid, 1 the text's rule; the authors' code prunes with 1 and 5."""
CONSTANTS = {"published": "published", "text": "paper", "calibrated": "calibrated"}
"""Variants of LPCT-prune: the authors' code, Algorithm 2 as printed, and ours."""
PRUNED = tuple(f"LPCT-prune, {name}" for name in CONSTANTS)
tree = partial(Tuned, estimator=NonPrivateTreeClassifier, private=False)


def prune(name: str, leaves: Sequence[int], **settings: str) -> Tuned:
    """LPCT-prune at the best leaf size."""
    return Tuned(name, LPCTPruneClassifier, {"min_leaf": leaves}, settings)


def by_theorem_4(split: Split, epsilon: float, seed: int, *, gamma: float) -> Iterator[Scored]:
    """LPCT with the p and λ of Theorem 4 for the synthetic design, whose η_P is 0.1-Hölder."""
    rows = len(split.private), len(split.public)
    columns = split.private.X.shape[1]
    depth, weight = theorem_4(*rows, epsilon, columns=columns, alpha=0.1, gamma=gamma)
    model = LPCTClassifier(epsilon, depth=depth, weight=weight, random_state=seed)
    point: Point = {"depth": depth, "weight": weight}
    yield "LPCT, Theorem 4", point, scores(fitted(model, split), split)


NAMED: tuple[Any, ...] = (
    Lpct("LPCT", "max_edge", SHALLOW, (0, 1)),
    Lpct("LPCT, subset selection", "max_edge", SHALLOW, (0, 1), "subset"),
    Lpct("LPCT-R", "random", SHALLOW[:4], (1,)),
    Lpct("LPCT max-edge", "max_edge", DEPTHS, LEAVES),
    Lpct("LPCT CART", "cart", DEPTHS, LEAVES[1:]),
    *(
        prune(name, LEAVES, constants=constants)
        for name, constants in zip(PRUNED, CONSTANTS.values(), strict=True)
    ),
    prune("LPCT-prune max-edge", LEAVES, partition="max_edge", constants="published"),
    prune("LPCT-prune CART", LEAVES[1:], partition="cart", constants="published"),
    prune("LPCT-prune CART, calibrated", LEAVES[1:], partition="cart", constants="calibrated"),
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
    *(
        Tuned(f"{name}, {RULES}", PublishedLPDTRegressor, PUBLISHED_GRID, {"partition": partition})
        for name, partition in (("LPDT-M", "max_edge"), ("LPDT-V", "cart"))
    ),
    Tuned("APHIST", APHISTRegressor, bins_that_fit(windows=False)),
    Tuned("DECONV", DeconvolutionRegressor, {"bandwidth": BANDWIDTHS}),
    Tuned("randomized labels, forest", RandomizedLabelsClassifier),
    disclosure.Privet(disclosure.HIDDEN, "none"),
    disclosure.Privet(disclosure.HALF, "known"),
    disclosure.Privet(disclosure.LABEL, "all"),
    disclosure.Privet(disclosure.ALONE, "all", alone=True),
    WithoutPrivacy("public forest", RandomForestClassifier, RandomForestRegressor),
    WithoutPrivacy("public extra trees", ExtraTreesClassifier, ExtraTreesRegressor),
    WithoutPrivacy(
        "public boosting", HistGradientBoostingClassifier, HistGradientBoostingRegressor
    ),
    WithoutPrivacy("public linear", partial(LogisticRegression, max_iter=5000), Ridge),
    WithoutPrivacy("public tree", DecisionTreeClassifier, DecisionTreeRegressor),
    WithoutPrivacy("everybody's tree", DecisionTreeClassifier, DecisionTreeRegressor, "all"),
    WithoutPrivacy("everybody's forest", RandomForestClassifier, RandomForestRegressor, "private"),
    WithoutPrivacy(
        *("everybody's boosting", HistGradientBoostingClassifier),
        *(HistGradientBoostingRegressor, "private"),
    ),
)
METHODS: dict[str, Method] = {
    **{method.name: method for method in NAMED},
    **{
        f"LPCT, Theorem 4, γ = {gamma:g}": partial(by_theorem_4, gamma=gamma)
        for gamma in (0.5, 5.0)
    },
    "LPCT, Theorem 5": Lpct("LPCT", "max_edge", SHALLOW, (0, 1), beyond="zero"),
    "LPCT, full grid": Lpct("LPCT", "max_edge", SHALLOW, (0,)),
    "LPCT, small λ": Lpct("LPCT", "max_edge", DEPTHS, LEAVES, weights=(1, 2, 5)),
    "LPCT-prune p0": Tuned(
        PRUNED[0],
        LPCTPruneClassifier,
        {"depth": SHALLOW, "least_depth": SHALLOW[:7]},
        {"constants": "published", "min_leaf": 0},
    ),
    "LPDT-M, full grid": Tuned(
        "LPDT-M", LPDTRegressor, {"depth": SHALLOW}, {"partition": "max_edge", "min_leaf": 0}
    ),
    "LPCT, deep": Lpct("LPCT", "max_edge", tuple(range(3, FULL_GRID_DEPTH)), (0,)),
    "LPCT-prune, full grid": prune(PRUNED[1], (0,), constants="paper"),
    "LPDT leaves": Tuned(
        "LPDT-M", LPDTRegressor, {"depth": SHALLOW[1:], "min_leaf": tuple(range(15, 136, 10))}
    ),
    "PHIST for numbers": Tuned("PHIST", PHISTRegressor, bins_that_fit(windows=False)),
    "costs of LPDT": Costs("LPDT-M", LPDTRegressor, lambda model: model.question_.partition.cells),
    "costs of PHIST": Costs("PHIST", PHISTRegressor, lambda model: model.means_.size),
    "costs of DECONV": Costs(
        "DECONV", DeconvolutionRegressor, lambda model: model.X_.size + model.y_.size
    ),
    "semi-private thresholds": Tuned("semi-private learner", SemiPrivateClassifier),
    "Privet": Privet(),
    "public stack": public_stack,
    CHOSEN: CrossValidated(
        CHOSEN,
        [
            public_stack,
            *(m for m in NAMED if isinstance(m, WithoutPrivacy) and m.rows == "public"),
        ],
    ),
    disclosure.TREE_OF_HISTOGRAMS: disclosure.hist_of_tree,
    "against hidden": disclosure.against_hidden,
    "against hidden, register": partial(disclosure.against_hidden, with_register=True),
    "misfits of a ward": disclosure.misfits_of_a_ward,
    "references": references,
    "central, more cells": with_more_cells,
    "behind a relay": behind_a_relay,
    LABEL_ALONE: reported_share,
    "plan": planned,
    "keep promises": keep,
    **CASES,
    "list differences": list_differences,
    "look often": look_often,
    "earlier waves": earlier_waves,
    "equal lifetimes": equal_lifetimes,
    "listed changes": listed_changes,
    "say where none is seen": say,
    "judge": judge,
    "remember": remember,
    "follow labels": follow,
    "contradict": contradict,
    "test for false reports": alarms,
    "hold": hold,
    "hold with few": hold_with_few,
    "without the public shape": Compared(),
    **{f"ablation: {ablation.name}": ablation for ablation in ABLATIONS},
}

COMPARED = (
    "CT-W",
    "LPCT max-edge",
    "LPCT CART",
    "LPCT-prune max-edge",
    "LPCT-prune CART",
    "LPCT-prune CART, calibrated",
    "CT-Q",
    "PHIST",
    "PHIST cubes",
    "LPDT",
    "PGLM",
    "PSGD-L",
    "PSGD-N",
    "public stack",
    "Privet",
)
"""The methods of LPCT's Table 2, Privet, and its public model without any report."""
TIMED = {
    f"time of {name}": Timed(name, METHODS[name]) for name in COMPARED if name != "public stack"
}
METHODS.update(TIMED)
