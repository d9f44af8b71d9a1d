"""Explains where a passage stands in a search, what keeps it out, and which changes bring it in.

Entry: `why.run`. No other folder of `pipelines` imports it.
"""
