"""Renders every error as application/problem+json and declares the errors of each operation."""
