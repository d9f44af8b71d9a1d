"""Migrates, checks, repairs, backs up and distributes a database.

Entry: one module for each task. No other folder of `store` imports it.
"""
