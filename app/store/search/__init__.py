"""Runs the hybrid statement, and the statements that explain or loosen it.

Entry: `recall.hybrid`. No other folder of `store` imports it.
"""
