"""Serves sources: folders whose files are kept in step with documents.

Entry: `router`. No other folder of `api` imports it.
"""
