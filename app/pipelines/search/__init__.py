"""Answers one query from its text to a page of hits.

Entry: `search.run`. `multihop` and `why` import it.
"""
