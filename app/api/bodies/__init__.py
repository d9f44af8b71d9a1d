"""Receives request bodies within limits, and writes JSON responses.

Entry: `bodies` and `replies`. The folders of routers import it.
"""
