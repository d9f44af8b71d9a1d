"""Runs a Postgres server on the data folder when no database is configured.

Entry: `postgres.EmbeddedPostgres`. `maintenance` imports it. What the API of the wheel lacks: docs/decisions/0048.
"""
