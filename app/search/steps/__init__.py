"""Holds what a search can be without: each step adds terms, orders or completes."""
