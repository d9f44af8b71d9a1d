"""THE CELLAR: the only room that knows Postgres."""
