"""Serves multi-hop search and the merging of lists of hits.

Entry: `router`. No other folder of `api` imports it.
"""
