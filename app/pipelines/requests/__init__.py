"""Defines the requests of searches as validated, frozen models, and the cursors of listings.

Every step of a search reads its request. Entry: `search_request.SearchRequest` and `cursors`. Every other folder of
`pipelines`, the API and the tools may import it.
"""
