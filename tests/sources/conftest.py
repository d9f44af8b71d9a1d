"""Tests that read many files."""

from one_parser import one_parser

__all__ = ["one_parser"]
