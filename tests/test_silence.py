"""No command and no image looks up or calls a host that it was not given."""

import json
import subprocess
import sys
from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest

from tests.watched import namespace

ROOT = Path(__file__).parent.parent
pytestmark = [pytest.mark.needs("ip", "unshare"), pytest.mark.timeout(1_800)]
GIVEN = ("example", "invalid", "test", "localhost")
"""Top-level domains of hosts that tests name to commands (RFC 2606); nobody has one by accident."""
GIVEN_NETWORKS = ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32")
PYTEST = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", "not slow"]
TESTS = (
    "curator/cli",
    "curator/test_server.py",
    "client/test_cli.py",
    "relay/test_command.py",
    "conformance/test_cli.py",
    "learning/export",
    "learning/core/test_onnx.py",
)
ROUNDS = {
    "each": [*PYTEST, *(f"tests/{name}" for name in TESTS)],
    "a collection": [sys.executable, "-m", "scripts.demo", "--holders", "200"],
}
"""Commands, by their tests, which name them hosts of this machine; and all of them together."""
NOBODY = "http://127.0.0.1:9"
IMAGES = {
    "demo": "python -m scripts.demo --holders 50 --folder /tmp/demo",
    "relay": f"timeout 10 privet-relay serve --curator {NOBODY} --spool /tmp/spool; true",
    "holder": f"privet-holder show {NOBODY}/v1/tasks/{'0' * 64}; true",
}
"""Images, the demonstration's with a curator in it, and what is run in their file systems."""
INSIDE = """
mount -t proc proc proc && mount --rbind /dev dev && mount -t tmpfs -o mode=1777 tmpfs dev/shm
mount --bind /etc/resolv.conf etc/resolv.conf && mount -t tmpfs -o mode=1777 tmpfs tmp
exec chroot --userspec=1000:1000 . env -i $(cat ../environment) sh -c "cd /tmp && $1"
"""
PHONES_HOME = """
import socket
try:
    socket.create_connection(("telemetry.vendor.com", 443), 1)
except OSError:
    pass
for address in ("8.8.8.8", "2606:4700::1111"):
    try:
        socket.create_connection((address, 443), 1)
    except OSError:
        pass
"""


def watched(*command: str) -> tuple[set[str], set[str]]:
    """The names that a command looked up, and the addresses that it called."""
    done = subprocess.run(
        [*namespace(), sys.executable, "-m", "tests.watched", *command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-5_000:]
    seen = json.loads(done.stdout.splitlines()[-1])
    networks = [ip_network(each) for each in GIVEN_NETWORKS]
    names = {name for name in seen["names"] if name.rpartition(".")[2] not in GIVEN}
    addresses = {
        address
        for address in seen["addresses"]
        if not any(ip_address(address) in network for network in networks)
    }
    return names, addresses


def test_what_phones_home_is_seen() -> None:
    """By name and by address; else the tests below could not fail."""
    expected = {"telemetry.vendor.com"}, {"8.8.8.8", "2606:4700::1111"}
    assert watched(sys.executable, "-c", PHONES_HOME) == expected
    assert watched(sys.executable, "-c", "import socket; socket.getfqdn('a.example')")[0] == set()


@pytest.mark.needs("docker")
@pytest.mark.parametrize("image", IMAGES)
def test_no_image_looks_up_a_host_that_it_was_not_given(image: str, tmp_path: Path) -> None:
    """What is run has the image's files, settings and user, and nothing else of this machine's."""

    def docker(*arguments: str) -> str:
        command = ["docker", *arguments]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    built = docker("build", "--quiet", "--target", image, ".")
    settings = json.loads(docker("image", "inspect", "--format", "{{json .Config.Env}}", built))
    (tmp_path / "environment").write_text(" ".join(settings))
    root = tmp_path / "root"
    root.mkdir()
    made = docker("create", built)
    unpack = f"docker export {made} | tar -x -C {root}"
    try:
        subprocess.run(unpack, shell=True, check=True)
    finally:
        docker("rm", made)
    assert watched("sh", "-euc", f"cd {root}{INSIDE}", "sh", IMAGES[image]) == (set(), set())


@pytest.mark.parametrize("name", ROUNDS)
def test_no_command_looks_up_a_host_that_it_was_not_given(name: str) -> None:
    """Nor connects to one, by name or address, whatever library does so."""
    assert watched(*ROUNDS[name]) == (set(), set())
