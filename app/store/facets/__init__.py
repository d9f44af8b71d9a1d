"""Counts the keys and values of metadata: of all documents as each write changes them, of some when they are asked for.

Entry: `facets` for reading, `facet_counts` for writes. `documents` and what is above it import it.
"""
