"""Run a command without a network, and print whom it looked up and what it connected to, as JSON.

    unshare --net --mount python -m tests.watched COMMAND ...

The namespace must be new: all addresses are made this machine's own, and a resolver that knows
nobody is put into ``/etc/resolv.conf``. The exit status is the command's.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path

RESOLVER = ("127.0.0.1", 53)
ALL_PACKETS, IPV4, IPV6 = 3, 0x0800, 0x86DD
NO_SUCH_NAME = 0x8183
"""The flags of an answer, see RFC 1035, section 4.1.1."""
ROUTES = ("link set lo up", "route add local 0.0.0.0/0 dev lo", "-6 route add local ::/0 dev lo")


def namespace() -> list[str]:
    """The beginning of a command that runs in a new network namespace."""
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return ["unshare", *user, "--net", "--mount"]


@contextmanager
def watching() -> Iterator[dict[str, set[str]]]:
    """The names and addresses of the block, as they come, but for those of this machine."""
    seen: dict[str, set[str]] = {"names": set(), "addresses": set()}
    for route in ROUTES:
        subprocess.run(["ip", *route.split()], check=True)
    with (
        tempfile.NamedTemporaryFile("w") as file,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as resolver,
        socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ALL_PACKETS)) as packets,
    ):
        file.write(f"nameserver {RESOLVER[0]}\n")
        file.flush()
        resolv_conf = Path("/etc/resolv.conf").resolve()
        subprocess.run(["mount", "--bind", file.name, resolv_conf], check=True)
        resolver.bind(RESOLVER)
        for watch in (_resolve, _listen):
            of = resolver if watch is _resolve else packets
            threading.Thread(target=watch, args=(of, seen), daemon=True).start()
        yield seen


def _resolve(resolver: socket.socket, seen: dict[str, set[str]]) -> None:
    while True:
        query, sender = resolver.recvfrom(4_096)
        place, labels = 12, []
        while query[place]:
            labels.append(query[place + 1 : place + 1 + query[place]].decode("ascii", "replace"))
            place += 1 + query[place]
        seen["names"].add(".".join(labels).lower())
        question = query[12 : place + 5]
        counts = b"\0\1" + bytes(6)
        resolver.sendto(query[:2] + NO_SUCH_NAME.to_bytes(2, "big") + counts + question, sender)


def _listen(packets: socket.socket, seen: dict[str, set[str]]) -> None:
    while True:
        packet, about = packets.recvfrom(65_535)
        kind = about[1]
        if kind in (IPV4, IPV6):
            target = ip_address(packet[16:20] if kind == IPV4 else packet[24:40])
            if not (target.is_loopback or target.is_multicast):
                seen["addresses"].add(str(target))


def main() -> int:
    with watching() as seen:
        done = subprocess.run(sys.argv[1:], stdout=sys.stderr, check=False)
        print(json.dumps({each: sorted(found) for each, found in seen.items()}))
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
