"""The client address, as used by rate and connection limits."""

from ipaddress import IPv6Address, IPv6Network

from starlette.types import Scope


def client_address(scope: Scope) -> str:
    """The address that a request came from; empty if the server does not say."""
    return network_of(str((scope.get("client") or ("", 0))[0]))


def network_of(address: str) -> str:
    """The address, or its /64 prefix for IPv6: one owner has all addresses of a /64."""
    if ":" not in address:
        return address
    try:
        parsed = IPv6Address(address)
    except ValueError:  # what a proxy says may be anything
        return address
    return str(parsed.ipv4_mapped or IPv6Network((parsed, 64), strict=False))
