"""Tests that send requests to the whole application."""

from one_parser import one_parser

__all__ = ["one_parser"]
