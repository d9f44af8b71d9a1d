"""Defines the requests of searches as validated, frozen models, which every step of a search reads, and the cursors of
listings.

Entry: `search_request.SearchRequest` and `cursors`. Every other folder of `pipelines`, the API and the tools may import
it.
"""
