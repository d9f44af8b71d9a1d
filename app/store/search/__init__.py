"""Runs the hybrid statement, and the statements that explain or loosen it, and caches the synonyms that it is given.

Entry: `recall.hybrid`. No other folder of `store` imports it.
"""
