"""Runs a Postgres server on the data folder when no database is configured.

Entry: `postgres.EmbeddedPostgres`. `maintenance` imports it.
"""
