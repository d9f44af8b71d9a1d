"""Finds chunks that are linked to others by names, rare words or identifiers."""
