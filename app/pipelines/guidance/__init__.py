"""Finds the entities that a query refers to, and weighs the evidence that the query is about them.

Entry: `entity_match.run`. `search`, `multihop` and `why` import it.
"""
