"""Implements `stepwell mcp`.

Entry: `mcp`. `root` registers it.
"""
