"""LPCT (Ma and Yang, 2024) and what it is compared with: trees on public splits, counts in cells.

A partition is grown on public data by ``max_edge`` (Algorithm 1), by scikit-learn (``cart``), or as
a ``grid``; models are the ``weighted`` counts of both data (eq. 8) with its limits, LPCT-prune
(``pruned``, Algorithm 2) and the private ``histogram``. p0 of Algorithm 2, the default depth of any
grower, is ``core.growth.lpct_depth``.

LPDT (Ma et al., 2023) shares all of it: its eq. 3 and 4 are what a holder does
(``protocol.mechanisms.label_response``), eq. 5 is ``weighted`` by reports alone, and eq. 6 the
score of ``max_edge`` for numbers, with n_l as its ``min_leaf``.
"""
