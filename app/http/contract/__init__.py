"""Defines what all responses share, and the examples of the OpenAPI document."""
