"""Stores API keys, users, the audit log and idempotency keys.

Entry: `keys`, `users`, `audit` and `idempotency`. No other folder of `store` imports it.
"""
