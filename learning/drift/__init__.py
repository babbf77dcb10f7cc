"""The default method: by how much holders differ from a public model in each cell.

1. ``prior``: shares q that the public model expects, and shifts theta of them.
2. ``likelihood``: contrasts of reports with shares, and the masses of cells.
3. ``tree_smoothing``, ``posterior``: theta after the reports; ``waves``: what earlier waves add.
4. ``label_shift``: the member in which all odds of classes move.
5. ``shift``: the average of these, its part, and two rounds of all.
6. ``fit``: the model; where columns are disclosed with ``cell_learners``.
"""
