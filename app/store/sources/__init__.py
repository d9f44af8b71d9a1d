"""Stores sources, and which files of them are stored in which version, and caches their names.

Entry: `sources` and `source_names`. No other folder of `store` imports it.
"""
