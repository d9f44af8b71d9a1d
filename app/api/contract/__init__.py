"""Defines what all requests and responses share: field types, enums, filters, and how wrong fields are reported.

Entry: `wire`. Every other folder of `api` may import it.
"""
