"""Stores entities with their names, the mentions of them in chunks, and the names that have changed.

Entry: `entities` and `mentions`. `documents`, `guidance` and `maintenance` import it.
"""
