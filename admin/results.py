"""Results of the curator's calls, one type per thing: what ``/v1`` answers with, as JSON.

The curator's use cases return them, its pages and files show them, and ``CuratorClient`` reads
them. They need the base install only, so they live with the client and not with the curator.
"""

import re
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from privet.protocol.status import RelayDescription

ON_THIS_MACHINE = re.compile(r"https?://(localhost|127\.0\.0\.1|\[::1\])[:/]?.*")


class Scope(StrEnum):
    """The scope of a token: everything, reading and fitting, reading, or sending batches."""

    ADMIN = "admin"
    FITTER = "fitter"
    READER = "reader"
    RELAY = "relay"

    def allows(self, needed: str) -> bool:
        """True if it covers the scope ``needed``."""
        return self in (Scope.ADMIN, needed) or (self, needed) == (Scope.FITTER, Scope.READER)


class Result(BaseModel):
    """Base of all results. Moments are Unix seconds where they are made, and UTC in JSON."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False, from_attributes=True)


class IssuedToken(Result):
    """A new token, shown only once."""

    name: str
    scope: Scope
    token: str


class Token(Result):
    """A token, without its value."""

    name: str
    scope: Scope
    source: Literal["database", "environment"] = Field(
        description="Origin: issued, or the curator's PRIVET_ADMIN_TOKEN."
    )
    created: datetime = Field(
        description="Time of issue; for a token from the environment, of the start."
    )
    expires: datetime | None
    used: datetime | None = Field(description="Its last use, to the minute.")


class AuditLogEntry(Result):
    """An entry of the audit log."""

    no: int
    at: datetime
    actor: str = Field(
        description="Name of the token, or oidc: and the subject of a person who signed in by "
        "OpenID Connect; empty for the curator, its commands, and strangers."
    )
    action: str = Field(examples=["task created"])
    subject: str = Field(description="A task's id, or a token's name.")
    detail: dict[str, Any]
    times: int = Field(description="How often within its hour; failed sign-ins are counted.")
    hash: str = Field(description="SHA-256 over the entry and the hash of the one before it.")


class NamedRelay(Result):
    """The relay that was named, and what it said when it was last asked."""

    address: str | None
    described: RelayDescription | None = None
    fault: str = Field(
        default="", description="Why nobody can answer there, in a sentence; empty if they can."
    )

    @property
    def works(self) -> bool:
        return not self.fault

    @property
    def is_local(self) -> bool:
        """True if only the machine it is on can open the address."""
        return ON_THIS_MACHINE.fullmatch(self.address or "") is not None


class CuratorKey(Result):
    """The public half of the curator's key."""

    key: str | None = Field(
        description="64 hexadecimal digits (Ed25519), or null where tasks are not signed.",
        examples=["d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"],
    )


class ParameterHelp(Result):
    """One parameter of an estimator."""

    default: float | int | str | bool
    help: str
    choices: list[str]


class EstimatorHelp(Result):
    """One estimator, in words, with its parameters."""

    summary: str
    parameters: dict[str, ParameterHelp]


class Methods(Result):
    """Everything that a task or a model can name."""

    growers: list[str]
    mechanisms: list[str]
    estimators: dict[str, EstimatorHelp]
    default_estimator: str
    formats: list[str]
    limits: dict[str, int]
