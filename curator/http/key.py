"""The key that tasks are signed with, for holders to pin."""

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

router = APIRouter(prefix="/v1/key", tags=["methods"])


class KeyView(BaseModel):
    """The public half of the curator's key."""

    key: str | None = Field(
        description="64 hexadecimal digits (Ed25519), or null where tasks are not signed.",
        examples=["d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"],
    )


@router.get("", summary="Read the curator's key")
def read_key(request: Request) -> KeyView:
    """What holders pin. Give it to them another way too: here, a swapped curator tells its own."""
    signer = request.app.state.signer
    return KeyView(key=None if signer is None else signer.key.hex())
