"""Measures the relevance of hits on evaluation sets that it was not fitted on.

Entry: `features.collect`, then `figures`. Only `benchmarks.cli.relevance` imports it.
"""
