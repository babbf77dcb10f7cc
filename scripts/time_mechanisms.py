"""Times of the mechanisms, and of OpenDP's samplers for the same jobs, in the same run.

CPU time of this process, best of several repetitions, so that a busy machine disturbs little.
"""

import math
import os
import platform
import time
from collections.abc import Callable

import numpy as np

from privet.protocol.mechanisms import MECHANISMS, Mechanism

EPSILON = 1.0
REPETITIONS = 5


def times_table() -> str:
    """One row per mechanism: privatize, accumulate, validity, simulate, estimate."""
    from scripts.compare_mechanisms import markdown

    head = [
        "ε = 1",
        "privatize, m = 512",
        "OpenDP, same job",
        "accumulate, m = 512",
        "check, m = 512",
        "simulate 10^9 holders, m = 1024",
        "estimate, m = 1024",
    ]
    theirs = opendp_times()
    rows = [_row(name, theirs.get(name)) for name in MECHANISMS]
    return f"{markdown(head, rows)}\n\nMeasured on {_machine()}."


def _row(name: str, theirs: float | None) -> list[str]:
    mechanism = MECHANISMS[name].create(EPSILON, 256, 2)
    large = MECHANISMS[name].create(EPSILON, 512, 2)
    payloads = _many_payloads(mechanism)
    rng = np.random.default_rng(1)
    counts = rng.multinomial(10**9, np.ones(1024) / 1024).reshape(512, 2)
    sums = large.simulate(counts, rng)
    return [
        f"`{name}`",
        _micro(seconds(lambda: mechanism.privatize(300, os.urandom), number=300)),
        "" if theirs is None else _micro(theirs),
        _rate(len(payloads) / seconds(lambda: mechanism.accumulate(payloads))),
        _rate(len(payloads) / seconds(lambda: mechanism.valid(payloads))),
        _milli(seconds(lambda: large.simulate(counts, rng))),
        _milli(seconds(lambda: large.estimate(sums, 10**9))),
    ]


def seconds(job: Callable[[], object], number: int = 1) -> float:
    """CPU seconds of one ``job``, the best of REPETITIONS averages over ``number``."""
    best = math.inf
    for _ in range(REPETITIONS):
        started = time.process_time()
        for _ in range(number):
            job()
        best = min(best, (time.process_time() - started) / number)
    return best


def opendp_times() -> dict[str, float]:
    """Seconds that OpenDP takes to privatize one answer of 512 categories, by our names.

    ``sue``: randomized response on a bit vector. ``randomized_response``: the same, since our U and
    V have 512 bits together. ``grr``: k-ary randomized response. ``laplace``: discrete Laplace on
    512 integers.
    """
    import opendp.prelude as dp

    dp.enable_features("contrib")
    flipped = 2 / (1 + math.exp(EPSILON / 2))
    bits = dp.m.make_randomized_response_bitvec(
        dp.bitvector_domain(max_weight=1), dp.discrete_distance(), f=flipped
    )
    probability = math.exp(EPSILON) / (math.exp(EPSILON) + 511)
    index = dp.m.make_randomized_response(categories=list(range(512)), prob=probability)
    noise = dp.m.make_laplace(
        dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64"), scale=16.0
    )
    one_bit, one_hot = bytes([1]) + bytes(63), [1] + [0] * 511
    vector = seconds(lambda: bits(one_bit), number=50)
    return {
        "sue": vector,
        "randomized_response": vector,
        "grr": seconds(lambda: index(300), number=50),
        "laplace": seconds(lambda: noise(one_hot), number=5),
    }


def _many_payloads(mechanism: Mechanism) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
    """About 64 MB of reports, or a million."""
    distinct = [mechanism.privatize(c % mechanism.categories, os.urandom) for c in range(1000)]
    rows = np.frombuffer(b"".join(distinct), dtype=np.uint8).reshape(1000, -1)
    return np.tile(rows, (min(1000, 2**26 // rows.size), 1))


def _machine() -> str:
    return (
        f"{os.cpu_count()} cores ({platform.machine()}), one used, Python"
        f" {platform.python_version()}, numpy {np.__version__}"
    )


def _micro(value: float) -> str:
    return f"{value * 1e6:,.0f} µs".replace(",", " ")


def _milli(value: float) -> str:
    return f"{value * 1e3:.2g} ms" if value < 0.01 else f"{value * 1e3:.0f} ms"


def _rate(value: float) -> str:
    return f"{value / 1e6:.3g} M/s" if value < 1e9 else "over 1000 M/s"
