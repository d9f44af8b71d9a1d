"""Finds the sentences of a hit that match the query best."""
