"""Finds chunks that are linked to others by names, rare words or identifiers.

Entry: `links`. No other folder of `store` imports it.
"""
