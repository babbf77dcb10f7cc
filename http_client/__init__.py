"""How tasks are fetched and reports are sent."""
