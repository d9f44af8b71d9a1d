"""Adds the stored words that correct typing errors of a query."""
