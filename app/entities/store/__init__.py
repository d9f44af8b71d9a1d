"""Stores entities with their names, the mentions of them in chunks, and the names that have changed."""
