"""The relay on whose page people answer: named by admins, and what it says of itself."""

from typing import Self

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from privet.protocol.calls import API
from privet.protocol.errors import InvalidRequest
from privet.protocol.status import RelayDescription

from ..service import relays as cases
from .problems import described
from .requests import AdminOnly, StrictRoute, TheCaller, TheCurator

router = APIRouter(prefix=API, tags=["tokens"], route_class=StrictRoute, dependencies=[AdminOnly])


class RelayRequest(BaseModel):
    """The relay's address."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"address": "https://relay.example"}]}
    )

    address: str = Field(max_length=1_000, description="As people open it; empty for none.")


class RelayView(BaseModel):
    """The relay that was named, and what it said when it was last asked."""

    address: str | None
    described: RelayDescription | None = None
    fault: str = Field(
        default="", description="Why nobody can answer there, in a sentence; empty if they can."
    )

    @classmethod
    def of(cls, probe: cases.Probe | None) -> Self:
        if probe is None:
            return cls(address=None, fault="No relay is named.")
        return cls(address=probe.address, described=probe.described, fault=probe.fault)


@router.get("/relay", summary="Ask the relay what it is")
def read_relay(curator: TheCurator) -> RelayView:
    """The relay that was named, and why nobody can answer there, if so."""
    return RelayView.of(cases.probe(curator))


@router.put("/relay", summary="Name the relay", responses=described(InvalidRequest))
def name_relay(curator: TheCurator, caller: TheCaller, body: RelayRequest) -> RelayView:
    """Say at which relay people answer all tasks of this curator."""
    cases.name_relay(curator, caller, body.address.strip())
    return RelayView.of(cases.probe(curator))
