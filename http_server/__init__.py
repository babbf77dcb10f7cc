"""What every server of the project takes from the network, and how it says no."""
