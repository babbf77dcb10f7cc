"""The default method: a public model, and by how much holders differ from it in each cell.

1. ``candidates`` and ``stacking`` make the public model f of public data; ``knowledge`` scores it
   at reference points.
2. ``distilled`` grows cells within which f varies little.
3. ``shift`` estimates from reports how the holders' shares differ from f's: contrasts
   (``likelihood``), the ``prior`` on the tree (``tree_smoothing``), the ``posterior`` and its
   ``average``.
4. ``fit`` makes the model, where columns are disclosed with ``cell_learners``.
"""
