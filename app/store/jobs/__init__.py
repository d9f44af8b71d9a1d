"""Stores background jobs and hands each to one worker at a time.

Entry: `jobs`. The folders of `store` that queue jobs import it.
"""
