"""Serves background jobs: lists, follows and cancels them.

Entry: `router`. No other folder of `api` imports it.
"""
