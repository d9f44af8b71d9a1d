"""Runs a Postgres server on the data folder when no database is configured."""
