"""Runs background jobs of every kind, and lists, follows and cancels those of a user.

Entry: `workers.run_next` for workers, `followed_jobs` for requests. The folders that declare kinds of jobs import it.
"""
