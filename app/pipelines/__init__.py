"""Use cases, one per file: what happens in which order for a search, an upload or a background job."""
