"""Counts the keys and values of metadata, as each write stores them, for all documents and for those that pass filters.

Entry: `facets` for reading, `facet_counts` for writes. `documents` and what is above it import it.
"""
