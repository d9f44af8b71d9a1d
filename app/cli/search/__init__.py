"""Implements the commands that search and evaluate.

Entry: one module a command. `root` registers them.
"""
