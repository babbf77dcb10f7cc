"""Randomizers of other libraries, those that are installed: the same mechanism, one report."""

from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from math import exp
from typing import Any

import numpy as np

from bench.figures import Work
from bench.samples import EPSILON

Randomizers = Iterator[tuple[str, Work]]
ABSENT = "not installed"
ITEM = 1


def others(categories: int) -> Iterator[tuple[str, str, Work]]:
    """Mechanism, library, and the work of one report; every work was done once before."""
    for library, randomizers in LIBRARIES.items():
        if find_spec(library) is None:
            continue
        for mechanism, work in randomizers(categories):
            work()
            yield mechanism, library, work


def versions() -> dict[str, str]:
    """The version of each library, or that it is not installed."""
    return {
        package: _version(package) for package in (name.replace("_", "-") for name in LIBRARIES)
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ABSENT


def _opendp(categories: int) -> Randomizers:
    """k-ary randomized response, bits flipped with f / 2 each, and discrete Laplace noise.

    The noise has our lattice's scale, 4 / ε of four steps each.
    """
    dp: Any = import_module("opendp.prelude")
    dp.enable_features("contrib")
    p = exp(EPSILON) / (exp(EPSILON) + categories - 1)
    index = dp.m.make_randomized_response(categories=list(range(categories)), prob=p)
    yield "grr", partial(index, ITEM)
    domain, f = dp.bitvector_domain(max_weight=1), 2 / (exp(EPSILON / 2) + 1)
    bits = dp.m.make_randomized_response_bitvec(domain, dp.discrete_distance(), f=f)
    yield "sue", partial(bits, np.packbits(np.arange(categories) == ITEM).tobytes())
    vectors, distance = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    noise = dp.m.make_laplace(vectors, distance, scale=16 / EPSILON)
    yield "laplace", partial(noise, [int(category == ITEM) for category in range(categories)])


def _pure_ldp(categories: int) -> Randomizers:
    clients: Any = import_module("pure_ldp.frequency_oracles")
    yield "grr", partial(clients.DEClient(EPSILON, categories).privatise, ITEM)
    unary = clients.UEClient(EPSILON, categories, use_oue=True)
    yield "oue", partial(unary.privatise, ITEM)


def _multi_freq_ldpy(categories: int) -> Randomizers:
    for name, module, options in (
        ("grr", "GRR", ()),
        ("sue", "UE", (False,)),
        ("oue", "UE", (True,)),
        ("subset", "SS", ()),
    ):
        oracle = import_module(f"multi_freq_ldpy.pure_frequency_oracles.{module}")
        client = getattr(oracle, f"{module}_Client")
        yield name, partial(client, ITEM, categories, EPSILON, *options)


LIBRARIES: dict[str, Callable[[int], Randomizers]] = {
    "opendp": _opendp,
    "pure_ldp": _pure_ldp,
    "multi_freq_ldpy": _multi_freq_ldpy,
}
