"""Takes what callers say about the hits of searches."""
