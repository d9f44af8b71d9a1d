"""Serves search, two-pass search, similar passages, and why a passage is not in an answer.

Entry: `router`. `multihop` imports its models.
"""
