"""Public models: predictions of the label from public data alone."""
