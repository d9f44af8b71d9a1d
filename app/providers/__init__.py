"""Embedders, language models, re-rankers and pages: the only package that loads a model or calls another service."""
