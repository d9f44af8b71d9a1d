"""Migrates, checks, repairs, backs up and distributes a database, and watches its standby.

Entry: one module for each task. No other folder of `store` imports it.
"""
