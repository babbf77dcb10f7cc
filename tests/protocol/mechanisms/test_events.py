"""Events of payloads: their bounds are the greatest probabilities, by enumeration."""

from itertools import combinations
from math import comb

import numpy as np
import pytest

from privet.protocol.mechanisms import SubsetSelection, create_mechanism, subset
from privet.protocol.mechanisms.stratified import StratifiedMechanism


def law_of(mechanism: SubsetSelection) -> tuple[np.ndarray, np.ndarray]:
    """All payloads, ``(sets, bytes)``, and their probabilities by category, ``(sets, m)``."""
    m, k, p = mechanism.categories, mechanism.k, float(mechanism.p)
    sets = list(combinations(range(m), k))
    law = np.array(
        [
            [
                p / comb(m - 1, k - 1) if own in each else (1 - p) / comb(m - 1, k)
                for own in range(m)
            ]
            for each in sets
        ]
    )
    assert law.sum(axis=0) == pytest.approx(1.0)
    return np.array([written(mechanism, each) for each in sets]), law


def written(mechanism: SubsetSelection, chosen: tuple[int, ...]) -> np.ndarray:
    """A set as a bitmap, or as indices where these are shorter."""
    bits = np.zeros(mechanism.categories, dtype=np.uint8)
    bits[list(chosen)] = 1
    bitmap = np.packbits(bits, bitorder="little")
    indices = np.array(chosen, dtype=np.uint8)
    return indices if len(indices) < len(bitmap) else bitmap


@pytest.mark.parametrize("enumerated", [True, False])
@pytest.mark.parametrize(
    ("cells", "slots", "k"), [(2, 2, 2), (3, 2, 1), (8, 2, 5), (4, 3, 4), (5, 1, 2), (1, 2, 1)]
)
def test_bounds_are_the_greatest_probabilities(
    cells: int, slots: int, k: int, monkeypatch: pytest.MonkeyPatch, *, enumerated: bool
) -> None:
    """Of every event under every category; where sets are not enumerated, not below them."""
    if not enumerated:
        monkeypatch.setattr(subset, "ENUMERATED", 0)
    mechanism = SubsetSelection.create(1.0, cells, slots, k=k)
    bodies, law = law_of(mechanism)
    in_event = np.array([mechanism.event_counts(body[None]) for body in bodies])
    greatest = (in_event.T @ law).max(axis=1)
    bounds, parts = mechanism.event_bounds(), subset.HASHES
    assert bounds[:-parts] == pytest.approx(greatest[:-parts], abs=1e-12)
    if enumerated:
        assert bounds[-parts:] == pytest.approx(greatest[-parts:], abs=1e-12)
    else:
        assert (bounds[-parts:] >= greatest[-parts:] - 1e-12).all()
    assert mechanism.event_counts(bodies).tolist() == in_event.sum(axis=0).tolist()


def test_indices_and_bitmaps_have_the_same_events() -> None:
    """Numbers of slots do not depend on how a set is written, nor on its stratum."""
    rng = np.random.default_rng(1)
    wide = SubsetSelection.create(1.0, 100, 2, k=3)
    rows = np.frombuffer(
        b"".join(wide.privatize(7, rng.bytes) for _ in range(50)), dtype=np.uint8
    ).reshape(50, -1)
    odd = wide.sums_of_each(rows)[:, : wide.misfit].reshape(50, 100, 2).sum(axis=1)
    expected = [int((odd[:, slot] >= least).sum()) for slot in (0, 1) for least in (1, 2, 3)]
    assert wide.event_counts(rows)[: -subset.HASHES].tolist() == expected
    behind = StratifiedMechanism.around(wide, (0,) * 100 + (1,) * 100)
    with_stratum = np.hstack([np.zeros((50, behind.width), dtype=np.uint8), rows])
    assert behind.event_counts(with_stratum).tolist() == wide.event_counts(rows).tolist()
    assert behind.event_bounds().tolist() == wide.event_bounds().tolist()


@pytest.mark.parametrize("name", ["grr", "projective"])
def test_other_mechanisms_have_none(name: str) -> None:
    """Their events are not counted, and nothing is said of them."""
    mechanism = create_mechanism(name, 1.0, 4, 2)
    assert len(mechanism.event_bounds()) == 0
    row = np.frombuffer(mechanism.privatize(0, np.random.default_rng(1).bytes), dtype=np.uint8)
    assert len(mechanism.event_counts(row[None])) == 0
