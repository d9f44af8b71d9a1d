"""Reads and writes Postgres; no other package uses its driver or its SQL."""
