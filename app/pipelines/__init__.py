"""Use cases, one a file: what happens in which order for a search, an upload or a background job."""
