"""Defines the filters on documents and translates them to SQL."""
