"""Looks up the entities that a query refers to, the documents linked to them, and their links to chunks.

Entry: `entity_lookup`, with the cache of `entity_cache`. No other folder of `store` imports it.
"""
