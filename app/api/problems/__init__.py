"""Renders every error as application/problem+json and declares the errors of each operation.

Entry: `problems`. The folders of routers import it.
"""
