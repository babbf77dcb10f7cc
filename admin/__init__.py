"""How a program uses a running curator."""
