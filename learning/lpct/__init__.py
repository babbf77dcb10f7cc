"""LPCT (Ma and Yang, 2024) and what it is compared with: trees on public splits, counts in cells.

A partition is grown on public data by ``max_edge`` (Algorithm 1), by scikit-learn (``cart``), or as
a ``grid``; models are the ``weighted`` counts of both data (eq. 8) with its limits, LPCT-prune
(``pruned``, Algorithm 2) and the private ``histogram``. LPDT's regression is ``weighted``, too.
"""
