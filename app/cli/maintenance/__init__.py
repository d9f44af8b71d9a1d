"""Implements the commands of the database's owner: checks, repairs, backups, keys and users.

Entry: one module a command. `root` registers them.
"""
