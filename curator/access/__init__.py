"""Access: tokens, the audit log, the signing key, rate limits."""
