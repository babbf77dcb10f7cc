"""The client address, as used by rate and connection limits."""

from ipaddress import IPv6Address, IPv6Network, ip_network
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the command line reads settings without a server
    from starlette.types import Scope

MAPPED = IPv6Network("::ffff:0:0/96")


def client_address(scope: "Scope") -> str:
    """The address that a request came from; empty if the server does not say."""
    return network_of(str((scope.get("client") or ("", 0))[0]))


def unmapped(address: str) -> str:
    """An IPv4 address as such, where a socket for both families maps it to ``MAPPED``."""
    if ":" not in address:
        return address
    try:
        return str(IPv6Address(address).ipv4_mapped or address)
    except ValueError:
        return address


def read_proxies(proxies: str) -> str:
    """Trusted ``proxies``: addresses and networks with commas between, or "*" for all.

    Raises ``ValueError`` for anything else and for a network within ``MAPPED``, which would be
    trusted never.
    """
    if proxies.strip() in {"", "*"}:
        return proxies.strip()
    read = [unmapped(each.strip()) for each in proxies.split(",")]
    for each in read:
        try:
            network = ip_network(each)
        except ValueError:
            raise ValueError(
                f"{each!r} is no address and no network: give those of the proxies, such as "
                "10.0.0.5 or 10.0.0.0/8, with commas between, or * for all"
            ) from None
        if isinstance(network, IPv6Network) and network.subnet_of(MAPPED):
            raise ValueError(
                f"{each!r} is a network of IPv4 addresses, which are recognised as such: give it "
                "as 10.0.0.0/8 is written"
            )
    return ",".join(read)


def network_of(address: str) -> str:
    """The address, or its /64 prefix for IPv6: one owner has all addresses of a /64."""
    if ":" not in address:
        return address
    try:
        parsed = IPv6Address(address)
    except ValueError:  # what a proxy says may be anything
        return address
    return str(parsed.ipv4_mapped or IPv6Network((parsed, 64), strict=False))
