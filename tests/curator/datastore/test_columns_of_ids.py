"""The fast code for many ids, against slow and obvious twins."""

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from privet.curator.datastore.checksum import EMPTY, FEW, checksum, combine
from privet.curator.datastore.filter import Filter
from privet.curator.datastore.known import keys_of
from privet.curator.datastore.sorting import distinct

Ids = NDArray[np.uint8]


def random_ids(count: int, seed: int = 0) -> Ids:
    """Random report ids."""
    return np.random.default_rng(seed).integers(0, 256, (count, 16), dtype=np.uint8)


@pytest.mark.parametrize("count", [0, 1, FEW - 1, FEW, 3 * FEW + 1, 40_000])
def test_the_checksum_is_the_xor_of_sha256(count: int) -> None:
    """Both ways of computing it give what hashlib gives id by id."""
    ids = random_ids(count)
    expected = 0
    for key in keys_of(ids):
        expected ^= int.from_bytes(hashlib.sha256(key).digest(), "big")
    assert checksum(ids) == expected.to_bytes(32, "big")


def test_checksums_of_parts_make_that_of_the_whole() -> None:
    """Order and batching do not matter, and taking a part away gives the rest."""
    ids = random_ids(1_000)
    whole = checksum(ids)
    assert combine(checksum(ids[:300]), checksum(ids[300:])) == whole
    assert checksum(ids[::-1]) == whole
    assert combine(whole, checksum(ids[300:])) == checksum(ids[:300])
    assert combine(whole, whole) == EMPTY


few_letters = st.lists(st.sampled_from([0, 1, 255]), min_size=16, max_size=16)


@given(st.lists(few_letters, min_size=1, max_size=30))
def test_distinct_finds_the_first_of_each(rows: list[list[int]]) -> None:
    """Every id's first place, ascending by id, and for every row where its id comes first."""
    ids = np.array(rows, dtype=np.uint8)
    keys = keys_of(ids)
    first, decider = distinct(ids)
    assert [keys[place] for place in first] == sorted(set(keys))
    deciders = list(range(len(keys))) if decider is None else decider.tolist()
    assert deciders == [keys.index(key) for key in keys]


def test_random_ids_are_sorted_by_their_first_bytes() -> None:
    """Ids that differ in their first eight bytes are put in order, and known to be distinct."""
    ids = random_ids(10_000)
    first, decider = distinct(ids)
    assert keys_of(ids[first]) == sorted(keys_of(ids))
    assert decider is None


def test_the_filter_forgets_nothing() -> None:
    """An id that was added is always a suspect."""
    known = random_ids(50_000)
    kept = Filter(log_words=12)
    kept.add(7, known)
    assert kept.suspects(7, known).all()


def test_the_filter_rarely_suspects_a_new_id() -> None:
    """At 12 bits per id fewer than 3 % of new ids are suspects.

    A word holds Poisson(64 / 12) ids of four bits; a new id's four bits are all set with a mean
    probability of 0.015. Among 100 000 new ids more than 3 % would be 12 standard deviations off
    even if words made them fall together in dozens; the seed is fixed, the filter's secret is not.
    """
    kept = Filter(log_words=14)
    kept.add(1, random_ids(2**14 * 64 // 12, seed=1))
    assert kept.suspects(1, random_ids(100_000, seed=2)).mean() < 0.03
