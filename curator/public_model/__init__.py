"""Public models: what is known of the label before any private report."""
