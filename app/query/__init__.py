"""Defines the request and the answer of a search, and what its steps pass on in between."""
