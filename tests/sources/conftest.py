"""Tests on databases for vectors of the offline model's length."""

from one_parser import one_parser

__all__ = ["one_parser"]
