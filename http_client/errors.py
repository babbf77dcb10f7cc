"""Transport errors between two roles; none crosses the wire.

PrivetError                  (protocol.errors: what the other side answers arrives as one of those)
└── TransportError
    ├── UnsafeAddress        not a task's address, or one that would be read on the way
    ├── CuratorUnreachable   no answer after several attempts
    │   └── WebPage          or a web page, such as a network's login page
    └── UnexpectedResponse   something answered, but not as a curator does
        └── Moved            or with a redirect for good
"""

from privet.protocol.errors import PrivetError


class TransportError(PrivetError): ...


class UnsafeAddress(TransportError): ...


class CuratorUnreachable(TransportError): ...


class WebPage(CuratorUnreachable): ...


class UnexpectedResponse(TransportError): ...


class Moved(UnexpectedResponse): ...


def is_of_curator(error: Exception) -> bool:
    """True for a refusal of the curator's own, by a type that no other program names."""
    own = isinstance(error, PrivetError) and not isinstance(error, TransportError)
    return own and type(error) is not PrivetError
