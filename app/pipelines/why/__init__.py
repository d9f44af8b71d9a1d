"""Explains where a passage stands in a search, what keeps it out of the answer, and what brings it in.

Entry: `why.run`. No other folder of `pipelines` imports it.
"""
