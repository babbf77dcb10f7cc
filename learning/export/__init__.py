"""Models as files for other programs."""
