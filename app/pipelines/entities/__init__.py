"""Adds, changes, removes, lists and finds the entities that a user describes, one by one or in bulk.

Entry: `entities` and `entity_lines.run`. `maintenance` and the layers above import it.
"""
