"""Stores sources, and which files of them are stored in which version.

Entry: `sources`. No other folder of `store` imports it.
"""
