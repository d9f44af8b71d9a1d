"""Turns uploads into stored documents: drafts, vectors, links to entities, large documents in slices."""
