"""The names and limits that settings may use, and the curator's key."""

from typing import Any

from privet.admin.calls import ApiCall
from privet.admin.results import CuratorKey, EstimatorHelp, Methods
from privet.learning.core.public_data import MAX_MODEL_BYTES
from privet.learning.export.formats import EXPORTS
from privet.learning.methods import DEFAULT_ESTIMATOR, ESTIMATORS, GROWERS
from privet.learning.task_building.columns import MAX_ROWS, MAX_TABLE_COLUMNS, MAX_VALUES
from privet.protocol import limits
from privet.protocol.mechanisms import MECHANISMS

from .curator import Curator
from .table import Acting, Open, operation


@operation(ApiCall.READ_METHODS, Open.ANYONE)
def read_methods(curator: Curator, actor: Acting) -> Methods:
    """Names for the settings of a task, for a fit and for an export, and the published limits."""
    return Methods(
        growers=list(GROWERS),
        mechanisms=list(MECHANISMS),
        estimators={
            name: EstimatorHelp.model_validate(estimator) for name, estimator in ESTIMATORS.items()
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


@operation(ApiCall.READ_KEY, Open.ANYONE)
def read_key(curator: Curator, actor: Acting) -> CuratorKey:
    """The key that holders pin. Hand it to them in another way: a forged curator has its own."""
    return CuratorKey(key=None if curator.signer is None else curator.signer.key.hex())
