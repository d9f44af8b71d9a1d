"""Runs background jobs: the queue, its workers, and what they report."""
