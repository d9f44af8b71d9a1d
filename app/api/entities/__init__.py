"""Serves entities and bulk upserts.

Entry: `router`. No other folder of `api` imports it.
"""
