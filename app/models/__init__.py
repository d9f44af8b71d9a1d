"""Calls embedders, language models and re-rankers, local or remote."""
