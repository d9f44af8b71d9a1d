"""Calls embedders, language models and re-rankers over HTTP.

Entry: one module a kind of model. Only `runtime` imports it.
"""
