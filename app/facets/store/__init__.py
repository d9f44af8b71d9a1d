"""Counts facets: of all documents as writes change them, of some when asked."""
