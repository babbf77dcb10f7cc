"""How deep a tree to publish when nobody says so."""

from math import floor, log2

from privet.protocol.errors import InvalidTask
from privet.protocol.limits import MAX_CELLS


def default_depth(columns: int, n_private: int, n_public: int, epsilon: float) -> int:
    """p0 of LPCT Algorithm 2, floor(d/(2+2d) log2(n_P eps**2 + n_Q**((2+2d)/d))), at least 1.

    Kept within the number of cells allowed. Raises ``InvalidTask`` for no columns, negative
    numbers of records, or an epsilon that is not positive.
    """
    if columns < 1 or n_private < 0 or n_public < 0 or not epsilon > 0:
        raise InvalidTask(
            f"A depth cannot be derived from {columns} columns, {n_private} private and "
            f"{n_public} public records at epsilon {epsilon}: state it as `depth`."
        )
    d = columns
    information = n_private * epsilon**2 + n_public ** ((2 + 2 * d) / d)
    p0 = floor(d / (2 + 2 * d) * log2(max(information, 1.0)))
    return min(max(p0, 1), MAX_CELLS.bit_length() - 1)
