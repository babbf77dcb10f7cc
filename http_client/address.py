"""A task's address: where it is published, and the id its bytes must hash to."""

import ipaddress
import re
from dataclasses import dataclass
from functools import lru_cache

from privet.protocol.calls import API, TASK_ID, TASKS

from .errors import Moved, UnsafeAddress

HOST = re.compile(r"^[\w.:-]+$")
TASK_PATH = re.compile(rf"^.*{TASKS}/(?P<id>{TASK_ID})/?$")
PAGE_PATH = re.compile(rf"^(?P<before>.*)/answer/(?P<id>{TASK_ID})/?$")
DIRECT: dict[str, None] = {f"all://{host}": None for host in ("127.0.0.1", "[::1]", "localhost")}
"""httpx mounts that keep requests to this machine away from the environment's proxy."""
MOVED = frozenset({301, 308})
"""The statuses of permanent redirects."""
LONGEST_LOCATION = 300
"""Characters of an address to which one has moved, where it is printed."""


@dataclass(frozen=True)
class TaskAddress:
    """A checked ``url``, which ends in the task's id, that id, and an invitation if it came along.

    A link to the task's answer page at a relay leads to the task there: people are sent such links.
    """

    url: str
    id: str
    invitation: str | None = None

    @classmethod
    @lru_cache(maxsize=64)
    def parse(cls, url: str, *, insecure_http: bool = False) -> "TaskAddress":
        """The address in ``url``; raises ``UnsafeAddress`` for anything but a task's own.

        Plain http is accepted only for this machine, unless ``insecure_http`` is set: on the
        way, anybody could swap the curator for another or see who takes part.
        """
        import httpx  # slow to import

        try:
            parsed = httpx.URL(url.strip())
        except (httpx.InvalidURL, TypeError):
            raise UnsafeAddress(f"{url[:200]!r} is not an address: {_EXPECTED}.") from None
        invitation = None
        if page := PAGE_PATH.match(parsed.path):
            invitation = parsed.fragment or None
            path = f"{page['before']}{TASKS}/{page['id']}"
            parsed = parsed.copy_with(path=path, fragment=None)
        match = TASK_PATH.match(parsed.path)
        reachable = HOST.match(parsed.host) and (parsed.port or 0) < 2**16
        if parsed.scheme not in {"http", "https"} or not reachable or match is None:
            raise UnsafeAddress(f"{url[:200]!r} is not a task's address: {_EXPECTED}.")
        if parsed.userinfo or parsed.query or parsed.fragment:
            raise UnsafeAddress("A task's address has no user, query or fragment: leave them out.")
        check_transport(parsed.scheme, parsed.host, insecure_http=insecure_http)
        return cls(str(parsed).rstrip("/"), match["id"], invitation)


_EXPECTED = f"give https://curator.example{TASKS}/ followed by 64 hexadecimal digits"


def check_transport(scheme: str, host: str, *, insecure_http: bool) -> None:
    """Raise ``UnsafeAddress`` for plain http to another machine, unless ``insecure_http`` is set.

    The rule of all clients: of holders, of relays and of admins, whose token would be read.
    """
    if scheme == "http" and not insecure_http and not _is_this_machine(host):
        raise UnsafeAddress(
            f"Plain http to {host} can be read and changed on the way: use https, or allow it with "
            "--insecure-http (insecure_http=True) on a network you trust."
        )


def moved(url: str, location: str) -> Moved:
    """The error for a permanent redirect from ``url``, which is not followed.

    It says the new address only if ``location`` is the same call's elsewhere, at an address that
    could be given.
    """
    import httpx

    old, api, call = url.rpartition(f"{API}/")
    advice = "ask whoever gave you the address for the new one"
    try:
        to = str(httpx.URL(url).join(location))
        new = to.removesuffix(api + call)
        TaskAddress.parse(f"{new}{TASKS}/{'0' * 64}")
    except (httpx.InvalidURL, ValueError, UnsafeAddress):
        pass
    else:
        if old != new != to and len(new) <= LONGEST_LOCATION:
            advice = f"give {new} in place of {old}"
    return Moved(f"{url} has moved for good, and redirects are not followed: {advice}.")


def _is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
