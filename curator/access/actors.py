"""Who asks for something: what every use case is told, and asks whether they may."""

from typing import Protocol

from .tokens import Scope


class Actor(Protocol):
    """A stranger, the owner of a token, or a person who signed in."""

    @property
    def id(self) -> str:
        """What the audit log calls them; empty for a stranger."""

    @property
    def reads(self) -> bool:
        """Whether they may read what strangers may not; raises for a token that is wrong."""

    def need(self, scope: Scope, what: str = "") -> None:
        """Raise ``NotAuthorized`` or ``InsufficientScope`` unless they may do what takes ``scope``.

        ``what`` is shown to readers only, in words for the error.
        """
