"""What all methods share: counts, their variance and ratios, trees, public data, models."""
