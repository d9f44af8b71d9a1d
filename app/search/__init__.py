"""Turns a query into its answer: understanding, the hybrid statement, fusion, order and page."""
