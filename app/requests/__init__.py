"""Defines what requests, tools and commands share: strict JSON, field types, filters, cursors, errors of fields."""
