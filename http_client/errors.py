"""Transport errors between two roles; none crosses the wire.

PrivetError                  (protocol.errors: what the other side answers arrives as one of those)
└── TransportError
    ├── UnsafeAddress        not a task's address, or one that would be read on the way
    ├── CuratorUnreachable   no answer after several attempts
    └── UnexpectedResponse     something answered, but not as a curator does
"""

from privet.protocol.errors import PrivetError


class TransportError(PrivetError): ...


class UnsafeAddress(TransportError): ...


class CuratorUnreachable(TransportError): ...


class UnexpectedResponse(TransportError): ...
