"""Tests on databases for vectors of the offline model's length."""

from wide_template import template

__all__ = ["template"]
