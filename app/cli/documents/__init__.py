"""Implements the commands that store and list documents, entities, sources and jobs.

Entry: one module a command. `root` registers them.
"""
