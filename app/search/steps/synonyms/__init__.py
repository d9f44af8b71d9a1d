"""Adds a user's synonyms of a query's words."""
