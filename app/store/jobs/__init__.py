"""Stores background jobs and hands each to one worker at a time.

Entry: `jobs`; `job_states` reads what a user sees of them. The folders of `store` that queue jobs import it.
"""
