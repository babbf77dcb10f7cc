"""Trees as pictures."""
