"""Defines the requests of searches as validated, frozen models, which every step of a search reads.

Entry: `search_request.SearchRequest`. Every other folder of `pipelines`, the API and the tools may import it.
"""
