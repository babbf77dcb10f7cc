"""Estimators: pure functions from public data and debiased counts to a model that predicts.

``ESTIMATORS`` names them all; ``fit`` runs one by name. What is fitted is post-processing of
reports that are already private, so fitting often, or while reports come in, costs no privacy.
"""

from collections.abc import Sequence
from dataclasses import replace

from privet.curator.estimation.averaged import fit_averaged
from privet.curator.estimation.counts import Label, QuestionCounts
from privet.curator.estimation.drift import fit_drift
from privet.curator.estimation.estimator import Estimator, Parameter
from privet.curator.estimation.histogram import fit_adjusted_histogram, fit_histogram
from privet.curator.estimation.model import Model, Predictions
from privet.curator.estimation.pruned import fit_pruned
from privet.curator.estimation.weighted import fit_private, fit_public, fit_ratio, fit_weighted
from privet.curator.public_data import PublicData
from privet.curator.public_model.base import BaseModel, from_onnx
from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Classes, Range

__all__ = [
    "DEFAULT_ESTIMATOR",
    "ESTIMATORS",
    "Estimator",
    "Model",
    "Parameter",
    "Predictions",
    "QuestionCounts",
    "fit",
]

DEFAULT_ESTIMATOR = "drift"

SPLIT = Parameter(0.8, "Prior probability that a node of the tree is divided.", low=0.01, high=0.99)

ESTIMATORS: dict[str, Estimator] = {
    estimator.name: estimator
    for estimator in (
        Estimator(
            "weighted",
            "Private and public counts with a fixed weight (LPCT, eq. 8).",
            fit_weighted,
            {
                "weight": Parameter(
                    1.0, "What a public record counts for: λ of eq. 8.", low=0.0, high=1e12
                ),
                "counts": Parameter(
                    "automatic",
                    "Private counts as they are, or none negative; automatic: so for numbers.",
                    choices=("automatic", "unbiased", "clipped"),
                ),
            },
        ),
        Estimator(
            "drift",
            "Public model plus a private correction, averaged over prunings; the default.",
            fit_drift,
            {
                "split": SPLIT,
                "plain": Parameter(False, "Give a tree that needs no public model beside it."),
            },
            takes_base=True,
        ),
        Estimator(
            "averaged",
            "Bayesian average over all prunings of the tree, from cell counts alone.",
            fit_averaged,
            {"split": SPLIT},
        ),
        Estimator("private", "Private counts alone (LPCT, eq. 7).", fit_private),
        Estimator(
            "pruned",
            "LPCT-prune: each cell climbs to the ancestor with a clear signal (Algorithm 2).",
            fit_pruned,
            {
                "constants": Parameter(
                    "calibrated",
                    "Algorithm 2 as printed, or with both data's statistics of one law.",
                    choices=("calibrated", "paper"),
                )
            },
            labels=(Classes,),
        ),
        Estimator(
            "ratio",
            "LPDT's regression tree, from private counts alone.",
            fit_ratio,
            labels=(Range,),
        ),
        Estimator(
            "histogram",
            "Half the holders tell their cell, half their labelled cell (Berrett and Butucea).",
            fit_histogram,
        ),
        Estimator(
            "adjusted_histogram",
            "The same, but a cell with too small a mass predicts 0 (Györfi and Kroll).",
            fit_adjusted_histogram,
            {
                "threshold": Parameter(
                    1.0, "Standard errors a mass must have to be used.", low=0.0, high=1e6
                )
            },
        ),
        Estimator("public", "Public counts alone (LPCT, eq. 4 on public data).", fit_public),
    )
}


def fit(
    name: str,
    label: Label,
    public: PublicData,
    evidence: Sequence[QuestionCounts],
    base: BaseModel | None = None,
    **parameters: object,
) -> Model:
    """Fit the estimator ``name``; ``base`` is a public model of the caller's own, for `drift`.

    Without one, the model that came with the public data is it, if one came.
    Raises ``InvalidRequest`` for an unknown name or parameter."""
    if name not in ESTIMATORS:
        raise InvalidRequest(f"Unknown estimator {name!r}: use one of {', '.join(ESTIMATORS)}.")
    estimator = ESTIMATORS[name]
    if estimator.takes_base and base is None and public.onnx is not None:
        slots = label.slots if isinstance(label, Classes) else 0
        base = from_onnx(public.onnx, public.X.shape[1], slots)
    model = estimator.fit(label, public, evidence, base=base, **parameters)
    if base is None:
        return model
    return replace(model, facts={**model.facts, "public model": base.name})
