"""Defines the request of a search, and what its steps hand on until there is an answer."""
