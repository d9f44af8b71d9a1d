"""Tests that send files."""

from one_parser import one_parser

__all__ = ["one_parser"]
