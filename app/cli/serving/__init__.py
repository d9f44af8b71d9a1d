"""Implements the commands that serve HTTP and run workers.

Entry: one module a command. `root` registers them.
"""
