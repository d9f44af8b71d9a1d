"""Knows who may do what: API keys, signed tokens, users, and the audit log."""
