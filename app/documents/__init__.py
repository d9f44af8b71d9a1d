"""Stores, reads, changes and deletes documents."""
