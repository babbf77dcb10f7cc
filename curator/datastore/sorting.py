"""Ids in ascending order, and repeats among them."""

import numpy as np
from numpy.typing import NDArray

from privet.curator.datastore.base import Ids
from privet.curator.datastore.known import as_text


def distinct(ids: Ids) -> tuple[NDArray[np.intp], NDArray[np.intp] | None]:
    """Where each distinct id comes first, ascending by id; and for every row where its id does.

    Shapes ``(D,)`` and ``(B,)`` for B ids of which D differ; None in place of the second if all
    do. Random ids differ in their first eight bytes, and numbers are sorted much faster than
    strings; ids that do not are sorted as strings.
    """
    heads = np.ascontiguousarray(ids[:, :8]).view(">u8").ravel().astype(np.uint64)
    order = np.argsort(heads)
    ranked_heads = heads[order]
    if (ranked_heads[1:] != ranked_heads[:-1]).all():
        return order, None
    return _distinct_strings(as_text(ids))


def _distinct_strings(
    ids: NDArray[np.bytes_],
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    order = np.argsort(ids, kind="stable")
    ranked = ids[order]
    begins = np.ones(len(ids), dtype=bool)
    begins[1:] = ranked[1:] != ranked[:-1]
    first = order[begins]
    decider = np.empty(len(ids), dtype=np.intp)
    decider[order] = first[np.cumsum(begins) - 1]
    return first, decider
