"""Serves search, two-pass search and similar passages."""
