import pytest

from privet.http_server.addresses import client_address
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
