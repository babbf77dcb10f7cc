"""The public model f_Q: what public records say before any report, and the cells that follow it.

1. ``candidates`` are the models to choose from, of which ``forest`` fits the forests.
2. ``stacking`` weighs them by cross-validation, and ``own_rows`` adds the labels of equal records.
3. ``knowledge`` scores the model at points that resemble the holders, and has its means in cells.
4. ``distilled`` grows cells within which the model varies little.

A model of a curator's own takes the place of the first two, after ``onnx_trial``.
"""
