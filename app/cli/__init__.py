"""THE COMMAND LINE: a file a family, thin; each command calls the same pipelines as the door."""
