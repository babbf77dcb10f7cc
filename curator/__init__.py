"""The curator's server: publishes tasks, counts reports, fits and serves models."""
