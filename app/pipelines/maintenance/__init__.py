"""Keeps an installation healthy: checks, repairs, re-embedding, backups, keys, users and the audit log.

Entry: one module for each command of the same name. No other folder of `pipelines` imports it.
"""
