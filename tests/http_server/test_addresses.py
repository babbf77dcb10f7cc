import pytest

from privet.http_server.addresses import client_address, read_proxies
from tests.keeping import keeps


@keeps(
    "threat-model: an IPv6 sender is its /64",
    in_="http_server/addresses.py",
    instead_of="IPv6Network((parsed, 64), strict=False)",
    plant="IPv6Network((parsed, 128), strict=False)",
)
@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("192.0.2.1", "192.0.2.2", False),
        ("2001:db8::1", "2001:db8::ffff:2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.2", False),
        ("fe80::1%eth0", "fe80::2%eth0", True),
        ("unix:", "unix:", True),
    ],
)
def test_addresses_that_one_caller_has_count_as_one(one: str, other: str, alike: bool) -> None:
    """Who has one IPv6 address has 2^64 of them; IPv4 addresses are counted singly."""
    first, second = (client_address({"client": (address, 1)}) for address in (one, other))
    assert (first == second) is alike


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("", ""),
        (" * ", "*"),
        ("10.0.0.5, 192.0.2.0/24,2001:db8::/32", "10.0.0.5,192.0.2.0/24,2001:db8::/32"),
        *((each, "10.0.0.5") for each in ("::ffff:10.0.0.5", "::FFFF:10.0.0.5", "::ffff:a00:5")),
    ],
)
def test_proxies_are_addresses_and_networks(given: str, read: str) -> None:
    """In the form by which a connection's address is recognised."""
    assert read_proxies(given) == read


@pytest.mark.parametrize(
    "given", ["nginx", "10.0.0.5,", "10.0.0.5/8", "*,10.0.0.5", "10.0.0.5 ::1"]
)
def test_proxies_that_would_never_be_recognised_are_refused(given: str) -> None:
    """A name is none: who it stands for may change."""
    with pytest.raises(ValueError, match="is no address and no network: give those"):
        read_proxies(given)


@pytest.mark.parametrize("given", ["::ffff:0:0/96", "::FFFF:10.0.0.0/104", "::ffff:10.0.0.5/128"])
def test_proxies_in_a_network_of_mapped_addresses_are_refused(given: str) -> None:
    """Connections from them have IPv4 addresses."""
    with pytest.raises(ValueError, match="is a network of IPv4 addresses"):
        read_proxies(f"192.0.2.1,{given}")
