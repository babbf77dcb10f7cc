"""The actors of use cases, and the checks of what they may do."""

from typing import Protocol

from privet.admin.results import Scope


class Actor(Protocol):
    """A stranger, the owner of a token, or a person who signed in."""

    @property
    def id(self) -> str:
        """The name in the audit log; empty for a stranger."""

    @property
    def reads(self) -> bool:
        """True if the actor may read what strangers may not; raises for a wrong token."""

    def need(self, scope: Scope, what: str = "") -> None:
        """Raise ``NotAuthorized`` or ``InsufficientScope`` unless they may do what takes ``scope``.

        ``what`` is shown to readers only, in words for the error.
        """
