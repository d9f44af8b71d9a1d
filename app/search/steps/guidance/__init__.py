"""Guides a search by the entities of its query: matches them, and raises what is about them."""
