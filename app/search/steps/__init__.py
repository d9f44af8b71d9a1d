"""Holds the optional steps of a search: each adds terms, finds or orders hits, or completes the answer."""
