"""Embedders, language models and re-rankers: the only package that loads a model or calls another service."""
