"""Stores keys, users, the audit log and the answers to writes with an Idempotency-Key."""
