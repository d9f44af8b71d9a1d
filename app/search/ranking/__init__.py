"""Defines the arithmetic of fusion, grouping and merging."""
