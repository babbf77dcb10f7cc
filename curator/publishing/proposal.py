"""What each column of a public table would be published as, before anything is declared."""

from dataclasses import dataclass

from privet.curator.publishing.review import remarks_on
from privet.curator.publishing.schema import infer_feature
from privet.curator.publishing.table import Columns
from privet.protocol.errors import InvalidPublicData
from privet.protocol.features import Categorical, Numeric


@dataclass(frozen=True)
class Proposal:
    """The ``feature`` that a column would be, None if it cannot be one, and what looks wrong."""

    name: str
    feature: Numeric | Categorical | None
    remarks: tuple[str, ...]


def propose(columns: Columns) -> list[Proposal]:
    """A proposal for every column, in file order."""
    proposals = []
    for name, values in columns.items():
        remarks = tuple(f"It {remark}" for remark in remarks_on(values))
        try:
            feature = infer_feature(name, values)
        except InvalidPublicData as error:
            proposals.append(Proposal(name, None, (error.detail, *remarks)))
        else:
            proposals.append(Proposal(name, feature, remarks))
    return proposals
