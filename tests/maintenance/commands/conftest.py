"""Tests of commands on databases for short vectors."""

from narrow_template import template

__all__ = ["template"]
