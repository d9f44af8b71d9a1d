"""THE CORRIDOR: one story a file, top to bottom."""
