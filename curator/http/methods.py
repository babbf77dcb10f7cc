"""GET /v1/methods, the names and limits that settings may use, and GET /v1/key."""

from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from privet.learning.core.public_data import MAX_MODEL_BYTES
from privet.learning.export.formats import EXPORTS
from privet.learning.methods import DEFAULT_ESTIMATOR, ESTIMATORS, GROWERS
from privet.learning.task_building.columns import MAX_ROWS, MAX_TABLE_COLUMNS, MAX_VALUES
from privet.protocol import limits
from privet.protocol.calls import API
from privet.protocol.mechanisms import MECHANISMS

from .state import state_of

router = APIRouter(prefix=API, tags=["methods"])


class ParameterView(BaseModel):
    """One parameter of an estimator."""

    model_config = ConfigDict(from_attributes=True)

    default: float | int | str | bool
    help: str
    choices: list[str]


class EstimatorView(BaseModel):
    """One estimator, in words, with its parameters."""

    model_config = ConfigDict(from_attributes=True)

    summary: str
    parameters: dict[str, ParameterView]


class Methods(BaseModel):
    """Everything that a task or a model can name."""

    growers: list[str]
    mechanisms: list[str]
    estimators: dict[str, EstimatorView]
    default_estimator: str
    formats: list[str]
    limits: dict[str, int]


@router.get("/methods", summary="List methods and limits")
def read_methods() -> Methods:
    """Names for the settings of a task, for a fit and for an export, and the published limits."""
    return Methods(
        growers=list(GROWERS),
        mechanisms=list(MECHANISMS),
        estimators={
            name: EstimatorView.model_validate(estimator) for name, estimator in ESTIMATORS.items()
        },
        default_estimator=DEFAULT_ESTIMATOR,
        formats=list(EXPORTS),
        limits=_limits(),
    )


def _limits() -> dict[str, int]:
    published: dict[str, Any] = {
        name.removeprefix("MAX_").lower(): value
        for name, value in vars(limits).items()
        if name.startswith("MAX_")
    }
    return {
        **published,
        "public_rows": MAX_ROWS,
        "public_columns": MAX_TABLE_COLUMNS,
        "public_values": MAX_VALUES,
        "public_model_bytes": MAX_MODEL_BYTES,
    }


class KeyView(BaseModel):
    """The public half of the curator's key."""

    key: str | None = Field(
        description="64 hexadecimal digits (Ed25519), or null where tasks are not signed.",
        examples=["d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"],
    )


@router.get("/key", summary="Read the curator's key")
def read_key(request: Request) -> KeyView:
    """The key that holders pin. Hand it to them in another way: a forged curator has its own."""
    signer = state_of(request).signer
    return KeyView(key=None if signer is None else signer.key.hex())
