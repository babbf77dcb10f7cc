"""Who may do what: tokens, the audit log, the signing key, rates of calls."""
