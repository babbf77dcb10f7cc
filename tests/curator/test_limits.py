"""The limits of a curator are those of the proxy before it."""

import re
from pathlib import Path

from privet.curator.limits import LIMITS, MIB
from privet.curator.server import HEADER_SECONDS

PROXY = Path(__file__).parents[2] / "deploy" / "nginx.conf"


def test_the_proxy_takes_bodies_that_the_curator_takes() -> None:
    """Predictions, new tasks and batches; a larger one is refused by either."""
    text = PROXY.read_text(encoding="utf-8").partition("curators.sock ssl")[2]
    text = text.partition("relay.sock ssl")[0]
    sizes = [int(size) * MIB for size in re.findall(r"client_max_body_size (\d+)m;", text)]
    assert sizes == [LIMITS.request_bytes, LIMITS.public_bytes, LIMITS.batch_bytes]


def test_the_proxy_waits_for_heads_as_long_as_the_curator() -> None:
    assert f"client_header_timeout {HEADER_SECONDS:g}s;" in PROXY.read_text(encoding="utf-8")
