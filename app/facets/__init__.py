"""Counts the keys and values of metadata."""
